"""Runs continued from a recorded alpha: a start that is not used fails, and no bit of a correct run does.

What is planted acts in continued runs only, or in the second run only. The correct solvers keep kernel rows, or
maintain a gradient, and declare neither; or they sum in an order that depends on the length of the run.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from daily import crossed

from sstep_verify import CallableSolver, Declaration, Trajectory, judge, verify
from sstep_verify.checks.shared.continued import EVIDENCE
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, RBFKernel, Ridge, SquaredHinge
from sstep_verify.verdict import HintKind, NoteKind, Status

SAMPLES = 14
LOSSES = {"svm-l1": Hinge(1.5), "svm-l2": SquaredHinge(1.5), "krr": Ridge(0.3)}
GRADIENT, ROWS, LENGTH = "maintained gradient", "kept rows", "order by length"


def drawn(task, samples=SAMPLES, iterations=60, block=1):
    generator = np.random.Generator(np.random.PCG64(31))
    data, targets = generator.standard_normal((samples, 5)), generator.standard_normal(samples)
    targets = targets if task == "krr" else np.where(targets < 0, -1.0, 1.0)
    problem = Problem("drawn", data, targets, RBFKernel(0.2), LOSSES[task])
    return problem, IndexStream("uniform", samples, block, iterations, seed=5)


def entries(problem, rows, columns=slice(None)):
    """Kernel entries of some rows, in the order of features that the data have."""
    data = problem.dense
    products = data[rows] @ data[columns].T
    if isinstance(problem.kernel, LinearKernel):
        return products
    if not isinstance(problem.kernel, RBFKernel):
        return (problem.kernel.offset + products) ** problem.kernel.degree
    norms = (data**2).sum(axis=1)
    return np.exp(
        -problem.kernel.sigma * np.maximum(norms[rows][:, None] + norms[columns] - 2 * products, 0)
    )


class Solver:
    """Classical steps of any window, in place, by rows that are formed as its `way` says."""

    def __init__(self, way="", begun=None, wrong=1.0):
        self.way, self.begun, self.wrong = way, begun or (lambda a0: a0), wrong

    def solve(self, problem, blocks, s, a0, log=None):
        alpha, kept = np.array(self.begun(a0), dtype=np.float64), {}
        if self.way == LENGTH and len(blocks) // s % 2:
            problem = replace(problem, data=np.ascontiguousarray(problem.dense[:, ::-1]))
        signs = problem.targets if problem.is_svm else np.ones(problem.samples)
        maintained = entries(problem, slice(None)) @ (signs * alpha) if self.way == GRADIENT else None
        for begin in range(0, len(blocks), s):
            window = blocks[begin : begin + s]
            for k, B in enumerate(window, begin):
                new = [i for i in dict.fromkeys(window.ravel().tolist()) if i not in kept]
                if new:  # In one product, so that bits depend on what else is new.
                    kept |= dict(zip(new, entries(problem, new), strict=True))
                rows = np.array([kept[i] for i in B.tolist()])
                gradient = maintained[B] if maintained is not None else rows @ (signs * alpha)
                before = alpha[B].copy()
                alpha[B] += self.increment(problem, B, rows[:, B], gradient, before) * self.wrong
                if problem.is_svm:
                    alpha[B] = np.clip(alpha[B], 0.0, problem.hinge.upper)
                if maintained is not None:
                    maintained += (signs[B] * (alpha[B] - before)) @ rows
                if log is not None:
                    log[k] = alpha[B]
            if self.way != ROWS:
                kept.clear()
        return alpha

    def increment(self, problem, B, square, gradient, now):
        if not problem.is_svm:
            penalty, m = problem.ridge.penalty, problem.samples
            return np.linalg.solve(
                square / penalty + m * np.eye(B.size), problem.targets[B] - m * now - gradient / penalty
            )
        shift = problem.dual.shift
        with np.errstate(divide="ignore"):  # without curvature the value is clipped to C
            return -(problem.targets[B] * gradient - 1.0 + shift * now) / (square[0] + shift)


def as_callable(solver, *, log):
    return CallableSolver(solver.solve, Declaration("own", log=log))


class Traced:
    """The same as a solver of level 2: all window ends are of one run."""

    def __init__(self, solver, *, log):
        self.solver, self.declaration = solver, Declaration("traced", log=log, level=2)

    def run(self, request, observe=None):
        states, a0 = [], request.first
        log = np.full((request.iterations, request.stream.block), np.nan)
        whole = self.solver.solve(request.problem, request.blocks(), request.s, a0, log)
        for stop in request.stops:
            state, blocks = np.array(a0), request.blocks(0, stop)
            state[blocks.ravel()] = log[:stop].ravel()
            states.append(state)
        states[-1] = whole if request.iterations else states[-1]
        states[0] = np.array(a0)
        return Trajectory(
            request.s, request.start, np.array(request.stops), np.array(states),
            log=log if request.log and self.declaration.log else None,
        )  # fmt: skip


def forgotten_once():
    """The first start that is not 0 is taken for 0, all later ones are used."""
    met = []

    def begun(a0):
        met.append(a0.any())
        return 0 * a0 if sum(met) == 1 and met[-1] else a0

    return begun


PLANTED = {
    "ignored": lambda: lambda a0: 0 * a0,
    "rounded to float32": lambda: lambda a0: a0.astype(np.float32),
    "ignored in the second run": forgotten_once,
}


@pytest.mark.parametrize(
    ("name", "task", "s", "log"), crossed(PLANTED, LOSSES, [1, 5], [True, False], of=3)
)
def test_a_start_that_is_not_used_fails_on_the_continued_run(name, task, s, log):
    check = "step-replay" if log else "window-replay"
    for make in (as_callable, Traced):
        problem, stream = drawn(task)
        contract, verdict = judge(make(Solver(begun=PLANTED[name]()), log=log), problem, stream, s)
        assert (contract.status, verdict.check, verdict.status) == (Status.PASS, check, Status.FAIL)
        # Of two runs one of which starts from 0, the first decides what is said of both.
        zero = HintKind.STARTED_AT_ZERO in {one.kind for one in verdict.hints}
        assert zero is (name == "ignored") or name == "ignored in the second run"
        assert verdict.requirement == ("S-2.1" if zero else "S-2.8")
        assert verdict.place.run == f"s={s}/continued"
        # No step was judged of a log that does not lead from the start that was asked for.
        assert any(note.kind is NoteKind.CONTINUED for note in verdict.notes) == (not log)
        contract, verdict = judge(make(Solver(), log=log), problem, stream, s)
        assert verdict.status is Status.PASS, verdict.reason
        assert verdict.evidence[EVIDENCE]["from"] > 0


@pytest.mark.parametrize(
    ("task", "way", "make", "log", "kernel"),
    [
        ("svm-l1", GRADIENT, Traced, True, "rbf"),
        ("svm-l2", ROWS, Traced, False, "linear"),
        pytest.param("krr", GRADIENT, as_callable, True, "linear", marks=pytest.mark.nightly),
        pytest.param("svm-l1", ROWS, as_callable, False, "polynomial", marks=pytest.mark.nightly),
        pytest.param("svm-l2", GRADIENT, as_callable, True, "polynomial", marks=pytest.mark.nightly),
        pytest.param("krr", ROWS, Traced, False, "rbf", marks=pytest.mark.nightly),
    ],
)
def test_a_correct_solver_that_does_not_restart_bit_for_bit_passes_every_check(
    task, way, make, log, kernel
):
    problem, stream = drawn(task, 200, 400)
    solver = Solver(way)
    whole, blocks = solver.solve(problem, stream.blocks(0, 400), 5, np.zeros(200)), stream.blocks(200, 400)
    half = solver.solve(problem, stream.blocks(0, 200), 5, np.zeros(200))
    again = solver.solve(problem, blocks, 5, half)
    assert not np.array_equal(whole, again)
    np.testing.assert_allclose(whole, again, rtol=0, atol=1e-10)
    report = verify(make(solver, log=log), "ci", s=(1, 7), tasks=(task,), kernels=(kernel,))
    assert report.passed, report
    assert any(EVIDENCE in one["evidence"] for one in report.results.verdicts)


@pytest.mark.parametrize(("task", "log"), crossed(LOSSES, [True, False], of=2))
def test_a_solver_that_sums_by_the_length_of_its_run_is_not_failed_by_bits(task, log):
    problem, stream = drawn(task, 40, 110)
    solver = Solver(LENGTH)
    runs = [solver.solve(problem, stream.blocks(0, count), 5, np.zeros(40)) for count in (100, 105)]
    undrawn = np.setdiff1d(np.arange(40), stream.blocks(100, 105))
    assert not np.array_equal(runs[0][undrawn], runs[1][undrawn])
    for s in (1, 5):
        _, verdict = judge(as_callable(solver, log=log), problem, stream, s)
        assert verdict.status is Status.PASS, verdict.reason
        _, verdict = judge(as_callable(Solver(LENGTH, wrong=1 + 1e-6), log=log), problem, stream, s)
        assert verdict.status is Status.FAIL


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("task", LOSSES)
def test_a_verdict_counts_the_continued_run_and_has_the_larger_ratio(task, log):
    problem, stream = drawn(task)
    solver = Solver()
    tested = CallableSolver(
        solver.solve if log else lambda *given: solver.solve(*given), Declaration("counted", log=log)
    )
    (verdict,) = (one for one in judge(tested, problem, stream, s=5) if one.check != "contract")
    (made,) = (note.detail for note in verdict.notes if note.kind is NoteKind.CONTINUED)
    begun = verdict.evidence[EVIDENCE]
    assert made == ((begun["from"], begun["steps"], "step") if log else (begun["from"], 1, "window"))
    assert verdict.ratio >= begun["ratio"]
    assert not verdict.place.run or verdict.ratio == begun["ratio"]
    screened = sum(note.detail[0] for note in verdict.notes if note.kind is NoteKind.SCREENED)
    exact = {one["begin"] for one in verdict.evidence.get("windows", ())}
    assert log or screened + len(exact) == verdict.coverage.judged
