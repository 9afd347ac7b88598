"""Scenarios: the data have the singular values that were prescribed."""

from __future__ import annotations

from unittest import mock

import mpmath
import numpy as np
import pytest

from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, unit_roundoff
from sstep_verify.scenarios import data as scenario_data
from sstep_verify.scenarios.data import (
    SHAPES,
    condition_levels,
    orthonormal_columns,
    singular_values,
)
from sstep_verify.scenarios.scenario import Scenario


def exactly(matrix) -> mpmath.matrix:
    """The float64 matrix, nothing lost."""
    return mpmath.matrix(np.asarray(matrix).tolist())


def departure(factor: np.ndarray) -> float:
    """Frobenius norm of Q'Q - I, at 60 digits; at least the distance of Q from orthonormal columns."""
    columns = exactly(factor)
    return float(mpmath.mnorm(columns.T * columns - mpmath.eye(columns.cols), "f"))


def spectrum_bound(scenario: Scenario) -> float:
    """Largest distance of a singular value of the data from the prescribed one.

    With W the nearest orthonormal columns to a computed factor Q, ||Q - W||_2 <= ||Q'Q - I||_F = d, so
    U diag(sigma) V' is within sigma_1 (d_U (1 + d_V) + d_V) of a matrix with singular values sigma; forming
    it adds gamma_{r+1} |U| diag(sigma) |V|', rounding it to float32 another u32 |A|. Weyl: no singular
    value moves by more than the 2-norm of the difference, and the Frobenius norm is no smaller.
    """
    values, (left, right) = scenario_data.spectrum_of(scenario), scenario_data.factors_of(scenario)
    off_left, off_right = departure(left), departure(right)
    product = np.abs(left * values) @ np.abs(right).T
    bound = values.max() * (off_left * (1 + off_right) + off_right)
    bound += gamma(values.size + 1, unit_roundoff("float64")) * np.linalg.norm(product)
    if scenario.precision == "float32":
        bound += unit_roundoff("float32") * np.linalg.norm(product)
    return float(np.ldexp(bound, scenario.data_exponent)) * ROUND_UP


def spectrum_error(scenario: Scenario) -> float:
    """Largest distance of the singular values of the data, at 60 digits, from the prescribed ones."""
    prescribed = np.sort(scenario_data.spectrum_of(scenario))[::-1]
    achieved = mpmath.svd_r(exactly(scenario.problem().dense), compute_uv=False)
    pairs = zip(achieved, np.ldexp(prescribed, scenario.data_exponent).tolist(), strict=True)
    return max(float(abs(found - value)) for found, value in pairs)


@pytest.fixture(autouse=True)
def digits():
    with mpmath.workdps(60):
        yield


@pytest.mark.parametrize("shape", SHAPES)
def test_singular_values_span_exactly_the_condition(shape):
    for condition in (1.0, *condition_levels()):
        for count in (1, 2, 3, 7):
            values = singular_values(shape, count, condition, np.random.default_rng(1))
            smallest = 1 / condition if count > 1 else 1.0
            assert (values.max(), values.min()) == (1.0, smallest)
            assert values.shape == (count,)


def test_shapes_are_those_of_their_names():
    def values(shape):
        return singular_values(shape, 4, 8.0, np.random.default_rng(1)).tolist()

    assert values("geo") == [1, 1 / 2, 1 / 4, 1 / 8]
    assert values("cluster0") == [1, 1 / 8, 1 / 8, 1 / 8]
    assert values("cluster1") == [1, 1, 1, 1 / 8]
    assert singular_values("arith", 8, 8.0, np.random.default_rng(1)).tolist() == [
        k / 8 for k in range(8, 0, -1)
    ]
    for shape in ("arith", "geo", "cluster0", "cluster1"):
        assert values(f"r{shape}") == values(shape)[::-1]
    assert values("logrand") not in [values(shape) for shape in SHAPES if shape != "logrand"]


@pytest.mark.parametrize("shape", SHAPES)
def test_data_have_the_prescribed_spectrum(shape):
    sizes = [(7, 3, "normal", "float64"), (3, 6, "large", "float64"), (5, 5, "small", "float32")]
    for samples, features, scale, precision in sizes:
        for condition in (1.0, *condition_levels()):
            scenario = Scenario(
                samples=samples, features=features, spectrum=shape, condition=condition,
                scale=scale, precision=precision, seed=samples,
            )  # fmt: skip
            assert spectrum_error(scenario) <= spectrum_bound(scenario)


@pytest.mark.parametrize("condition", condition_levels()[:2])
def test_a_generator_that_loses_the_spectrum_is_caught(condition):
    scenario = Scenario(samples=7, features=3, condition=condition)
    bound = spectrum_bound(scenario)

    def gaussian(left, values, right):
        return np.random.default_rng(0).standard_normal((left.shape[0], right.shape[0]))

    def lossy(left, values, right):
        return (left[:, :-1] * values[:-1]) @ right[:, :-1].T

    for wrong in (gaussian, lossy):
        with mock.patch.object(scenario_data, "with_singular_values", wrong):
            assert spectrum_error(scenario) > bound


def test_factors_are_orthonormal_and_uniform():
    rng = np.random.default_rng(0)
    corners = [orthonormal_columns(3, 2, rng)[0, 0] for _ in range(400)]
    # Uniform directions in three dimensions have a first coordinate uniform in [-1, 1]: each quarter of it
    # is met 100 times on average; a missing or doubled sign leaves a quarter empty.
    counts, _ = np.histogram(corners, bins=4, range=(-1, 1))
    assert counts.min() > 0
    assert departure(orthonormal_columns(1, 1, rng)) == 0.0
    square = orthonormal_columns(6, 6, rng)
    assert departure(square) < 1 / 6  # enough for full rank; its effect is in the spectrum's bound


def test_rows_have_norm_about_one_at_normal_scale():
    for condition in condition_levels():
        for shape in SHAPES:
            scenario = Scenario(samples=9, features=4, condition=condition, spectrum=shape)
            mean_square = np.square(scenario_data.spectrum_of(scenario)).sum() / 9
            assert 0.5 <= mean_square < 2
