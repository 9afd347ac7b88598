"""Every planned run of a check must have compared something; what did not is named."""

from dataclasses import replace

import numpy as np
import pytest

from sstep_verify.campaign.verdicts.runs import left_out, minimum_table, too_few
from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.shared.case import Case, run_key
from sstep_verify.declaration import Declaration, Exchange
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, Ridge
from sstep_verify.report.results import TooFew
from sstep_verify.report.words import lacking
from sstep_verify.runs import asked_of
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Verdict, Why

SAMPLES, LENGTH = 4, 32
LEVELLED = sorted(check.id for check in CHECKS.values() if check.level is not None)
EVERYTHING = Declaration("full", level=3, panels=True, log=True, exchange=Exchange("allreduce"), weights=0)


def _case(loss=None, declaration=EVERYTHING, s_values=(1, 8), replay_limit=1 << 20):
    data = np.arange(8.0).reshape(SAMPLES, 2)
    problem = Problem("toy", data, np.array([1.0, -1.0, 1.0, -1.0]), LinearKernel(), loss or Hinge(C=1.0))
    stream = IndexStream("uniform", SAMPLES, 1, LENGTH, 0)
    return Case("toy", problem, stream, s_values, LENGTH, declaration, replay_limit=replay_limit)


def _verdict(check, s, executed):
    return Verdict(check, "toy", "toy", s, 1, Status.PASS, 0.0, 0.0, 1.0, "", 5, executed)


def _trajectories(case, length=LENGTH):
    made = np.array([0, length])
    return {run_key(s): Trajectory(s, 0, made, np.zeros((2, SAMPLES))) for s in case.s_values}


def _short(case, verdicts, checks=tuple(CHECKS), windows=2, length=LENGTH):
    return too_few(case, checks, verdicts, _trajectories(case, length), windows)


def _all_executed(case, executed=2):
    return [_verdict(check, s, executed) for check in CHECKS for s in case.s_values]


def test_enough_of_everything_leaves_no_line():
    case = _case()
    assert _short(case, _all_executed(case)) == ()


@pytest.mark.parametrize("check", LEVELLED)
def test_a_check_that_compared_nothing_is_named_with_its_counts(check):
    case = _case()
    verdicts = [
        replace(verdict, executed=0) if (verdict.check, verdict.s) == (check, 8) else verdict
        for verdict in _all_executed(case)
    ]
    (few,) = _short(case, verdicts)
    needed = 2 if check == "window-replay" else 1
    assert few == TooFew(check, "toy", 8, executed=0, planned=5, needed=needed)
    assert lacking(few) == f"{check}, toy, s = 8: 0 of 5 possible comparisons made, {needed} needed"


@pytest.mark.parametrize("check", LEVELLED)
def test_a_check_without_a_verdict_is_named(check):
    case = _case()
    verdicts = [verdict for verdict in _all_executed(case) if verdict.check != check]
    assert [few.check for few in _short(case, verdicts)] == [check] * (
        1 if check == "sstep-equals-classical" else 2
    )


@pytest.mark.parametrize("check", sorted({*LEVELLED} - {"contract"}))
def test_what_failed_or_was_not_made_for_that_is_not_named_as_missing(check):
    case = _case()
    failed = [
        replace(verdict, executed=0, status=Status.FAIL) if verdict.check == check else verdict
        for verdict in _all_executed(case)
    ]
    assert _short(case, failed) == ()
    broken = replace(_verdict("contract", 8, 1), status=Status.FAIL)
    assert _short(case, [broken, _verdict("contract", 1, 1)]) == ()
    passed = [_verdict("contract", s, 1) for s in case.s_values]
    assert check in {few.check for few in _short(case, passed)}


