"""Products of kernel rows with a, as right-hand sides are summed from: sizes of terms, roundings, rounded input."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sstep_verify.bounds.kernel.entries import kernel_entries
from sstep_verify.bounds.ridge_inputs import ridge_inputs
from sstep_verify.bounds.right_hand_side import NO_QUOTIENT, RightHandSides, right_hand_sides
from sstep_verify.numerics.rounding import gamma, stored, unit_roundoff
from sstep_verify.problems import Hinge, LinearKernel, Problem, Ridge
from sstep_verify.solver import Declaration

PENALTY = 1.0 + 0.9 * 2.0**-24  # float32 rounds it by nearly u
FLOAT32 = Declaration("float32", precision="float32")
U = unit_roundoff("float32")


def right_hand_side(problem: Problem, alpha: np.ndarray) -> RightHandSides:
    """Of the first sample, for a solver in float32."""
    places, inputs = np.array([0]), NO_QUOTIENT
    if not problem.is_svm:
        inputs = ridge_inputs(problem.ridge.penalty, problem.targets, FLOAT32)
    rows = kernel_entries(problem, FLOAT32, places)
    return right_hand_sides(rows, places, np.abs(alpha), 1, FLOAT32, inputs)


def exact(data: np.ndarray, alpha: np.ndarray, penalty: float) -> Fraction:
    """``K_0 a / lambda`` of the linear kernel."""
    rows = [[Fraction(x) for x in row] for row in data.tolist()]
    entries = (sum(x * z for x, z in zip(rows[0], row, strict=True)) for row in rows)
    return sum(k * Fraction(a) for k, a in zip(entries, alpha.tolist(), strict=True)) / Fraction(penalty)


@pytest.mark.parametrize("loss", [Hinge(1.0), Ridge(PENALTY)])
def test_what_rounded_input_changes_is_within_the_error(loss):
    generator, ratios = np.random.default_rng(3), []
    for _ in range(100):
        data, alpha = generator.random((2, 1)), np.array([0.0, 1.0])
        problem = Problem("rounded", data, np.ones(2), LinearKernel(), loss)
        penalty = 1.0 if problem.is_svm else PENALTY
        used = exact(stored(data, "float32"), alpha, float(stored(penalty, "float32")))
        change = abs(float(used - exact(data, alpha, penalty)))
        ratios.append(change / float(right_hand_side(problem, alpha).error[0]))
    # Of the error, the rounding of the entry's own product is left unused.
    assert 0.5 < max(ratios) <= 1.0


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
    assert exact(data, alpha, 1.0) == 0
    bound = float(gamma(right.roundings, U) * right.size[0] + right.error[0])
    assert 0.0 < abs(float(weights[0] + weights[1])) <= bound
    assert right.size[0] >= 2 * alpha.sum()


def test_penalties_that_the_precision_loses_bound_nothing():
    with np.errstate(all="ignore"):
        for penalty in (1e-50, 1e50):
            problem = Problem("lost", np.ones((2, 1)), np.ones(2), LinearKernel(), Ridge(penalty))
            assert not np.isfinite(right_hand_side(problem, np.ones(2)).error).any()
