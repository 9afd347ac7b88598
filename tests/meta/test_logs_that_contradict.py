"""A log that does not lead to what was returned is refused, and every check that is asked gives its verdict."""

from __future__ import annotations

from dataclasses import replace
from itertools import cycle

import numpy as np
import pytest
from judged import hinted, judged, named, named_case

from sstep_verify import (
    CallableSolver,
    Declaration,
    Hinge,
    IndexStream,
    LinearKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
    Status,
    judge,
)
from sstep_verify.checks import step_replay
from sstep_verify.verdict import HintKind, NoteKind

LOSSES = (Hinge(1.0), SquaredHinge(2.0), Ridge(0.3))
DEPARTURES = {
    "an ulp at the end": lambda log, last: log.__setitem__((-1, 0), np.nextafter(log[-1, 0], np.inf)),
    "NaN at the end": lambda log, last: log.__setitem__((-1, 0), np.nan),
    "infinite at the end": lambda log, last: log.__setitem__((-1, 0), np.inf),
    "zero throughout": lambda log, last: log.fill(0.0),
    "shifted by a step": lambda log, last: log.__setitem__(slice(1, None), log[:-1].copy()),
    "the last of a coordinate": lambda log, last: log.__setitem__((last, 0), -log[last, 0] - 1.0),
}


def drawn(seed: int) -> tuple[Problem, IndexStream]:
    generator = np.random.Generator(np.random.PCG64(seed))
    samples = int(generator.integers(5, 9))
    loss = LOSSES[seed % 3]
    data = generator.standard_normal((samples, 3))
    targets = generator.standard_normal(samples)
    targets = targets if isinstance(loss, Ridge) else np.where(targets < 0, -1.0, 1.0)
    kernel = RBFKernel(0.4) if seed % 2 else LinearKernel()
    return Problem("drawn", data, targets, kernel, loss), IndexStream("uniform", samples, 1, 40, seed)


def solver(depart) -> CallableSolver:
    """Classical DCD or BDCD from exact kernel rows of the reference's formulas, with a log that departs."""

    def function(problem, blocks, s, a0, log):
        data, y, alpha = problem.data, problem.targets, a0.copy()
        rows = data @ data.T
        if isinstance(problem.kernel, RBFKernel):
            squares = ((data[:, None] - data[None]) ** 2).sum(axis=2)
            rows = np.exp(-problem.kernel.sigma * squares)
        for t, (i,) in enumerate(blocks):
            if problem.is_svm:
                shift = problem.loss.shift
                gradient = y[i] * (rows[i] @ (y * alpha)) - 1.0 + shift * alpha[i]
                upper = np.inf if shift else problem.loss.C
                alpha[i] = min(max(alpha[i] - gradient / (rows[i, i] + shift), 0.0), upper)
            else:
                penalty, m = problem.loss.penalty, problem.samples
                alpha[i] += (y[i] - m * alpha[i] - rows[i] @ alpha / penalty) / (rows[i, i] / penalty + m)
            log[t, 0] = alpha[i]
        depart(log, int(np.flatnonzero(blocks[:, 0] == blocks[0, 0])[-1]))
        return alpha

    return CallableSolver(function, Declaration("drawn", log=True, rbf="difference", update="added"))


@pytest.mark.parametrize("seed", range(3))
def test_a_log_that_leads_to_the_end_is_judged_step_by_step(seed):
    verdicts = judge(solver(lambda log, last: None), *drawn(seed), s=4)
    assert [one.check for one in verdicts] == ["contract", "step-replay"]
    assert {one.status for one in verdicts} == {Status.PASS}, verdicts[1].reason
    assert verdicts[1].executed == 40


@pytest.mark.parametrize(("seed", "name"), list(zip(cycle(range(3)), DEPARTURES, strict=False)))
def test_a_log_that_does_not_is_refused_and_no_check_falls_silent(seed, name):
    asked = ["step-replay", "window-replay", "trajectory", "determinism"]
    verdicts = judge(solver(DEPARTURES[name]), *drawn(seed), s=4, checks=asked)
    assert [one.check for one in verdicts] == ["contract", *asked]
    (steps,) = (one for one in verdicts if one.check == "step-replay")
    assert steps.status is Status.FAIL
    assert steps.executed == 0
    assert steps.place.item == "log"
    told = {one.check for one in verdicts if NoteKind.LOG_CONTRADICTS in {note.kind for note in one.notes}}
    assert told == {
        one.check for one in verdicts if one.check in ("window-replay", "trajectory") and one.executed
    }
    assert "trajectory" in told


