"""A screen decides nothing: what the sweep of window-replay flags is replayed exactly, or left undecided."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cancelling import KINDS, TASKS, FromSamples, cancelling

from sstep_verify import judge
from sstep_verify.checks import window_replay
from sstep_verify.checks.window import sweep
from sstep_verify.verdict import Status


def replayed(solver, task, kind, seed, s=8, **options):
    problem, stream = cancelling(seed, task, kind, **options)
    contract, verdict = judge(solver, problem, stream, s, checks=["window-replay"])
    assert contract.status is Status.PASS, contract.reason
    named = [float(one) for one in re.findall(r"([\d.e+-]+|inf) from", verdict.reason)]
    assert named
    assert max(named) <= verdict.ratio * 1.01 + 1e-300
    return verdict


@pytest.mark.parametrize("task", TASKS)
def test_a_right_solver_stays_within_the_bound_of_the_sweep(task):
    found = []
    for update, kind in [(update, kind) for update in ("in-place", "frozen") for kind in KINDS]:
        verdict = replayed(FromSamples(update), task, kind, 0)
        assert verdict.status in (Status.PASS, Status.VACUOUS), (kind, verdict.reason)
        swept = verdict.evidence["sweep"]
        assert swept["beyond the bound"] == 0, (update, kind, swept)
        assert swept["windows"] == verdict.planned >= 20
        found.append(swept["largest ratio"])
    # A bound that no run comes near would pass whatever is wrong.
    assert len(found) == 8
    assert 1e-3 < max(found) <= 1


@pytest.mark.parametrize("task", TASKS)
def test_a_defect_among_products_that_cancel_is_seen(task):
    statuses = []
    for seed, kind in enumerate(KINDS):
        verdict = replayed(FromSamples(wrong=100), task, kind, seed)
        statuses.append(verdict.status)
    assert statuses.count(Status.FAIL) == len(KINDS), statuses


def tightened(monkeypatch, factor):
    """A sweep whose bound is so many times smaller: one that right solvers exceed."""
    for name in ("sweep_svm", "sweep_ridge"):
        real = getattr(sweep, name)

        def smaller(*arguments, real=real):
            found = real(*arguments)
            return sweep.Swept(found.distance, found.bound / factor, found.ratio * factor, found.events)

        monkeypatch.setattr(sweep, name, smaller)


@pytest.mark.parametrize("task", TASKS)
def test_what_is_flagged_is_replayed_until_it_is_explained(task, monkeypatch):
    tightened(monkeypatch, 1e9)
    verdict = replayed(FromSamples(), task, "mixed", 4)
    swept = verdict.evidence["sweep"]
    assert verdict.status is Status.PASS
    assert swept["replayed"] == swept["beyond the bound"] > 4
    assert verdict.executed == verdict.planned
    assert f"{swept['replayed']} beyond the bound of the sweep" in verdict.reason


@pytest.mark.parametrize("task", TASKS)
def test_what_is_flagged_and_not_replayed_is_neither_right_nor_wrong(task, monkeypatch):
    tightened(monkeypatch, 1e9)
    monkeypatch.setattr(window_replay, "REPLAYED", 3)
    verdict = replayed(FromSamples(), task, "mixed", 4)
    swept = verdict.evidence["sweep"]
    assert verdict.status is Status.INCONCLUSIVE
    assert swept["replayed"] == 3 < swept["beyond the bound"]
    assert verdict.executed < verdict.planned
    assert 1 < verdict.ratio < np.inf
    count = f"{swept['beyond the bound']} beyond the bound of the sweep, which decides nothing, 3 of them"
    assert count in verdict.reason
    assert "not replayed, so neither right nor wrong" in verdict.reason


@pytest.mark.parametrize("task", TASKS)
def test_a_defect_is_found_behind_windows_that_a_screen_flags_in_vain(task, monkeypatch):
    tightened(monkeypatch, 1e9)
    verdict = replayed(FromSamples(wrong=100), task, "mixed", 4)
    assert verdict.status is Status.FAIL
    # The largest ratio comes first, so few replays find it among many that are in vain.
    assert verdict.evidence["sweep"]["replayed"] < verdict.evidence["sweep"]["beyond the bound"]


class Recorded(FromSamples):
    """Sums w in another order where it is recorded more often than in a plain run."""

    def run(self, request, observe=None):
        self._order = slice(None, None, -1 if len(request.stops) > 12 else 1)
        return super().run(request)

    def _weights(self, data, signs, a):
        return super()._weights(data[self._order], signs[self._order], a[self._order])


@pytest.mark.parametrize("task", TASKS)
def test_a_run_made_again_that_only_rounds_otherwise_does_not_fail(task, monkeypatch):
    tightened(monkeypatch, 1e9)
    bridged = 0
    for update, kind in (("in-place", "nearly"), ("frozen", "mixed")):
        verdict = replayed(Recorded(update), task, kind, 4)
        assert verdict.evidence["sweep"]["unlike the plain run"]
        assert verdict.status is not Status.FAIL, verdict.reason
        bridged += verdict.evidence["windows"][-1]["tags"] == ["unlike the run made again"]
    assert bridged >= 1
    monkeypatch.setattr(window_replay, "REPLAY_WORK", 0)
    verdict = replayed(Recorded(), task, kind, 4)
    assert verdict.status is Status.INCONCLUSIVE, verdict.reason
