"""Compile an inner loop with numba.

IEEE semantics: the compiler neither reassociates sums nor assumes finite values, and every bound derived
for IEEE arithmetic holds for the compiled loop. A division by zero gives an infinity or a NaN, as IEEE
says, and not an exception. No fast-math flag is set, but for functions of one kind, `compiled_sums`: their
sums are taken in an order that the compiler chooses, as those of a library's products are, and may fuse a
product with a sum, which the bounds of sums allow.

What is compiled is kept on disk, with a digest. A file that is damaged, cut or empty is removed, and its
function compiled again; where nothing can be kept, every process compiles, and `unkept` says why.

Four interfaces of numba are used that its manual does not have. Each stands next to what it saves, and all
works without it: `BORROWS`, `RUNTIME`, where the cache of a function lies, and how its files are read.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib
import os
import pickle
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import binding
from numba.core import event

from sstep_verify.files.homes import user_cache

Function = TypeVar("Function", bound=Callable[..., Any])

AVAILABLE = not numba.config.DISABLE_JIT  # type: ignore[attr-defined]
"""Whether inner loops are compiled; under NUMBA_DISABLE_JIT they run as plain Python, far slower."""


def undocumented(module: str, name: str) -> Any:
    """What numba has under a name that its manual does not have; None once it is gone."""
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


BORROWS: bool = hasattr(undocumented("numba.core.options", "DefaultOptions"), "_nrt")
"""Whether references can be left uncounted; without it they are counted, and all else is the same.

Measured without it, in processor time: judging K-SVM steps takes 8 to 10 times as long at m = 16 and 100,
and 2.1 times at m = 1,000; judging K-RR steps takes 6 to 7 times, and 2.2 times. Windows of exchange gram
take 9 to 13 % longer, those of single steps 3.2 times.
"""

RUNTIME: dict[str, int] = undocumented("numba.core.runtime._nrt_python", "c_helpers") or {}
"""Addresses of what compiled functions call to hold memory; without them numba makes its runtime itself.

Measured without them: a short ``sstep-verify solve`` takes 0.78 s of processor time instead of 0.67 s, and
173 MB instead of 142 MB.
"""


class _Compiling(event.Listener):
    """Adds up the processor time between the begin and the end of compiling.

    Numba's own listener takes the time of the clock, which on a busy machine is several times as much.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self._depth, self._begun = 0, 0.0

    def on_start(self, event: Any) -> None:
        """Take the time, unless this is compiled for what is being compiled."""
        if self._depth == 0:
            self._begun = time.process_time()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """Add the time since the outermost begin."""
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.process_time() - self._begun


COMPILING = _Compiling()
event.register("numba:compile", COMPILING)  # type: ignore[no-untyped-call]


class _AtFirst(event.Listener):
    """Calls a function when something is compiled for the first time."""

    def __init__(self, call: Callable[[], None]):
        self._call: Callable[[], None] | None = call

    def on_start(self, event: Any) -> None:
        """Call it, once."""
        call, self._call = self._call, None
        if call is not None:
            call()

    def on_end(self, event: Any) -> None:
        """Nothing."""


@contextlib.contextmanager
def compiling_told(call: Callable[[], None]) -> Iterator[None]:
    """Call a function as soon as something has to be compiled; not where all is found in the cache."""
    listener = _AtFirst(call)
    event.register("numba:compile", listener)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)  # type: ignore[no-untyped-call]


class UncachedWarning(UserWarning):
    """What is compiled cannot be kept on disk, so that every process compiles it again."""


WAY_OUT = "name a folder that can be written in $NUMBA_CACHE_DIR"

_unkept: dict[str, None] = {}
_told: list[str] = []


def unkept() -> str:
    """Why what is compiled cannot be kept on disk; empty if it is, as far as anything was compiled."""
    return next(iter(_unkept), "")


def untold() -> str:
    """The line on it, with the way out, for whoever asks first in this process; then it is empty."""
    if not (reason := unkept()) or _told:
        return ""
    _told.append(reason)
    return f"compiled loops are not kept, so every process compiles them again: {reason}; {WAY_OUT}"


def warn_if_unkept() -> None:
    """Say it by an `UncachedWarning`; where warnings are errors, nothing."""
    if line := untold():
        with contextlib.suppress(UncachedWarning):
            warnings.warn(line, UncachedWarning, stacklevel=3)


def compile_seconds() -> float:
    """Processor time of this process for compiling, in seconds: 0 where all was found in the cache."""
    return COMPILING.seconds