def test_the_recorded_ends_tell_what_a_log_of_values_does_not():
    """Increments frozen at a window's start and added there, the overlap forgotten, each value logged."""

    def function(problem, blocks, s, a0, log):
        y, alpha = problem.targets, a0.copy()
        rows = np.exp(-0.4 * ((problem.data[:, None] - problem.data[None]) ** 2).sum(axis=2))
        for begin in range(0, len(blocks), s):
            start = alpha.copy()
            for t, (i,) in enumerate(blocks[begin : begin + s], begin):
                gradient = y[i] * (rows[i] @ (y * alpha)) - 1.0
                log[t, 0] = min(max(start[i] - gradient / rows[i, i], 0.0), problem.loss.C)
                alpha[i] += log[t, 0] - start[i]
        return alpha

    generator = np.random.Generator(np.random.PCG64(2))
    data, labels = generator.standard_normal((8, 3)), np.sign(generator.standard_normal(8))
    problem = Problem("p", data, labels, RBFKernel(0.4), Hinge(1.0))
    declared = Declaration("frozen", log=True, rbf="difference", update="frozen")
    stream = IndexStream("uniform", 8, 1, 40, 3)
    _, verdict = judge(CallableSolver(function, declared), problem, stream, s=8)
    assert (verdict.status, verdict.requirements) == (Status.FAIL, ("S-3.6",))
    assert (verdict.place.item, verdict.requirement) == ("log", "S-3.6")
    assert [one.names for one in verdict.defects] == [("overlap left out",)]


RETURNED = {
    "with signs": lambda labels, alpha: labels * alpha,
    "zeros": lambda labels, alpha: np.zeros_like(alpha),
    "halved": lambda labels, alpha: alpha / 2,
}


@pytest.mark.parametrize(
    ("returned", "log_off"), [*((name, 0.0) for name in RETURNED), ("with signs", 1e-6)]
)
def test_no_defect_of_a_step_explains_another_result_than_that_of_a_log(returned, log_off):
    """The run has converged, so that no step of its last window moves and much ends there."""

    def function(problem, blocks, s, a0, log):
        y, alpha = problem.targets, a0.copy()
        for t, (i,) in enumerate(blocks):
            row = y[i] * y * (problem.data @ problem.data[i])
            alpha[i] = log[t, 0] = min(max(alpha[i] - (row @ alpha - 1.0) / row[i], 0.0), problem.loss.C)
        log *= 1.0 + log_off
        return RETURNED[returned](y, alpha)

    generator = np.random.Generator(np.random.PCG64(5))
    data, labels = generator.standard_normal((14, 5)), np.where(generator.random(14) < 0.5, -1.0, 1.0)
    problem = Problem("p", data, labels, LinearKernel(), Hinge(0.01))
    solver = CallableSolver(function, Declaration("other", log=True))
    _, verdict = judge(solver, problem, IndexStream("uniform", 14, 1, 206, 1), s=7)
    assert (verdict.status, verdict.place.item) == (Status.FAIL, "log")
    assert (verdict.defects, verdict.requirement) == ((), "S-3.12")
    assert HintKind.AT_LIMITS not in hinted(verdict)


def with_log_changed(change):
    """Production runs of a small problem, every window recorded, with something changed; their verdict."""
    case, tested = named_case(SquaredHinge(0.5), RBFKernel(0.3), s_values=(5,))
    return judged(step_replay, case, tested, lambda run: change(case, run))[5]


