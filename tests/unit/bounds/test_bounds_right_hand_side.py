"""Products of kernel rows with a, as right-hand sides are summed from: sizes of terms, roundings."""

from __future__ import annotations

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, LinearKernel, Problem
from sstep_verify.rounding.arithmetic import gamma, smallest_subnormal, stored, unit_roundoff
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.rounding.right_hand_side import Quotient, RightHandSides, right_hand_sides

PENALTY = 1.0 + 0.9 * 2.0**-24  # float32 rounds it by nearly u
FLOAT32 = Declaration("float32", precision="float32")
U = unit_roundoff("float32")


def right_hand_side(problem: Problem, alpha: np.ndarray) -> RightHandSides:
    """Of the first sample, for a solver in float32."""
    places, quotient = np.array([0]), Quotient()
    if not problem.is_svm:
        quotient = Quotient(problem.ridge.penalty, smallest_subnormal("float32"))
    rows = kernel_entries(problem, FLOAT32, places)
    return right_hand_sides(rows, places, np.abs(alpha), 1, FLOAT32, quotient)


def test_a_product_from_the_samples_rounds_terms_that_cancel_in_the_entries():
    data = np.full((41, 2), 1.0)
    data[1:, 1], alpha = -1.0, np.ones(41)
    alpha[0], alpha[1:] = 0.0, stored(1 + np.random.default_rng(5).random(40), "float32")
    problem = Problem("cancelling", data, np.ones(41), LinearKernel(), Hinge(1.0))
    weights = np.zeros(2, dtype=np.float32)
    for row, value in zip(data[::-1], alpha[::-1], strict=True):
        weights[0] += np.float32(value * row[0])
    for row, value in zip(data, alpha, strict=True):
        weights[1] += np.float32(value * row[1])
    right = right_hand_side(problem, alpha)
    assert not (data[1:] @ data[0]).any()  # so that the exact product is 0
    bound = float(gamma(right.roundings, U) * right.size[0] + right.error[0])
    assert 0.0 < abs(float(weights[0] + weights[1])) <= bound
    assert right.size[0] >= 2 * alpha.sum()
