"""Errors against the exact trajectory, and the loss factor made of them."""

import math

import numpy as np
import pytest

from sstep_verify.errors import InputError
from sstep_verify.measures import against_classical, drift, loss_factor, significant_bits
from sstep_verify.trajectory import Trajectory
from studies.stability.units import noise_factor

U = 2.0**-53


def recorded(iterations, alphas) -> Trajectory:
    return Trajectory(1, 0, np.array(iterations), np.array(alphas, dtype=float))


def test_errors_are_relative_to_the_exact_vector_at_the_iterations_asked():
    exact = recorded([0, 4, 8], [[0, 0], [3, 4], [0, 8]])
    mine = recorded([0, 2, 4, 6, 8], [[0, 0], [9, 9], [3, 4], [9, 9], [0, 6]])
    assert drift(mine, exact, [4, 8]) == {0: 0.0, 4: 0.0, 8: 0.25}


def test_an_iteration_that_one_side_lacks_is_refused():
    exact = recorded([0, 4], [[0, 0], [3, 4]])
    mine = recorded([0, 8], [[0, 0], [3, 4]])
    with pytest.raises(InputError, match="iteration 8"):
        drift(mine, exact, [8])


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


def test_runs_are_compared_where_both_were_recorded_and_at_the_last_such_iteration():
    classical = {1: 4 * U, 7: 8 * U, 14: 2 * U, 15: 1e-3}
    found = against_classical({7: 4 * U, 14: 8 * U, 21: 1.0}, classical, U)
    assert (found.iteration, found.error, found.classical, found.loss) == (14, 8 * U, 2 * U, 4.0)
    assert (found.largest, found.largest_loss) == (8 * U, 1.0)
    assert against_classical({3: U}, classical, U) is None
    assert against_classical({7: math.inf}, classical, U).loss == math.inf


@pytest.mark.parametrize(("error", "bits"), [(0.0, 53), (U, 53), (2.0**-10, 10), (2.0, 0), (math.inf, 0)])
def test_significant_bits_end_at_those_of_the_roundoff(error, bits):
    assert significant_bits(error, U) == bits
