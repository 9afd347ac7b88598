"""The gap that is stated of a run is that of a vector of the problem: one inside the box."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify.campaign.verdicts.measured import SharedReferences
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, Problem, RBFKernel, SquaredHinge


@pytest.mark.parametrize("loss", [Hinge(0.5), SquaredHinge(0.5)])
def test_the_gap_of_a_vector_outside_the_box_is_that_of_the_nearest_inside(loss):
    drawn = np.random.Generator(np.random.PCG64(45))
    targets = np.where(np.arange(12) % 3, 1.0, -1.0)
    problem = Problem("drawn", drawn.standard_normal((12, 4)), targets, RBFKernel(0.5), loss)
    reference = SharedReferences(problem, Oracle(problem)).reference(problem)
    outside = drawn.uniform(-1.0, 2.0, 12)
    inside = np.clip(outside, 0.0, problem.hinge.upper)
    assert (outside != inside).any()
    assert reference.measure(outside) == reference.measure(inside)
    assert reference.measure(inside)[0] > 0
