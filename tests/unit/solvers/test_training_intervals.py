"""What an interval of training begins with is what its windows need."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify.problems import Hinge, PolynomialKernel, Problem, RBFKernel
from sstep_verify.solver import run
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.panels.panel import Panel
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.intervals import Training

SAMPLES = 9


@pytest.mark.parametrize("kernel", [RBFKernel(0.5), PolynomialKernel(2, 1.0)], ids=["rbf", "polynomial"])
def test_rows_kept_from_an_interval_before_need_nothing_to_form_rows(kernel, monkeypatch):
    data = np.random.default_rng(3).standard_normal((SAMPLES, 4))
    targets = np.where(np.arange(SAMPLES) % 2, 1.0, -1.0)
    problem = Problem("drawn", data, targets, kernel, Hinge(1.0))
    made = []

    def panel(*given):
        made.append(given)
        return Panel(*given)

    def trained(interval: int) -> Training:
        settings = Settings(
            kernel=kernel, loss=problem.loss, iterations=40, interval=interval, s=4, tolerance=0.0,
            exchange="allreduce", keep_gram=True,
        )  # fmt: skip
        return Training(problem, settings.draws_of(SAMPLES), settings, SelfCommunicator()).to_the_end()

    monkeypatch.setattr(run, "Panel", panel)
    whole, several = trained(40), trained(8)
    assert len(made) == 2
    assert len(several.history) == 6
    assert several.counters == whole.counters
    assert several.alpha.tobytes() == whole.alpha.tobytes()
