"""Largest number that any correct run may form: where it is below the type's largest, a stays finite.

Let P be the largest squared norm of a sample and k the largest kernel entry, at least 1: ``max(1, P)``
(linear), ``max(1, c + P)**d`` (polynomial), 1 (RBF). By Cauchy and Schwarz no term, partial sum or power
in an entry exceeds k either; for RBF ``E = max(1, 4 P, 4 sigma P)``, its exponent. A distance formed from
norms may be below 0 by its rounding, and an entry, where it is not taken as 0, ``exp(gamma_N E)``: by that
the numbers of a K-SVM step grow at most, which are linear in k; those of K-RR count it in delta. Every
number below is a sum of products with at most ``N = d (n + 2) + m + 2 s b + b + 16`` roundings each, so
that computed ones are at most twice as large while ``gamma_N <= 1``.

Let A bound every ``|a_i|`` of a run up to some step; increments are at most 2A. The numbers of that step:

* The parameters: C, which is what a step of an L1 problem with eta = 0 or an infinite quotient stores,
  omega, lambda, sigma, c. One that the type does not hold is infinite, however small what it multiplies.
* K-SVM: a gradient is at most ``g = 1 + (1 + 2s) omega A + (m + 2s) k A``, or, if that is less,
  with the sum of the terms of a kernel row, 2 s more of the largest, and those of A'a instead of
  ``(m + 2s) k``. L2: the quotient is at most ``2 C g``. L1: a quotient that overflows is infinite and is
  clipped to an end of the box. A quotient may be a product with ``1 / eta``, which is infinite where eta
  is below the smallest normal number and not 0; times a gradient of 0 that is no number.
* K-RR: a right-hand side is at most ``R = ||y|| + m A + 2 (m + 2 s b) k A / lambda`` and errs by ``rho =
  gamma_N R + 2 (m + 2 s b) A delta / lambda``, delta the largest delta_K. The computed solution solves
  ``(G + dG) D = r`` with ``||dG|| <= e`` (rounding/block/factorisation.py, and the rounding of G). For
  ``e <= m / 2`` the factorisation does not break down and ``||D|| <= 2 sqrt(b) (R + rho) / m``. The
  division by lambda may come last, ``max(1, 2 lambda) R``. Factoring and solving stay below
  ``4 b^2 T (R + rho + ||D||)``, T the largest entry of the factors' product
  (rounding/block/factorisation.py), >= k / lambda + m.

Such an A is what a step log holds. Where there is none, it is derived (`largest_value`):

* L1: a is the outcome of a clip, ``A = 2 max(C, |a0|)`` (twice for the sum of increments of a frozen
  update). L2: ``f(a0) <= (k (sum |a0|)^2 + omega |a0|^2) / 2 + n``, n the sum of sizes of a0's negative
  entries. Exact steps do not increase f, but for the first on a negative entry e, which is not in the box:
  that lands on a value whose f is at most that of 0, so it gains no more than ``|e| |g_i| + (k + omega) e^2
  / 2``, ``|g_i| <= 1 + omega |e| + sqrt(m) k A`` before it. With F the sum of all these but for
  ``n sqrt(m) k A``, and where bounds/box.py shows that rounding gains at most ``3 m C``,

      omega/2 A^2 - sqrt(m) A <= F + 3 m / (2 omega) + n sqrt(m) k A,

  ``A = (q + sqrt(q^2 + 3 m + 2 omega F)) / omega``, ``q = sqrt(m) (1 + n k)``; for a0 = 0 the ``6 C
  sqrt(m)`` of that page.
* K-RR: exact block steps do not increase ``||a - a*||_M``; ``m I <= M <= L I`` with ``L = m (k / lambda +
  1)``; ``||a*|| <= ||y|| / m``. So they stay within ``A0 = 2 ||y|| / m + sqrt(L / m) ||a0|| + ||a0||``.
  With ``A = 2 A0`` a block step errs by at most ``t = (sqrt(b) rho + e ||D||) / m + u sqrt(b) (A + ||D||)``
  in the 2-norm, ``sqrt(L) t`` in the M-norm; if ``H sqrt(L) t <= sqrt(m) A0``, H steps stay within A.
  Where a block holds a coordinate c times (rounding/block/repeats.py), F the product of the factors that
  steps let an error grow by, A0 is F times that, and t counts F c times.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.box import accumulation_error, largest_clipped, largest_entry_error, stays_within
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem, SquaredHinge
from sstep_verify.problems.kernels import parameters_of
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, largest_normal, norm, unit_roundoff
from sstep_verify.rounding.block.factorisation import solve_bound
from sstep_verify.rounding.block.repeats import most_often, whole_growth
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.rounding.rows import some_rows


def largest_number(problem: Problem, declaration: Declaration, s: int, block: int, largest: float) -> float:
    """Bound the absolute value of every number that a correct step forms.

    Parameters
    ----------
    problem : Problem
        The problem.
    declaration : Declaration
        Precision, factorisation, formulas.
    s : int
        Iterations per window.
    block : int
        Coordinates per block (b).
    largest : float
        Bound on every ``|a_i|`` of the run before the step (A); may be infinite.

    Returns
    -------
    float
        Infinite where none can be derived.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = gamma(_roundings(problem, s, block), unit_roundoff(declaration.precision))
        if rounded > 1.0:
            return np.inf
        if problem.is_svm:
            found = _gradient(problem, declaration, s, largest)
            if _may_overflow_inverted(problem, declaration):
                return np.inf
            if problem.kernel.of_distance and declaration.rbf == "norm-expansion":
                found *= np.exp(rounded * _entry(problem)[1])
        else:
            found = _RidgeStep(problem, declaration, s, block, largest).largest
        found = max(found, largest, _entry(problem)[1], *_parameters(problem)) * 2 * ROUND_UP
        return float(found) if np.isfinite(found) else np.inf


