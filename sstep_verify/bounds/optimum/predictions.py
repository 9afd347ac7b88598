"""Bound D for predictions: how far a computed value of a sample may be from the exact one.

The value of sample i is ``p_i = sum_j a_j y_j K_ij`` (K-SVM) or ``sum_j a_j K_ij / lambda`` (K-RR): a
product of a kernel row with a vector, which errs in any order by d_i (rounding/kernel/products.py), and for
K-RR a quotient, with lambda rounded on input:

    |p^_i - p_i| <= d_i                                         (K-SVM),
    |p^_i - p_i| <= d_i / lambda + gamma_2 (|K||a|)_i / lambda  (K-RR).

The labels are +1 and -1 and multiply exactly.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.optimum.ridge_inputs import ridge_inputs
from sstep_verify.bounds.optimum.svm import Evaluated
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import OUTWARD, gamma, unit_roundoff
from sstep_verify.rounding.kernel.products import kernel_products
from sstep_verify.solver import Declaration


def predictions(problem: Problem, declaration: Declaration, alpha: np.ndarray) -> list[Evaluated]:
    """Values of the training samples at a dual vector, shape (m,), with error bounds."""
    products = kernel_products(problem, declaration, problem.signs * alpha)
    values, judge_error, solver_error = products.values, products.judge_error, products.solver_error
    if not problem.is_svm:
        inputs = ridge_inputs(problem, declaration.precision)
        size, values = products.magnitude / inputs.lower, values / inputs.penalty
        judge_error = (judge_error / inputs.penalty + gamma(2, unit_roundoff("float64")) * size) * OUTWARD
        solver_error = (
            solver_error / inputs.lower + gamma(2, unit_roundoff(declaration.precision)) * size
        ) * OUTWARD
    rows = zip(values.tolist(), judge_error.tolist(), solver_error.tolist(), strict=True)
    return [Evaluated(*row) for row in rows]
