"""The table of phases in a summary: largest, mean and least seconds of the ranks, each in its column."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from sstep_verify.parallel.clock import PHASES
from sstep_verify.training.summary import summary_lines


def outcome(timers):
    problem = SimpleNamespace(label="p", samples=9, is_svm=True)
    partition = SimpleNamespace(imbalance=1.5, work_imbalance=2.5)
    values = SimpleNamespace(relative=1e-7, gap=1e-5)
    counted = {"panel columns": 9, "collectives": 2, "words": 81}
    trajectory = SimpleNamespace(counters={}, stopped="tolerance")
    return SimpleNamespace(
        problem=problem,
        local=SimpleNamespace(features=4, partition=partition, notes=()),
        decided=SimpleNamespace(
            options=SimpleNamespace(keep_gram=False, cache=0, exchange="gram"),
            plan=SimpleNamespace(interval=16),
            reason="asked for",
        ),
        trained=SimpleNamespace(
            trajectory=trajectory, monitoring=counted, values=values, iteration=64, attainable=1e-9
        ),
        timers=timers,
        schedule=None,
    )


@pytest.mark.parametrize("seed", range(4))
def test_each_phase_has_its_largest_mean_and_least_seconds(seed):
    drawn = np.random.Generator(np.random.PCG64(seed))
    timers = [dict(zip(PHASES, drawn.uniform(0.1, 90.0, len(PHASES)), strict=True)) for _ in range(3)]
    lines = list(summary_lines(outcome(timers)))
    (head,) = (k for k, line in enumerate(lines) if line.startswith("seconds"))
    assert lines[head].split()[1:4] == ["max", "mean", "min"]
    for phase, line in zip(PHASES, lines[head + 1 :], strict=False):
        seconds = [one[phase] for one in timers]
        assert line.startswith(phase)
        found = [float(word) for word in line.removeprefix(phase).split()]
        assert found == pytest.approx([max(seconds), sum(seconds) / 3, min(seconds)], abs=5e-5)