def compiling_in_words(seconds: float, where: str) -> str:
    """One line on the processor time that compiling took, and `where`."""
    return f"compiling inner loops took {seconds:.1f} s of processor time {where}: {later_runs()}"


def later_runs() -> str:
    """What later runs do about what this one compiled."""
    if unkept():
        return "later runs compile them again"
    return "later runs find these loops in the compiler's cache, and compile only others that they need"


def compiled(function: Function) -> Function:
    """Compile a function lazily at its first call, with an on-disk cache next to its source."""
    return _made(function, counted=True)


def inlined(function: Function) -> Function:
    """The same for a function that makes no array and returns none, as a part of what calls it.

    The arrays of its arguments outlive the call, so that no references are counted. To count them takes an
    atomic operation for each array of a named tuple at each call, and to hand the tuple over a copy of it:
    most of the time of a loop over short rows. A function that makes an array does not compile.
    """
    return _made(function, counted=False)


def compiled_sums(function: Function) -> Function:
    """The same for sums that are bounded in any order, with fused multiplications or without.

    A loop over several sums of many terms is vectorised only where their terms may be added in another
    order; that is all that is allowed here: no value is assumed to be finite, and none is approximated.
    """
    return _made(function, counted=False, fastmath={"reassoc", "contract"})


def read_only(array: np.ndarray) -> np.ndarray:
    """View an array as one that cannot be written to.

    A function is compiled for arrays that can be written to, and once more for others. The arrays of a
    problem cannot be, those of its copies can: passed in this form, both need one version.
    """
    view = array.view()
    view.flags.writeable = False
    return view


def _made(function: Function, *, counted: bool, **flags: Any) -> Function:
    if not AVAILABLE:
        return function
    # A function made from text in memory has no source file the cache could be keyed on.
    cacheable = os.path.exists(function.__code__.co_filename)
    # It is said either way: a function takes after the one that calls it.
    references: dict[str, Any] = {"_nrt": counted} if BORROWS else {}

    def made(cache: bool) -> Any:
        decorate = numba.njit(
            cache=cache, nogil=True, error_model="numpy", forceinline=not counted, **references, **flags
        )
        return decorate(function)

    try:
        with _in_a_folder_of_the_user():
            dispatcher = made(cacheable)
    except (RuntimeError, OSError):  # No folder can be written: neither next to the source nor at home.
        _unkept["neither the folder of their source nor one of the user can be written"] = None
        return cast(Function, made(cache=False))
    if cacheable and not _forget_if_older(dispatcher, function):
        return cast(Function, made(cache=False))
    if cacheable:
        _guard_kept(dispatcher)
    return cast(Function, dispatcher)


@contextlib.contextmanager
def _in_a_folder_of_the_user() -> Iterator[None]:
    """Let numba take no name from the working folder, such as ``~`` where this user has no home."""
    before, named = os.environ.get("XDG_CACHE_HOME"), user_cache()
    os.environ["XDG_CACHE_HOME"] = str(named or os.devnull)  # In which no folder can be.
    try:
        yield
    finally:
        if before is None:
            del os.environ["XDG_CACHE_HOME"]
        else:
            os.environ["XDG_CACHE_HOME"] = before


def kept_in() -> str:
    """The folder in which functions of this file would be kept; empty if in none that can be written."""
    dispatcher = compiled(_add_one)
    return getattr(getattr(dispatcher, "stats", None), "cache_path", None) or ""


def _add_one(number: int) -> int:
    return number + 1


for _name, _address in RUNTIME.items():
    binding.add_symbol(_name if _name.startswith("_") else f"NRT_{_name}", _address)


def _guard_kept(dispatcher: Any) -> None:
    """Let what is kept of a function be looked into as it is; what cannot be read or kept is as if absent.

    Numba makes all ready to compile before it looks: what it knows of every type, and a runtime that is
    compiled again in each process, though what is kept of a function has its own copy. Addresses are all
    that is needed of it; whatever is not kept is compiled as ever. What is kept names the classes of the
    arguments by their modules, and cannot be read once another version has them elsewhere; a file may be
    damaged or cut, and is removed. A disk may be full, or a folder read-only by now.
    """
    cache: Any = getattr(dispatcher, "_cache", None)
    if not (hasattr(cache, "load_overload") and hasattr(cache, "save_overload")):
        return
    look = cache._load_overload if RUNTIME and hasattr(cache, "_load_overload") else cache.load_overload
    put, folder = cache.save_overload, getattr(cache, "cache_path", None)
    _add_digests(getattr(cache, "_cache_file", None))

    def load(signature: Any, target: Any) -> Any:
        try:
            with _locked(folder, fcntl.LOCK_SH):
                return look(signature, target)
        except Exception:
            for path in _kept_files(folder, dispatcher.py_func):
                with contextlib.suppress(OSError):
                    os.unlink(path)
            return None

    def save(signature: Any, data: Any) -> None:
        try:
            with _locked(folder, fcntl.LOCK_EX):
                put(signature, data)
        except Exception as error:
            _unkept[f"{folder}: {getattr(error, 'strerror', None) or error}"] = None

    cache.load_overload, cache.save_overload = load, save


