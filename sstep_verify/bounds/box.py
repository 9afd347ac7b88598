"""Largest distance by which rounding may take a correct K-SVM run out of the box ``0 <= a <= nu``.

Updated in place, a drawn coordinate is set to the clipped value itself: 0, nu, or a number between. The
solver's nu may be off (`end_error` of rounding/finisher.py), which is added to the upper end in every form.

Frozen within the window, a coordinate drawn k times in it lands on ``a + theta_1 + ... + theta_k``, where
each ``theta_t`` was formed as (clipped value) - (a + theta_1 + ... + theta_{t-1}). In exact arithmetic the
sum is the last clipped value. The value subtracted and the final sum err by at most gamma_k times the sum
of sizes in any order of summation, the subtraction by u |theta_k|:

    |landing - clipped| <= gamma_{2k+1} (|a| + sum |theta_t|).

With A the largest clipped value and b a bound on this error, a and the values subtracted lie in
[-b, A + b], so no theta exceeds ``(A + b)(1 + u)``, and ``b = gamma_{2k+2} (k + 1) (A + b)`` will do. It
does not add up from window to window: each starts from the a it finds.

A is nu for L1. L2 has no upper end, but f(a) = 1/2 a'(Q + omega I)a - 1'a decreases with every exact step,
and ``f(a) <= F`` gives ``omega/2 |a|^2 - sqrt(m) |a| <= F``. A run starts at ``f(a_0) <= F_0 =
1/2 (K (sum |a_0|)^2 + omega |a_0|^2)``; while its H steps have gained at most ``3 m C`` by rounding,
``|a| <= (sqrt(m) + sqrt(m + 2 omega (F_0 + 3 m C))) / omega = 2 C (sqrt(m) + sqrt(4 m + F_0 / C)) = A``,
which is 6 C sqrt(m) from a = 0. With K the largest diagonal kernel entry, which bounds all entries and, by
Cauchy and Schwarz, the sizes of the terms of any inner product, delta the largest delta_K, and a window's s
increments of at most 2 A each, which corrections and omega's own part multiply,

    G = 1 + omega A + sqrt(m) A K + 2 s A (K + omega) + 2 (K + omega) A

(gradient with its corrections, quotient and subtraction):

* a step whose gradient is off by rho gains at most ``rho |theta| <= 2 A rho``, and
  ``rho <= gamma_{2m+2s+16} G + (sqrt(m) + 2 s + 2) A delta``: a term of the gradient rounds at most m + s +
  6 times (bounds/window/svm.py), curvature, quotient and subtraction at most 7 times more, rounded up; of
  products formed from the samples n times more, which is in delta;
* landing b away from the clipped value gains at most ``(G + (K + omega) b) b``.

If H times their sum is at most 3 m C, A holds throughout; else there is no bound.

Added within the window, a lands on ``fl(a + fl(w - a))``, w the clipped value. -a is a number of the type
and rounding is monotone, so ``fl(w - a) >= -a`` and a never falls below 0. It lands off w by at most
``u |w - a| (1 + u) + u |w|``; with ``w <= A`` and ``0 <= a <= A + b`` that is at most
``gamma_4 (A + b) =: b``, which does not add up either.

All of this is about numbers. Where an entry or a sum of m terms no larger than A, and of a window's s
corrections no larger than 2 A, may overflow, a run may end in values that are none (`may_overflow`).
"""

from __future__ import annotations

from typing import assert_never

import numpy as np

from sstep_verify.bounds.optimum.svm import largest_curvatures
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import OUTWARD, gamma, largest_normal, unit_roundoff
from sstep_verify.rounding.finisher import end_error
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.solver import Declaration

ROWS_AT_ONCE = 64
"""Kernel rows held at once."""


