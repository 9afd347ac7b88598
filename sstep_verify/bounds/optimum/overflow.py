"""Whether a number on the way to a value that a solver reports may overflow in its precision.

With ``p = |Q||a|`` (K-RR ``p = |K||a|``, and q its quotient by lambda), every product and every partial sum
of the values of bounds/optimum/svm.py and ridge.py is, in whatever order it is formed, at most the sum of
the sizes of all terms,

    K-SVM  1'|a| + |a|'p + (1 + omega) a'a + (1 + C) sum (1 + p_i)^2,
    K-RR   1'p + |y|'|a| + |a|'p + |a|'q + m a'a + sum (|y| + q + m |a|)_i^2.

Computed numbers are at most twice as large: they round less than ``1/u`` times.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import largest_normal
from sstep_verify.rounding.kernel.products import kernel_products
from sstep_verify.solver import Declaration


def may_overflow(problem: Problem, declaration: Declaration, alpha: np.ndarray) -> bool:
    """Whether nothing can be promised of a value reported about a.

    Parameters
    ----------
    problem : Problem
        The problem.
    declaration : Declaration
        Precision and kernel formulas of the solver.
    alpha : ndarray, shape (m,)
        Dual vector (a), float64.
    """
    size, sizes = np.abs(alpha), kernel_products(problem, declaration, alpha).magnitude
    with np.errstate(over="ignore", invalid="ignore"):
        if problem.is_svm:
            loss = problem.hinge
            terms = size + size * sizes + (1 + loss.shift) * size**2 + (1 + loss.C) * (1 + sizes) ** 2
        else:
            over, m = sizes / problem.ridge.penalty, problem.samples
            terms = sizes + (np.abs(problem.targets) + sizes + over + m * size) * size
            terms += (np.abs(problem.targets) + over + m * size) ** 2
        return not 2 * float(terms.sum()) <= largest_normal(declaration.precision)
