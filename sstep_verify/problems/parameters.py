"""Parameters of kernels and losses: real numbers and integers in range, and their exact scaling."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from sstep_verify.errors import InputError

_SHOWN = 60


def positive(owner: str, name: str, value: object) -> float:
    """A positive parameter as a float; messages name owner and name: ``RBF kernel``, ``sigma``.

    Raises
    ------
    InputError
        If it is not a real number, not finite, or not positive.
    """
    number = _real(owner, name, value)
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{owner}: {name} = {shown(value)}, but it must be finite and > 0")
    return number


def not_negative(owner: str, name: str, value: object, why: str) -> float:
    """A parameter that may be 0, as a float; `why` says what a negative one would break.

    Raises
    ------
    InputError
        If it is not a real number, not finite, or negative.
    """
    number = _real(owner, name, value)
    if not (math.isfinite(number) and number >= 0):
        raise InputError(f"{owner}: {name} = {shown(value)}, but it must be finite and >= 0 ({why})")
    return number


def integer(owner: str, name: str, value: object, lower: int, upper: int, why: str) -> int:
    """An integer parameter; integral floats, which command lines may hand in, are taken.

    Raises
    ------
    InputError
        If it is not an integer in ``lower..upper``; `why` gives the reason for the range.
    """
    whole = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    if isinstance(value, bool) or not whole or not lower <= value <= upper:  # type: ignore[operator]
        raise InputError(
            f"{owner}: {name} = {shown(value)}, but it must be an integer in {lower}..{upper} ({why})"
        )
    return int(value)  # type: ignore[call-overload]


def times_power(values: Any, power: int, what: str) -> np.ndarray:
    """Values times ``2**power``, or an InputError where one would over- or underflow."""
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.ldexp(np.asarray(values, dtype=np.float64), power)
        exact = np.array_equal(np.ldexp(scaled, -power), values)
    if not exact:
        highest = float(np.max(np.abs(values), initial=0.0))
        nonzero = np.abs(values)[np.abs(values) > 0] if np.ndim(values) else np.abs(values)
        lowest = float(np.min(nonzero, initial=math.inf))
        raise InputError(
            f"{what} (absolute values from {lowest:.3g} to {highest:.3g}) cannot be multiplied by "
            f"2**{power} without over- or underflow in float64; choose a power closer to 0"
        )
    return scaled


def shown(value: object) -> str:
    """The value as Python writes it, shortened; its kind and size where writing it would be long."""
    if isinstance(value, int) and value.bit_length() > 8 * _SHOWN:
        return f"an integer of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def _real(owner: str, name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(f"{owner}: {name} = {shown(value)}, but it must be a number")
    try:
        return float(value)
    except OverflowError:
        return math.inf
