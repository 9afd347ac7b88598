"""What a judgement fills in itself, or takes as given, is neither tested nor passed."""

from __future__ import annotations

import math
import os
from dataclasses import replace

import numpy as np
import pytest
from small_solvers import Weights, callable_of, descend, drawn, four_fifths

from sstep_verify import Declaration, IndexStream, LinearKernel, Trajectory, judge
from sstep_verify.quantities import BOUNDARY, CURVATURE, KERNEL, STALE, STREAM
from sstep_verify.solver import ProductionSolver
from sstep_verify.trajectory import FILLED
from sstep_verify.verdict import NoteKind, Status, Why

SEEDS = range(int(os.environ.get("SSTEP_VERIFY_DRAWS", "2")))

CUT = "a stated length that is short"


def by_check(verdicts):
    """Verdicts by their check, and the terms of each by name."""
    return {one.check: (one, {term.name: term for term in one.terms}) for one in verdicts}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("function", [descend, four_fifths])
def test_no_item_that_an_adapter_fills_in_is_evidence(seed, log, function):
    """A function states no length, so a run cut short cannot be seen in one."""
    problem, stream = drawn(seed, ("svm-l1", "krr")[seed % 2])
    contract, terms = by_check(judge(callable_of(log, function), problem, stream, s=5))["contract"]
    assert contract.status is Status.PASS
    assert (terms[CUT].status, terms[CUT].seen, terms[CUT].why) == (Status.VACUOUS, 0, Why.FILLED_IN)
    assert terms["a value that is not finite"].seen
    (filled,) = [one.detail for one in contract.notes if one.kind is NoteKind.FILLED]
    assert filled == FILLED
    runs = contract.coverage.judged
    assert contract.planned - contract.executed == runs * len(FILLED)
    stated, terms = by_check(judge(ProductionSolver(), problem, stream, s=5))["contract"]
    assert terms[CUT].seen == terms[CUT].planned == stated.coverage.judged
    assert not [one for one in stated.notes if one.kind is NoteKind.FILLED]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_that_gave_nothing_back_has_no_value_that_was_compared(seed):
    problem, stream = drawn(seed, ("svm-l1", "krr")[seed % 2])

    def raises(problem, blocks, s, a0):
        raise ValueError("no more")

    contract, terms = by_check(judge(callable_of(function=raises), problem, stream, s=5))["contract"]
    assert contract.status is Status.FAIL
    assert contract.executed == contract.coverage.judged == len(contract.raised)
    for term in terms.values():
        assert (term.decided, term.seen, term.why) == (0, 0, Why.NONE_DECIDED)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("declared", ["float32", "float64"])
@pytest.mark.parametrize("returned", ["float16", "float32", "int64", "float64", "longdouble"])
def test_the_type_is_that_in_which_a_came_back(seed, returned, declared):
    """It is looked at before it is converted."""
    problem, stream = drawn(seed, ("svm-l1", "krr")[seed % 2], length=10)

    def function(problem, blocks, s, a0):
        return descend(problem, blocks, s, a0).astype(returned)

    solver = callable_of(function=function, declared={"precision": declared})
    contract = judge(solver, problem, stream, s=5, checks=("contract",))[0]
    kind = np.dtype(returned)
    enough = kind.kind == "f" and np.finfo(kind).nmant >= np.finfo(declared).nmant
    broken = {(one.item, one.found) for one in contract.violations}
    assert broken == (set() if enough else {("type", returned)})
    assert contract.status is (Status.PASS if enough else Status.FAIL)


