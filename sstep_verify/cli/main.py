"""The command ``sstep-verify``; commands stand in files that are imported when one of it is called."""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import lzma
import os
import sys
import time
import tomllib
import traceback
import zipfile
import zlib
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn

import click

from sstep_verify import __version__
from sstep_verify.docstrings import docstring_of
from sstep_verify.errors import (
    InputError,
    MissingExtraError,
    SstepVerifyError,
    UnwritableError,
    blames_machine,
    closest,
    visible,
    way_out_of,
)
from sstep_verify.files.paths import shortened
from sstep_verify.files.streams import open_standard_streams
from sstep_verify.standard_library import hiding

PIPE_CLOSED = 141
"""Exit code of a program whose output nobody reads any more, as a shell tells it (128 + SIGPIPE)."""

MALFORMED = (
    EOFError, RecursionError, UnicodeError, json.JSONDecodeError, tomllib.TOMLDecodeError,
    zipfile.BadZipFile, zlib.error, lzma.LZMAError,
)  # fmt: skip
"""Errors of the standard library's readers that mean a file which is not what it should be."""

MACHINE: tuple[tuple[Any, str, str], ...] = (
    (
        MemoryError,
        "memory does not suffice",
        "take fewer samples or features, or more memory",
    ),
    (OverflowError, "a number is too large", "look for it among the options and in the files"),
    (MALFORMED, "a file is malformed or cut short", "make or fetch it again"),
)
"""Errors that are not ours, what to say of them, and the way out."""

OURS = ("sstep_verify", "sstep_reference")
"""Packages whose own errors are defects of ours."""

SETTINGS = ("SOURCE_DATE_EPOCH",)
"""Beginnings of variables that packages read whose names they do not have."""

COMMANDS = {
    "apply": "Predict new samples by a saved result of solve.",
    "check": "Judge a solver of your own: a program of any language, or a Python object.",
    "doctor": "Say which optional parts work here (MPI, packages, data), and what to do.",
    "explain": "Say what a check claims and how its bound is derived; of a failure, what it saw.",
    "oracle": "Enclose an optimum with proof, prove a certificate again, or judge a vector.",
    "perf": "Predict or measure the time of an iteration.",
    "report": "Rebuild page, figures and tables from a results.json, or list failures.",
    "run": "Judge a solver on a campaign of problems and write the report.",
    "safe-s": "Certify up to which s windows cost no more than the attainable accuracy, on your data.",
    "solve": "Train a K-SVM or K-RR, on one process or under mpiexec.",
}

PERF = {
    "calibrate": "Measure this machine with the solver and its ranks, for predict.",
    "latency": "Time classical and s-step runs on a slower network, next to a prediction.",
    "predict": "Predict time per iteration by phase over s and P, and the best s, on a machine.",
}
"""Commands of the group ``perf``."""

PLACES = {
    "calibrate": "predict", "predict": "predict",
    "report": "report",
}  # fmt: skip
"""Modules that hold several commands."""

FORMER = {
    "replay": "explain --again",
    "vectors": "python -m sstep_verify.vectors",
}
"""What was a command, and is part of another one."""

FORMER_OPTIONS = {
    "--gamma": "--kernel rbf,sigma=NUMBER",
    "--sigma": "--kernel rbf,sigma=NUMBER",
    "--degree": "--kernel polynomial,degree=NUMBER",
    "--offset": "--kernel polynomial,offset=NUMBER",
}
"""What was an option of commands with a kernel, or is one elsewhere, and is a word of another one."""

COLLECTED_AT = 200_000
"""Objects made after which Python looks for garbage in them, in place of 700: more than loading makes."""

USAGE = 2
"""Exit code of an error of usage or input."""

PATIENCE = 1.0
"""Seconds that the other ranks of a job leave rank 0 to say why they all end."""


def is_silent() -> bool:
    """Whether another process of the same job says what is to be said, if this is one of several."""
    from sstep_verify.ranks.environment import is_silent_rank

    return is_silent_rank()


def _refuse(code: int, show: Callable[[], None]) -> NoReturn:
    """End with a message, which rank 0 of a job prints for all; the others leave it the time to.

    Where rank 0 goes on, it has got other options or files, and this rank says what is wrong with its own.
    """
    if is_silent():
        from sstep_verify.ranks.environment import promised_rank, rank_0_goes_on

        # A launcher kills all ranks once one has ended with an error.
        time.sleep(PATIENCE)
        if code != USAGE or not rank_0_goes_on():
            sys.exit(code)
        click.echo(f"rank {promised_rank()} ends, while rank 0 goes on:", err=True)
    show()
    sys.exit(code)