def increments_error(
    problem: Problem, declaration: Declaration, s: int, block: int, largest: float
) -> float:
    """Bound the 2-norm of what the increments of a correct K-RR step are off by; see `largest_number`."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = _RidgeStep(problem, declaration, s, block, largest).local * ROUND_UP
        return float(found) if np.isfinite(found) else np.inf


def largest_value(
    problem: Problem,
    declaration: Declaration,
    s: int,
    block: int,
    iterations: int,
    initial: np.ndarray,
    draws: np.ndarray | None = None,
) -> float:
    """Bound ``|a_i|`` over a whole correct run from `initial`, shape (m,), finite; or infinity.

    Blocks hold distinct coordinates unless `draws`, shape (H, b), are given.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if problem.is_svm:
            found = _largest_svm(problem, declaration, s, block, iterations, initial)
        else:
            most = np.ones(1, dtype=np.int64) if draws is None else most_often(draws)
            found = _largest_ridge(problem, declaration, s, block, iterations, initial, most)
        return float(found) if np.isfinite(found) else np.inf


def _roundings(problem: Problem, s: int, block: int) -> int:
    """Roundings of a product in any number of a step (N)."""
    factors, drawn = problem.kernel.factors, 2 * s * block
    return factors * (problem.features + 2) + problem.samples + drawn + block + 16


def _entry(problem: Problem) -> tuple[float, float]:
    """Largest kernel entry (k), and largest number that is formed for it."""
    kernel = problem.kernel
    norm = float(np.max(np.square(problem.dense).sum(axis=1))) * ROUND_UP
    return max(1.0, float(kernel.diagonal(np.array([norm]))[0])), max(1.0, kernel.largest(norm))


def _may_overflow_inverted(problem: Problem, declaration: Declaration) -> bool:
    """Whether the reciprocal of a curvature may overflow; a sample of zeros has none that is formed."""
    squares = np.square(problem.dense)
    norms = squares.sum(axis=1)
    curvatures = problem.kernel.diagonal(norms) + problem.boxed.shift
    formed = (problem.dense != 0).any(axis=1) | (curvatures > 0)
    low = formed & ~(curvatures * largest_normal(declaration.precision) >= 2 * ROUND_UP)
    return bool(low.any())


