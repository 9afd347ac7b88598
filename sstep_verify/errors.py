"""Typed errors: each names the input, the value met, the value allowed, and the way out.

And what raises them of a number that is out of its range, a name that is unknown, a package that is absent.
"""

from __future__ import annotations

import difflib
import errno
import importlib.util
import math
import os
import re
import resource
import unicodedata
from collections.abc import Collection, Iterable, Mapping
from numbers import Integral, Real
from pathlib import Path
from types import ModuleType
from typing import Any

_SHOWN = 60
"""Characters of a value that a message shows."""

WEIGHTED = (
    "a C that differs by class, and weighted samples, are known conventions that are not judged; take the "
    "same C for all samples"
)
"""What is said of a K-SVM whose samples have several C."""

TOO_SMALL_TOLERANCE = 3
"""Exit code of a training whose tolerance is below what float64 can show."""


LEAST_BEGIN = 3
"""Letters from which the beginning of one known name is taken for it in a suggestion, as poly."""


class SstepVerifyError(Exception):
    """Base of every error that this package raises on purpose.

    Examples
    --------
    >>> from sstep_verify import InputError, SstepVerifyError
    >>> issubclass(InputError, SstepVerifyError)
    True
    """


class InputError(SstepVerifyError, ValueError):
    """Say that a value, a file or an option cannot be used; exit code 2.

    Examples
    --------
    >>> from sstep_verify import Hinge, InputError
    >>> try:
    ...     Hinge(C=-1.0)
    ... except InputError as error:
    ...     print("C" in str(error))
    True
    """


class UnwritableError(InputError):
    """A file cannot be written for a reason that lies with the machine, as a disk is full; exit code 4."""


class DataError(InputError):
    """Say that a data file is malformed or unsuitable; the message names file, line and value.

    Examples
    --------
    >>> from sstep_verify import DataError, InputError
    >>> issubclass(DataError, InputError)
    True
    """


class LineError(DataError):
    """A line of a file cannot be used, for a fault; lines count from 1, within a block from its first."""

    def __init__(self, path: Path, line: int, fault: str):
        self.path, self.line, self.fault = path, line, fault
        super().__init__(f"{path}, line {line}: {fault}")

    def __reduce__(self) -> tuple[type[LineError], tuple[Path, int, str]]:
        return type(self), (self.path, self.line, self.fault)


class FailedError(SstepVerifyError, AssertionError):
    """Say that a solver failed, or that nothing was decided; the message holds every reason.

    Examples
    --------
    >>> from sstep_verify import FailedError
    >>> issubclass(FailedError, AssertionError)
    True
    """


class RefusedError(InputError):
    """A solver under test refuses the input of a run; the run is left out, and that is said."""


class ProgramError(InputError):
    """A program did not end as a run ends, or left something that is no result.

    `said` are the last lines that it printed, where it was started.
    """

    said: tuple[str, ...] = ()


class NoLogError(ProgramError):
    """A program left no log of its steps, draws, rows or counts that it is to write, or none of use."""


class RepeatedDrawError(ProgramError):
    """A program wrote down draws of which a block holds a coordinate twice: it has no step."""


class WitnessError(ProgramError):
    """What the witness of a program's communication left is not whole, or the program contradicts it."""


class NoResultError(ProgramError):
    """A program left no a, which it is said to write, or none that can be used: it tells of no numbers."""


class ResultError(InputError):
    """What a solver returned is no result of a run, by its type or its shape."""


class RunError(SstepVerifyError, RuntimeError):
    """A run that its solver ended itself, because what it held had gone wrong; a FAIL of that run.

    The message says what; before it stands the `kind` of error that ended it, if in another process.
    """

    def __init__(self, message: str, kind: str = ""):
        super().__init__(f"{kind}: {message}" if kind else message)
        self.kind, self.message = kind, message


class ConductError(RunError):
    """A run of a shipped solver that ended, and is not what its files, schedule or options say of it."""

    def __init__(self, message: str):
        super().__init__(message)
        self.kind = type(self).__name__


class DivergedError(InputError, RunError):
    """Training whose gap left the range of float64: the input's fault, if the problem is out of range."""