def _interrupted(cause: BaseException | None) -> NoReturn:
    """End after an interrupt; whoever says more of it has said so."""
    _refuse(130, lambda: None if cause and cause.args else click.echo("interrupted", err=True))


OUTPUT, ERRORS = "standard output", "standard error"


class LazyGroup(click.Group):
    """A group whose commands live in ``sstep_verify.cli.commands`` and load at first use.

    `known` says by name what each is for; the rest is what a group of click takes.
    """

    def __init__(self, *, known: dict[str, str], **given: Any):
        super().__init__(**given)
        self._known = known

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return sorted(self._known)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load the command of a name."""
        if cmd_name not in self._known:
            return None
        if cmd_name == "perf":
            return LazyGroup(known=PERF, name=cmd_name, help=COMMANDS[cmd_name])
        place = PLACES.get(cmd_name, cmd_name.replace("-", "_"))
        module = importlib.import_module(f"sstep_verify.cli.commands.{place}")
        command: click.Command = getattr(module, cmd_name if cmd_name in PLACES else "command")
        return with_help(command)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; click would print an empty line at an interrupt, for the ^C of a terminal."""
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, EOFError) as error:
            if sys.stderr.isatty():
                raise
            raise click.Abort from error

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; an unknown one is refused with the most similar name, or as a campaign."""
        if args and args[0] not in self._known and not args[0].startswith("-"):
            from sstep_verify.campaign import shipped

            name, known = args[0], ", ".join(sorted(self._known))
            meant = FORMER | {inner: f"perf {inner}" for inner in PERF}
            meant |= {campaign: f"run {campaign}" for campaign in shipped()}
            meant |= {own: own for own in self._known}
            ctx.fail(f"no such command {name!r}{closest(name, meant, meant)}; known: {known}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(sorted(self._known.items()))


@click.group(cls=LazyGroup, known=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="sstep-verify")
def cli() -> None:
    """Verify s-step solvers: is this one right, up to which s, on which data, and how do we know.

    Exit codes: 0 green; 1 a check failed, or an expected failure did not; 2 usage or input error; 3
    inconclusive, or too few comparisons executed; 4 internal error, a full disk, or the oracles
    disagree; 130 interrupted.
    """


class UnreadError(Exception):
    """Nobody reads standard output any more; at the OSError click ends with the code of a failed check."""


def with_help(command: click.Command) -> click.Command:
    """The command with the help that its docstring is, also where Python drops it."""
    if command.help is None and command.callback is not None:
        command.help = docstring_of(command.callback)
    return command


with_help(cli)


class Escaping:
    """A stream of text that shows what a terminal would obey, of arguments, names and words of programs.

    What cannot be written to standard error (`name`) is lost, and ends nothing.
    """

    def __init__(self, inner: Any, name: str):
        self._inner, self._name = inner, name

    def write(self, text: str) -> int:
        """Write a text; a bar begins, and may end, with a carriage return of its own."""
        bar = "\r" if text.startswith("\r") else ""
        body = text.removeprefix(bar).removesuffix(bar)
        text = text[: len(bar)] + visible(body, "\n\t") + text[len(bar) + len(body) :]
        encoding = getattr(self._inner, "encoding", None) or "utf-8"
        self._try(self._inner.write, text.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def flush(self) -> None:
        """Hand over what is held back."""
        self._try(self._inner.flush)

    def _try(self, work: Callable[..., object], *given: object) -> None:
        try:
            work(*given)
        except OSError as error:
            if self._name == ERRORS:
                return
            if isinstance(error, BrokenPipeError):
                raise UnreadError from error
            raise OSError(error.errno, error.strerror, self._name) from error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@contextlib.contextmanager
def escaping() -> Iterator[None]:
    """Let both streams of this process show control characters, and be open."""
    open_standard_streams()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(Escaping, before, (OUTPUT, ERRORS))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


@escaping()
def main() -> None:
    """Run the command line; errors of the user's input end it with one message and exit code 2.

    Of the processes that a launcher started together, the one of rank 0 prints results, help and refusals.
    """
    # Nearly all of the 120,000 objects that loading makes live to the end. To look through them again and
    # again for garbage, and once more when all is over, took a third of a short run.
    gc.set_threshold(COLLECTED_AT)
    atexit.register(gc.freeze)
    try:
        if spoilt := [word for word in sys.argv if "\0" in word]:
            raise InputError(f"the argument {shortened(spoilt[0])} holds a NUL, which no name or text may")
        with contextlib.ExitStack() as held:
            if is_silent():
                from sstep_verify.ranks.environment import left_by_no_launcher

                if line := left_by_no_launcher():
                    click.echo(f"note: {line}", err=True)
                nowhere = held.enter_context(open(os.devnull, "w", encoding="utf-8"))
                held.enter_context(contextlib.redirect_stdout(nowhere))
            _run()
    except click.exceptions.Exit as error:
        sys.exit(error.exit_code)
    except click.Abort as aborted:
        if isinstance(aborted.__cause__, EOFError):  # Of a file: nothing here waits for input.
            _end(aborted.__cause__)
        _interrupted(aborted.__cause__)
    except KeyboardInterrupt as interrupt:  # Before click has begun, or after it has ended.
        _interrupted(interrupt)
    except click.ClickException as refusal:
        _refuse(USAGE, _successor(refusal).show)
    except (UnreadError, BrokenPipeError):
        # Whoever read the output has enough of it.
        _drop_output()
        sys.exit(PIPE_CLOSED)
    except Exception as error:
        _end(error)


def _end(error: Exception) -> NoReturn:
    """End with what is to be said of an error; with its traceback if it is a defect of ours."""
    line, code = told(error)
    if isinstance(error, OSError) and error.filename == OUTPUT:
        _drop_output()
    if line and code == USAGE:
        _refuse(code, lambda: click.echo(line, err=True))
    if not line:
        traceback.print_exception(error)
        line = "internal error: this is a defect of sstep_verify, not of the solver tested"
    click.echo(line, err=True)
    sys.exit(code)


def _run() -> None:
    """Run the command; what it said is written, and if loops cannot be kept, that is said, before it ends.

    Held back until the end of the process, an error of writing would have no exit code of ours.
    """
    try:
        cli.main(standalone_mode=False)
    except SystemExit:
        _finish()
        raise
    _finish()


def _finish() -> None:
    sys.stdout.flush()
    inner = sys.modules.get("sstep_verify.compiled")
    if inner is not None and not is_silent() and (line := inner.untold()):
        click.echo(f"note: {line}", err=True)


def _drop_output() -> None:
    """Let what is still held back of the output not complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _successor(refusal: click.ClickException) -> click.ClickException:
    """A refusal; where it is of an option that is a word of another one now, with that one."""
    if not isinstance(refusal, click.NoSuchOption) or refusal.option_name not in FORMER_OPTIONS:
        return refusal
    if not refusal.ctx or all(option.name != "kernel" for option in refusal.ctx.command.params):
        return refusal
    name = refusal.option_name
    return click.ClickException(f"no such option {name}; it is a word now: {FORMER_OPTIONS[name]}")


