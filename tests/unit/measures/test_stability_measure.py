"""Errors against the exact trajectory, and the loss factor made of them."""

import math

import numpy as np
import pytest

from sstep_verify.errors import InputError
from sstep_verify.measures.stability import errors_at, loss_factor
from sstep_verify.trajectory import Trajectory
from studies.stability.noise import noise_factor

U = 2.0**-53


def recorded(iterations, alphas) -> Trajectory:
    return Trajectory(1, 0, np.array(iterations), np.array(alphas, dtype=float))


def test_errors_are_relative_to_the_exact_vector_at_the_iterations_asked():
    exact = recorded([0, 4, 8], [[0, 0], [3, 4], [0, 8]])
    mine = recorded([0, 2, 4, 6, 8], [[0, 0], [9, 9], [3, 4], [9, 9], [0, 6]])
    assert errors_at(mine, exact, [4, 8]).tolist() == [0.0, 0.25]


def test_an_iteration_that_one_side_lacks_is_refused():
    exact = recorded([0, 4], [[0, 0], [3, 4]])
    mine = recorded([0, 8], [[0, 0], [3, 4]])
    with pytest.raises(InputError, match="iteration 8"):
        errors_at(mine, exact, [8])


@pytest.mark.parametrize(
    ("error", "classical", "factor"),
    [
        (8 * U, 2 * U, 4.0),
        (2 * U, 8 * U, 0.25),
        (0.0, 0.0, 1.0),
        (0.0, 4 * U, 0.25),
        (4 * U, 0.0, 4.0),
        (math.inf, 1.0, math.inf),
        (math.nan, 1.0, math.inf),
    ],
)
def test_loss_factor_is_a_ratio_of_errors_no_smaller_than_one_roundoff(error, classical, factor):
    assert loss_factor(error, classical, U) == factor


@pytest.mark.parametrize(
    ("errors", "factor"),
    [
        ([4 * U], 1.0),
        ([2 * U, 8 * U, 4 * U], 4.0),
        ([0.0, 4 * U], 4.0),
        ([0.0, U / 2], 1.0),
        ([math.nan, U], math.inf),
    ],
)
def test_noise_is_the_spread_of_errors_no_smaller_than_one_roundoff(errors, factor):
    assert noise_factor(errors, U) == factor


def test_a_classical_run_that_broke_down_leaves_no_factor():
    assert math.isnan(loss_factor(1.0, math.inf, U))
