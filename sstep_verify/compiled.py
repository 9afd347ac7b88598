"""Compile an inner loop with numba.

IEEE semantics: the compiler neither reassociates sums nor assumes finite values, and every bound derived
for IEEE arithmetic holds for the compiled loop. A division by zero gives an infinity or a NaN, as IEEE
says, and not an exception. No fast-math flag is set, but for functions of one kind, `compiled_sums`: their
sums are taken in an order that the compiler chooses, as those of a library's products are, and may fuse a
product with a sum, which the bounds of sums allow.

Three interfaces of numba are used that its manual does not have. Each stands beside what it saves, and all
works without it: `BORROWS`, `RUNTIME`, and where the cache of a function lies.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import binding
from numba.core import event

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

COMPILING = event.TimingListener()  # type: ignore[no-untyped-call]
event.register("numba:compile", COMPILING)  # type: ignore[no-untyped-call]


def compile_seconds() -> float:
    """Seconds that this process has spent on compiling: 0 where all was found in the cache."""
    return float(COMPILING.duration) if COMPILING.done else 0.0


def compiled(function: Function) -> Function:
    """Compile a function lazily at its first call, with an on-disk cache beside its source."""
    return _made(function, counted=True)


def compiled_borrowing(function: Function) -> Function:
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

    dispatcher = made(cacheable)
    if cacheable and not _forget_if_older(dispatcher, function):
        return cast(Function, made(cache=False))
    if cacheable:
        _load_as_kept(dispatcher)
    return cast(Function, dispatcher)


for _name, _address in RUNTIME.items():
    binding.add_symbol(_name if _name.startswith("_") else f"NRT_{_name}", _address)


def _load_as_kept(dispatcher: Any) -> None:
    """Let the cache of a function be looked into as it is, and an entry that cannot be read be none.

    Numba makes all ready to compile before it looks: what it knows of every type, and a runtime that is
    compiled anew in each process, though what is kept of a function has its own copy. Addresses are all
    that is needed of it; whatever is not kept is compiled as ever. What is kept names the classes of the
    arguments by their modules, and cannot be read once another version has them elsewhere.
    """
    cache: Any = getattr(dispatcher, "_cache", None)
    if not (hasattr(cache, "load_overload") and hasattr(cache, "flush")):
        return
    look = cache._load_overload if RUNTIME and hasattr(cache, "_load_overload") else cache.load_overload

    def load(signature: Any, target: Any) -> Any:
        try:
            return look(signature, target)
        except (ImportError, AttributeError):
            cache.flush()
            return None

    cache.load_overload = load


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

    Numba looks at a function's own file alone, and would go on with what it compiled of the others. Whether
    that is certain: not where numba does not say in which folder it keeps the function. Then nothing may be
    kept of it, and it is compiled in every process.
    """
    files = _called_files(function)
    if not files:
        return True
    if (folder := getattr(getattr(dispatcher, "stats", None), "cache_path", None)) is None:
        return False
    stem = os.path.basename(function.__code__.co_filename).removesuffix(".py")
    with contextlib.suppress(OSError):
        newest = max(os.stat(file).st_mtime for file in files)
        for cached in os.scandir(folder):
            same = cached.name.startswith(f"{stem}.{function.__qualname__}-")
            if same and cached.stat().st_mtime <= newest:
                os.unlink(cached)
    return True
