"""Kernel rows of a solver whose a is ours over a factor f that is no power of two.

Its recurrence is ours for v = a / f: of the matrix f M, ``M = Q + omega I`` (K-SVM) or ``K / lambda + m I``
(K-RR), or of M with the right-hand side over f. In float64 that is another recurrence: f or its reciprocal
is rounded, and so are its products with an entry, a sum of terms, omega, or m and lambda. Wherever f stands
in it, at most four such roundings reach a term, so that it is, rounding for rounding, our recurrence with
entries of M that are off by ``gamma_4`` of themselves more:

    delta_il grows by gamma_4 |K_il|  (|x_i|'|x_l| where products are formed from the samples),
    delta_ii by gamma_4 omega         (K-RR: gamma_4 m lambda) beside.

Those of the diagonal enter the products with a_i, the corrections and the curvature or block system alike.
The constant of the gradient (1, or y_i) has no product in our recurrence, whose rounding its bounds count
all the same (k is at least 6 more than its sums): one for f fits. The upper end of the box, C / f, is off
by ``gamma_2 C`` (rounding/finisher.py). The sizes of v are those of a over f, and every other rounding is
relative. Underflow is taken to be ours: scales lie between 2^-64 and 2^64. Of a threshold, or of another
linear term than 1, nothing is known.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import OUTWARD, gamma, unit_roundoff
from sstep_verify.rounding.kernel.bounded import KernelEntries

ROUNDINGS = 4
"""Roundings of a term because of the factor."""


def scaled_entries(
    entries: KernelEntries, problem: Problem, rows: np.ndarray, precision: str
) -> KernelEntries:
    """Entries with what a solver of such a recurrence may be off by more.

    Parameters
    ----------
    entries : KernelEntries
        Rows of the solver's declared formulas, shape (c, m).
    problem : Problem
        The problem.
    rows : ndarray of int, shape (c,)
        The coordinates whose rows they are.
    precision : str
        Of the solver.
    """
    factor = gamma(ROUNDINGS, unit_roundoff(precision))
    diagonal = 0.0 if problem.is_svm else problem.samples * problem.ridge.penalty
    if problem.is_svm:
        dual = problem.dual
        known = dual.threshold == 0.0 and bool(np.all(dual.linear == 1.0))
        diagonal = dual.shift if known else np.inf
    with np.errstate(over="ignore", invalid="ignore"):
        more = factor * entries.term_sizes
        more[np.arange(rows.size), rows] += factor * diagonal
        return replace(entries, solver_error=(entries.solver_error + more) * OUTWARD)
