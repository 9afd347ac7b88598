"""The exchanges on ranks that are threads: every rank gets what one process would have, or the same error."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from daily import crossed

from sstep_verify.problems import LinearKernel, PolynomialKernel, RBFKernel
from sstep_verify.solver.clock import PHASES
from sstep_verify.solver.data.partition import column_nonzeros, local_columns, partition_of
from sstep_verify.solver.exchanges import exchange as exchange_module
from sstep_verify.solver.exchanges.exchange import AllreduceExchange, ReduceScatterExchange
from sstep_verify.solver.exchanges.gram import GramExchange
from sstep_verify.solver.exchanges.gram_local import DenseLocal
from sstep_verify.solver.exchanges.support import SupportExchange, SupportPanel
from sstep_verify.solver.packet import Packet, WindowError
from sstep_verify.solver.panels.panel import Panel
from studies.thread_ranks import on_threads

SAMPLES, FEATURES, ROWS = 7, 5, 4
KERNELS = {
    "linear": LinearKernel(),
    "polynomial": PolynomialKernel(3, 1.0),
    "rbf": RBFKernel(0.25),
}
# Whole numbers below 2**53 throughout: every sum is exact, whatever its order.
DATA = np.random.default_rng(0).integers(-3, 4, (SAMPLES, FEATURES)).astype(float)
VECTOR = np.random.default_rng(1).integers(-9, 10, SAMPLES).astype(float)
WINDOWS = [np.array([5, 0, 3]), np.array([2]), np.array([6, 4, 1, 0])]

SIZES = [1, 2, 3, 4, 7]
STORAGE = [False, True]
each_size = pytest.mark.parametrize("ranks", SIZES)
each_storage = pytest.mark.parametrize("sparse", STORAGE, ids=["dense", "csr"])


def exact_kernel(name: str) -> np.ndarray:
    products = DATA @ DATA.T
    if name == "polynomial":
        return (products + 1.0) * (products + 1.0) * (products + 1.0)
    if name == "rbf":
        distances = np.diag(products)[:, None] + np.diag(products) - 2 * products
        return np.exp(-0.25 * distances)
    return products


def parts(communicator, sparse: bool, separate: bool = False):
    """This rank's columns, and a packet with room for everything."""
    data = sp.csr_array(DATA) if sparse else DATA
    part = partition_of(column_nonzeros(data), communicator.size).columns(communicator.rank)
    return local_columns(data, part), Packet(communicator, ROWS * SAMPLES + ROWS**2, separate=separate)


def allreduced(communicator, sparse, name, rbf="norm-expansion", separate=False):
    data, packet = parts(communicator, sparse, separate)
    panel = Panel(data, KERNELS[name], rbf, ROWS, packet)
    exchange = AllreduceExchange(panel, packet, ROWS)
    found = [exchange.rows(columns).copy() for columns in WINDOWS]
    return found, exchange.columns, list(communicator.called)


def scattered(communicator, sparse, name, rbf="norm-expansion", separate=False):
    data, packet = parts(communicator, sparse, separate)
    panel = Panel(data, KERNELS[name], rbf, ROWS, packet)
    exchange = ReduceScatterExchange(panel, packet, ROWS)
    found = [[part.copy() for part in exchange.parts(columns, VECTOR)] for columns in WINDOWS]
    return found, exchange.columns, list(communicator.called)


def supported(communicator, sparse, name, rbf="norm-expansion", separate=False):
    """Windows whose updates make a 0 where it was not, and the other way round; also the samples of each."""
    data, packet = parts(communicator, sparse, separate)
    panel = SupportPanel(data, KERNELS[name], rbf, ROWS, packet)
    exchange = SupportExchange(panel, packet, ROWS)
    vector, found = np.where(np.arange(SAMPLES) % 3 == 1, VECTOR, 0.0), []
    exchange.restart(vector)
    for columns in [*WINDOWS, *WINDOWS[::-1], *WINDOWS]:
        words = communicator.words
        gram, stale = (part.copy() for part in exchange.parts(columns, vector))
        found.append((columns, gram, stale, vector.copy(), (communicator.words - words - 2) / columns.size))
        vector[columns] = np.where(vector[columns] == 0.0, columns - 9.0, 0.0)
    return found, list(communicator.called)


def carried(communicator, sparse, separate=False):
    data, packet = parts(communicator, sparse, separate)
    exchange = GramExchange(data, packet, ROWS)
    exchange.restart(VECTOR)
    vector, found = VECTOR.copy(), []
    for columns in WINDOWS:
        gram, stale = exchange.parts(columns, vector)
        found.append((gram.copy(), stale.copy(), vector.copy()))
        change = np.arange(1.0, columns.size + 1)
        exchange.moved(columns, change, vector)
        vector[columns] += change
    weights = np.concatenate(communicator.allgather(exchange.weights))
    exchange.restart(vector)
    return found, weights, np.concatenate(communicator.allgather(exchange.weights)), vector