def test_draws_that_are_one_place_behind_from_a_window_on_are_named():
    case, tested = named_case(SquaredHinge(0.5), RBFKernel(0.3), s_values=(5,))
    run = tested.run(step_replay.CHECK.runs(case)["s=5"])
    alphas, alpha, position = [run.alphas[0]], np.array(run.alphas[0]), 0
    for iteration in run.iterations[1:].tolist():
        for step in range(position, iteration):
            alpha[case.stream.blocks(step - (step >= 40), step + 1 - (step >= 40))[0]] = run.log[step]
        position = iteration
        alphas.append(alpha.copy())
    verdict = judged(step_replay, case, tested, lambda run: replace(run, alphas=np.array(alphas)))[5]
    assert (verdict.status, verdict.requirement) == (Status.FAIL, "S-2.2")
    assert named(verdict) == ["draws one place behind"]


def backwards(*, drawn, length=206):
    """The verdict on a K-SVM that takes its draws in reverse order, or else writes its log so."""

    def solve(problem, blocks, s, a0, log):
        y, alpha, C = problem.targets, a0.copy(), problem.hinge.C
        matrix = (problem.dense @ problem.dense.T) * y * y[:, None]
        for step, (i,) in enumerate(blocks[::-1] if drawn else blocks):
            alpha[i] = min(max(alpha[i] - (matrix[i] @ alpha - 1) / matrix[i, i], 0.0), C)
            log[step if drawn else len(log) - 1 - step, 0] = alpha[i]
        return alpha

    generator = np.random.Generator(np.random.PCG64(5))
    data, labels = generator.standard_normal((14, 5)), np.where(generator.random(14) < 0.5, -1.0, 1.0)
    problem = Problem("p", data, labels, LinearKernel(), Hinge(1.0))
    solver = CallableSolver(solve, Declaration("backwards", log=True))
    stream = IndexStream("cyclic" if length < 14 else "uniform", 14, 1, length, 1)
    return judge(solver, problem, stream, s=7, checks=["step-replay"])[-1]


def test_draws_in_reverse_order_are_named():
    verdict = backwards(drawn=True)
    assert (verdict.status, verdict.requirement) == (Status.FAIL, "S-2.2")
    assert named(verdict) == ["draws in reverse order"]


@pytest.mark.parametrize(("drawn", "length"), [(False, 206), (False, 12), (True, 12)])
def test_a_log_in_reverse_order_is_no_order_of_draws(drawn, length):
    # Of 12 cyclic draws of 14 coordinates none is made again: then either order leads to the same alpha.
    verdict = backwards(drawn=drawn, length=length)
    assert (verdict.status, named(verdict)) == (Status.FAIL, [])


def test_a_log_and_a_record_that_differ_break_what_holds_of_both():
    def stored(case, run):
        alphas = run.alphas.copy()
        alphas[1:, case.stream.blocks(0, 1)[0, 0]] *= 1.0 + 1e-6
        return replace(run, alphas=alphas)

    verdict = with_log_changed(stored)
    assert (verdict.status, verdict.requirement, verdict.defects) == (Status.FAIL, "S-3.12", ())


def test_no_defect_explains_a_coordinate_that_moved_though_no_step_drew_it():
    def moved(case, run):
        drawn = set(case.stream.blocks(0, int(run.iterations[1])).ravel().tolist())
        alphas = run.alphas.copy()
        alphas[1:, next(i for i in range(12) if i not in drawn)] += 1.0
        return replace(run, alphas=alphas)

    verdict = with_log_changed(moved)
    assert (verdict.status, verdict.requirement, verdict.defects) == (Status.FAIL, "S-3.12", ())
    assert HintKind.UNDRAWN_MOVED in hinted(verdict)


def test_a_coordinate_that_moved_undrawn_may_have_been_drawn_before():
    """The hint is about the steps since alpha was last recorded, and its words say no more."""

    def moved(case, run):
        before, last = (int(one) for one in run.iterations[-2:])
        early = set(case.stream.blocks(0, before).ravel().tolist())
        late = set(case.stream.blocks(before, last).ravel().tolist())
        alphas = run.alphas.copy()
        alphas[-1, min(early - late)] += 1.0
        return replace(run, alphas=alphas)

    verdict = with_log_changed(moved)
    assert HintKind.UNDRAWN_MOVED in hinted(verdict)
