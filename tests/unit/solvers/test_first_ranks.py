"""Windows that end with rank 0's numbers: one broadcast each, also where a rank fails."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, Ridge
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.exchanges.support import SupportPanel
from sstep_verify.solver.packet import WindowError
from sstep_verify.solver.panels.panel import Panel
from sstep_verify.solver.recurrences import RidgeRecurrence, SvmRecurrence
from studies.thread_ranks import ThreadCommunicator, on_threads

SAMPLES, S, ITERATIONS = 12, 4, 24
WINDOWS = ITERATIONS // S
EXCHANGES = ("allreduce", "support", "reduce-scatter", "gram")
HERE = threading.local()
each_exchange = pytest.mark.parametrize("exchange", EXCHANGES)


def run_on(communicator, exchange: str, task: str = "svm"):
    HERE.rank = communicator.rank
    generator = np.random.Generator(np.random.PCG64(3))
    data, targets = generator.normal(size=(SAMPLES, 5)), np.where(np.arange(SAMPLES) % 2, 1.0, -1.0)
    loss = Hinge(1.0) if task == "svm" else Ridge(0.5)
    problem = Problem("drawn", data, targets, LinearKernel(), loss)
    stream = IndexStream("uniform", SAMPLES, 1 if task == "svm" else 2, ITERATIONS, seed=2)
    return ProductionSolver(communicator, exchange=exchange).run(
        RunRequest(problem, stream, S, ITERATIONS, log=True)
    )


@pytest.fixture
def of_other_kinds(monkeypatch):
    """Every thread takes itself for another processor, and all but rank 0 make other updates."""
    kinds = property(lambda self: tuple(f"processor {rank}" for rank in range(self.size)))
    monkeypatch.setattr(ThreadCommunicator, "kinds", kinds)
    for kind in (SvmRecurrence, RidgeRecurrence):
        monkeypatch.setattr(kind, "window", off_by_bits(kind.window))


def off_by_bits(method):
    def off(self, *arguments):
        change = method(self, *arguments)
        if HERE.rank:
            self.alpha[arguments[3]] *= 1 + HERE.rank * 2.0**-40
            change = change * (1 + 2.0**-40)
        return change

    return off


@each_exchange
@pytest.mark.parametrize("task", ["svm", "krr"])
def test_all_ranks_hold_what_rank_0_made(of_other_kinds, exchange, task):
    runs = on_threads(3, run_on, exchange, task)
    for found in runs:
        np.testing.assert_array_equal(found.alphas, runs[0].alphas)
        np.testing.assert_array_equal(found.log, runs[0].log)
        assert found.counters["broadcasts"] == WINDOWS
        assert set(found.fingerprints[ITERATIONS]) == {found.fingerprints[ITERATIONS][0]}


@each_exchange
def test_ranks_of_one_kind_send_no_message_more(exchange):
    for found in on_threads(2, run_on, exchange):
        assert "broadcasts" not in found.counters


FAILING = [
    *((exchange, SvmRecurrence, "window") for exchange in EXCHANGES),
    *((exchange, Panel, "finish") for exchange in ("allreduce", "reduce-scatter")),
    ("support", SupportPanel, "finish"),
]
"""Calls after a window's reduction, in its updates or before them."""


@pytest.mark.parametrize(("exchange", "kind", "name"), FAILING)
@pytest.mark.parametrize("guilty", [0, 1])
def test_a_rank_that_fails_keeps_no_other_waiting(
    of_other_kinds, monkeypatch, exchange, kind, name, guilty
):
    made, method = threading.local(), getattr(kind, name)

    def failing(self, *arguments):
        made.calls = getattr(made, "calls", 0) + 1
        if guilty == HERE.rank and made.calls == 3:
            raise MemoryError("no room")
        return method(self, *arguments)

    monkeypatch.setattr(kind, name, failing)
    for error in on_threads(2, run_on, exchange):
        assert type(error) is WindowError
        assert error.failures == {guilty: "MemoryError: no room"}
