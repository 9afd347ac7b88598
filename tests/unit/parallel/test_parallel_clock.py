"""Seconds per phase: every moment between start and the last stop belongs to one phase."""

from __future__ import annotations

from sstep_verify.solver import clock as clock_module
from sstep_verify.solver.clock import PHASES, RECURRENCE, TRANSFER, Clock


def test_phases_follow_each_other(monkeypatch):
    now = iter([0.0, 10.0, 11.0, 13.0, 20.0, 24.0])
    monkeypatch.setattr(clock_module, "perf_counter", lambda: next(now))
    clock = Clock()
    clock.start()
    clock.stop(TRANSFER)
    clock.stop(RECURRENCE)
    clock.start()
    clock.stop(TRANSFER)
    expected = dict.fromkeys(PHASES, 0.0) | {"transfer": 1.0 + 4.0, "recurrence": 2.0}
    assert dict(zip(PHASES, clock.seconds, strict=True)) == expected
