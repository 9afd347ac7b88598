"""Reasons of drawn runs that end early, lose a part or are off by a hair: what they name is true of the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from judged import hinted, named
from small_solvers import callable_of, descend, drawn

from sstep_verify import judge
from sstep_verify.quantities import KERNEL, TAIL
from sstep_verify.specification import OFF
from sstep_verify.verdict import HintKind, Status

SEEDS = [1, 2, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(3, 8))]
"""Seed 8 draws a kernel without corrections of any size: its runs are VACUOUS."""

TASKS = {seed: ("svm-l1", "krr")[seed % 2] for seed in range(8)}

STEP = {"svm-l1": "S-3.1", "krr": "S-3.2"}
"""The requirement that is violated wherever a step is not that of the task."""


def of_gate(verdicts):
    """The verdict on the steps, or on the windows."""
    return verdicts[-1]


def fewer(problem, blocks, s, a0, log=None):
    """Four fifths of the iterations; the log is filled with the values as they are left."""
    made = len(blocks) * 4 // 5
    alpha = descend(problem, blocks[:made], s, a0, None if log is None else log[:made])
    if log is not None:
        for place in range(made, len(blocks)):
            log[place] = alpha[blocks[place]]
    return alpha


def no_tail(problem, blocks, s, a0, log=None):
    """The last window is not made where it is short."""
    made = len(blocks) // s * s
    alpha = descend(problem, blocks[:made], s, a0, None if log is None else log[:made])
    if log is not None:
        for place in range(made, len(blocks)):
            log[place] = alpha[blocks[place]]
    return alpha


def nothing(problem, blocks, s, a0, log=None):
    """No step is made at all."""
    if log is not None:
        for place, block in enumerate(blocks):
            log[place] = a0[block]
    return a0.copy()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("function", [fewer, no_tail, nothing])
def test_a_run_of_too_few_steps_violates_one_requirement_that_is_true_of_it(seed, log, function):
    """Neither the log, nor the start, nor a continued run is what is wrong.

    Where no step is logged a run cut short makes the windows that were asked for at other places of the
    stream, which violates S-2.2, too.
    """
    problem, stream = drawn(seed, TASKS[seed])
    verdict = of_gate(judge(callable_of(log, function), problem, stream, s=7))
    if verdict.status is Status.VACUOUS:  # The steps that are missing move nothing.
        return
    assert verdict.status is Status.FAIL
    true = {STEP[TASKS[seed]], "S-2.3", "S-3.12", ""}
    assert verdict.requirement in (true if log else true | {"S-2.2"})
    if not verdict.requirement:  # Several defects reproduce it.
        assert len(verdict.defects) > 1
    assert HintKind.STARTED_ELSEWHERE not in hinted(verdict)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_tail_that_is_named_is_not_said_to_have_no_effect(seed):
    problem, stream = drawn(seed, TASKS[seed])
    verdict = of_gate(judge(callable_of(True, no_tail), problem, stream, s=7))
    tail = {term.name: term for term in verdict.terms}[TAIL]
    assert "tail-lost" in named(verdict)
    assert (tail.status, tail.why) == (Status.PASS, None)
    assert 0 < tail.seen <= stream.length % 7


@pytest.mark.parametrize("seed", SEEDS)
def test_a_cause_that_correct_runs_of_single_steps_contradict_is_not_named(seed):
    """Only the correction is off, by a hair: a kernel, a parameter or a precision would be wrong at s = 1 too."""
    problem, stream = drawn(seed, TASKS[seed])
    off = 10.0 ** np.random.Generator(np.random.PCG64(seed)).uniform(-9, -3)
    solver = callable_of(False, correction=1.0 + off)
    assert of_gate(judge(solver, problem, stream, s=1)).status is not Status.FAIL
    verdict = of_gate(judge(solver, problem, stream, s=7))
    assert verdict.status is Status.FAIL
    assert set(named(verdict)) <= {KERNEL + OFF, "both corrections" + OFF}
    assert verdict.requirement in {STEP[TASKS[seed]], "S-3.5"}


@pytest.mark.parametrize("seed", SEEDS)
def test_an_error_of_a_solver_is_told_with_the_line_that_raised_it(seed):
    """Whatever it is, however deep, and in whichever iteration."""
    random = np.random.Generator(np.random.PCG64(seed))
    kind = (ValueError, IndexError, ZeroDivisionError, np.linalg.LinAlgError)[int(random.integers(4))]
    deep = int(random.integers(0, 9))

    def lower(left):
        if left:
            return lower(left - 1)
        raise kind("drawn")

    problem, stream = drawn(seed, TASKS[seed])
    (contract,) = judge(
        callable_of(function=lambda *_: lower(deep)), problem, stream, s=5, checks=("contract",)
    )
    assert contract.status is Status.FAIL
    line = lower.__code__.co_firstlineno + 3
    assert {one.kind for one in contract.raised} == {kind.__name__}
    for one in contract.raised:
        assert one.frames[-1] == f"{Path(__file__).name}:{line} in lower"
