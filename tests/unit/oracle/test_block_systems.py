"""Block systems of mutants: kept for one step, and factored from those of the right recurrence."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sstep_reference import exact_fraction
from sstep_reference.arithmetic import Balls

from sstep_verify import quantities
from sstep_verify.oracle.balls.block_solve import SMALL_BLOCK, refined
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.window_ends import begun_window
from sstep_verify.problems import LinearKernel, Problem, RBFKernel, Ridge
from sstep_verify.recurrence.mutation import NONE, left_out, off_by
from sstep_verify.recurrence.steps import finisher_of, mutable_window, system_part

SAMPLES, BLOCK, STEPS = 20, SMALL_BLOCK + 2, 5
NAMES = (quantities.SAMPLES, quantities.PENALTY, quantities.OFF_DIAGONAL)


@pytest.fixture(scope="module")
def window_of_blocks():
    """A window of large blocks, its arithmetic, and the finisher that solves their systems."""
    generator, arithmetic = np.random.Generator(np.random.PCG64(3)), Balls(192)
    data, targets = generator.standard_normal((SAMPLES, 3)), generator.standard_normal(SAMPLES)
    problem = Problem("blocks", data, targets, RBFKernel(0.5), Ridge(1e-3))
    draws = np.array([generator.permutation(SAMPLES)[:BLOCK] for _ in range(STEPS)])
    kernel = exact_kernel(problem, arithmetic)
    window = begun_window(problem, kernel, arithmetic.vector(np.zeros(SAMPLES)), draws)
    return window, arithmetic, refined(arithmetic, finisher_of(problem, arithmetic))


def test_systems_of_a_mutant_are_kept_for_one_step(window_of_blocks):
    window, arithmetic, finisher = window_of_blocks
    mutable_window(arithmetic, window, finisher, NONE)
    right, latest = finisher.systems(window, NONE), None
    assert len(right._systems) == STEPS
    for mutation in [off_by(name, Fraction(1, 2**20 + place)) for name in NAMES for place in range(3)]:
        mutable_window(arithmetic, window, finisher, mutation)
        solver = finisher.systems(window, mutation)
        assert solver is not latest
        assert (len(solver._systems), len(solver._factors)) == (1, 1)
        assert finisher.systems(window, NONE) is right
        latest = solver
    # The ones before were not kept.
    again = finisher.systems(window, off_by(NAMES[0], Fraction(1, 2**20)))
    assert not again._systems


@pytest.mark.parametrize("block", [1, SMALL_BLOCK, SMALL_BLOCK + 2])
def test_residuals_bound_what_each_solution_leaves_in_rationals(block):
    generator, arithmetic, samples = np.random.Generator(np.random.PCG64(block)), Balls(192), 20
    data, targets = generator.standard_normal((samples, 2)), generator.standard_normal(samples)
    problem = Problem("blocks", data, targets, LinearKernel(), Ridge(1e-3))
    draws = np.array([generator.permutation(samples)[:block] for _ in range(3)])
    kernel = exact_kernel(problem, arithmetic)
    window = begun_window(problem, kernel, arithmetic.vector(np.zeros(samples)), draws)
    finisher = refined(arithmetic, finisher_of(problem, arithmetic))
    steps: list = []
    mutable_window(arithmetic, window, finisher, NONE, steps)
    found = finisher.systems(window, NONE).residuals()
    mutable_window(arithmetic, window, finisher, off_by(NAMES[0], Fraction(1, 4)))
    assert found == finisher.systems(window, NONE).residuals()  # Another system is solved by itself.
    exact, alpha = [[Fraction(x) for x in row] for row in data], [Fraction(0)] * samples
    for bound, drawn, increments in zip(found, draws.tolist(), steps, strict=True):
        for i, increment in zip(drawn, increments, strict=True):
            alpha[i] += exact_fraction(increment)
        weights = [
            sum(a * x for a, x in zip(alpha, column, strict=True)) for column in zip(*exact, strict=True)
        ]
        square = Fraction(0)
        for i in drawn:
            product = sum(w * x for w, x in zip(weights, exact[i], strict=True))
            square += (Fraction(targets[i]) - product / Fraction(1e-3) - samples * alpha[i]) ** 2
        assert square <= Fraction(bound) ** 2
        assert bound <= 1e-30


@pytest.mark.parametrize("name", NAMES)
def test_a_mutants_system_in_float64_is_that_in_balls(window_of_blocks, name):
    window, arithmetic, finisher = window_of_blocks
    mutable_window(arithmetic, window, finisher, NONE)
    for mutation in (left_out(name), off_by(name, Fraction(1, 4))):
        assert system_part(mutation) != NONE
        solver = finisher.systems(window, mutation)
        with arithmetic.working():
            for step in range(STEPS):
                values, largest = solver._floats(step)
                exact = [float(value / largest) for value in solver._system(step).entries()]
                np.testing.assert_allclose(values.ravel(), exact, rtol=1e-14)
