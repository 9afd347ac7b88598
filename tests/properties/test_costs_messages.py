"""Reductions and words are what the theorems say: the production solver, as one rank of up to 4,096.

Equality, never an upper bound; of every reduction in order, and of what the solver reports of itself.
"""

from __future__ import annotations

from collections import Counter
from unittest import mock

import numpy as np
import pytest
from count_cases import EXCHANGES, KERNELS, CountCase, count_cases, made_problem, play, sampled_ranks
from hypothesis import event, given, settings
from simulated_rank import ShapeError, SimulatedCommunicator

from sstep_verify.costs.messages import distinct_counts, distinct_of, window_counts
from sstep_verify.problems import Hinge, IndexStream, Problem, RBFKernel
from sstep_verify.problems.data.datasets import load
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver import windows as production_windows
from sstep_verify.solver.exchanges import exchange as exchange_allreduce
from sstep_verify.solver.exchanges import gram as exchange_gram
from sstep_verify.solver.exchanges.support import Support
from sstep_verify.solver.packet import Packet


def differences(case: CountCase) -> list[str]:
    """Everything in which a sampled rank's run is not what the formulas say."""
    found = []
    for rank in sampled_ranks(case):
        expected, calls = case.expected(rank), case.expected_calls(rank)
        assert (len(calls), sum(words for _, words in calls)) == (expected.collectives, expected.words)
        played = play(case, rank)
        if played.communicator.reductions != calls:
            found.append(f"rank {rank}: {played.communicator.reductions} but {calls}")
        if played.trajectory.counters != expected.counters:
            found.append(f"rank {rank}: {played.trajectory.counters} but {expected.counters}")
        others = Counter(name for name, _ in played.communicator.calls) - Counter(name for name, _ in calls)
        # At each of the records, never within a window: failures and digests, and the weights of gram.
        records = len({0, case.iterations})
        if others != +Counter(allgather=records * (2 * (case.ranks > 1) + (case.exchange == "gram"))):
            found.append(f"rank {rank}: also {dict(others)}")
    return found


@given(case=count_cases())
@settings(max_examples=50)
def test_every_reduction_and_word(case):
    event(f"exchange {case.exchange}")
    assert differences(case) == []


def fixed(
    exchange: str, s: int, ranks: int, kernel=KERNELS[0], task: str = "svm-l1", windows: int = 2
) -> CountCase:
    """A run of some full windows and a short one."""
    problem, iterations = made_problem(task, kernel, 23, 9, 0.5), windows * s + s // 2
    stream = IndexStream("uniform", 23, 2 if task == "krr" else 1, iterations, seed=1)
    return CountCase(
        problem, stream, s, iterations, 0, exchange, "norm-expansion", 23, "work", "in-place", ranks
    )


@pytest.mark.parametrize("s", [1, 2, 31, 256])
@pytest.mark.parametrize("exchange", EXCHANGES)
def test_4096_ranks(exchange, s):
    case = fixed(exchange, s, 4096, KERNELS[0 if exchange == "gram" else 2], "krr")
    assert differences(case) == []
    assert len(sampled_ranks(case)) >= 3


