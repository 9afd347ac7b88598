"""How far the predictions of a calibrated machine are off, from measurements that are faked: without a sign."""

from __future__ import annotations

import re

from sstep_verify.timing import calibrate as machine
from sstep_verify.timing.calibrate import Window

PHASES = ("panel", "kernel function", "gradient", "recurrence")
LONG = 1e9


def test_predictions_that_are_far_too_small_are_off_by_a_hundred_per_cent(monkeypatch):
    def timed(comm, case, seconds):
        return Window(LONG if case in machine.CHECKS else 5.0, dict.fromkeys(PHASES, 1.0 + case.s / 8))

    monkeypatch.setattr(machine, "timed", timed)
    monkeypatch.setattr(machine, "run", lambda ranks, *rest: [Window(LONG, {})] * ranks)
    monkeypatch.setattr(
        machine, "collective_table", lambda ranks, seconds: ([[ranks, 16.0, 1.0]], [[ranks, 16.0, 1.0]])
    )
    error = machine.calibrate("mine", (2,), 0.1).error
    median, most = map(int, re.match(r"median (-?\d+) %, at most (-?\d+) %, over 8 runs", error).groups())
    assert (median, most) == (100, 100)
