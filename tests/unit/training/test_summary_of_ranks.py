"""The table of phases in a summary: largest, mean and least seconds of the ranks, each in its column."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sstep_verify.solver.clock import PHASES
from sstep_verify.solver.training.pipeline import summary_lines


def summary(timers):
    counted = {"panel columns": 9, "collectives": 2, "words": 81}
    training = SimpleNamespace(
        problem=SimpleNamespace(label="p", samples=9, is_svm=True), schedule=None, counters={},
        settings=SimpleNamespace(
            keep_gram=False, cache=0, exchange="gram", interval=16, exchange_reason="asked for"
        ),
        monitor=SimpleNamespace(counters=counted), values=SimpleNamespace(relative=1e-7, gap=1e-5),
        stopped="tolerance", iteration=64, attainable=1e-9,
    )  # fmt: skip
    partition = SimpleNamespace(imbalance=1.5, work_imbalance=2.5)
    return summary_lines(training, SimpleNamespace(features=4, partition=partition, notes=()), timers, "")


@pytest.mark.parametrize("seed", range(4))
def test_each_phase_has_its_largest_mean_and_least_seconds(seed):
    drawn = np.random.Generator(np.random.PCG64(seed))
    timers = [dict(zip(PHASES, drawn.uniform(0.1, 90.0, len(PHASES)), strict=True)) for _ in range(3)]
    lines = list(summary(timers))
    (head,) = (k for k, line in enumerate(lines) if line.startswith("seconds"))
    assert lines[head].split()[1:4] == ["max", "mean", "min"]
    for phase, line in zip(PHASES, lines[head + 1 :], strict=False):
        seconds = [one[phase] for one in timers]
        assert line.startswith(phase)
        found = [float(word) for word in line.removeprefix(phase).split()]
        assert found == pytest.approx([max(seconds), sum(seconds) / 3, min(seconds)], abs=5e-5)