@each_storage
@each_size
@pytest.mark.parametrize("name", KERNELS)
def test_allreduce_gives_all_ranks_whole_rows(ranks, sparse, name):
    kernel = exact_kernel(name)
    for found, columns, called in on_threads(ranks, allreduced, sparse, name):
        for rows, window in zip(found, WINDOWS, strict=True):
            assert np.array_equal(rows, kernel[window])
        assert columns == sum(window.size for window in WINDOWS)
        setup = 1 if name == "rbf" else 0
        assert called == ["allreduce"] * (setup + len(WINDOWS))


@pytest.mark.parametrize(
    ("ranks", "sparse", "name", "least"), crossed(SIZES, STORAGE, KERNELS, [1, SAMPLES + 1], of=3)
)
def test_reduce_scatter_gives_all_ranks_what_the_updates_need(ranks, sparse, name, least, monkeypatch):
    """By a product for each rank's samples, and by one for all that is put in order."""
    monkeypatch.setattr(exchange_module, "LEAST_BLOCK", least)
    kernel = exact_kernel(name)
    for found, columns, called in on_threads(ranks, scattered, sparse, name):
        for (gram, stale), window in zip(found, WINDOWS, strict=True):
            assert np.array_equal(gram, kernel[np.ix_(window, window)])
            if name != "rbf":
                assert np.array_equal(stale, kernel[window] @ VECTOR)
            else:
                # Any order of summation: |error| <= gamma_m |K| |vector|, twice for the two sides.
                allowed = 2 * SAMPLES * 2.0**-53 * 1.001 * (kernel[window] @ np.abs(VECTOR))
                assert (np.abs(stale - kernel[window] @ VECTOR) <= allowed).all()
        assert columns == sum(window.size for window in WINDOWS)
        setup = ["allreduce"] if name == "rbf" else []
        assert called == setup + ["reduce_scatter", "allreduce"] * len(WINDOWS)


@pytest.mark.parametrize(
    ("ranks", "sparse", "name", "rbf"),
    crossed(SIZES, STORAGE, KERNELS, ["norm-expansion", "difference"], of=3),
)
def test_support_gives_all_ranks_what_the_updates_need(ranks, sparse, name, rbf):
    """Products with the samples where a is not 0 are products with all; those of two windows are due."""
    kernel = exact_kernel(name)
    for found, called in on_threads(ranks, supported, sparse, name, rbf):
        due, before = None, []
        for columns, gram, stale, vector, samples in found:
            assert np.array_equal(gram, kernel[np.ix_(columns, columns)])
            exact, size = kernel[columns] @ vector, kernel[columns] @ np.abs(vector)
            allowed = 2 * SAMPLES * 2.0**-53 * 1.001 * size if name == "rbf" else 0.0
            assert (np.abs(stale - exact) <= allowed).all()
            known = set(np.flatnonzero(vector if due is None else due).tolist())
            assert samples == len(known | set(before) | set(columns.tolist()))
            due, before = vector, columns.tolist()
        setup = 1 if name == "rbf" and rbf == "norm-expansion" else 0
        assert called == ["allreduce"] * (setup + len(found))


@each_storage
@each_size
def test_squared_distances_are_summed_before_the_function(ranks, sparse):
    """By differences no set-up is needed; the distances are whole numbers, the function is applied once."""
    for found, _, called in on_threads(ranks, allreduced, sparse, "rbf", "difference"):
        for rows, window in zip(found, WINDOWS, strict=True):
            assert np.array_equal(rows, exact_kernel("rbf")[window])
        assert called == ["allreduce"] * len(WINDOWS)


@each_storage
@each_size
def test_gram_carries_the_weights(ranks, sparse):
    kernel = exact_kernel("linear")
    for found, weights, restarted, vector in on_threads(ranks, carried, sparse):
        for (gram, stale, then), window in zip(found, WINDOWS, strict=True):
            assert np.array_equal(gram, kernel[np.ix_(window, window)])
            assert np.array_equal(stale, kernel[window] @ then)
        order = partition_of(column_nonzeros(sp.csr_array(DATA) if sparse else DATA), ranks).order
        expected = DATA.T @ vector
        assert np.array_equal(weights, expected if order is None else expected[order])
        assert np.array_equal(restarted, weights)