def test_total_words_are_equal_for_every_s():
    """H b m of the paper: exactly where no window draws twice, with what repeats where one does."""
    for kind, iterations in (("epochs", 96), ("uniform", 500)):
        problem = made_problem("krr", KERNELS[1], 300, 7, 0.4)
        stream = IndexStream(kind, 300, 3, iterations, seed=5)
        stated, totals = iterations * 3 * 300, set()
        for s in (1, 2, 5, 16, 64, 100, 256):
            case = CountCase(
                problem, stream, s, iterations, 0, "allreduce", "difference", 300, "work", "in-place", 4096
            )
            calls = play(case, 4095).communicator.reductions
            payload = sum(words - 2 for _, words in calls)
            repeated = iterations * 3 - distinct_of(distinct_counts(case.windows())).total
            assert payload + 300 * repeated == stated
            assert len(calls) == -(-iterations // s)
            totals.add(payload)
        assert (totals == {stated}) is (kind == "epochs")


def test_support_halves_the_words_of_a_training():
    """Where fewer than half of the samples are support vectors, from a = 0 on."""
    found = load("breast_cancer_scale")
    problem = Problem("breast_cancer_scale", found.data, found.targets, RBFKernel(0.03), Hinge(1.0))
    stream = IndexStream("uniform", problem.samples, 1, 20 * problem.samples, seed=1)
    words = {
        exchange: ProductionSolver(exchange=exchange).run(RunRequest(problem, stream, 16, stream.length))
        for exchange in ("allreduce", "support")
    }
    assert words["allreduce"].counters["words"] >= 2 * words["support"].counters["words"]


def test_small_reductions_grow_with_s_and_rows_do_not():
    """Without repeats: reduce-scatter adds H b (s b + 1) words to the paper's, gram has those alone."""
    for s in (1, 2, 4, 8, 16, 32):
        distinct = distinct_of(np.full(32 // s, 3 * s))
        small = 32 * 3 * (3 * s + 1) + 2 * (32 // s)
        assert window_counts("gram", 100, distinct, False).words == small
        both = window_counts("reduce-scatter", 100, distinct, False).words
        assert both == 32 * 3 * 100 + small


def test_shapes_that_do_not_go_together_are_refused():
    four = np.zeros(4)
    communicator = SimulatedCommunicator(1, 2)
    for counts, receive in ([4], 4), ([2, 1], 1), ([1, 3], 2):
        with pytest.raises(ShapeError, match="reduce_scatter of 4 words"):
            communicator.reduce_scatter(four, np.zeros(receive), np.array(counts))
    with pytest.raises(ShapeError, match="not contiguous"):
        communicator.allreduce(four[::2])
    with pytest.raises(ShapeError, match="rank 2 of 2"):
        SimulatedCommunicator(2, 2)
    assert communicator.calls == []


def one_more_reduction(window):
    """A window with a reduction of one word next to its own."""

    def longer(self, *arguments):
        self._communicator.allreduce(np.zeros(1))
        return window(self, *arguments)

    return longer


def rows_twice(reduce):
    """A reduction that sends its payload as often as two windows would."""

    def double(self, words):
        reduce(self, words)
        self.communicator.allreduce(self._flat[:words])

    return double


def extra_word(reduce):
    """A reduction with a trailer of three words."""

    def longer(self, words):
        room = np.zeros(words + 3)
        room[:words] = self._flat[:words]
        self.communicator.allreduce(room)
        self._flat[:words] = room[:words]

    return longer


def repeated_columns(of):
    """Every draw is a column of its own, as the paper counts."""

    def repeated(self, draws):
        places = np.broadcast_to(np.arange(draws.shape[1]), draws.shape)
        return draws, places, np.full(draws.shape[0], draws.shape[1])

    return repeated


def each_step(make):
    """Windows of one step, whatever the s."""

    def single(self, draws, log, s=None):
        for step in range(draws.shape[0]):
            make(self, draws[step : step + 1], log[step : step + 1])

    return single


def all_samples(bring):
    """A panel over all samples."""

    def brought(self, columns):
        bring(self, columns)
        return bring(self, np.arange(self.order.size))

    return brought


def never_out(leave):
    """What was drawn once stays, zero or not."""
    return lambda self, columns, vector: leave(self, columns, np.ones_like(vector))


ALLREDUCE, GRAM = exchange_allreduce.AllreduceExchange, exchange_gram.GramExchange
PLANTED = {
    "one more reduction a window": ("allreduce", ALLREDUCE, "parts", one_more_reduction),
    "one more reduction a window, gram": ("gram", GRAM, "parts", one_more_reduction),
    "rows sent twice": ("allreduce", Packet, "reduce", rows_twice),
    "an extra word": ("allreduce", Packet, "reduce", extra_word),
    "an extra word, reduce-scatter": ("reduce-scatter", Packet, "reduce", extra_word),
    "columns as often as drawn": ("allreduce", production_windows.WindowColumns, "of", repeated_columns),
    "a panel over all samples": ("support", Support, "bring", all_samples),
    "samples that are never left out": ("support", Support, "leave", never_out),
    "a reduction a step": ("allreduce", production_windows.ExchangedWindows, "make", each_step),
    "a reduction a step, reduce-scatter": (
        "reduce-scatter", production_windows.ExchangedWindows, "make", each_step,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_planted_costs_are_seen(name):
    exchange, owner, method, planted = PLANTED[name]
    # What leaves the support was in it before: a run of many windows.
    case = fixed(exchange, 2, 1, windows=40) if exchange == "support" else fixed(exchange, 16, 64)
    assert differences(case) == []
    with mock.patch.object(owner, method, planted(getattr(owner, method))):
        assert differences(case)
