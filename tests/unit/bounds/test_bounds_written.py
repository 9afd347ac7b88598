"""The gap of a vector within the rounding of what was written down is within the bound of it."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify.bounds.optimum.reported import written_gap
from sstep_verify.bounds.optimum.svm import FLOAT64, svm_values
from sstep_verify.oracle.balls.objectives import exact_values
from sstep_verify.problems import Hinge, LinearKernel, Problem, RBFKernel, SquaredHinge
from sstep_verify.problems.data.embedded import read


@pytest.mark.parametrize("loss", [Hinge(0.7), SquaredHinge(0.7)])
@pytest.mark.parametrize("kernel", [RBFKernel(0.05), LinearKernel()])
@pytest.mark.parametrize("size", [1e-6, 1e-2, 0.3])
def test_no_vector_within_the_rounding_has_a_gap_beyond_the_bound(loss, kernel, size):
    data, labels, _, _ = read("small")
    problem = Problem("small", data, labels, kernel, loss)
    generator = np.random.Generator(np.random.PCG64(int(1 / size)))
    shown = np.clip(generator.normal(0.3, 0.4, labels.size), 0, loss.upper)
    rounding = size * generator.random(labels.size)
    near = [shown + rounding * generator.choice([-1, 1], labels.size) for _ in range(6)]
    points = [np.clip(one, 0, loss.upper) for one in near]
    found = [one["gap"] for one in exact_values(problem, [shown, *points])]
    values = svm_values(problem, FLOAT64, shown)
    bound = written_gap(problem, shown, rounding, values)
    moved = max(max(low - found[0][1], found[0][0] - high) for low, high in found[1:])
    assert moved <= bound
    assert bound <= 200 * moved  # A bound that grows with what it is about.
    assert written_gap(problem, shown, np.zeros(labels.size), values) == 0.0
