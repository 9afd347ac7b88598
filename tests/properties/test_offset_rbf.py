"""RBF on data far from the origin: what the norm expansion loses is in its bound, differences lose nothing.

Every run is judged by kernel-entries and window-replay for what it declares. A solver that declares
differences but expands norms must be red: its error exceeds the bound of the difference form, which is so
much the smaller of the two.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scenario_strategies import acting_scenarios

from sstep_verify.campaign.verdicts.measured import measuring_points
from sstep_verify.checks import window_replay
from sstep_verify.checks.recorded import kernel_entries, message_count
from sstep_verify.checks.registry import verdicts_of
from sstep_verify.checks.shared.case import Case
from sstep_verify.oracle.facade import Oracle
from sstep_verify.scenarios.draws import edge_scenarios
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import Status, Verdict

FORMS = ("norm-expansion", "difference")
DIGITS = "significant_digits"


class Judge:
    """The verdicts on a scenario, with one oracle for all of them."""

    def __init__(self, scenario: Scenario):
        self._scenario, self._initial = scenario, scenario.initial()
        self._problem, self._stream = scenario.problem(), scenario.stream()
        self._oracle = Oracle(self._problem)

    def __call__(self, check, form: str, declared: str = "") -> Verdict:
        """Verdict of a check on a run by one form that declares this form, or another."""
        s, iterations = self._scenario.s, self._scenario.iterations
        solver = ProductionSolver(rbf=form)
        case = Case(
            "offset",
            self._problem,
            self._stream,
            (s,),
            iterations,
            replace(solver.declaration, rbf=declared or form),
            points={s: measuring_points(iterations, s)},
        )
        trajectories = {
            key: solver.run(replace(request, initial=self._initial))
            for key, request in check.CHECK.runs(case).items()
        }
        (verdict,) = verdicts_of(check.CHECK, case, trajectories, self._oracle)
        return verdict


def digits(verdict: Verdict) -> list[dict[str, float]]:
    return [panel[DIGITS] for panel in verdict.evidence["panels"]]


@pytest.mark.parametrize(
    "scenario",
    [
        pytest.param(one, marks=[pytest.mark.nightly] * ((place + place // 3) % 2))
        for place, one in enumerate(edge_scenarios("offset"))
    ],
    ids=lambda s: f"{s.task}-{s.offset:g}",
)
class TestEdgeFamily:
    def test_correct_runs_pass_and_would_have_shown_each_defect(self, scenario):
        judge = Judge(scenario)
        for form in FORMS:
            entries, windows = judge(kernel_entries, form), judge(window_replay, form)
            assert entries.status is windows.status is Status.PASS, (entries.reason, windows.reason)
            assert all(term.status is Status.PASS for term in entries.terms)
            correction = {term.name: term for term in windows.terms}["kernel-correction"]
            assert correction.status is Status.PASS
            assert correction.detection_limit < 1
            assert judge(message_count, form).status is Status.PASS

    def test_the_loss_is_reported_and_predicted(self, scenario):
        judge = Judge(scenario)
        norms, differences = (digits(judge(kernel_entries, form)) for form in FORMS)
        for expanded, direct in zip(norms, differences, strict=True):
            # The bound says that the norm expansion keeps something, and it keeps more.
            assert 0 < expanded["kept_by_bound"] <= expanded["kept_as_measured"]
            assert direct["lost_as_measured"] <= direct["lost_by_bound"] < expanded["lost_as_measured"]

    @pytest.mark.parametrize("check", [kernel_entries, window_replay, message_count])
    def test_expanding_norms_while_declaring_differences_is_red(self, scenario, check):
        verdict = Judge(scenario)(check, "norm-expansion", declared="difference")
        assert verdict.status is Status.FAIL
        assert verdict.measured > verdict.bound
        assert not any("norms dropped" in one.names for one in verdict.defects)

    def test_differences_lie_within_the_bound_of_either_form(self, scenario):
        judge = Judge(scenario)
        for check in (kernel_entries, window_replay):
            assert judge(check, "difference", declared="norm-expansion").status is Status.PASS


@pytest.mark.nightly
@settings(max_examples=30)
@given(acting_scenarios(kernels=["rbf"], max_samples=16), st.sampled_from([1e4, 1e6]))
def test_drawn_scenarios_moved_far_away(scenario, offset):
    judge = Judge(replace(scenario, offset=offset))
    # At 1e6 the bound of the norm expansion may leave no room to see a defect, but it holds.
    expanded = judge(kernel_entries, "norm-expansion")
    assert expanded.status in (Status.PASS, Status.VACUOUS), expanded.reason
    assert judge(window_replay, "norm-expansion").status in (Status.PASS, Status.VACUOUS)
    direct = judge(kernel_entries, "difference")
    assert direct.status is Status.PASS, direct.reason
    # A run of one window from zero, or on two samples, has no stale product that acts.
    window = judge(window_replay, "difference")
    acts = window.status is not Status.VACUOUS or all(
        term.seen for term in window.terms if term.name == "stale-product"
    )
    assert window.status is (Status.PASS if acts else Status.VACUOUS), window.reason
    pretended = judge(kernel_entries, "norm-expansion", declared="difference")
    assert pretended.status is Status.FAIL
    for norms, differences in zip(digits(expanded), digits(direct), strict=True):
        assert norms["lost_as_measured"] <= norms["lost_by_bound"]
        assert differences["lost_as_measured"] <= differences["lost_by_bound"] < norms["lost_as_measured"]
