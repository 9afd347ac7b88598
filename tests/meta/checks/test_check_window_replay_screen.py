"""A screen decides nothing: what the screen of window-replay flags is replayed exactly, or left undecided."""

from __future__ import annotations

import numpy as np
import pytest
from cancelling import KINDS, TASKS, FromSamples, cancelling

from sstep_verify import judge
from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.window import many_windows, screen
from sstep_verify.judging import judged_by
from sstep_verify.verdict import NoteKind, Status, Why


def replayed(solver, task, kind, seed, s=8, **options):
    problem, stream = cancelling(seed, task, kind, **options)
    contract, verdict = judge(solver, problem, stream, s, checks=["window-replay"])
    assert contract.status is Status.PASS, contract.reason
    sources = [value for key, value in verdict.evidence.items() if key.startswith("from_")]
    assert sources
    assert verdict.ratio in [one["ratio"] for one in sources]
    return verdict


@pytest.mark.parametrize("every", [2, pytest.param(1, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("task", TASKS)
def test_a_right_solver_stays_within_the_bound_of_the_screen(task, every):
    found = []
    pairs = [(update, kind) for kind in KINDS for update in ("in-place", "frozen")]
    # By day each kind of data with one of both updates.
    for update, kind in [pair for place, pair in enumerate(pairs) if (place + place // 2) % every == 0]:
        verdict = replayed(FromSamples(update), task, kind, 0)
        assert verdict.status in (Status.PASS, Status.VACUOUS), (kind, verdict.reason)
        screened = verdict.evidence["screen"]
        assert screened["flagged"] == 0, (update, kind, screened)
        assert screened["windows"] == verdict.planned >= 20
        found.append(screened["largest_ratio"])
    # A bound that no run comes near would pass whatever is wrong.
    assert len(found) == 8 // every
    assert 1e-3 < max(found) <= 1


@pytest.mark.parametrize("task", TASKS)
def test_a_run_that_begins_elsewhere_than_at_zero_is_made_again_from_there(task):
    problem, stream = cancelling(3, task, "mixed")
    ends = problem.dual if problem.is_svm else None
    initial = np.full(problem.samples, min(ends.upper, 1.0) / 2 if ends else -0.25)
    solver = FromSamples()
    case = Case("some", problem, stream, (8,), 160, solver.declaration, initial=initial)
    _, verdict = judged_by({"": solver}, case, CHECKS["contract"], CHECKS["window-replay"])
    assert verdict.status in (Status.PASS, Status.VACUOUS), verdict.reason
    assert verdict.evidence["screen"]["other_run_at"] is None
    assert verdict.executed == verdict.planned == 20


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize("task", TASKS)
def test_a_defect_among_products_that_cancel_is_seen(task):
    statuses = []
    for seed, kind in enumerate(KINDS):
        verdict = replayed(FromSamples(wrong=100), task, kind, seed)
        statuses.append(verdict.status)
    assert statuses.count(Status.FAIL) == len(KINDS), statuses


def tightened(monkeypatch, factor):
    """A screen whose bound is so many times smaller: one that right solvers exceed."""
    for name in ("screen_svm", "screen_ridge"):
        real = getattr(screen, name)

        def smaller(*arguments, real=real):
            found = real(*arguments)
            return screen.Screened(found.distance, found.bound / factor, found.ratio * factor, found.events)

        monkeypatch.setattr(screen, name, smaller)


@pytest.mark.parametrize("task", TASKS)
def test_what_is_flagged_is_replayed_until_it_is_explained(task, monkeypatch):
    tightened(monkeypatch, 1e9)
    verdict = replayed(FromSamples(), task, "mixed", 4)
    screened = verdict.evidence["screen"]
    assert verdict.status is Status.PASS
    assert screened["replayed"] == screened["flagged"] > 4
    assert verdict.executed == verdict.planned
    assert (verdict.coverage.flagged, verdict.coverage.replayed) == (screened["replayed"],) * 2


@pytest.mark.parametrize("task", TASKS)
def test_what_is_flagged_and_not_replayed_is_neither_right_nor_wrong(task, monkeypatch):
    tightened(monkeypatch, 1e9)
    monkeypatch.setattr(many_windows, "MOST_REPLAYED", 3)
    verdict = replayed(FromSamples(), task, "mixed", 4)
    screened = verdict.evidence["screen"]
    assert verdict.status is Status.INCONCLUSIVE
    assert screened["replayed"] == 3 < screened["flagged"]
    assert verdict.executed < verdict.planned
    assert 1 < verdict.ratio < np.inf
    assert verdict.why is Why.NOT_REPLAYED
    assert (verdict.coverage.flagged, verdict.coverage.replayed) == (screened["flagged"], 3)


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize("task", TASKS)
def test_a_defect_is_found_behind_windows_that_a_screen_flags_in_vain(task, monkeypatch):
    tightened(monkeypatch, 1e9)
    verdict = replayed(FromSamples(wrong=100), task, "mixed", 4)
    assert verdict.status is Status.FAIL
    # The largest ratio comes first, so few replays find it among many that are in vain.
    assert verdict.evidence["screen"]["replayed"] < verdict.evidence["screen"]["flagged"]


class Recorded(FromSamples):
    """Rounds w to the neighbour of what it sums where it is recorded more often than in a plain run."""

    def run(self, request, observe=None):
        self._often = len(request.stops) > 12
        return super().run(request)

    def _weights(self, data, signs, a):
        weights = super()._weights(data, signs, a)
        return np.nextafter(weights, np.inf) if self._often else weights


@pytest.mark.parametrize("task", TASKS)
def test_a_run_made_again_that_only_rounds_otherwise_does_not_fail(task, monkeypatch):
    tightened(monkeypatch, 1e9)
    bridged = 0
    for update, kind in (("in-place", "nearly"), ("frozen", "mixed")):
        verdict = replayed(Recorded(update), task, kind, 4)
        assert verdict.evidence["screen"]["other_run_at"]
        assert NoteKind.OTHER_RUN in [note.kind for note in verdict.notes]
        assert verdict.status is not Status.FAIL, verdict.reason
        bridged += verdict.evidence["windows"][-1]["tags"] == ["unlike the run made again"]
    assert bridged >= 1
    monkeypatch.setattr(many_windows, "REPLAY_WORK", 0)
    verdict = replayed(Recorded(), task, kind, 4)
    assert verdict.status is Status.INCONCLUSIVE, verdict.reason
