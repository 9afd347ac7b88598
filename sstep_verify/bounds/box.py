"""Largest distance by which rounding may take a correct K-SVM run out of the box ``0 <= a <= nu``.

Updated in place, a drawn coordinate is set to the clipped value itself: 0, nu, or a number between. The
solver's nu may be off (`end_error` of rounding/box.py), which is added to the upper end in every
form.

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

All of this is about numbers: where one may overflow (bounds/overflow.py), a run may end in values
that are none.
"""

from __future__ import annotations

from typing import assert_never

import numpy as np

from sstep_verify.bounds.optimum.svm import largest_curvatures
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem, SquaredHinge
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, unit_roundoff
from sstep_verify.rounding.box import end_error
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.rounding.rows import some_rows


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
    largest = largest_clipped(problem, initial)
    off = end_error(problem.dual, declaration)
    match declaration.update:
        case "in-place":
            return 0.0, off
        case "added":
            factor = gamma(4, unit_roundoff(precision))
            return 0.0, factor / (1 - factor) * largest * ROUND_UP + off
        case "frozen":
            accumulation = accumulation_error(largest, times, unit_roundoff(precision))
        case _:
            assert_never(declaration.update)
    if loss.shift and not stays_within(problem, declaration, s, iterations, largest, accumulation):
        return np.inf, np.inf
    return accumulation, accumulation + off


def largest_clipped(problem: Problem, initial: np.ndarray | None) -> float:
    """Bound on the values of a correct run (A); infinite where none is known.

    `initial` as in `box_bounds`, but it may be outside the box (bounds/overflow.py).
    """
    loss, samples = problem.boxed, problem.samples
    start = np.zeros(samples) if initial is None else initial.astype(np.float64)
    sizes, below = np.abs(start), np.maximum(-start, 0.0)
    if (end := max(loss.upper, -loss.lower)) < np.inf:
        return max(end, float(sizes.max()))
    if not isinstance(loss, SquaredHinge):
        return np.inf
    entry = float(largest_curvatures(problem).max()) if sizes.any() else 0.0  # a = 0 meets no entry
    outside = float(below.sum())
    with np.errstate(over="ignore", invalid="ignore"):  # F_0 / C
        parts = sizes / loss.C
        risen = float(entry * sizes.sum() * parts.sum() / 2 + parts @ parts / 4)
        risen += (2 * outside + (entry + 3 * loss.shift) * float(below @ below) / 2) / loss.C
        root = np.sqrt(samples) * (1 + outside * entry)
        largest = float(2 * loss.C * (root + np.sqrt(root**2 + 3 * samples + risen)) * ROUND_UP)
    return largest if largest < np.inf else np.inf


def largest_entry_error(problem: Problem, declaration: Declaration) -> float:
    """Largest error of a solver's kernel entry (delta)."""
    errors = (
        kernel_entries(problem, declaration, rows).solver_error for rows in some_rows(problem.samples)
    )
    return max(float(part.max()) for part in errors)


def accumulation_error(largest: float, times: int, u: float) -> float:
    """Solve ``b = gamma_{2k+2} (k + 1) (A + b)``."""
    factor = gamma(2 * times + 2, u) * (times + 1)
    return factor * largest / (1 - factor) * ROUND_UP if factor < 1.0 else np.inf


@np.errstate(over="ignore", invalid="ignore")
def stays_within(
    problem: Problem, declaration: Declaration, s: int, iterations: int, largest: float, accumulation: float
) -> bool:
    """Whether the rounding errors of an L2 run gain at most 3 m C while |a| <= `largest`."""
    samples, shift = problem.samples, problem.hinge.shift
    entry, off = float(largest_curvatures(problem).max()), largest_entry_error(problem, declaration)
    root, made = np.sqrt(samples), min(s, iterations)
    size = 1.0 + shift * largest + root * largest * entry + 2 * (made + 1) * (entry + shift) * largest
    factor = gamma(2 * samples + 2 * s + 16, unit_roundoff(declaration.precision))
    slope = factor * size + (root + 2 * made + 2) * largest * off
    gain = 2 * largest * slope + (size + (entry + shift) * accumulation) * accumulation
    return bool(iterations * gain * ROUND_UP <= 3 * samples * problem.hinge.C)
