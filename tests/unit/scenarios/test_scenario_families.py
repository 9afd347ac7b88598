"""Scenarios: edge families are what their names say, and starts are where they should be."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify.errors import InputError
from sstep_verify.problems import PolynomialKernel
from sstep_verify.protocol import RunRequest
from sstep_verify.scenarios.descent import design_kernel
from sstep_verify.scenarios.draws import FAMILIES, edge_scenarios
from sstep_verify.scenarios.scenario import Scenario

EVERY_EDGE = [
    pytest.param(
        family,
        scenario,
        id=f"{family}-{precision}-{place}",
        marks=[pytest.mark.nightly] * (place % 3 != (precision == "float32")),
    )
    for family in FAMILIES
    for precision in ("float64", "float32")
    for place, scenario in enumerate(edge_scenarios(family, precision=precision))
]


@pytest.mark.parametrize(("family", "scenario"), EVERY_EDGE)
def test_edge_families_make_valid_requests(family, scenario):
    request = RunRequest(
        scenario.problem(), scenario.stream(), scenario.s, scenario.iterations, initial=scenario.initial()
    )
    assert Scenario.from_id(scenario.id) == scenario
    assert np.isfinite(design_kernel(request.problem)).all()
    if request.problem.is_svm:
        assert set(request.problem.targets.tolist()) == {-1.0, 1.0}


def test_edge_families_are_what_their_names_say():
    def every(family, predicate):
        scenarios = edge_scenarios(family)
        assert scenarios
        assert all(predicate(scenario) for scenario in scenarios)

    every("window-beyond-run", lambda scenario: scenario.s > scenario.iterations)
    every("classical", lambda scenario: scenario.s == 1)
    every("one-coordinate", lambda scenario: scenario.block == 1)
    every("whole-block", lambda scenario: scenario.block == scenario.samples)
    every("window-beyond-samples", lambda scenario: scenario.s * scenario.block > scenario.samples)
    every("duplicates", lambda scenario: len(np.unique(scenario.problem().dense, axis=0)) == 6)
    every("constant-features", lambda scenario: (np.ptp(scenario.problem().dense, axis=0) == 0).any())
    every("zero-rows", lambda scenario: 0 in design_kernel(scenario.problem()).diagonal())
    every(
        "bound-at-curvature", lambda scenario: design_kernel(scenario.problem())[0, 0] == scenario.parameter
    )
    every("tiny-scale", lambda scenario: scenario.data_exponent < 0)
    every("huge-scale", lambda scenario: scenario.data_exponent > 0)
    every("offset", lambda scenario: abs(scenario.problem().dense).min() > scenario.offset / 2)
    with pytest.raises(InputError, match="window-beyond-run"):
        edge_scenarios("unheard-of")


@pytest.mark.parametrize("scenario", edge_scenarios("near-converged"), ids=lambda scenario: scenario.id)
def test_near_converged_starts_are_feasible_and_closer_than_zero(scenario):
    """Closer in the objective: half a'Qa - 1'a + half omega a'a, or half a'Ma - y'a."""
    problem, start = scenario.problem(), scenario.initial()
    kernel = design_kernel(problem)
    if problem.is_svm:
        assert ((start >= 0) & (start <= problem.hinge.upper)).all()
        system = problem.targets[:, None] * kernel * problem.targets + problem.hinge.shift * np.eye(12)
        right = np.ones(12)
    else:
        system, right = kernel / problem.ridge.penalty + 12 * np.eye(12), problem.targets
    assert start @ system @ start / 2 - right @ start < 0


def test_a_near_converged_start_exists_where_the_shift_is_lost_in_the_kernel():
    scenario = Scenario(
        task="krr",
        kernel=PolynomialKernel(4, 1.0),
        samples=8,
        scale="large",
        parameter=1e-5,
        duplicates=0.75,
        constant_features=2,
        start="near",
    )
    kernel = design_kernel(scenario.problem()) / scenario.parameter
    np.testing.assert_array_equal(kernel + 8 * np.eye(8), kernel)
    assert np.isfinite(scenario.initial()).all()


def test_a_near_converged_start_stays_in_the_box_where_a_step_overflows():
    scenario = Scenario(
        samples=8, scale="near-underflow", kernel=PolynomialKernel(3, 0.0), condition=1e7, start="near"
    )
    smallest = design_kernel(scenario.problem()).diagonal().min()
    with np.errstate(over="ignore"):
        assert np.isinf(1 / smallest)
    assert set(scenario.initial().tolist()) == {scenario.parameter}


def test_a_mixed_start_holds_both_ends_and_the_middle():
    assert set(Scenario(samples=20, start="mixed", parameter=3.0).initial().tolist()) == {0.0, 1.5, 3.0}
    assert Scenario().initial() is None
