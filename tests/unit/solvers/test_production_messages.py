"""Messages of the production solver: every word once, and partial products before the kernel."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from production_runs import KERNELS, LOSSES, SAMPLES, problem_of, stream_of

from sstep_verify.problems import IndexStream, RBFKernel
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.clock import PHASES
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.packet import TRAILER


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("task", LOSSES)
@pytest.mark.parametrize(("s", "iterations"), [(1, 9), (4, 12), (4, 14), (20, 14)])
def test_counters(task, kernel, s, iterations):
    stream = stream_of(task)
    made = ProductionSolver().run(RunRequest(problem_of(task, kernel), stream, s, iterations))
    windows = math.ceil(iterations / s)
    distinct = sum(
        np.unique(stream.blocks(begin, min(begin + s, iterations))).size
        for begin in range(0, iterations, s)
    )
    norms = isinstance(kernel, RBFKernel)
    assert made.counters == {
        "windows": windows,
        "panel columns": distinct,
        "collectives": windows + norms,
        "words": (distinct + norms) * SAMPLES + TRAILER * (windows + norms),
    }
    assert set(made.timers) == set(PHASES)
    assert all(seconds >= 0 for seconds in made.timers.values())


def test_every_word_passes_the_communicator():
    class Counting(SelfCommunicator):
        def __init__(self):
            self.messages = self.words = 0

        def allreduce(self, buffer):
            self.messages += 1
            self.words += buffer.size

    communicator = Counting()
    request = RunRequest(problem_of("krr"), stream_of("krr"), 4, 14)
    counters = ProductionSolver(communicator).run(request).counters
    assert (communicator.messages, communicator.words) == (counters["collectives"], counters["words"])


def test_partial_products_are_summed_before_the_kernel_function():
    """Two ranks, played one after the other: half of the features each, and the other's part added."""

    class Other:
        rank, size, kinds = 0, 2, ("one", "one")

        def __init__(self, parts):
            self.parts = iter(parts)

        def allreduce(self, buffer):
            *_, signature = buffer
            part = next(self.parts).ravel()
            buffer[: part.size] += part
            buffer[-1] += signature

        def allgather(self, value):
            return [value, value]

        def barrier(self):
            raise AssertionError("no barrier was asked for")

        alltoallv = first = barrier

    whole = problem_of("krr")
    whole = replace(whole, data=np.round(whole.data * 8) / 8)  # exact products, so nothing may differ
    halves = [replace(whole, data=whole.dense[:, part]) for part in (slice(2), slice(2, 4))]
    stream = IndexStream("cyclic", SAMPLES, SAMPLES, 1)
    norms, products = (halves[1].dense ** 2).sum(axis=1), halves[1].dense @ halves[1].dense.T
    divided = ProductionSolver(Other([norms, products]), columns="local").run(
        RunRequest(halves[0], stream, 1, 1)
    )
    assert np.array_equal(divided.final, ProductionSolver().run(RunRequest(whole, stream, 1, 1)).final)