@pytest.mark.parametrize("function", [allreduced, scattered, supported])
def test_separate_timers_wait_before_every_window(function):
    for found, *_, called in on_threads(2, function, False, "linear", "norm-expansion", True):
        assert called.count("barrier") == len(found)


def test_every_phase_of_an_exchange_is_timed():
    def timed(communicator):
        data, packet = parts(communicator, False, True)
        panel = Panel(data, KERNELS["rbf"], "norm-expansion", ROWS, packet)
        ReduceScatterExchange(panel, packet, ROWS).parts(WINDOWS[0], VECTOR)
        return dict(zip(PHASES, packet.clock.seconds, strict=True))

    for seconds in on_threads(2, timed):
        for phase in ("panel", "waiting", "transfer", "kernel function", "gradient"):
            assert seconds[phase] > 0.0
        assert seconds["recurrence"] == 0.0


class _BrokenSums:
    """Instead of a rank's panel product, local product or kernel function."""

    def __init__(self, inner, method: str):
        self._inner, self._method = inner, method

    def __getattr__(self, name):
        return self._raising if name == self._method else getattr(self._inner, name)

    def _raising(self, *given):
        raise MemoryError("no room")


def failing(communicator, kind: str, guilty: int):
    """One window in which one rank fails in its own part of the work."""
    data, packet = parts(communicator, False)
    packet.window = 3
    panel = Panel(data, KERNELS["polynomial"], "norm-expansion", ROWS, packet)
    broken = communicator.rank == guilty
    if kind == "gram":
        exchange = GramExchange(data, packet, ROWS)
        exchange._local = _BrokenSums(exchange._local, "among") if broken else exchange._local
        return exchange.parts(WINDOWS[0], VECTOR)
    method = "finish" if kind == "function" else "partial"
    made = _BrokenSums(panel, method) if broken else panel
    if kind.startswith("support"):
        return failing_over_the_support(data, packet, kind, broken)
    if kind == "allreduce":
        return AllreduceExchange(made, packet).rows(WINDOWS[0])
    return ReduceScatterExchange(made, packet, ROWS).parts(WINDOWS[0], VECTOR)


def failing_over_the_support(data, packet, kind, broken):
    """What fails after a reduction travels with the next, which is as long as on the other ranks."""
    made = SupportPanel(data, KERNELS["polynomial"], "norm-expansion", ROWS, packet)
    late = kind == "support, function"
    made = _BrokenSums(made, "finish" if late else "partial") if broken else made
    exchange = SupportExchange(made, packet, ROWS)
    vector = np.zeros(SAMPLES)
    exchange.restart(vector)
    if late:
        packet.window = 2
        try:
            exchange.parts(WINDOWS[0], vector)
            vector[WINDOWS[0]] = 1.0
        except MemoryError as error:
            packet.failure = error
        packet.window = 3
    exchange.parts(WINDOWS[2], vector)


@pytest.mark.parametrize(
    "kind", ["allreduce", "support", "support, function", "reduce-scatter", "function", "gram"]
)
@pytest.mark.parametrize(("ranks", "guilty"), [(2, 0), (3, 2)])
def test_a_failure_of_one_rank_is_raised_on_all_in_that_window(ranks, guilty, kind):
    for error in on_threads(ranks, failing, kind, guilty):
        assert type(error) is WindowError, error
        assert (error.window, error.failures) == (3, {guilty: "MemoryError: no room"})


@pytest.mark.parametrize(
    ("count", "most"), [(7, 7), (10, 10), (10, 40), (33, 33), (33, 40), (39, 39), (40, 40)]
)
def test_dense_inner_products_in_runs_of_features(count, most):
    """Compiled for few samples, by BLAS for more, from those of all for nearly all; whole numbers: exact."""
    data = np.random.default_rng(2).integers(-3, 4, (40, 700)).astype(float)
    weights = np.random.default_rng(3).integers(-9, 10, 700).astype(float)
    local, columns = DenseLocal(data, most), np.random.default_rng(4).permutation(40)[:count]
    gram, products = np.full((count, count), np.nan), np.full(count, np.nan)
    local.among(columns, weights, gram, products)
    assert np.array_equal(gram, data[columns] @ data[columns].T)
    assert np.array_equal(products, data[columns] @ weights)


@pytest.mark.parametrize("count", [1, 3, 7, 20, 40])
def test_a_rank_without_features_adds_nothing(count):
    """More ranks than features; whatever was in the buffers before."""
    gram, products = np.full((count, count), np.nan), np.full(count, np.nan)
    DenseLocal(np.empty((41, 0)), count).among(np.arange(count), np.empty(0), gram, products)
    assert not gram.any()
    assert not products.any()