def test_window_replay_needs_the_minimum_of_windows_or_all_there_are():
    case = _case()
    assert [(few.check, few.s) for few in _short(case, _all_executed(case), windows=3)] == [
        ("window-replay", 1),
        ("window-replay", 8),
    ]
    # 16 iterations hold two windows of 8, so that two are enough.
    assert len(_short(case, _all_executed(case), windows=3, length=16)) == 1


def test_one_state_without_comparisons_is_not_hidden_by_another():
    case = _case()
    verdicts = [*_all_executed(case), _verdict("residual-gap", 1, 0)]
    assert len(_short(case, verdicts)) == 1


@pytest.mark.parametrize(
    ("changes", "absent"),
    [
        ({"loss": Ridge(penalty=1.0)}, {"box"}),
        ({"s_values": (1,)}, {"sstep-equals-classical"}),
        ({"replay_limit": 1}, {"window-replay", "kernel-entries"}),
        ({"declaration": replace(EVERYTHING, panels=False)}, {"kernel-entries"}),
        ({"declaration": replace(EVERYTHING, log=False)}, {"step-replay"}),
        ({"declaration": replace(EVERYTHING, weights=None)}, {"residual-gap"}),
        ({"declaration": replace(EVERYTHING, exchange=None)}, {"message-count"}),
        ({"declaration": replace(EVERYTHING, level=2)}, {"message-count"}),
        (
            {"declaration": replace(EVERYTHING, level=1)},
            {"message-count", "kernel-entries", "residual-gap", "window-replay"},
        ),
        (
            {"declaration": replace(EVERYTHING, level=1, weights=None)},
            {"message-count", "kernel-entries", "residual-gap"},
        ),
    ],
)
def test_what_does_not_apply_is_not_asked_for(changes, absent):
    named = {few.check for few in _short(_case(**changes), [])}
    assert named == set(LEVELLED) - absent


def test_checks_that_the_campaign_leaves_out_are_not_asked_for():
    assert {few.check for few in _short(_case(), [], checks=("box",))} == {"box"}


def test_every_check_has_a_level_unless_its_verdicts_depend_on_the_run():
    assert set(CHECKS) - set(LEVELLED) == {"optimum", "claim-honesty", "rank-coherence"}
    assert minimum_table(3)["window-replay"] == 3


def test_what_the_replay_limit_leaves_out_has_a_verdict_that_says_so():
    case = _case(replay_limit=SAMPLES)
    verdicts = left_out(case, tuple(CHECKS), 2)
    assert {(verdict.check, verdict.s) for verdict in verdicts} == {
        ("window-replay", 8), ("kernel-entries", 8),
    }  # fmt: skip
    for verdict in verdicts:
        assert (verdict.status, verdict.planned, verdict.executed) == (Status.VACUOUS, 2, 0)
        assert verdict.why is Why.TOO_LARGE
    assert left_out(_case(), tuple(CHECKS), 2) == []
    assert left_out(case, ("box",), 2) == []


@pytest.mark.parametrize("check", ["trajectory", "sstep-equals-classical"])
def test_nothing_is_needed_of_a_check_that_has_no_bound_for_the_declared_form(check):
    case = _case(declaration=replace(EVERYTHING, precision="float32"))
    nothing = [replace(one, executed=0 if one.check == check else 2) for one in _all_executed(case)]
    assert _short(case, nothing) == ()


def test_a_run_that_ended_by_its_own_rule_need_not_reach_what_is_compared():
    case, check = _case(), CHECKS["trajectory"]
    request = check.runs(case)
    nothing = [replace(one, executed=0 if one.check == "trajectory" else 2) for one in _all_executed(case)]
    for stopped, lines in (("tolerance", 0), ("iterations", 2)):
        early = {
            key: replace(
                Trajectory(one.s, 0, np.array([0, one.s]), np.zeros((2, SAMPLES)), stopped=stopped),
                asked=asked_of(one),
            )
            for key, one in request.items()
        }
        made = _trajectories(case) | early
        assert len(too_few(case, tuple(CHECKS), nothing, made, 2)) == lines
