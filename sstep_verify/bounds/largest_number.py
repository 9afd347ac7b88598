"""How large a number any correct run may form: where it is below the type's largest, a stays finite.

Let P be the largest squared norm of a sample and k the largest kernel entry, at least 1: ``max(1, P)``
(linear), ``max(1, c + P)**d`` (polynomial), 1 (RBF). By Cauchy and Schwarz no term, partial sum or power
in an entry exceeds k either; for RBF ``max(1, 4 P, 4 sigma P)``, its exponent. Every number below is a sum
of products with at most ``N = d (n + 2) + m + 2 s b + b + 16`` roundings each, so that computed ones are at
most twice as large while ``gamma_N <= 1``.

Let A bound every recorded ``|a_i|`` and every value within a window; increments are at most 2A.

K-SVM: a gradient is at most ``g = 1 + omega A + (m + 2s) k A``. L1: a is the outcome of a clip, ``A = 2
max(C, |a0|)`` (twice for the sum of increments of a frozen update). A quotient that overflows is infinite
and is clipped to an end of the box. L2: exact steps do not increase f, ``f(a0) <= F = (m k + omega)
|a0|^2 / 2``. Where bounds/box.py shows that rounding gains at most ``3 m C``, a stays within ``A =
(sqrt(m) + sqrt(4 m + 2 omega F)) / omega``, for a0 = 0 the ``6 C sqrt(m)`` of that page. The quotient is
at most ``2 C g``.

K-RR: exact block steps do not increase ``||a - a*||_M``; ``m I <= M <= L I``, ``L = m (k / lambda + 1)``;
``||a*|| <= ||y|| / m``. So exact steps stay within ``A0 = 2 ||y|| / m + sqrt(L / m) ||a0|| + ||a0||``.
Take ``A = 2 A0``. A right-hand side is at most ``R = ||y|| + m A + 2 (m + 2 s b) k A / lambda`` and errs by
``rho = gamma_N R + 2 (m + 2 s b) A delta / lambda``, delta the largest delta_K. The computed solution
solves ``(G + dG) D = r``, ``||dG|| <= e <= m / 2`` (bounds/block_factorisation.py, and the rounding of G),
so ``||D|| <= 2 sqrt(b) (R + rho) / m``, and a block step errs by at most

    t = (sqrt(b) rho + e ||D||) / m + u sqrt(b) (A + ||D||)

in the 2-norm, ``sqrt(L) t`` in the M-norm. If ``H sqrt(L) t <= sqrt(m) A0``, H steps stay within A.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.block_factorisation import factorisation_error
from sstep_verify.bounds.box import landing_error, stays_within
from sstep_verify.bounds.kernel_entries import kernel_entries
from sstep_verify.bounds.rounding import OUTWARD, gamma, unit_roundoff
from sstep_verify.problems import LinearKernel, PolynomialKernel, Problem
from sstep_verify.solver import Declaration

ROWS_AT_ONCE = 64
"""Kernel rows held at once."""


def largest_number(
    problem: Problem, declaration: Declaration, s: int, block: int, iterations: int, initial: np.ndarray
) -> float:
    """Bound the absolute value of every number that a correct run forms.

    Parameters
    ----------
    problem : Problem
        The problem.
    declaration : Declaration
        Precision, form of the update, formulas.
    s, block, iterations : int
        Iterations per window, coordinates per block (b), iterations (H).
    initial : ndarray, shape (m,)
        Start vector (a0), finite.

    Returns
    -------
    float
        In no unit; infinite where none can be derived.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        degree = problem.kernel.degree if isinstance(problem.kernel, PolynomialKernel) else 1
        drawn = min(s, max(iterations, 1)) * block
        roundings = degree * (problem.features + 2) + problem.samples + 2 * drawn + block + 16
        if gamma(roundings, unit_roundoff(declaration.precision)) > 1.0:
            return np.inf
        size = _svm if problem.is_svm else _ridge
        entry, formed = _entry(problem)
        found = size(problem, declaration, s, block, iterations, initial, entry, roundings)
        found = max(found, formed) * 2 * OUTWARD
        return float(found) if np.isfinite(found) else np.inf


def _entry(problem: Problem) -> tuple[float, float]:
    """Largest kernel entry (k), and largest number that is formed for it."""
    kernel = problem.kernel
    norm = float(np.max(np.square(problem.dense).sum(axis=1))) * OUTWARD
    if isinstance(kernel, LinearKernel):
        return max(1.0, norm), max(1.0, norm)
    if isinstance(kernel, PolynomialKernel):
        power = max(1.0, kernel.offset + norm) ** kernel.degree
        return power, power
    return 1.0, max(1.0, 4 * norm, 4 * kernel.sigma * norm)


def _svm(problem, declaration, s, block, iterations, initial, entry, roundings) -> float:
    loss, samples, drawn = problem.hinge, problem.samples, min(s, max(iterations, 1))
    start = float(np.abs(initial).max(initial=0.0))
    largest = 2 * max(loss.C, start)
    if loss.shift:
        rise = (samples * entry + loss.shift) * float(initial @ initial) / 2
        largest = (np.sqrt(samples) + np.sqrt(4 * samples + 2 * loss.shift * rise)) / loss.shift * OUTWARD
        landing = landing_error(largest, drawn, unit_roundoff(declaration.precision))
        if not stays_within(problem, declaration, s, iterations, largest, landing):
            return np.inf
    gradient = 1.0 + loss.shift * largest + (samples + 2 * drawn) * entry * largest
    return max(largest, gradient, 2 * loss.C * gradient if loss.shift else 0.0)


def _ridge(problem, declaration, s, block, iterations, initial, entry, roundings) -> float:
    samples, penalty, u = problem.samples, problem.ridge.penalty, unit_roundoff(declaration.precision)
    drawn, root = 2 * min(s, max(iterations, 1)) * block, np.sqrt(block)
    targets, start = float(np.linalg.norm(problem.targets)), float(np.linalg.norm(initial))
    highest = samples * (entry / penalty + 1)
    near = 2 * targets / samples + (np.sqrt(highest / samples) + 1) * start
    largest = 2 * near
    right = targets + samples * largest + 2 * (samples + drawn) * entry * largest / penalty
    off = _entry_error(problem, declaration)
    error = gamma(roundings, u) * right + 2 * (samples + drawn) * largest * off / penalty
    system = np.full((block, block), entry / penalty) + samples * np.eye(block)
    given = block * (off / penalty + 3 * u * (entry / penalty + samples))
    moved = given + factorisation_error(system, given, samples, declaration)
    if not moved <= samples / 2:
        return np.inf
    step = 2 * root * (right + error) / samples
    local = (root * error + moved * step) / samples + u * root * (largest + step)
    if not iterations * np.sqrt(highest) * local * OUTWARD <= np.sqrt(samples) * near:
        return np.inf if near else right
    return max(right, step, highest)


def _entry_error(problem: Problem, declaration: Declaration) -> float:
    """Largest error of a kernel entry (delta)."""
    largest = 0.0
    for begin in range(0, problem.samples, ROWS_AT_ONCE):
        rows = np.arange(begin, min(begin + ROWS_AT_ONCE, problem.samples))
        largest = max(largest, float(kernel_entries(problem, declaration, rows).solver.max()))
    return largest
