"""A relation between runs is decided of runs that are correct by themselves, and with their own bound."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from small_solvers import callable_of, descend, drawn

from sstep_verify import Hinge, RBFKernel, judge, verify
from sstep_verify.verdict import HintKind, NoteKind, Status, Why

SEEDS = [
    pytest.param(seed, marks=[pytest.mark.nightly] * (seed > 0))
    for seed in range(int(os.environ.get("SSTEP_VERIFY_DRAWS", "3")))
]

RELATION = "sstep-equals-classical"

WRONG = {"no upper limit": {"upper": False}, "right": {}}


def notes(verdict):
    """Kinds of its notes."""
    return {one.kind for one in verdict.notes}


def of(verdicts, check):
    """The verdict of a check."""
    (found,) = [one for one in verdicts if one.check == check]
    return found


def clipped(seed):
    """A problem on which steps reach the upper limit."""
    problem, stream = drawn(seed, kernel=RBFKernel(0.5))
    return problem, stream


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("wrong", WRONG)
def test_a_relation_that_decides_has_the_bound_of_its_runs_and_says_so(seed, wrong):
    """Runs without a clip are equal up to rounding, though correct ones would be equal in every bit."""
    problem, stream = clipped(seed)
    (_, alone) = judge(callable_of(**WRONG[wrong]), problem, stream, s=7, checks=(RELATION,))
    assert alone.status in (Status.PASS, Status.VACUOUS)
    assert (NoteKind.DECIDES in notes(alone)) == (alone.status is Status.PASS)
    # Half of the corrections are no rounding, whatever else is wrong.
    both = callable_of(**WRONG[wrong], correction=0.5)
    (_, alone) = judge(both, problem, stream, s=7, checks=(RELATION,))
    assert (alone.status, alone.requirement) == (Status.FAIL, "S-4.2")
    assert NoteKind.DECIDES in notes(alone)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("correction", [1.0, 0.5])
def test_a_bound_that_is_an_estimate_is_not_said_to_be_derived(seed, correction):
    """Without the small upper limit both runs leave the exact trajectory before the first point."""
    problem, stream = clipped(seed)
    problem = replace(problem, loss=Hinge(2.0**-10))
    wrong = callable_of(upper=False, correction=correction)
    (_, alone) = judge(wrong, problem, stream, s=7, checks=(RELATION,))
    assert (alone.status is Status.FAIL) is (correction != 1.0)
    assert NoteKind.THESE_RUNS in notes(alone)
    assert alone.bound_origin == "checks/short/runs"
    (_, right) = judge(callable_of(), problem, stream, s=7, checks=(RELATION,))
    assert right.bound_origin == "bounds/window/svm"
    assert NoteKind.THESE_RUNS not in notes(right)


@pytest.mark.parametrize("seed", SEEDS)
def test_of_wrong_runs_no_relation_is_decided(seed):
    """The check of the steps fails; how both runs differ is no failure of its own."""
    problem, stream = clipped(seed)
    checks = (RELATION, "window-replay", "determinism")
    verdicts = judge(callable_of(upper=False, correction=0.5), problem, stream, s=7, checks=checks)
    windows, relation = of(verdicts, "window-replay"), of(verdicts, RELATION)
    assert windows.status is Status.FAIL
    assert (relation.status, relation.why, relation.requirement) == (
        Status.VACUOUS,
        Why.WRONG_BY_ITSELF,
        "",
    )
    assert [one.detail for one in relation.notes if one.kind is NoteKind.SEE] == [("window-replay", 7)]
    assert of(verdicts, "determinism").status is Status.PASS
    right = judge(callable_of(), problem, stream, s=7, checks=checks)
    assert of(right, RELATION).status is not Status.FAIL
    assert of(right, RELATION).why is not Why.WRONG_BY_ITSELF


@pytest.mark.parametrize("seed", SEEDS)
def test_runs_that_differ_from_call_to_call_fail_whatever_else_is_wrong(seed):
    """Determinism decides on wrong runs, too."""
    problem, stream = clipped(seed)
    random = np.random.Generator(np.random.PCG64(seed))

    def noisy(problem, blocks, s, a0):
        return descend(problem, blocks, s, a0, upper=False, correction=1.0 + 1e-3 * random.random())

    checks = (RELATION, "window-replay", "determinism")
    verdicts = judge(callable_of(function=noisy), problem, stream, s=7, checks=checks)
    assert of(verdicts, "window-replay").status is Status.FAIL
    assert of(verdicts, "determinism").status is Status.FAIL
    assert of(verdicts, RELATION).why is Why.WRONG_BY_ITSELF


@pytest.mark.parametrize("seed", SEEDS)
def test_a_failed_scaling_is_evidence_of_the_first_failure(seed):
    """It names no requirement where the steps are wrong, and decides where nobody judged them."""
    problem, stream = drawn(seed, "krr", RBFKernel(0.25))

    def absolute(problem, blocks, s, a0):
        alpha = descend(problem, blocks, s, a0)
        return np.where(alpha != 0.0, alpha + 1e-6, 0.0)

    checks = ("window-replay", "metamorphic-exact")
    verdicts = judge(callable_of(function=absolute), problem, stream, s=7, checks=checks)
    windows, scaled = of(verdicts, "window-replay"), of(verdicts, "metamorphic-exact")
    assert windows.status is Status.FAIL
    assert (scaled.status, scaled.why, scaled.requirement) == (Status.VACUOUS, Why.WRONG_BY_ITSELF, "")
    differ = tuple(scaled.evidence["failed"])
    assert differ
    assert [one.detail for one in windows.hints if one.kind is HintKind.SCALED_RUNS] == [differ]
    (_, alone) = judge(callable_of(function=absolute), problem, stream, s=7, checks=checks[1:])
    assert (alone.status, alone.requirement) == (Status.FAIL, "S-4.5")
    assert NoteKind.DECIDES in notes(alone)


@pytest.mark.parametrize("seed", SEEDS)
def test_scaled_runs_are_no_hint_where_runs_differ_from_call_to_call(seed):
    problem, stream = drawn(seed, "krr", RBFKernel(0.25))
    random = np.random.Generator(np.random.PCG64(seed))

    def noisy(problem, blocks, s, a0):
        return descend(problem, blocks, s, a0, correction=1.0 + 1e-3 * random.random())

    checks = ("window-replay", "determinism", "metamorphic-exact")
    verdicts = judge(callable_of(function=noisy), problem, stream, s=7, checks=checks)
    assert of(verdicts, "determinism").status is Status.FAIL
    assert of(verdicts, "metamorphic-exact").evidence["failed"]
    assert HintKind.SCALED_RUNS not in {hint.kind for one in verdicts for hint in one.hints}


@pytest.mark.nightly
def test_a_profile_names_one_requirement_of_a_solver_without_an_upper_limit():
    """What fails besides the steps is the trajectory, which compares with the exact one and with no run."""
    report = verify(callable_of(log=True, upper=False), "smoke", tasks=["svm-l1"], seed=1)
    failed = {(one["check"], one["requirement"]) for one in report.failures}
    assert {check for check, _ in failed} <= {"step-replay", "window-replay", "trajectory", "box"}
    assert "step-replay" in {check for check, _ in failed}
    undecided = [one for one in report.results.verdicts if one["why"] == Why.WRONG_BY_ITSELF]
    assert RELATION in {one["check"] for one in undecided}
    assert not {one["requirement"] for one in undecided} - {""}
