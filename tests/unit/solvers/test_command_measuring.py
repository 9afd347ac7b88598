"""Counts of measurements and enclosures that a training prints are those due; others are refused."""

from __future__ import annotations

from contextlib import nullcontext
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from daily import some
from plant import plant

from sstep_verify.adapters.measuring import require_measurements, used_at
from sstep_verify.errors import ConductError
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.solver.clock import PHASES
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training import intervals, pipeline

KERNELS = LinearKernel(), PolynomialKernel(2, 0.5), RBFKernel(0.3)
LOSSES = Hinge(0.7), SquaredHinge(0.7), Ridge(0.2)


def printed(seed: int, **more) -> tuple:
    """A drawn training, and the arguments of `require_measurements` that belong to it."""
    drawn = np.random.Generator(np.random.PCG64(seed))
    samples = int(drawn.integers(5, 14))
    kernel, loss = KERNELS[seed % 3], LOSSES[seed // 3 % 3]
    targets = drawn.standard_normal(samples)
    if not isinstance(loss, Ridge):
        targets = np.where(np.arange(samples) % 3 == 0, 1.0, -1.0)
    problem = Problem("drawn", drawn.standard_normal((samples, 4)), targets, kernel, loss)
    given = {
        "exchange": "allreduce", "s": 3, "interval": 3 * int(drawn.integers(1, 5)), "iterations": 41,
        "tolerance": float(10.0 ** drawn.integers(-9, -1)), "panel_words": int(drawn.integers(1, 60)),
        "keep_gram": bool(drawn.integers(4) == 0), **more,
    }  # fmt: skip
    settings = Settings(kernel=kernel, loss=loss, **given)
    stream = IndexStream("uniform", samples, 1, 41, seed)
    training = intervals.Training(problem, stream, settings, SelfCommunicator(), log=True).to_the_end()
    training.stated()
    local = SimpleNamespace(features=4, partition=None, notes=())
    lines = list(pipeline.summary_lines(training, local, [dict.fromkeys(PHASES, 1.0)], ""))
    history = {found.iteration: found.values.relative for found in training.history}
    used = used_at(stream, training.trajectory.log, [*history])
    return problem, settings, used, [*history.values()], "\n".join(lines)


@pytest.mark.parametrize("seed", range(36))
def test_what_a_training_prints_of_its_measurements_is_due(seed):
    require_measurements(*printed(seed))


MONITOR = (
    "monitor",
    (
        "products, used = np.zeros(vector.size), np.flatnonzero(vector)\n        self.columns += used.size",
        "products, used = np.zeros(vector.size), np.flatnonzero(vector)",
    ),
)
EDITS = {
    "rows of measurements are not counted": MONITOR,
    "rows of enclosures are counted twice": (
        "enclosure", ("            self.columns += used.size", "            self.columns += 2 * used.size"),
    ),
    "looks are counted twice": ("enclosure", ("self.looks += 1", "self.looks += 2")),
    "one more look": ("enclosure", ("value <= limit and looks < LOOKS", "value <= 2 * limit and looks < LOOKS")),
    "measured twice": (
        "intervals", ("        values = self.monitor.measure(self.alpha, self._gram)\n",
                      "        values = self.monitor.measure(self.alpha, self._gram)\n" * 2),
    ),
    "two portions for one": ("monitor", ("step = min(max(panel_words // samples, 1), columns.size)", "step = 1")),
}  # fmt: skip


@pytest.mark.parametrize("name", some(EDITS, of=3))
def test_other_counts_are_refused(name):
    module, edit = EDITS[name]
    refused = 0
    with plant(import_module(f"sstep_verify.solver.training.{module}"), edit):
        for seed in (1, 2, 4, 5, 7, 8):
            told = printed(seed, keep_gram=False, panel_words=40, interval=9, tolerance=0.03)
            try:
                require_measurements(*told)
            except ConductError:
                refused += 1
    assert refused


@pytest.mark.parametrize("line", ["monitoring: first, every 9 iterations and last", "enclosing: "])
def test_a_line_that_is_missing_is_refused(line):
    *given, said = printed(1, interval=9)
    kept = "\n".join(one for one in said.splitlines() if not one.startswith(line))
    with (
        nullcontext()
        if kept == said
        else pytest.raises(ConductError, match="does not say what it measured")
    ):
        require_measurements(*given, kept)