LONGEST_WAIT = 5.0
"""Seconds after which a process continues without a lock: the one that holds it may have been stopped."""

_holding = threading.local()
"""Folders that a thread has locked: to load one function may import modules that keep others."""


@contextlib.contextmanager
def _locked(folder: str | None, kind: int) -> Iterator[None]:
    """Hold a lock of the kind on what is kept in a folder, where folders can be locked.

    Numba reads the index of a function, picks a name for the code, writes the index and then the code. Of
    two processes at the same function one would lose its entry, or have it name the code of the other.
    """
    held: set[str] = vars(_holding).setdefault("folders", set())
    if not folder or folder in held:
        yield
        return
    descriptor, end = -1, time.monotonic() + LONGEST_WAIT
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        while not _lock(descriptor, kind) and time.monotonic() < end:
            time.sleep(0.01)
    held.add(folder)
    try:
        yield
    finally:
        held.discard(folder)
        if descriptor >= 0:
            os.close(descriptor)


def _lock(descriptor: int, kind: int) -> bool:
    """Lock a file if no other process has it locked, and say whether it is."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _add_digests(file: Any) -> None:
    """Let both files of a function end in a digest, and an error be raised of one that does not."""
    names = ("_dump", "_load_index", "_load_data", "_index_path", "_data_path")
    if not all(hasattr(file, name) for name in names):
        return
    dump, load_index, load_data = file._dump, file._load_index, file._load_data

    def dumped(content: Any) -> bytes:
        written: bytes = dump(content)
        return written + hashlib.sha256(written).digest()

    def index() -> Any:
        with contextlib.suppress(FileNotFoundError), open(file._index_path, "rb") as handle:
            pickle.load(handle)  # The version of numba.
            _require_digest(handle.read())
        return load_index()

    def data(name: str) -> Any:
        with open(file._data_path(name), "rb") as handle:
            _require_digest(handle.read())
        return load_data(name)

    file._dump, file._load_index, file._load_data = dumped, index, data


def _require_digest(content: bytes) -> None:
    size = hashlib.sha256().digest_size
    if hashlib.sha256(content[:-size]).digest() != content[-size:]:
        raise ValueError("it is not what was written")


def _kept_files(folder: str | None, function: Callable[..., Any]) -> list[os.DirEntry[str]]:
    """The files in which a function is kept, in the folder that numba names; OSError if it is not there."""
    stem = os.path.basename(function.__code__.co_filename).removesuffix(".py")
    name = f"{stem}.{function.__qualname__}-".translate({ord("<"): None, ord(">"): None})
    entries = os.scandir(folder) if folder else ()
    return [entry for entry in entries if entry.name.startswith(name)]


_CALLED: dict[str, frozenset[str]] = {}
"""Other files whose compiled functions those of a file may call, and the files that these may call."""


def _called_files(function: Callable[..., Any]) -> frozenset[str]:
    """The entry of a function's file, made for its first compiled function: what is imported is there."""
    caller = function.__code__.co_filename
    if caller not in _CALLED:
        sources = (getattr(value, "py_func", None) for value in function.__globals__.values())
        files = {source.__code__.co_filename for source in sources if source is not None} - {caller}
        _CALLED[caller] = frozenset(files).union(*(_CALLED.get(file, ()) for file in files))
    return _CALLED[caller]


def _forget_if_older(dispatcher: Any, function: Callable[..., Any]) -> bool:
    """Remove what is kept of a function if a file whose functions it may call was written later.

    Numba looks at a function's own file alone, and would continue with what it compiled of the others.
    Whether that is certain: not where numba does not say in which folder it keeps the function. Then
    nothing may be kept of it, and it is compiled in every process.
    """
    files = _called_files(function)
    if not files:
        return True
    if (folder := getattr(getattr(dispatcher, "stats", None), "cache_path", None)) is None:
        return False
    with contextlib.suppress(OSError):
        newest = max(os.stat(file).st_mtime for file in files)
        for cached in _kept_files(folder, function):
            if cached.stat().st_mtime <= newest:
                os.unlink(cached)
    return True
