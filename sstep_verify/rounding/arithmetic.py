"""Unit roundoff, the constants of rounding error analysis, and a problem as a precision holds it.

All bounds but those of the optimum are derived for the problem as the declared precision holds it.
A solver that rounds its input to its precision before anything is computed (`rounds_data`) solves another
problem than the one that it was given, ``x~ = fl(x)``, ``y~ = fl(y)`` and parameters alike.
Rounding to nearest leaves no choice, so that problem is known exactly, and float64 holds it: a run is
judged against it, and no bound has a term for what the input lost. How far it is from the given problem is
a question about the input, which only what is said of the given problem's optimum asks
(bounds/optimum/). C is rounded before omega = 1/(2C) is formed from it.

Float64 and longdouble hold every problem as it is given, as does a program that says not to round.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.problems import Problem
from sstep_verify.rounding.formulas import rounds_data

TYPES: dict[str, Any] = {"float32": np.float32, "float64": np.float64, "longdouble": np.longdouble}

ROUND_UP = 1.0 + 2.0**-29
"""Factor by which a bound evaluated in float64 is raised.

A bound nests at most 8 sums or products of non-negative terms, each of fewer than `MOST_TERMS` terms, so
its float64 value is low by a relative error of at most gamma_{8 * 2**20} < 2**-29 (Higham 2002, Lemma 3.1).
A term that is exactly 0 is none. Of a problem with as many samples, or samples of so many entries, or a
window that draws so many coordinates, nothing is promised.
"""

MOST_TERMS = 1 << 20
"""Terms of a sum in a bound that `ROUND_UP` does not cover any more."""


def counted(roundings: int, *terms: int) -> int:
    """The roundings of a term; where a bound sums too many, so many of them that nothing is promised."""
    return roundings if max(terms) < MOST_TERMS else 1 << 62


def unit_roundoff(precision: str) -> float:
    """Unit roundoff u of a floating point type: half its machine epsilon.

    Raises
    ------
    InputError
        If the type is unknown.
    """
    if precision not in TYPES:
        raise InputError(f"precision {precision!r} is unknown; known: {', '.join(TYPES)}")
    return float(np.finfo(TYPES[precision]).eps) / 2


def smallest_subnormal(precision: str) -> float:
    """Smallest positive number of a type: no error of a product or quotient that underflows is larger.

    For longdouble the float64 value is returned, which is larger and so still a bound. Larger by far while
    `flushed_to_zero` holds.
    """
    kind = "float32" if precision == "float32" else "float64"
    return float(np.finfo(TYPES[kind]).smallest_subnormal) * _enlarged.get(kind, 1.0)


_enlarged: dict[str, float] = {}


@contextlib.contextmanager
def flushed_to_zero() -> Iterator[None]:
    """Bounds of an arithmetic that takes as 0 every number below 2**-102 (float32), 2**-822 (float64).

    These are the smallest normal numbers times 2**24 and 2**200: room for what later operations make of one
    that was lost below the smallest normal number itself.
    """
    _enlarged.update(float32=2.0 ** (149 - 102), float64=2.0 ** (1074 - 822))
    try:
        yield
    finally:
        _enlarged.clear()


def largest_normal(precision: str) -> float:
    """Size up to which a number of a type is neither overflowed nor lost when it is inverted.

    The reciprocal of the smallest normal number: a quarter of the largest number. Beyond it a reciprocal is
    subnormal, with no small relative error, and rounding may reach infinity; bounds promise nothing there.
    For longdouble the float64 value is returned, as bounds are float64 numbers.
    """
    kind = TYPES["float32" if precision == "float32" else "float64"]
    return float(1.0 / np.float64(np.finfo(kind).smallest_normal))


def rounded_up(value: Any, roundings: int = 16) -> Any:
    """Upper bound on a non-negative expression that was evaluated in float64.

    Its relative error is covered by `ROUND_UP`; each of its products and quotients may underflow besides,
    by half the smallest number. Sums of N products have N of these: `roundings` is to exceed their number.
    """
    return value * ROUND_UP + roundings * smallest_subnormal("float64")


def raise_smallest(bounds: np.ndarray) -> None:
    """Raise what is not 0 in rows of bounds to at least 2**-252 of their largest finite number, in place.

    It stays a bound. Kernel entries of far points underflow, and a bound on such an entry is a subnormal
    number, whose products take a processor ten times as long.

    Parameters
    ----------
    bounds : ndarray, shape (c, m)
        Non-negative numbers; an infinite one stays what it is, and so does 0.
    """
    largest = np.max(bounds, axis=1, where=np.isfinite(bounds), initial=0.0, keepdims=True)
    np.maximum(bounds, 2.0**-252 * largest, out=bounds, where=bounds > 0.0)


def norm(vector: np.ndarray) -> float:
    """Euclidean norm of a vector or matrix, evaluated where no square over- or underflows.

    The one norm of numbers that a user may have scaled. Divided by its largest entry, squares lost to
    underflow are below 2**-1022 of a sum that is at least 1: of n entries the norm errs by gamma_{n+5} of
    itself, and by half the smallest number where it is subnormal. Infinite where an entry is no number.
    """
    largest = float(np.max(np.abs(vector), initial=0.0))
    if not 0.0 < largest < np.inf:
        return 0.0 if largest == 0.0 else np.inf
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(np.asarray(vector) / largest) * largest)


def norm_upper(vector: np.ndarray) -> float:
    """Euclidean norm of a vector or matrix, at least: see `norm`; 0 where all entries are."""
    found = norm(vector)
    return float(rounded_up(found)) if found > 0.0 else 0.0


def norm_lower(vector: np.ndarray) -> float:
    """Euclidean norm of a vector or matrix, at most: see `norm`; 0 where an entry is no number."""
    if np.isnan(vector).any():
        return 0.0
    found = min(norm(vector), float(np.finfo(np.float64).max))
    return max(found - smallest_subnormal("float64"), 0.0) / ROUND_UP


def magnitudes(vector: np.ndarray) -> np.ndarray:
    """Absolute values in float64, none of them below the exact one, whatever the vector's precision."""
    absolute = np.abs(vector)
    rounded = absolute.astype(np.float64)
    return np.where(rounded < absolute, np.nextafter(rounded, np.inf), rounded)


