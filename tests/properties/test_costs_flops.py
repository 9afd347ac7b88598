"""Flops by term: the production solver's own code over counting numbers, equal to the formulas; their orders."""

from __future__ import annotations

from math import comb
from unittest import mock

import flops_by_term as flops
import numpy as np
import pytest
from count_cases import KERNELS, made_problem
from counted_runs import as_measured, formula_flops, measured_flops, together
from flops_by_term import Held, Method, panel_flops
from hypothesis import event, given, settings
from hypothesis import strategies as st
from simulated_rank import SimulatedCommunicator

from sstep_verify.problems import IndexStream
from sstep_verify.protocol import RunRequest
from sstep_verify.solver.data.partition import column_nonzeros, local_columns, partition_of
from sstep_verify.solver.panels.panel import Power
from sstep_verify.solver.panels.products import SparseProducts
from sstep_verify.solver.recurrences import RidgeRecurrence


@st.composite
def flop_runs(draw):
    """A request, ranks and rank, and options."""
    task = draw(st.sampled_from(["svm-l1", "svm-l2", "krr"]))
    # Without a shift, a sample of which the simulated rank has nothing makes a step that divides nothing.
    alone = task == "svm-l1"
    exchange = draw(st.sampled_from(["allreduce", "reduce-scatter", "gram"]))
    kernel = KERNELS[0] if exchange == "gram" else draw(st.sampled_from(KERNELS))
    samples, features = draw(st.integers(4, 60)), draw(st.integers(2, 9))
    ranks = draw(st.integers(1, 1 if alone else min(4, features)))
    block = draw(st.integers(1, 5)) if task == "krr" else 1
    block, s = min(block, samples), draw(st.integers(1, 24))
    iterations = draw(st.integers(1, min(2 * s, 30)))
    # Differences of sparse samples are merged, which costs what the patterns make it cost.
    rbf = draw(st.sampled_from(["norm-expansion", "difference"]))
    density = 1.0 if alone or rbf == "difference" else draw(st.sampled_from([0.3, 0.7, 1.0]))
    problem = made_problem(task, kernel, samples, features, density, draw(st.integers(0, 99)))
    stream = IndexStream(draw(st.sampled_from(["uniform", "cyclic"])), samples, block, iterations, seed=s)
    options = {
        "exchange": exchange, "rbf": rbf, "update": draw(st.sampled_from(["in-place", "frozen"])),
    }  # fmt: skip
    request = RunRequest(problem, stream, s, iterations, log=True)
    return request, draw(st.integers(0, ranks - 1)), ranks, options


@given(drawn=flop_runs())
@settings(max_examples=120)
def test_flops_of_every_term(drawn):
    request, rank, ranks, options = drawn
    event(f"{options['exchange']}, {'K-SVM' if request.problem.is_svm else 'K-RR'}")
    found, log = measured_flops(request, SimulatedCommunicator(rank, ranks), **options)
    expected = as_measured(formula_flops(request, log, rank, ranks, options))
    if options["exchange"] == "allreduce":
        found, expected = together(found), together(expected)
    assert found == expected


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize(
    ("block", "s", "iterations"), [(3, 3, 8), (4, 2, 3), (5, 5, 7), (2, 3, 3), (4, 1, 2)]
)
@pytest.mark.parametrize("density", [0.5, 1.0])
def test_flops_of_long_blocks(density, block, s, iterations, kernel):
    """Blocks that are called long here: made step by step."""
    problem = made_problem("krr", kernel, 12, 3, density)
    request = RunRequest(problem, IndexStream("uniform", 12, block, iterations, 4), s, iterations, log=True)
    with mock.patch.object(flops, "LONG_BLOCK", 2):
        found, log = measured_flops(request, SimulatedCommunicator(0, 1), long_block=2)
        expected = as_measured(formula_flops(request, log, 0, 1, {}))
    assert together(found) == together(expected)
    usual = as_measured(formula_flops(request, log, 0, 1, {}))
    assert together(expected) != together(usual)


