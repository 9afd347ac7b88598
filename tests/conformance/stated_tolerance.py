"""Largest distance of a published solver from the certified optimum, given the tolerance it states.

A direct solver states none; its bound is that of its factorisation. A box QP's ends by a rule, and the bound is
what that rule proves of any point that meets it, with the rounding of the float64 kernel. LIBLINEAR's rule
proves nothing: gradients of one pass, each taken before its own step, do not bound those at the end.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, norm_upper, unit_roundoff
from sstep_verify.rounding.kernel.entries import KernelEntries, kernel_entries

PEER = Declaration("peer", rbf="norm-expansion")
"""Formulas that the peers' kernel entries come from; float64, any order of summation."""

U = unit_roundoff("float64")


def cholesky_distance(problem: Problem, alpha: np.ndarray) -> float:
    """Largest distance ``||a - a*||_2`` of a K-RR solution found by Cholesky on ``K + lambda m I``.

    The computed c = a / lambda solves a system perturbed by at most ``gamma_{3m+1} |R'||R|``, whose norm
    is at most ``m gamma_{3m+1} / (1 - m gamma_{m+1})`` times that of the matrix (Higham, Accuracy and
    Stability of Numerical Algorithms, section 10.1); the matrix itself carries the error of its entries,
    of ``lambda m`` and of their sum. The residual that leaves, divided by lambda, is divided by
    ``lambda_min(M) >= m``; ``||a||`` stands for ``lambda ||c||``, up to one rounding.

    Parameters
    ----------
    problem : Problem
        A K-RR.
    alpha : ndarray, shape (m,)
        What the peer returned, in our convention.
    """
    m, penalty = problem.samples, problem.ridge.penalty
    entries = _entries(problem)
    matrix = np.abs(entries.values) + entries.solver_error + entries.judge_error
    error = entries.solver_error.copy()
    diagonal = np.einsum("ii->i", error)
    diagonal += (gamma(2, U) * (penalty * m) + U * np.einsum("ii->i", matrix)) * ROUND_UP
    np.einsum("ii->i", matrix)[:] += penalty * m * (1 + gamma(2, U))
    # Of a symmetric non-negative matrix the largest row sum bounds the 2-norm.
    factor = m * gamma(3 * m + 1, U) / (1 - m * gamma(m + 1, U))
    perturbed = factor * matrix.sum(axis=1).max() + error.sum(axis=1).max()
    size = norm_upper(alpha)
    return float((perturbed / (penalty * m) + U) * size * (1 + gamma(m + 8, U)) * ROUND_UP)


def box_qp_loss(
    problem: Problem, alpha: np.ndarray, optimum: np.ndarray, stated: dict[str, float]
) -> float:
    """Largest loss of dual value of a box QP's solution, projected into the box.

    With f the objective that is minimised, multipliers z >= 0 and a dual residual r,
    ``grad f(a) = z_l - z_u + r``, and by convexity

        f(a) - f(a*) <= (a - a*)' grad f(a) <= z_l' a + z_u' (nu - a) + r'(a - a*)
                     <= gap + |r'a| + |r'(a - a*)| <= gap + ||r||_max (2 ||a||_1 + ||a*||_1).

    The rounding of the peer's float64 matrix adds ``max_i sum_j delta_ij |a_j|`` to r and is met again in
    its gap. Projection moves no coordinate by more than the primal residual, and f by no more than that
    times ``||grad f||_1``.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    alpha, optimum : ndarray, shape (m,)
        What the peer returned, and the certified optimum.
    stated : dict of str to float
        Tolerances "primal", "dual" (max-norms) and "gap".
    """
    m = problem.samples
    entries = _entries(problem)
    matrix = np.abs(entries.values) + entries.judge_error
    np.einsum("ii->i", matrix)[:] += problem.hinge.shift
    size, best = np.abs(alpha), np.abs(optimum)
    # Error of the entries, one rounding of the shifted diagonal, and m products and sums in every residual
    # and gap that the peer evaluates.
    uncertain = (entries.solver_error + entries.judge_error + gamma(m + 8, U) * matrix) @ size + gamma(
        m + 8, U
    )
    dual = stated["dual"] + float(uncertain.max())
    gap = stated["gap"] + float(size @ uncertain) * 2
    slope = float((matrix @ (size + stated["primal"])).sum()) + m
    loss = gap + dual * float(2 * size.sum() + best.sum()) + stated["primal"] * slope
    return float(loss * (1 + gamma(2 * m + 16, U)) * ROUND_UP)


def _entries(problem: Problem) -> KernelEntries:
    return kernel_entries(problem, PEER, np.arange(problem.samples))