def stored(values: Any, precision: str) -> Any:
    """Float64 values of what is left of float64 values once rounded to nearest in a precision.

    Float64 and longdouble hold them exactly; in float32 a value may also become 0 or infinite.
    """
    if precision != "float32":
        return values
    with np.errstate(over="ignore", under="ignore"):
        return np.float64(np.float32(values))


def gamma(k: float, u: float) -> float:
    """``k u / (1 - k u)``: relative error of k roundings in any order; infinite if k u >= 1.

    A sum is a binary tree of additions, and a term is rounded once in its product and once in every
    addition above it. A tree over n products is at most n - 1 high, so that an inner product errs by
    ``gamma_n sum |x_i z_i|`` in any order. A fused product and sum rounds less.

    Source: Higham 2002, Lemma 3.1 and section 3.1 (sums and inner products in any order).
    """
    return k * u / (1.0 - k * u) if k * u < 1.0 else np.inf


def rounded_problem(problem: Problem, declaration: Declaration) -> Problem | None:
    """The problem whose data, targets and parameters are those that a solver computes with.

    Parameters
    ----------
    problem : Problem
        The problem that was given.
    declaration : Declaration
        Precision, and whether the input is rounded to it.

    Returns
    -------
    Problem or None
        The given problem itself where nothing is rounded; None where a number of it overflows, or a
        parameter that must be positive underflows: then nothing can be promised of a run.
    """
    if not rounds_data(declaration):
        return problem
    precision = declaration.precision
    data: Any = sp.csr_array(problem.data) if problem.is_sparse else problem.data
    if problem.is_sparse:
        data.data = stored(data.data, precision)
    try:
        held = replace(
            problem,
            data=data if problem.is_sparse else stored(data, precision),
            targets=stored(problem.targets, precision),
            kernel=_described(problem.kernel, precision),
            loss=_described(problem.loss, precision),
        )
    except InputError:
        return None
    return problem if held.digest == problem.digest else held


def _described(description: Any, precision: str) -> Any:
    """A kernel or loss with its real parameters rounded."""
    reals = {key: value for key, value in vars(description).items() if isinstance(value, float)}
    return replace(description, **{key: float(stored(value, precision)) for key, value in reals.items()})