@pytest.mark.parametrize("exchange", ["allreduce", "reduce-scatter", "gram"])
@pytest.mark.parametrize("s", [3, 4, 6, 7, 8])
def test_few_samples_of_many_features(exchange, s):
    """The products of all samples, where a window has most of them; 8 samples, 160 features a rank."""
    for ranks in (1, 2):
        problem = made_problem("krr", KERNELS[0], 8, 160 * ranks, 1.0)
        request = RunRequest(problem, IndexStream("cyclic", 8, 1, s), s, s, log=True)
        found, log = measured_flops(request, SimulatedCommunicator(0, ranks), exchange=exchange)
        expected = as_measured(formula_flops(request, log, 0, ranks, {"exchange": exchange}))
        assert found["panel"] == expected["panel"]
        rows = (s + 1) * (s if exchange == "gram" else 8) - (0 if exchange == "gram" else 8)
        usual = (s * (s + 1) // 2 + s) if exchange == "gram" and s <= 6 else rows
        every = 72 if exchange == "gram" else 64
        most = s > (7.2 if exchange == "gram" else 4)
        assert found["panel"] == (every if most else usual) * (2 * 160 - 1)


def ridge_window(s: int, block: int, samples: int, kernel, density: float = 1.0):
    """A request of one window in which nothing is drawn twice, so short that corrections are gathered."""
    problem = made_problem("krr", kernel, samples, 3, density)
    return RunRequest(problem, IndexStream("cyclic", samples, block, s), s, s, log=True)


@pytest.mark.parametrize(
    ("s", "block"),
    [
        pytest.param(s, block, marks=[pytest.mark.nightly] * ((s + block) % 3 != 0))
        for s in range(1, 6)
        for block in range(1, 4)
    ],
)
def test_the_terms_of_theorem_2(s, block):
    """Each of them alone, as monomials of s, b, m and n / P: no fit, since the constants are known."""
    samples = 245
    request = ridge_window(s, block, samples, KERNELS[2])
    # One rank has the three features; of 4,096 ranks three have one.
    some = int(np.flatnonzero(np.diff(partition_of(np.full(3, samples), 4096).starts))[-1])
    for communicator, features in (SimulatedCommunicator(0, 1), 3), (SimulatedCommunicator(some, 4096), 1):
        found, _ = measured_flops(request, communicator, separate_timers=True)
        assert found["panel"] == s * block * samples * (2 * features - 1)
        assert found["functions"] == s * block * samples
        assert found["function"] == 4 * s * block * samples
        assert found["gradient"] == s * block * (2 * samples - 1)
        assert found["recurrence"] == 2 * comb(s, 2) * block**2 + s * (7 * block + comb(block + 1, 2))
        assert found["solves"] == s * (
            block * (block + 1) * (2 * block + 1) // 6 + 2 * block + 2 * block**2
        )


def test_corrections_of_a_ksvm_are_binomial():
    """Without a clip every step corrects all later ones; of K-SVM-L2, where none is clipped at first."""
    for s in range(1, 7):
        problem = made_problem("svm-l2", KERNELS[2], 30, 4, 1.0)
        request = RunRequest(problem, IndexStream("cyclic", 30, 1, s), s, s, log=True)
        found, log = measured_flops(request, SimulatedCommunicator(0, 1), separate_timers=True)
        assert (log > 0).all()
        assert found["recurrence"] == 3 * comb(s, 2) + 10 * s


@pytest.mark.parametrize("how", ["work", "contiguous"])
@pytest.mark.parametrize("ranks", [1, 5, 64, 4096])
def test_the_panel_is_shared_out(ranks, how):
    """All ranks together make what one would; each as its partition says, and no more than the paper has."""
    data = made_problem("krr", KERNELS[0], 50, 120, 0.2).data
    shares, method = partition_of(column_nonzeros(data), ranks, how), Method("allreduce", KERNELS[0], False)
    every, whole = np.arange(50), Held.of(data, 50)
    made = []
    for rank in range(ranks):
        if shares.starts[rank] == shares.starts[rank + 1]:
            assert shares.works[rank] == 0
            continue
        held = Held.of(local_columns(data, shares.columns(rank)), 50)
        made.append(panel_flops(held, method, every))
        assert made[-1] == 2 * shares.works[rank]
        # A drawn sample meets each local nonzero at most once: at most b f m n / P pairs of flops.
        assert (held.pairs <= shares.loads[rank]).all()
    assert sum(made) == panel_flops(whole, method, every) == 2 * whole.pairs.sum()
    assert max(made) == 2 * shares.works.max()


def test_a_classical_run_makes_as_many_flops_but_for_the_corrections():
    """Theorem 1 is Theorem 2 with s = 1: panel, function, gradient and solves do not depend on s."""
    made = {}
    for s in (1, 2, 4, 8):
        problem = made_problem("krr", KERNELS[1], 300, 4, 0.5)
        request = RunRequest(problem, IndexStream("epochs", 300, 2, 8), s, 8, log=True)
        made[s], _ = measured_flops(request, SimulatedCommunicator(0, 1), separate_timers=True)
        made[s]["recurrence"] -= 8 // s * 2 * comb(s, 2) * 4
    assert made[1] == made[2] == made[4] == made[8]


def twice(function):
    """The same, done twice."""

    def again(*arguments):
        function(*arguments)
        return function(*arguments)

    return again


PLANTED = {
    "panel": (SparseProducts, "into"),
    "function": (Power, "apply"),
    "recurrence": (RidgeRecurrence, "window"),
}


@pytest.mark.parametrize("term", PLANTED)
def test_planted_work_is_seen_in_its_term(term):
    request = ridge_window(4, 2, 200, KERNELS[1], 0.5)
    options = {"separate_timers": True}
    found, log = measured_flops(request, SimulatedCommunicator(0, 1), **options)
    expected = as_measured(formula_flops(request, log, 0, 1, options))
    assert found == expected
    owner, method = PLANTED[term]
    with mock.patch.object(owner, method, twice(getattr(owner, method))):
        planted, _ = measured_flops(request, SimulatedCommunicator(0, 1), **options)
    seen = {name for name in expected if planted[name] != expected[name]}
    assert seen == {term} | ({"solves"} if term == "recurrence" else set())