class Counting:
    """A solver whose counts are numbers of another type, one of them off."""

    def __init__(self, kind, off=0):
        self._inner, self._kind, self._off = ProductionSolver(), kind, off
        self.declaration = self._inner.declaration

    def run(self, request, observe=None):
        """Make the run, and change its counts."""
        made = self._inner.run(request, observe)
        counters = {name: self._kind(count) for name, count in made.counters.items()}
        return replace(made, counters=counters | {"words": self._kind(made.counters["words"] + self._off)})


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("off", [0, 1])
@pytest.mark.parametrize("kind", [int, np.uint32, np.uint16, np.float32, float])
def test_counts_are_whole_numbers_and_compared_as_such(seed, off, kind):
    """A count that was rounded, or wraps, is none."""
    problem, stream = drawn(seed, ("svm-l1", "krr")[seed % 2], length=20)
    found = by_check(judge(Counting(kind, off), problem, stream, s=5, checks=("message-count",)))
    whole = issubclass(kind, (int, np.integer))
    contract, _ = found["contract"]
    assert {one.item for one in contract.violations} == (set() if whole else {"counts"})
    assert ("message-count" in found) is whole
    if whole:
        counted, _ = found["message-count"]
        assert (counted.status, counted.measured) == ((Status.FAIL, 1.0) if off else (Status.PASS, 0.0))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("lose", [False, True])
def test_what_maintained_weights_hide_is_not_tested_until_they_passed(seed, lose):
    """An update lost in every window is no part of any window that begins from the recorded weights."""
    problem, stream = drawn(seed, kernel=LinearKernel())
    solver = Weights(lose)
    alone, terms = by_check(judge(solver, problem, stream, s=6, checks=("window-replay",)))["window-replay"]
    assert alone.status is Status.VACUOUS
    assert (terms[STALE].seen, terms[STALE].why) == (0, Why.ON_TRUST)
    assert {terms[name].detection_limit for name in (STALE, BOUNDARY)} == {math.inf}
    assert terms[CURVATURE].seen
    found = by_check(judge(solver, problem, stream, s=6))
    assert list(found) == ["contract", "window-replay", "residual-gap"]
    windows, terms = found["window-replay"]
    drift, _ = found["residual-gap"]
    assert drift.status is (Status.FAIL if lose else Status.PASS)
    shown = terms[KERNEL].seen and not lose
    assert windows.status is (Status.PASS if shown else Status.VACUOUS)
    assert bool(terms[STALE].seen) is not lose


class OwnDraws:
    """A solver that draws its coordinates itself, says which, and starts at their beginning only."""

    restarts = False
    declaration = Declaration("own draws", update="added", rbf="difference", factorisation="lu", log=True)

    def run(self, request, observe=None):
        """Make the run on coordinates of its own."""
        samples, block = request.problem.samples, request.stream.block
        random = np.random.Generator(np.random.PCG64(5))
        draws = np.array([random.choice(samples, block, replace=False) for _ in range(request.iterations)])
        draws, log = draws.reshape(-1, block), np.empty((len(draws), block))
        descend(request.problem, draws, request.s, np.zeros(samples), log)
        alphas, alpha = [np.zeros(samples)], np.zeros(samples)
        for step in range(request.iterations):
            alpha[draws[step]] = log[step]
            if step + 1 in request.stops:
                alphas.append(alpha.copy())
        stops = np.array(request.stops)
        return Trajectory(request.s, request.start, stops, np.array(alphas), log=log, drawn=draws)


@pytest.mark.parametrize("seed", SEEDS)
def test_draws_that_a_run_logged_are_compared_with_themselves(seed):
    """Of such a run no draw can be one place off; of one that takes the stream it can."""
    problem, stream = drawn(seed, "krr")
    own = IndexStream("logged", problem.samples, stream.block, stream.length)
    logged, terms = by_check(judge(OwnDraws(), problem, own, s=5))["step-replay"]
    assert logged.status is Status.PASS
    assert (terms[STREAM].seen, terms[STREAM].why) == (0, Why.OWN_DRAWS)
    taken, terms = by_check(judge(callable_of(log=True), problem, stream, s=5))["step-replay"]
    assert taken.status is Status.PASS
    assert terms[STREAM].seen
