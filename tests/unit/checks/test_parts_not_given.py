"""Checks on what is told of windows, panels, biases and coordinates: each decision on a small example."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")

from judged import judged, small_case
from production_runs import KERNELS, problem_of, stream_of
from scipy.optimize import minimize_scalar

from sstep_verify.bounds.kernel.entries import kernel_entries
from sstep_verify.checks import box, sstep_equals_classical, window_replay
from sstep_verify.checks import kernel_entries as kernel_entries_check
from sstep_verify.checks.answer.nearness import _svm
from sstep_verify.checks.answer.reading import Reading
from sstep_verify.checks.panel.defects import SPLIT, differs
from sstep_verify.checks.shared.case import Case, plain_request
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.checks.window import mistaken, replays, sweep
from sstep_verify.checks.window.choose import Window
from sstep_verify.judging import judge
from sstep_verify.numerics.kernel_matrix import kernel_matrix
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.production import ProductionSolver
from sstep_verify.trajectory import Panel
from sstep_verify.verdict import Status


@pytest.mark.parametrize(("loss", "block"), [(Hinge(0.5), 1), (SquaredHinge(2.0), 1), (Ridge(0.05), 3)])
def test_a_window_that_no_other_problem_explains_is_put_down_to_none(loss, block):
    case, solver = small_case(loss, RBFKernel(0.3), block=block, s_values=(4,), iterations=8)

    def change(run):
        alphas = run.alphas.copy()
        alphas[1:, case.stream.blocks(0, 4)[-1]] *= 1.0 + 1e-4
        alphas[1:, case.stream.blocks(0, 4)[0]] += 1e-4
        return replace(run, alphas=alphas)

    verdict = judged(window_replay, case, solver, change)[4]
    assert verdict.status is Status.FAIL
    assert not any(name in verdict.reason for name in mistaken.SOLVED_INSTEAD)


def test_of_a_panel_are_asked_the_quantities_not_seen_from_the_data_and_those_wanted_again(monkeypatch):
    case, solver = small_case(Hinge(0.5), s_values=(4,), iterations=8)
    run = solver.run(plain_request(case, 4))
    draws = np.unique(case.stream.blocks(0, 4))
    panel = Panel(draws, kernel_matrix(case.problem)[draws])
    asked = []

    def compared(self, given, start, end, panel):
        asked.append((panel is not None, list(given.names)))
        return SimpleNamespace(shows=lambda name: name in ("stale", "labels"))

    monkeypatch.setattr(replays.WindowReplays, "_compared", compared)
    monkeypatch.setattr(replays, "joined", lambda *_, **__: None)
    run = replace(run, panels={0: panel})
    names = ("stale", "labels", "kernel")
    replays.WindowReplays(case, Oracle(case.problem)).finding(
        run, Window(0, 4), names=names, again=("stale",)
    )
    assert asked == [(False, list(names)), (True, ["stale", "kernel"])]


@pytest.mark.parametrize("whole", [False, True])
def test_a_panel_without_an_entry_is_what_is_wrong_and_no_error_of_a_check(whole):
    case, solver = small_case(Hinge(0.5), s_values=(4,), iterations=16)

    class Empty:
        declaration = solver.declaration

        def run(self, request, observe=None):
            made = solver.run(request, observe)
            none = np.zeros(0, dtype=np.int64)
            empty = Panel(none, np.zeros((0, case.problem.samples)))
            if made.panels and whole:  # Rows, of no entry.
                first = next(iter(made.panels.values()))
                empty = Panel(first.columns, np.zeros((len(first.columns), 0)), none)
            return replace(made, panels=dict.fromkeys(made.panels, empty))

    (verdict,) = judge(Empty(), case.problem, case.stream, 4, checks=("kernel-entries",))
    assert (verdict.check, verdict.status) == ("contract", Status.FAIL)
    assert "holds no entry, but its window drew coordinates" in verdict.reason
    (alone,) = judged(kernel_entries_check, case, Empty()).values()
    assert alone.status is Status.INCONCLUSIVE
    assert "the run left none" in alone.reason


def test_behind_steps_that_are_skipped_the_last_of_them_stands():
    problem, stream, tested = problem_of("svm-l1", KERNELS[2]), stream_of("svm-l1"), ProductionSolver()
    case = Case("skipped", problem, stream, (4,), 60, tested.declaration)
    run = tested.run(RunRequest(problem, stream, 4, 60, log=True))
    judge = StepJudge(case, Oracle(problem))
    state = judge._state(run)
    state.last[:] = 3
    judge._skip(run, state, 0, 20)
    recorded = np.array(run.alphas[0])
    for step, (i,) in enumerate(stream.blocks(0, 20)):
        recorded[i] = run.log[step, 0]
    (last,) = stream.blocks(19, 20)[0]
    before = [run.log[step, 0] for step, (i,) in enumerate(stream.blocks(0, 19)) if i == last]
    assert state.last.tolist() == [last]
    assert state.step.tolist() == [run.log[19, 0] - (before[-1] if before else run.alphas[0][last])]
    assert np.array_equal(state.alpha, recorded)
    assert np.array_equal(state.bounded, np.abs(recorded))
    assert np.array_equal(state.start, problem.targets * recorded)


@pytest.mark.parametrize("loss", [Hinge(2.0), SquaredHinge(2.0)])
def test_the_gap_of_a_problem_with_a_free_bias(loss):
    problem = problem_of("svm-l1", RBFKernel(0.5))
    problem = replace(problem, loss=loss)
    y, kernel = problem.targets, kernel_matrix(problem)
    positive, negative = y > 0, y < 0
    alpha = np.where(positive, 0.3 / positive.sum(), 0.3 / negative.sum()) * 2
    margins = y * (kernel @ (y * alpha))

    def losses(bias):
        return loss.C * (np.maximum(1 - margins - y * bias, 0) ** loss.power).sum()

    best = min(
        minimize_scalar(losses, bounds=(-4, 4), method="bounded", options={"xatol": 1e-12}).fun, losses(0.0)
    )
    dual = alpha.sum() - alpha @ margins / 2 - loss.shift / 2 * alpha @ alpha
    gap = alpha @ margins / 2 + best - dual
    found, added = _svm(Reading("with a bias", problem, alpha, 0.0, free_bias=True))
    assert found == pytest.approx(gap / dual, rel=1e-5)
    assert added == 0.0
    plain, _ = _svm(Reading("without", problem, alpha, 0.0))
    assert plain == pytest.approx((alpha @ margins / 2 + losses(0.0) - dual) / dual, rel=1e-5)
    uneven = alpha.copy()
    uneven[0] *= 1.5
    assert _svm(Reading("uneven", problem, uneven, 0.0, free_bias=True))[0] == np.inf


@pytest.mark.parametrize(("loss", "block"), [(Hinge(0.5), 1), (SquaredHinge(2.0), 1), (Ridge(0.05), 3)])
def test_coordinates_that_were_not_written_down_are_not_compared(loss, block):
    case, solver = small_case(loss, RBFKernel(0.3), block=block, s_values=(4,), iterations=24)
    known = np.ones(12, dtype=bool)
    known[case.stream.blocks(0, 4)[:2].ravel()[:2]] = False

    def change(run):
        alphas = run.alphas.copy()
        alphas[:, ~known] = 0.0
        return replace(run, alphas=alphas, known=known)

    verdict = judged(sstep_equals_classical, case, solver, change)[4]
    assert verdict.status in (Status.PASS, Status.VACUOUS), verdict.reason
    assert verdict.ratio < 1


def test_every_coordinate_on_the_box_is_tried_without_the_clip(monkeypatch):
    case, tested = small_case(Hinge(0.1), s_values=(4,))
    looked = []
    monkeypatch.setattr(box, "_beyond", lambda _, __, coordinate: (looked.append(int(coordinate)), 1.0)[1])
    judged(box, case, tested)
    run = tested.run(plain_request(case, 4))
    sitting = np.flatnonzero((run.final == 0.0) | (run.final == 0.1))
    assert len(looked) == len(set(looked)) == min(box.PROBED, sitting.size)
    assert set(looked) <= set(sitting.tolist())


@pytest.mark.parametrize("room", [0, -1])
def test_a_part_that_costs_too_much_is_not_bridged(room, monkeypatch):
    case, tested = small_case(Hinge(0.5), s_values=(4,), iterations=24)
    run = tested.run(plain_request(case, 4))
    rows = np.unique(case.stream.blocks(0, 24)).size
    monkeypatch.setattr(sweep, "BRIDGE", 2 * 24**2 * rows + room)
    run = SimpleNamespace(start=0, s=4, at=lambda k: run_at[k])
    run_at = {0: np.zeros(12), 24: np.zeros(12)}
    assert (sweep._bridge(case, run, 0, 24) is None) == (room < 0)


def test_a_kernel_of_parts_differs_only_where_the_parts_do():
    half = np.array([[1.0, 0.5, 0.0, 0.0], [0.25, -1.0, 0.0, 0.0]])
    full = np.array([[1.0, 0.5, 0.25, 1.0], [0.25, -1.0, 0.5, 2.0]])
    for data, different in ((half, False), (full, True)):
        problem = Problem("parts", data, np.ones(2), PolynomialKernel(2, 0.0), Hinge(1.0))
        assert differs(problem, SPLIT, np.arange(2), Oracle(problem)) == different


def test_the_curvature_that_a_step_used_is_off_by_solver_s_and_judge_s_entries(monkeypatch):
    from probing import ProbingSolver

    from sstep_verify.checks.probed import svm
    from sstep_verify.checks.probed.run import ProbedRun

    solver = ProbingSolver()
    problem, stream = problem_of("svm-l2", LinearKernel()), stream_of("svm-l2")
    case = Case("probed", problem, stream, (5,), 20, solver.declaration)
    run = solver.run(replace(plain_request(case, 5), log=True, probes=True))
    given = []
    original = svm.svm_curvature_bounds
    monkeypatch.setattr(
        svm, "svm_curvature_bounds", lambda *words: (given.append(words), original(*words))[1]
    )
    gradients = StepJudge(case, Oracle(problem)).gradients(run)
    svm.svm_quantities(ProbedRun(case, run, Oracle(problem)), *gradients)
    draws = stream.blocks(0, 20)[:, 0]
    entries = kernel_entries(problem, solver.declaration, np.arange(12))
    np.testing.assert_allclose(given[0][0].ravel(), np.diag(entries.values)[draws], rtol=1e-12)
    np.testing.assert_allclose(given[0][1].ravel(), np.diag(entries.solver + entries.own)[draws], rtol=1e-6)


@pytest.mark.parametrize("entries", [1 << 20, 12 * 4])
def test_a_sweep_compares_every_window_from_the_first_on(entries, monkeypatch):
    case, tested = small_case(Hinge(0.5), s_values=(4,), iterations=26)
    run = tested.run(RunRequest(case.problem, case.stream, 4, 26, record=tuple(range(0, 26, 4))))
    monkeypatch.setattr(sweep, "ENTRIES", entries)
    found = list(sweep._parts(case, run))
    assert (len(found) > 1) == (entries < 1 << 20)
    assert [first + k for first, swept in found for k in range(swept.ratio.size)] == list(range(7))
    assert all((swept.ratio <= 1).all() for _, swept in found)
