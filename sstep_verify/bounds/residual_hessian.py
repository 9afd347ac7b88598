"""The matrix that a carried gradient or residual is a product with, and the error of its entries."""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.kernel.entries import KernelEntries
from sstep_verify.numerics.rounding import OUTWARD, stored
from sstep_verify.problems import Problem
from sstep_verify.solver import Declaration


def stored_penalty(problem: Problem, declaration: Declaration) -> float:
    """The smaller of lambda and what the solver's precision makes of it."""
    penalty = problem.ridge.penalty
    return min(penalty, float(stored(penalty, declaration.precision)))


def hessian(
    problem: Problem, declaration: Declaration, rows: KernelEntries
) -> tuple[np.ndarray, np.ndarray]:
    """|Q + omega I| or |M|, at most, and the error of the solver's entries, both (m, m)."""
    diagonal = np.eye(problem.samples)
    if problem.is_svm:
        return rows.magnitude + problem.hinge.shift * diagonal, rows.solver
    least, penalty = stored_penalty(problem, declaration), problem.ridge.penalty
    if least == 0.0:  # Lost in the solver's precision: nothing can be promised.
        return rows.magnitude / penalty + problem.samples * diagonal, np.full_like(rows.solver, np.inf)
    change = abs(float(stored(penalty, declaration.precision)) - penalty) / least
    size = rows.magnitude / least * OUTWARD
    return size + problem.samples * diagonal, (rows.solver / least + change * size) * OUTWARD
