"""A log in float32 of a run that declares float64 has a hint; a small defect in float64 has none."""

from __future__ import annotations

import os

import numpy as np
import pytest
from small_solvers import callable_of, descend, drawn

from sstep_verify import judge
from sstep_verify.verdict import HintKind, Status

SEEDS = [
    pytest.param(seed, marks=[pytest.mark.nightly] * (seed > 1))
    for seed in range(int(os.environ.get("SSTEP_VERIFY_DRAWS", "6")))
]

TASKS = ("svm-l1", "krr")


def rounded(values):
    """Values of float32, held in float64."""
    return values.astype(np.float32).astype(np.float64)


def logged_in_float32(problem, blocks, s, a0, log, **wrong):
    """A run in float64 whose log is rounded."""
    alpha = descend(problem, blocks, s, a0, log, **wrong)
    log[:] = rounded(log)
    return alpha


def stored_in_float32(problem, blocks, s, a0, log, **wrong):
    """A run whose every new value is rounded as it is stored."""
    alpha = a0.copy()
    for begin in range(0, len(blocks), s):
        values = np.zeros((min(s, len(blocks) - begin), blocks.shape[1]))
        alpha = rounded(descend(problem, blocks[begin : begin + s], s, alpha, values, **wrong))
        log[begin : begin + s] = rounded(values)
    return alpha


def hinted(solver, seed, task, s=1):
    """The verdict on a drawn run, and what its hint says of the log."""
    problem, stream = drawn(seed + 4, task)
    verdict = judge(solver, problem, stream, s=s)[-1]
    return verdict, [one.detail for one in verdict.hints if one.kind is HintKind.LOG_IN_FLOAT32]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", TASKS)
def test_a_rounded_log_is_named(seed, task):
    verdict, hints = hinted(callable_of(log=True, function=logged_in_float32), seed, task, s=5)
    assert (verdict.status, hints) == (Status.FAIL, [("alpha",)])
    verdict, hints = hinted(callable_of(log=True, function=stored_in_float32), seed, task)
    assert (verdict.status, hints) == (Status.FAIL, [("steps",)])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", TASKS)
def test_a_defect_of_that_size_in_float64_has_no_such_hint(seed, task):
    verdict, hints = hinted(callable_of(log=True, correction=1 + 1e-8), seed, task, s=5)
    assert (verdict.status, hints) == (Status.FAIL, [])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", TASKS)
def test_a_rounded_log_of_faulty_steps_has_no_such_hint(seed, task):
    wrong = callable_of(log=True, function=stored_in_float32, correction=0.5)
    verdict, hints = hinted(wrong, seed, task, s=5)
    assert (verdict.status, hints) == (Status.FAIL, [])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", TASKS)
def test_of_a_run_in_float64_that_declares_float32_the_other_values_are_counted(seed, task):
    """What is wrong may be the declaration; a log whose values float32 holds says nothing of that."""
    single = {"precision": "float32"}
    problem, stream = drawn(seed + 4, task)
    for function, other in ((descend, True), (stored_in_float32, False)):
        wrong = callable_of(log=True, function=function, declared=single, correction=0.5)
        verdict = judge(wrong, problem, stream, s=5)[-1]
        counts = [one.detail for one in verdict.hints if one.kind is HintKind.NOT_IN_FLOAT32]
        assert verdict.status is Status.FAIL
        assert bool(counts) is other
        assert all(0 < others <= of == stream.length * stream.block for others, of in counts)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("task", TASKS)
def test_a_run_declared_float32_has_no_such_hint(seed, task):
    single = {"precision": "float32"}
    wrong = callable_of(log=True, function=stored_in_float32, declared=single, correction=0.5)
    verdict, hints = hinted(wrong, seed, task, s=5)
    assert (verdict.status, hints) == (Status.FAIL, [])