class NotMadeError(SstepVerifyError, RuntimeError):
    """A run that could not be made, for a reason that lies with the machine; nothing is said of it."""


class CommandError(InputError, NotMadeError):
    """A command that can start no run at all, as it names a program that is not there; exit code 2."""


class MissingExtraError(SstepVerifyError, ImportError):
    """Say that a package of an optional extra is not installed; the message names the extra.

    Examples
    --------
    >>> from sstep_verify import MissingExtraError
    >>> issubclass(MissingExtraError, ImportError)
    True
    """


class OracleDisagreementError(SstepVerifyError, ArithmeticError):
    """Two independent oracles contradict each other; exit code 4."""


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk, a quota or a limit of file sizes that leaves no room."""

MACHINE = (
    *FULL,
    errno.EROFS,
    errno.EIO,
    errno.ESTALE,
    errno.EMFILE,
    errno.ENFILE,
    errno.ENOMEM,
    errno.EAGAIN,
)
"""Errors of the operating system that say nothing of who met them."""


LIMITS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN)
"""Errors of a limit of processes, memory or open files."""


def blames_machine(error: OSError) -> bool:
    """Whether an error says nothing of the path that a user named, which another one would not repair."""
    return (error.errno in MACHINE and error.errno != errno.EROFS) or _lacks_temporary(error)


def _lacks_temporary(error: OSError) -> bool:
    """Whether an error is that of `tempfile`, which can write four bytes into none of its folders."""
    return (
        isinstance(error, FileNotFoundError)
        and error.filename is None
        and "temporary directory" in str(error.strerror)
    )


def unwritable(path: str, error: OSError, kind: str) -> InputError:
    """The error of a file or folder (`kind`) that cannot be written, with the way out."""
    reason = f"{path}: cannot be written: {error.strerror or error}"
    if blames_machine(error):
        return UnwritableError(f"{reason}; {way_out_of(error)}")
    return InputError(f"{reason}; name another {kind}")


def way_out_of(error: OSError, another: str = "name a place on another disk") -> str:
    """What to do about an error that lies with the machine; `another` is the way to another disk."""
    if error.errno == errno.EFBIG or (_lacks_temporary(error) and _limits_files()):
        return "raise the limit of file sizes that `ulimit -f` shows"
    if _lacks_temporary(error):
        return "make room there, or name a folder that can be written in TMPDIR"
    if error.errno in FULL:
        return f"make room there, or {another}"
    if error.errno in LIMITS:
        return "let less run at a time (--jobs), or raise the limit that `ulimit -a` shows"
    if error.errno == errno.EIO:
        return f"look at the disk, or {another}"
    return f"give access to it, or {another}"


def _limits_files() -> bool:
    """Whether this process may write files of some size only."""
    return resource.getrlimit(resource.RLIMIT_FSIZE)[0] != resource.RLIM_INFINITY


def machine_error(error: OSError, what: str, place: object = "") -> NotMadeError:
    """The error of a run that an error of the operating system prevented, with a path and the way out.

    `what` was done, such as ``writing a run folder``; `place` is the path, where the error names none.
    """
    path = error.filename or place
    where = f" ({os.fsdecode(path) if isinstance(path, bytes) else path})" if path else ""
    way = way_out_of(error, "name a folder on another disk by TMPDIR")
    return NotMadeError(f"{what}{where}: {error.strerror or error}, which is no error of the solver; {way}")


def storable(text: str) -> str:
    """A text that every file can hold: what is no UTF-8 in a name or a message is escaped."""
    try:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()


_IN_NO_DOCUMENT = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def writable(text: str) -> str:
    """A text that a page, a table and XML can hold: control characters and lone surrogates are escaped."""
    return _IN_NO_DOCUMENT.sub(lambda found: repr(found[0])[1:-1], text)


def visible(text: str, kept: str = "") -> str:
    """A text that a message quotes, with Python escapes of what is not printed, but for `kept`."""
    if text.isprintable():
        return text
    return "".join(
        sign
        if sign.isprintable() or sign in kept or unicodedata.category(sign) == "Zs"
        else repr(sign)[1:-1]
        for sign in text
    )


def counted(number: int, noun: str) -> str:
    """So many of something, such as ``1 run`` or ``2 runs``; of a noun that an s makes a plural."""
    return f"{number} {noun}{'s' * (number != 1)}"


def install_command(extra: str) -> str:
    """The command that installs an extra of this distribution, whose name is on no package index."""
    return f"python -m pip install '.[{extra}]' (in the clone)"


def require(module: str, extra: str) -> ModuleType:
    """Import a module; MissingExtraError names the extra of this distribution that brings it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{module!r} is not installed: it comes with the extra [{extra}]. "
            f"Install it with: {install_command(extra)}"
        ) from error