def _parameters(problem: Problem) -> list[float]:
    """The numbers that come with the problem besides data and targets, and omega."""
    own = [problem.boxed.shift, problem.boxed.threshold] if problem.is_svm else []
    reals = [value for value in parameters_of(problem.kernel).values() if isinstance(value, float)]
    return [*reals, problem.loss.parameter, *own]


def _gradient(problem: Problem, declaration: Declaration, s: int, largest: float) -> float:
    """Largest number in a step of a K-SVM."""
    loss, row = problem.boxed, _row_terms(problem, declaration, 2 * s)
    constant = float(np.abs(problem.linear).max()) + loss.threshold
    gradient = constant + ((1 + 2 * s) * loss.shift + row) * largest
    return gradient * max(1.0, 1.0 / loss.shift) if loss.shift else gradient


def _row_terms(problem: Problem, declaration: Declaration, drawn: int) -> float:
    """Largest sum of a kernel row's terms with each sample, and `drawn` more times with one of them."""
    by_rows = 0.0
    for rows in some_rows(problem.samples):
        entries = kernel_entries(problem, declaration, rows)
        sizes = entries.term_sizes
        terms = sizes.sum(axis=1) + drawn * sizes.max(axis=1) + (1 + drawn) * entries.heights.sum()
        by_rows = np.maximum(by_rows, terms.max())
    # A comparison with what is no number is false.
    bound = (problem.samples + drawn) * _entry(problem)[0]
    return float(by_rows) if by_rows <= bound else bound


def _largest_svm(problem, declaration, s, block, iterations, initial) -> float:
    largest = largest_clipped(problem, initial)
    if not isinstance(problem.loss, SquaredHinge):
        return 2 * largest
    times, u = min(s, max(iterations, 1)), unit_roundoff(declaration.precision)
    accumulation = accumulation_error(largest, times, u)
    return largest if stays_within(problem, declaration, s, iterations, largest, accumulation) else np.inf


def _largest_ridge(problem, declaration, s, block, iterations, initial, most) -> float:
    samples = problem.samples
    highest = samples * (_entry(problem)[0] / problem.ridge.penalty + 1)
    targets, start = norm(problem.targets), norm(initial)
    whole, times = whole_growth(most), int(most.max(initial=1))
    near = whole * (2 * targets / samples + (np.sqrt(highest / samples) + 1) * start)
    step = _RidgeStep(problem, declaration, s, block, 2 * near)
    moved = whole * times * iterations * np.sqrt(highest) * step.local * ROUND_UP
    return 2 * near if moved <= np.sqrt(samples) * near else np.inf


class _RidgeStep:
    """Sizes of a block step of K-RR: its largest number, and what it errs by in the 2-norm."""

    def __init__(self, problem, declaration, s: int, block: int, largest: float):
        samples, penalty = problem.samples, problem.ridge.penalty
        u, root, entry = unit_roundoff(declaration.precision), np.sqrt(block), _entry(problem)[0]
        drawn = 2 * s * block
        right = norm(problem.targets) + samples * largest
        right += 2 * (samples + drawn) * entry * largest / penalty
        off = largest_entry_error(problem, declaration)
        error = (
            gamma(_roundings(problem, s, block), u) * right
            + 2 * (samples + drawn) * largest * off / penalty
        )
        system = np.full((block, block), entry / penalty) + samples * np.eye(block)
        given = block * (off / penalty + 3 * u * (entry / penalty + samples))
        solve = solve_bound(system, given, samples, declaration)
        moved = given + solve.error
        step = 2 * root * (right + error) / samples
        broken = not moved <= samples / 2
        # Factors and substitutions; the division by lambda may come last.
        inner = 4 * block**2 * solve.largest * max(right + error + step, 1.0)
        self.largest = np.inf if broken else max(right * max(1.0, 2 * penalty), inner)
        self.local = (root * error + moved * step) / samples + u * root * (largest + step)
        self.local = np.inf if broken else self.local
