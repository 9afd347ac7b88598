"""The screen of window-replay: every window of a run judged, rare mistakes found, right runs left alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from daily import some
from judged import by_s, hinted, small_case
from sstep_reference import SingularSystemError

from sstep_verify.adapters import CallableSolver, ReferenceSolver
from sstep_verify.bounds import screen as bounding
from sstep_verify.bounds.window.svm_formulas import HIGH
from sstep_verify.checks import window_replay as check
from sstep_verify.checks.registry import verdicts_of
from sstep_verify.checks.shared.continued import continued_key
from sstep_verify.checks.window import screen as screening
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, RBFKernel, Ridge, SquaredHinge
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import rounded_problem
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.scenarios.draws import draw_scenario
from sstep_verify.solver import ProductionSolver
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import HintKind, NoteKind, Status

LOSSES = [(Hinge(0.5), 1), (SquaredHinge(2.0), 1), (Ridge(0.05), 1), (Ridge(0.05), 3)]


class Spoiled:
    """The production solver without a log, spoiled by `change` between windows.

    Parameters
    ----------
    change : callable
        Maps (request, iteration, a) at a window's end to the a that takes its place.
    """

    def __init__(self, change=None):
        self._solver, self._change = ProductionSolver(), change
        self.declaration = replace(self._solver.declaration, log=False, panels=False)

    def run(self, request, observe=None) -> Trajectory:
        states, alpha = [], request.initial
        alpha = np.zeros(request.problem.samples) if alpha is None else alpha.copy()
        for begin in range(0, request.iterations, request.s):
            states.append(alpha)
            steps = min(request.s, request.iterations - begin)
            part = RunRequest(
                request.problem, request.stream, request.s, steps, request.start + begin, alpha
            )
            alpha = self._solver.run(part).final.copy()
            if self._change is not None:
                alpha = self._change(request, request.start + begin + steps, alpha)
        states.append(alpha)
        stops = request.stops
        return Trajectory(
            request.s,
            request.start,
            np.array(stops),
            np.array([states[-(-stop // request.s)] for stop in stops]),
        )


def judged(case, solver):
    """Verdicts by s, the continued runs made as a campaign makes them."""
    runs = {key: solver.run(request) for key, request in check.runs(case).items()}
    runs |= {key: solver.run(request) for key, request in screening.requests(case, runs).items()}
    return by_s(verdicts_of(check.CHECK, case, runs, Oracle(case.problem)), case.s_values)


@pytest.mark.parametrize(("loss", "block"), some(LOSSES, of=3))
def test_every_window_of_a_right_run_is_judged(loss, block):
    case, solver = small_case(loss, block=block, solver=Spoiled(), iterations=150)
    for s, verdict in judged(case, solver).items():
        assert verdict.status is Status.PASS, verdict.reason
        assert verdict.executed == verdict.planned == -(-150 // s)
        assert (verdict.coverage.judged, verdict.coverage.of) == (verdict.planned, verdict.planned)
        assert 0 < verdict.evidence["screen"]["largest_ratio"] <= 1


@pytest.mark.parametrize(("loss", "block"), some(LOSSES, of=2, first=1))
def test_one_wrong_window_is_found_wherever_it_is(loss, block):
    for wrong in (52, 100, 148):

        def change(_, iteration, alpha, wrong=wrong):
            return alpha * (1 + 1e-9) if iteration == wrong else alpha

        case, solver = small_case(loss, block=block, solver=Spoiled(change), iterations=150, s_values=(4,))
        verdict = judged(case, solver)[4]
        assert verdict.status is Status.FAIL
        assert [w["end"] for w in verdict.evidence["windows"] if w["status"] == "FAIL"] == [wrong]


def test_a_mistake_in_windows_that_are_not_recorded_is_found():
    def change(request, iteration, alpha):
        return alpha if iteration - request.start in request.stops else alpha * (1 + 1e-9)

    for loss, block in LOSSES:
        case, solver = small_case(loss, block=block, solver=Spoiled(change), iterations=150, s_values=(4,))
        verdict = judged(case, solver)[4]
        assert verdict.status is Status.FAIL
        assert HintKind.DEPENDS_ON_RECORDING in hinted(verdict)
        assert NoteKind.OTHER_RUN in {note.kind for note in verdict.notes}


def test_a_run_too_long_to_be_recorded_is_screened_in_segments(monkeypatch):
    case, solver = small_case(Hinge(0.5), solver=Spoiled(), iterations=150, s_values=(1,))
    monkeypatch.setattr(screening, "WORDS", 60 * case.problem.samples)
    verdict = judged(case, solver)[1]
    assert verdict.status is Status.PASS
    assert verdict.executed < verdict.planned == 150
    assert (verdict.coverage.judged, verdict.coverage.of) == (verdict.executed, 150)


def test_a_solver_that_logs_or_maintains_weights_is_not_run_again():
    case, solver = small_case(Hinge(0.5), solver=Spoiled())
    runs = {key: solver.run(request) for key, request in check.runs(case).items()}
    again = {continued_key(s) for s in case.s_values}
    assert set(check.CHECK.continued(case, runs)) > again
    for said in ({"log": True}, {"weights": 0}):
        other = replace(case, declaration=replace(case.declaration, **said))
        assert set(check.CHECK.continued(other, runs)) == again


def test_a_solver_of_its_final_a_is_screened_by_prefixes():
    asked = []

    def solve(problem, blocks, s, a0):
        asked.append(len(blocks))
        part = RunRequest(problem, case.stream, s, len(blocks), initial=a0)
        return ReferenceSolver("float64").run(part).final

    declaration = replace(ReferenceSolver("float64").declaration, log=False)
    case, solver = small_case(SquaredHinge(2.0), solver=CallableSolver(solve, declaration), s_values=(4,))
    case = replace(case, points={4: (75,)})
    plain = {key: solver.run(request) for key, request in check.runs(case).items()}
    before = sum(asked)
    [(key, request)] = screening.requests(case, plain).items()
    screened = solver.run(request)
    assert sum(asked) - before <= (screening.PREFIXES + 1) * 75
    verdict = check.judge(case, {**plain, key: screened}, Oracle(case.problem))[0]
    assert verdict.status is Status.PASS
    assert 5 < verdict.executed < verdict.planned


@pytest.mark.parametrize("task", ["svm-l1", "svm-l2", "krr"])
def test_correct_runs_stay_within_the_screens_bound(task):
    """Both precisions, both forms, drawn problems; as windows and as one long segment."""
    generator, ratios = np.random.Generator(np.random.PCG64(8)), []
    for place in range(40):
        scenario = draw_scenario(generator, task, ("linear", "polynomial", "rbf")[place % 3])
        given, stream = scenario.problem(), scenario.stream()
        solver = ReferenceSolver(("float64", "float32")[place % 2], ("sstep", "classical")[place // 2 % 2])
        problem = rounded_problem(given, solver.declaration) or given
        s, length = scenario.s, stream.length
        request = RunRequest(problem, stream, s, length, record=tuple(range(s, length, s)))
        try:
            run = solver.run(request)
        except SingularSystemError:  # elimination broke down, which no bound promises it will not
            continue
        rows = np.arange(problem.samples)
        entries = kernel_entries(problem, solver.declaration, rows)
        draws = stream.blocks(0, length)
        compare = bounding.screen_svm if problem.is_svm else bounding.screen_ridge
        draws = draws.ravel() if problem.is_svm else draws
        for alphas, segment in ((run.alphas, 0), (run.alphas[[0, -1]], length)):
            found = compare(problem, solver.declaration, entries, rows, alphas, draws, s, segment)
            assert (found.ratio <= 1).all(), (scenario.id, solver.declaration.name)
            ratios += found.ratio[np.isfinite(found.bound)].tolist()
    print(f"{task}: {len(ratios)} windows, largest ratio {max(ratios):.3g}")
    assert max(ratios) > 1e-4


def test_the_screen_says_what_happens_in_a_window():
    case, solver = small_case(Hinge(0.05), RBFKernel(0.5), solver=Spoiled(), iterations=40, s_values=(8,))
    run = solver.run(RunRequest(case.problem, case.stream, 8, 40, record=tuple(range(8, 40, 8))))
    rows = np.arange(12)
    entries = kernel_entries(case.problem, case.declaration, rows)
    draws = case.stream.blocks(0, 40).ravel()
    found = bounding.screen_svm(case.problem, case.declaration, entries, rows, run.alphas, draws, 8)
    for place, events in enumerate(found.events.tolist()):
        counts = np.bincount(draws[place * 8 : place * 8 + 8])
        assert bool(events & bounding.TWICE) == (counts.max() >= 2)
        assert bool(events & bounding.THRICE) == (counts.max() >= 3)
    assert (found.events & HIGH).any()
