"""Significant digits that compared values keep, as a bound promises and as measured: evidence, no gate."""

from __future__ import annotations

import math

import numpy as np

from sstep_verify.numerics.rounding import unit_roundoff


def significant_digits(
    values: np.ndarray, measured: np.ndarray, bound: np.ndarray, precision: str
) -> dict[str, float]:
    """Decimal digits kept and lost by all of several values, relative to the largest of them.

    Parameters
    ----------
    values : ndarray
        The exact values, or close to them.
    measured, bound : ndarray
        Errors measured, and bounds on them, of the same shape.
    precision : {"float32", "float64", "longdouble"}
        Arithmetic of the solver; it holds ``-log10(u)`` digits.

    Returns
    -------
    dict of str to float
        Digits "kept" and "lost", each "by bound" and "as measured", in 0..-log10(u).
    """
    whole = -math.log10(unit_roundoff(precision))
    largest = float(np.abs(values).max(initial=0.0))
    digits: dict[str, float] = {}
    for name, errors in (("by bound", bound), ("as measured", measured)):
        kept = _digits(float(errors.max(initial=0.0)), largest, whole)
        digits |= {f"kept {name}": kept, f"lost {name}": whole - kept}
    return digits


def _digits(error: float, largest: float, whole: float) -> float:
    if error == 0.0:
        return whole
    if not error < largest < math.inf:
        return 0.0
    return min(math.log10(largest) - math.log10(error), whole)