def told(error: Exception) -> tuple[str, int]:
    """One line for an error, with the way out, and the exit code; an empty line for a defect of ours.

    What this package raises on purpose, and what the machine or a file is to blame for: files that are
    missing, unreadable or malformed, memory, numbers beyond what a field holds.
    """
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, SstepVerifyError):
        notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
        ours = isinstance(error, UnwritableError) or not isinstance(error, (InputError, MissingExtraError))
        return f"error: {error}{notes}", 4 if ours else 2
    if isinstance(error, OSError):
        paths = [shortened(str(name)) for name in (error.filename, error.filename2) if name is not None]
        reason = ": ".join([*paths, error.strerror or text])
        if not paths and isinstance(error, FileNotFoundError) and not _is_in_a_folder():
            return "error: the working folder is no longer there; change to another folder", USAGE
        if blames_machine(error):
            return f"error: {reason}; {way_out_of(error)}", 4
        return f"error: {reason}; check the path and its permissions", 2
    for kinds, reason, way_out in MACHINE:
        if isinstance(error, kinds):
            return f"error: {reason} ({text:.200}); {way_out}", 2
    if found := hiding(error):
        return f"error: {found} ({type(error).__name__}: {text:.200})", 2
    if package := _not_loaded(error):
        named = sorted(name for name in os.environ if name.startswith((f"{package.upper()}_", *SETTINGS)))
        known = f" (set here: {', '.join(named)})" if named else ""
        reason = f"the package {package} cannot be loaded ({type(error).__name__}: {text:.200})"
        way_out = f"correct the environment variable or settings file that it reads{known}"
        return f"error: {reason}; {way_out}, or install it again", 2
    return "", 4


def _is_in_a_folder() -> bool:
    """Whether the working folder is still there; it can be looked at even if it is not."""
    try:
        return bool(os.getcwd())
    except OSError:
        return False


def _not_loaded(error: Exception) -> str:
    """Name of the package of others that an error kept from being loaded; empty if none did."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = [place for place, frame in enumerate(frames) if _package_of(frame) in OURS]
    after = [frame for frame in frames[ours[-1] + 1 if ours else 0 :] if _package_of(frame) != "importlib"]
    if after and after[0].f_code.co_name == "<module>":
        return _package_of(after[0])
    return ""


def _package_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
