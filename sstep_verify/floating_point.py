"""The floating-point environment of this thread: rounding to nearest, and subnormal numbers that are kept.

And how NumPy treats floating-point errors, Python its warnings, and with how many bits other libraries
compute: judgement has its own state of these (`own_state`), a solver's code that of whoever had it judged
(`state_of_caller`).

Every bound and every judgement assumes the IEEE default. A library linked with ``-ffast-math`` sets
flush-to-zero and denormals-are-zero in the thread that loads it, and says nothing; what is computed there
afterwards, by whomever, takes numbers below the smallest normal one as 0. Looked at here is how arithmetic
behaves, which is the same on every processor.

Source: IEEE 754-2019, sections 4.3 and 7.5; ``fenv.h`` of ISO C.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import struct
import sys
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

FLUSHED, READ_AS_ZERO = "flush-to-zero", "denormals-are-zero"

SUBNORMAL = (FLUSHED, READ_AS_ZERO)
"""What takes numbers below the smallest normal one as 0, and leaves all others alone."""

DIRECTED, SHORTENED = "rounding other than to nearest", "extended precision cut to double"

DEFAULT = ctypes.c_void_p(-1)
"""``FE_DFL_ENV`` of the C libraries of Linux."""


class EnvironmentWarning(UserWarning):
    """The floating-point environment was not that of IEEE arithmetic, and was put back."""


def altered() -> tuple[str, ...]:
    """What is not as IEEE arithmetic has it by default in this thread, in words; empty if all is."""
    import numpy as np  # Not where a command's help alone is asked for.

    # A subnormal constant is 0 where the module that holds it is compiled while numbers are flushed.
    (smallest_subnormal,) = struct.unpack("<d", b"\1" + 7 * b"\0")
    one, half, small, extended = np.float64(1.0), np.float64(0.5), np.float64(2.0**-1022), np.longdouble(1)
    quarter_ulp = np.float64(2.0**-54)
    with np.errstate(all="ignore"):
        deviations = {
            FLUSHED: small * half == 0.0,
            READ_AS_ZERO: np.float64(smallest_subnormal) * np.float64(2.0**60) == 0.0,
            # Upwards the first is above 1; downwards and towards 0 the second is below.
            DIRECTED: one + quarter_ulp != one or one - quarter_ulp / 2 != one,
            SHORTENED: extended + np.finfo(np.longdouble).eps == extended,
        }
    return tuple(name for name, is_so in deviations.items() if is_so)


def restore() -> tuple[str, ...]:
    """Put back what is not as IEEE arithmetic has it by default; what that was, in words."""
    deviations = altered()
    if deviations:
        ctypes.CDLL(None).fesetenv(DEFAULT)
    return deviations


def restore_with_warning(when: str) -> None:
    """The same before something that judges, or after external code, by an `EnvironmentWarning`."""
    if deviations := restore():
        warnings.warn(
            f"{when} this process had {', '.join(deviations)}, as a library built with -ffast-math sets "
            "when it is loaded; it was put back, so what follows is IEEE arithmetic",
            EnvironmentWarning,
            stacklevel=3,
        )


OWN: dict[str, Any] = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}
"""How NumPy treats floating-point errors while this package computes: as it does by default."""

SHOWN_AS = "default"
"""What becomes meanwhile of a warning that the caller has as an error: it is shown."""

Function = TypeVar("Function", bound=Callable[..., Any])


PRECISIONS = (("flint", "ctx"), ("mpmath", "mp"), ("mpmath", "iv"))
"""Modules with a precision that all code of a process shares, and where it is; 53 bits by default."""

BITS = 53


@dataclass
class _State:
    """What all code of a process shares and changes what is computed, as it is now."""

    errors: dict[str, Any]
    filters: list[Any]
    bits: dict[tuple[str, str], int]
    decimals: Any


def _state_now() -> _State:
    import numpy as np

    bits = {key: getattr(sys.modules[key[0]], key[1]).prec for key in PRECISIONS if key[0] in sys.modules}
    decimal = sys.modules.get("decimal")
    decimals = decimal and decimal.getcontext()
    return _State(dict(np.geterr()), list(warnings.filters), bits, decimals)


@contextlib.contextmanager
def _in_state(state: _State) -> Iterator[None]:
    """Let all of it be as in a state; then as before."""
    import numpy as np

    before = _state_now()
    try:
        with np.errstate(**state.errors), warnings.catch_warnings():
            warnings.filters[:] = state.filters  # type: ignore[index]
            warnings.filterwarnings(
                "ignore", category=_NeverWarning, append=True
            )  # It learns of the change.
            _set(state)
            yield
    finally:
        _set(before)


def _set(state: _State) -> None:
    """Set precisions; of a module that was imported since, those of its beginning."""
    for module, name in PRECISIONS:
        if module in sys.modules:
            getattr(sys.modules[module], name).prec = state.bits.get((module, name), BITS)
    if decimal := sys.modules.get("decimal"):
        decimal.setcontext(state.decimals or decimal.DefaultContext.copy())


class _NeverWarning(Warning):
    """Is never given."""


_caller: ContextVar[_State | None] = ContextVar("state of the caller", default=None)
"""That of the caller while this package computes; None while other code does."""


@contextlib.contextmanager
def own_state() -> Iterator[None]:
    """Let what all code of a process shares be as computations of this package need it.

    A caller whose floating-point errors raise (``numpy.seterr(all="raise")``), or whose warnings are errors
    (``python -W error``), would have a judgement end at an underflow; one who works with few bits in flint
    or mpmath would have its numbers rounded to these.
    """
    if _caller.get() is not None:
        yield
        return
    caller = _state_now()
    shown = [(SHOWN_AS if action == "error" else action, *rest) for action, *rest in caller.filters]
    token = _caller.set(caller)
    try:
        with _in_state(_State(OWN, shown, {}, None)):
            yield
    finally:
        _caller.reset(token)


@contextlib.contextmanager
def state_of_caller(keep: bool = False) -> Iterator[None]:
    """Let it be as the caller has it, for code that is not of this package.

    What that code makes of it is as before afterwards, or, to `keep`, is there again in the next call: a
    module that is imported may set it for all that it defines.
    """
    state = _caller.get()
    token = _caller.set(None)
    try:
        with _in_state(state or _state_now()):
            try:
                yield
            finally:
                if keep and state is not None:
                    vars(state).update(vars(_state_now()))
    finally:
        _caller.reset(token)


def in_own_state(function: Function) -> Function:
    """Let a function compute in `own_state`."""

    @functools.wraps(function)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        with own_state():
            return function(*arguments, **named)

    return wrapped  # type: ignore[return-value]