def box_bounds(
    problem: Problem,
    declaration: Declaration,
    s: int,
    iterations: int,
    times: int,
    initial: np.ndarray | None = None,
) -> tuple[float, float]:
    """Bound the distance by which a correct run may leave the box at its two ends.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    declaration : Declaration
        Precision and form of the update.
    s : int
        Iterations per window.
    iterations : int
        Iterations of the run (H).
    times : int
        Most draws of one coordinate in one window (k).
    initial : ndarray, shape (m,), optional
        Where the run starts (a_0), within the box; 0 if absent.

    Returns
    -------
    lower, upper : float
        Allowed distance below 0 and above nu; infinite where nothing can be promised. The second has no
        meaning for L2.
    """
    loss, precision = problem.hinge, declaration.precision
    largest = largest_value(problem, initial)
    off = end_error(problem.dual, declaration)
    match declaration.update:
        case "in-place":
            return 0.0, off
        case "added":
            factor = gamma(4, unit_roundoff(precision))
            return 0.0, factor / (1 - factor) * largest * OUTWARD + off
        case "frozen":
            accumulation = accumulation_error(largest, times, unit_roundoff(precision))
        case _:
            assert_never(declaration.update)
    if loss.shift and not stays_within(problem, declaration, s, iterations, largest, accumulation):
        return np.inf, np.inf
    return accumulation, accumulation + off


def largest_value(problem: Problem, initial: np.ndarray | None) -> float:
    """Bound on the values of a correct run (A); parameters as in `box_bounds`."""
    loss, samples = problem.hinge, problem.samples
    if not loss.shift:
        return loss.C
    start = 0.0
    if initial is not None:
        sizes = np.abs(initial.astype(np.float64))
        entry = float(largest_curvatures(problem).max())
        parts = sizes / loss.C
        with np.errstate(over="ignore"):  # F_0 / C
            start = float(entry * sizes.sum() * parts.sum() / 2 + parts @ parts / 4)
    return float(2 * loss.C * (np.sqrt(samples) + np.sqrt(4 * samples + start)) * OUTWARD)


def may_overflow(
    problem: Problem,
    declaration: Declaration,
    s: int,
    iterations: int,
    initial: np.ndarray | None = None,
) -> bool:
    """Whether a gradient of a correct run may overflow; parameters as in `box_bounds`.

    No quotient and no infinite value that is clipped does harm, but infinity minus infinity does.
    """
    loss, limit = problem.hinge, largest_normal(declaration.precision)
    largest = largest_value(problem, initial)
    if loss.shift:
        if not 2.0 * loss.C * limit >= 1.0:
            return True  # 1/(2C) is no number of this precision
        if not stays_within(problem, declaration, s, iterations, largest, 0.0):
            return True
    made = 2 * min(s, iterations)
    for begin in range(0, problem.samples, ROWS_AT_ONCE):
        rows = np.arange(begin, min(begin + ROWS_AT_ONCE, problem.samples))
        entries = kernel_entries(problem, declaration, rows)
        with np.errstate(over="ignore", invalid="ignore"):
            sizes, heights = entries.term_sizes, entries.heights
            terms = sizes.sum(axis=1) + made * sizes.max(axis=1) + (1 + made) * float(heights.sum())
            terms = (terms + (1 + made) * loss.shift) * largest + 1.0
        if not (terms <= limit).all():
            return True
    return False


def accumulation_error(largest: float, times: int, u: float) -> float:
    """Solve ``b = gamma_{2k+2} (k + 1) (A + b)``."""
    factor = gamma(2 * times + 2, u) * (times + 1)
    return factor * largest / (1 - factor) * OUTWARD if factor < 1.0 else np.inf


def stays_within(
    problem: Problem, declaration: Declaration, s: int, iterations: int, largest: float, accumulation: float
) -> bool:
    """Whether the rounding errors of an L2 run gain at most 3 m C while |a| <= `largest`."""
    samples, shift = problem.samples, problem.hinge.shift
    entry = float(largest_curvatures(problem).max())
    off = 0.0
    for begin in range(0, samples, ROWS_AT_ONCE):
        rows = np.arange(begin, min(begin + ROWS_AT_ONCE, samples))
        off = max(off, float(kernel_entries(problem, declaration, rows).solver_error.max()))
    root, made = np.sqrt(samples), min(s, iterations)
    size = 1.0 + shift * largest + root * largest * entry + 2 * (made + 1) * (entry + shift) * largest
    factor = gamma(2 * samples + 2 * s + 16, unit_roundoff(declaration.precision))
    slope = factor * size + (root + 2 * made + 2) * largest * off
    gain = 2 * largest * slope + (size + (entry + shift) * accumulation) * accumulation
    return bool(iterations * gain * OUTWARD <= 3 * samples * problem.hinge.C)
