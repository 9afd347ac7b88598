"""Scenarios: sparsity, repeated parts, classes, precision and scale are the prescribed ones."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sstep_verify.problems import LinearKernel, PolynomialKernel, RBFKernel
from sstep_verify.problems.losses import TASKS
from sstep_verify.scenarios import data as scenario_data
from sstep_verify.scenarios.descent import design_kernel
from sstep_verify.scenarios.draws import compensated
from sstep_verify.scenarios.numbers import SCALES
from sstep_verify.scenarios.scenario import Scenario


@pytest.mark.parametrize("skew", [0.0, 1.0, 2.0])
def test_sparse_columns_hold_the_prescribed_counts(skew):
    scenario = Scenario(samples=40, features=12, density=0.2, skew=skew)
    data = scenario.problem().data
    assert scenario.problem().is_sparse
    counts = np.bincount(data.indices, minlength=12)
    assert counts.tolist() == scenario_data.column_counts(scenario)
    assert (np.diff(counts) <= 0).all()
    assert counts.min() >= 1
    if skew == 0:
        assert set(counts.tolist()) == {8}
    else:
        # Exactly the power law wherever neither end (one entry, a full column) cuts it off.
        inner = [j for j in range(12) if 1 < counts[j] < 40]
        law = 0.2 * 40 * 12 / (np.arange(1.0, 13) ** -skew).sum() * np.arange(1.0, 13) ** -skew
        assert inner
        assert [counts[j] for j in inner] == [round(law[j]) for j in inner]


def test_repeated_zero_and_constant_parts_are_exact():
    scenario = Scenario(
        samples=12, features=5, duplicates=0.5, zero_rows=2, constant_features=1, offset=3.0
    )
    data = scenario.problem().dense
    assert (~data.any(axis=1)).sum() == 2
    nonzero = data[data.any(axis=1)]
    assert len(np.unique(nonzero, axis=0)) == 10 - 6
    assert set(nonzero[:, -1].tolist()) == {4.0}


@pytest.mark.parametrize("positive", [0.5, 0.25, 1e-9, 1 - 1e-9])
def test_both_classes_are_there_whatever_the_imbalance(positive):
    for samples in (2, 3, 20):
        scenario = Scenario(samples=samples, positive=positive)
        labels = scenario.problem().targets
        assert set(labels.tolist()) == {-1.0, 1.0}
        assert (labels == 1).sum() == scenario.positive_labels


def test_single_precision_scenarios_are_exact_input_to_single_precision_runs():
    for task in TASKS:
        for start in ("near", "mixed"):
            scenario = Scenario(
                task=task, kernel=RBFKernel(0.1), samples=9, precision="float32", parameter=0.1, start=start
            )
            problem = scenario.problem()
            parameters = [scenario.parameter, problem.kernel.sigma]
            for values in (problem.dense, problem.targets, scenario.initial(), np.array(parameters)):
                np.testing.assert_array_equal(values.astype(np.float32).astype(np.float64), values)
            assert Scenario.from_id(scenario.id) == scenario


def kernel_in(kind, scenario: Scenario) -> np.ndarray:
    """Kernel matrix in the precision of the scenario, feature by feature."""
    data = scenario.problem().dense.astype(kind)
    products = np.zeros((scenario.samples, scenario.samples), dtype=kind)
    for feature in data.T:
        products += feature[:, None] * feature
    return products if scenario.kernel.name == "linear" else products * products * products


@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(3, 0.0)])
@pytest.mark.parametrize(("precision", "kind"), [("float64", np.float64), ("float32", np.float32)])
def test_digits_are_lost_near_underflow_only_and_nothing_overflows(precision, kind, kernel):
    plain = Scenario(kernel=kernel, samples=16, features=4, precision=precision)
    degree = 3 if kernel.name == "polynomial" else 1
    for scale in SCALES:
        scenario = replace(plain, scale=scale)
        matrix = kernel_in(kind, scenario)
        moved = np.ldexp(kernel_in(kind, plain).astype(np.longdouble), 2 * degree * scenario.data_exponent)
        assert (matrix != moved).any() == (scale == "near-underflow")
        assert (matrix.diagonal() > 0).all()
        assert np.isfinite(matrix * kind(2.0**24)).all()
        # Squares of the largest entries are out of range, so the end is near.
        with np.errstate(over="ignore"):
            assert np.isinf(matrix.max() * matrix.max()) == (scale == "near-overflow")


def test_a_compensated_scenario_is_the_same_problem_in_other_units():
    for task in TASKS:
        for kernel in (LinearKernel(), PolynomialKernel(3, 1.0), RBFKernel(0.5)):
            plain = Scenario(task=task, kernel=kernel, samples=6, features=3)
            for scale in ("small", "large"):
                moved = compensated(replace(plain, scale=scale))
                ratios = design_kernel(moved.problem()) / design_kernel(plain.problem())
                assert np.unique(ratios).size == 1
                change = moved.parameter / plain.parameter
                assert ratios[0, 0] == (change if task == "krr" else 1 / change)