def has_studies() -> bool:
    """Whether the studies of a clone are at hand; many a user has another folder ``studies`` at hand."""
    spec = importlib.util.find_spec("studies")
    return spec is not None and (Path(spec.origin or "").parent / "campaigns/false-alarms.toml").is_file()


def closest(name: object, known: Iterable[str], words: Mapping[str, str] | None = None) -> str:
    """Words such as `` (did you mean 'paper'?)``; empty if no known name is like it, or it is a number.

    `words` say what is meant by a name where that is not the name itself.
    """
    if isinstance(name, int):
        return ""  # Nobody means a word by it, and Python prints no number of thousands of digits.
    names, begin = list(known), str(name)
    longer = [one for one in names if len(begin) >= LEAST_BEGIN and one.startswith(begin)]
    same = [one for one in names if one.casefold() == begin.casefold()]
    matches = same or difflib.get_close_matches(begin, names, n=1) or (longer if len(longer) == 1 else [])
    return f" (did you mean {(words or {}).get(matches[0], matches[0])!r}?)" if matches else ""


def among(name: object, known: Collection[str]) -> str:
    """What may stand in place of a name, the one most like it first; empty where that is not known."""
    return f"{closest(name, known)}; known: {', '.join(known)}" if known else ""


def positive(owner: str, name: str, value: object) -> float:
    """A positive parameter as a float; messages name owner and name: ``RBF kernel``, ``sigma``.

    InputError if it is not a real number, not finite, or not positive.
    """
    return _real(owner, name, value, "> 0")


def not_negative(owner: str, name: str, value: object, why: str) -> float:
    """A parameter that may be 0, as a float; `why` says what a negative one would break.

    InputError if it is not a real number, not finite, or negative.
    """
    return _real(owner, name, value, f">= 0 ({why})")


def integer(owner: str, name: str, value: object, lower: int, upper: int, why: str) -> int:
    """An integer parameter; integral floats, which command lines may hand in, are taken.

    InputError if it is not an integer in ``lower..upper``; `why` gives the reason for the range.
    """
    whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or not lower <= value <= upper:  # type: ignore[operator]
        raise InputError(
            f"{owner}: {name} = {shown(value)}, but it must be an integer in {lower}..{upper} ({why})"
        )
    return int(value)  # type: ignore[call-overload]


def of_type(name: str, value: object, kinds: Any, needed: str) -> None:
    """InputError unless a value is of a type, or one of several; `needed` says what is, with an example."""
    if not isinstance(value, kinds):
        met = f"{' '.join(shown(value).split())} of type {type(value).__name__}"
        raise InputError(f"{name} = {met}; it must be {needed}")


def listed(name: str, values: object) -> tuple[Any, ...]:
    """The values of a list or another sequence; InputError for one value alone, which a text is too."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InputError(f"{name} = {shown(values)}, but it must be a list; put one alone in brackets")
    return tuple(values)


def shown(value: object) -> str:
    """The value as Python writes it, shortened; its kind and size where writing it would be long."""
    if isinstance(value, int) and value.bit_length() > 8 * _SHOWN:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _real(owner: str, name: str, value: object, needed: str) -> float:
    """A finite number that is > 0 or >= 0, as what is `needed` begins."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{owner}: {name} = {shown(value)}, but it must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or number < 0 or (number == 0 and needed == "> 0"):
        raise InputError(f"{owner}: {name} = {shown(value)}, but it must be finite and {needed}")
    return number
