"""A reduction with its trailer: failures and other bits on one rank are known on all ranks at once."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.packet import (
    LONGEST,
    TRAILER,
    IncoherenceError,
    Packet,
    WindowError,
    sign,
)
from studies.thread_ranks import on_threads

WORDS = 5
each_size = pytest.mark.parametrize("ranks", [2, 3, 4])


def summed(communicator, failing=(), odd=(), window=7):
    """One reduction; some ranks failed before it, some hold another dual vector."""
    packet = Packet(communicator, WORDS)
    packet.window = window
    packet.payload(WORDS)[:] = communicator.rank + np.arange(WORDS)
    packet.signature[0] = 1 << 63 | 12345
    if communicator.rank in failing:
        packet.failure = ValueError(f"no room on {communicator.rank}")
    if communicator.rank in odd:
        packet.signature[0] += np.uint64(1)
    packet.reduce(WORDS)
    return packet.payload(WORDS).copy(), communicator.called


@each_size
def test_the_payload_is_summed_in_one_collective(ranks):
    for found, called in on_threads(ranks, summed):
        assert np.array_equal(found, ranks * (ranks - 1) / 2 + ranks * np.arange(WORDS))
        assert called == ["allreduce"]


@each_size
def test_a_failure_is_raised_on_all_ranks_in_the_same_window(ranks):
    for rank, error in enumerate(on_threads(ranks, summed, (1,))):
        assert type(error) is WindowError
        assert (error.window, error.failures) == (7, {1: "ValueError: no room on 1"})
        assert str(error) == "window 7: rank 1: ValueError: no room on 1"
        assert isinstance(error.__cause__, ValueError) is (rank == 1)


def test_failures_of_several_ranks_are_all_named():
    for error in on_threads(3, summed, (0, 2)):
        assert sorted(error.failures) == [0, 2]


@pytest.mark.parametrize(("ranks", "odd"), [(3, 0), (3, 2), (4, 1), (4, 3)])
def test_the_rank_with_another_signature_is_named(ranks, odd):
    for error in on_threads(ranks, summed, (), (odd,)):
        assert type(error) is IncoherenceError
        assert (error.window, error.ranks) == (6, (odd,))


def test_of_two_ranks_that_differ_none_is_to_blame():
    for error in on_threads(2, summed, (), (1,)):
        assert (type(error), error.ranks) == (IncoherenceError, (0, 1))


def test_failures_since_the_last_reduction_are_known_at_a_record():
    def settle(communicator, failing):
        packet = Packet(communicator, WORDS)
        if communicator.rank == failing:
            packet.failure = KeyError("lost")
        packet.raise_failures()

    assert on_threads(2, settle, -1) == [None, None]
    assert [type(error) for error in on_threads(2, settle, 0)] == [WindowError, WindowError]


def test_one_rank_raises_its_own_failure():
    packet = Packet(SelfCommunicator(), WORDS)
    packet.failure = failure = ZeroDivisionError("original")
    with pytest.raises(ZeroDivisionError) as caught:
        packet.reduce(WORDS)
    assert caught.value is failure


def test_one_rank_counts_the_same_words_as_many():
    class Measuring(SelfCommunicator):
        def allreduce(self, buffer):
            self.words = buffer.size

    communicator = Measuring()
    Packet(communicator, WORDS).reduce(3)
    assert communicator.words == 3 + TRAILER


@pytest.mark.parametrize("function", [sign, getattr(sign, "py_func", sign)], ids=["compiled", "plain"])
def test_one_changed_bit_of_a_window_changes_the_signature(function):
    alpha = np.random.default_rng(0).standard_normal(9)
    columns = np.array([4, 0, 7])

    def digest(values: np.ndarray) -> int:
        signature = np.array([99], dtype=np.uint64)
        with np.errstate(over="ignore"):
            function(signature, values.view(np.uint64), columns)
        return int(signature[0])

    own = digest(alpha)
    for place in range(alpha.size):
        for bit in (0, 31, 52, 63):
            changed = alpha.copy()
            changed.view(np.uint64)[place] ^= np.uint64(1 << bit)
            assert (digest(changed) != own) is (place in columns)
    assert own != digest(np.roll(alpha, 1))


def test_a_time_is_reported_once_with_the_next_reduction_and_summed_exactly():
    def play(communicator):
        packet, told = Packet(communicator, 3, timed=True), []
        for time in (None, LONGEST + 5, None, 10**9 + communicator.rank):
            packet.time, packet.told = time, None
            packet.payload(2)[:] = 1.0
            packet.reduce(2)
            told.append(packet.told)
            assert packet.time is None
            assert packet.payload(2).tolist() == [3.0, 3.0]
        return told

    for told in on_threads(3, play):
        assert told == [None, 3 * LONGEST, None, 3 * 10**9 + 3]


def test_one_rank_alone_sends_no_time():
    class Counting(SelfCommunicator):
        words = 0

        def allreduce(self, buffer):
            self.words += buffer.size

    communicator = Counting()
    packet = Packet(communicator, 3, timed=True)
    packet.time = 7
    packet.reduce(3)
    assert (communicator.words, packet.told) == (3 + TRAILER, None)
