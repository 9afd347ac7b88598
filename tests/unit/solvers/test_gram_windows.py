"""Many windows of exchange "gram" in one call: the bits, records and counts are those of one by one."""

from __future__ import annotations

from dataclasses import replace
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from daily import crossed
from plant import plant
from production_runs import LOSSES

from sstep_verify.problems import IndexStream, LinearKernel, Problem
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.exchanges import gram_local
from sstep_verify.solver.exchanges.gram import GramExchange
from sstep_verify.solver.exchanges.gram_local import FEW, NARROW, SMALL, DenseLocal

ITERATIONS, S = 95, (1, 4, FEW + 1, 32, 37)
"""Several chunks of windows, and a last one that is cut."""

SHAPES = {
    "few features": (70, 5),
    "features in runs": (45, 600),
    "most of the samples": (20, 400),
    "CSR": (60, 90),
}


def request_of(shape: str, task: str, block: int, s: int, **options) -> RunRequest:
    """A run on drawn data."""
    generator = np.random.default_rng(17)
    samples, features = SHAPES[shape]
    data = generator.standard_normal((samples, features))
    if shape == "CSR":
        data = sp.csr_array(np.where(np.abs(data) < 1.2, 0.0, data))
    targets = np.where(generator.random(samples) < 0.5, 1.0, -1.0)
    problem = Problem(shape, data, targets, LinearKernel(), LOSSES[task])
    stream = IndexStream("uniform", samples, block, ITERATIONS, seed=5)
    return RunRequest(problem, stream, s, ITERATIONS, **options)


class Another(SelfCommunicator):
    """One process too, but nothing is known of it: windows go one by one."""


@pytest.mark.parametrize(
    ("shape", "task", "block", "s", "update"),
    crossed(
        SHAPES,
        [("svm-l1", 1), ("svm-l2", 1), ("krr", 1), ("krr", 3)],
        S,
        ["in-place", "frozen"],
        of=3,
        flat=True,
    ),
)
def test_the_bits_are_those_of_window_by_window(shape, task, block, s, update):
    start = np.full(SHAPES[shape][0], 0.01)
    request = request_of(
        shape, task, block, s, record=(s, 2 * s), initial=start, expose_panels=True, log=True
    )
    together, apart = (
        ProductionSolver(communicator, exchange="gram", update=update).run(request)
        for communicator in (SelfCommunicator(), Another())
    )
    for one, other in (
        (together.alphas, apart.alphas),
        (together.log, apart.log),
        (together.weights, apart.weights),
    ):
        np.testing.assert_array_equal(one, other)
    assert together.counters == apart.counters
    assert together.panels.keys() == apart.panels.keys()
    for begin, panel in together.panels.items():
        np.testing.assert_array_equal(panel.entries, apart.panels[begin].entries)


@pytest.mark.parametrize(
    ("options", "communicator", "one_by_one"),
    [
        ({}, SelfCommunicator(), False),
        ({}, Another(), True),
        ({"separate_timers": True}, SelfCommunicator(), True),
        ({"recompute": 2}, SelfCommunicator(), True),
    ],
    ids=["alone", "another communicator", "separate timers", "weights formed anew"],
)
def test_only_a_plain_run_of_a_rank_alone_goes_in_one_call(options, communicator, one_by_one):
    request = request_of("few features", "svm-l1", 1, 4)
    solver = ProductionSolver(communicator, exchange="gram", **options)
    with mock.patch.object(GramExchange, "parts", autospec=True, side_effect=GramExchange.parts) as parts:
        solver.run(request)
    assert parts.call_count == (24 if one_by_one else 0)


@pytest.mark.parametrize(
    ("shape", "most", "expected"),
    [
        ((70, NARROW), 70, True),
        ((70, SMALL // 16**2), 16, True),
        ((70, SMALL // 16**2), 17, False),
        ((5, 1000), FEW, True),
        ((20, 400), 18, True),
        ((20, 400), 20, False),
    ],
)
def test_windows_go_together_where_no_product_of_a_matrix_saves_more(shape, most, expected):
    assert DenseLocal(np.ones(shape), most).together(most) is expected


@pytest.mark.parametrize("task", ["svm-l1", "krr"])
def test_a_defect_planted_in_an_inner_loop_acts_in_them_too(task):
    request = request_of("few features", task, 1, 4)
    right = ProductionSolver(exchange="gram").run(request).final
    old = "weights[feature] += factor * row[feature]"
    with plant(gram_local, (old, f"{old} * 1.5")):
        assert not np.array_equal(ProductionSolver(exchange="gram").run(request).final, right)
    np.testing.assert_array_equal(ProductionSolver(exchange="gram").run(request).final, right)


@pytest.mark.parametrize("late", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", ["few features", "CSR"])
def test_weights_are_formed_again_at_windows_of_the_stream(shape, late):
    """A run that begins late forms them again where a run from the stream's beginning does."""
    s, every, windows = 4, 3, 9
    solver, start = ProductionSolver(exchange="gram", recompute=every), np.full(SHAPES[shape][0], 0.01)
    given = request_of(shape, "svm-l1", 1, s)
    record = tuple(range(s, s * windows, s))
    request = replace(given, iterations=s * windows, start=s * late, initial=start, record=record)
    run, formed = solver.run(request), []
    for window in range(1, windows):
        now = replace(request, initial=run.at(s * window), record=())
        if np.array_equal(run.weights_at(s * window), solver.run(now).weights_at(0)):
            formed.append(late + window)
    assert formed == [window for window in range(late + 1, late + windows) if window % every == 0]
