"""An allreduce with L = O(log P) and W = O(w) exists: its messages sum right, and are as many as the formula says."""

from __future__ import annotations

import numpy as np
import pytest
from allreduce_rounds import DOUBLING, HALVING, critical_path, rounds
from hypothesis import example, given, settings
from hypothesis import strategies as st


def played(algorithm: str, ranks: int, words: int) -> tuple[np.ndarray, int, int]:
    """The buffers of all ranks at the end, rounds made, and the longest messages of the rounds, summed."""
    buffers = np.arange(ranks * words, dtype=np.int64).reshape(ranks, words) % 97
    made = longest = 0
    for messages in rounds(algorithm, ranks, words):
        # One message at most from each rank and to each: a round is one step of the critical path.
        assert len({m.source for m in messages}) == len({m.target for m in messages}) == len(messages)
        sent = [buffers[m.source, m.first : m.last].copy() for m in messages]
        for message, values in zip(messages, sent, strict=True):
            part = buffers[message.target, message.first : message.last]
            part[:] = part + values if message.added else values
        made += 1
        longest += max(m.last - m.first for m in messages)
    return buffers, made, longest


@pytest.mark.parametrize("algorithm", [DOUBLING, HALVING])
@given(ranks=st.integers(1, 70), words=st.integers(1, 40))
@example(ranks=4096, words=37)
@example(ranks=4095, words=5)
@settings(max_examples=40)
def test_sums_rounds_and_words(algorithm, ranks, words):
    buffers, made, longest = played(algorithm, ranks, words)
    whole = (np.arange(ranks * words).reshape(ranks, words) % 97).sum(axis=0)
    assert (buffers == whole).all()
    assert (made, longest) == critical_path(algorithm, ranks, words)


def test_the_assumption_of_the_paper_holds_of_one_algorithm():
    """P up to 4,096: at most 2 log2 P + 2 rounds; at most 4 w words, and a word a round for halves that are uneven."""
    for ranks in range(1, 4097):
        levels = ranks.bit_length() - 1
        for words in (1, 44, 4096, 100003):
            path = critical_path(HALVING, ranks, words)
            assert path.rounds <= 2 * levels + 2
            assert path.words <= 4 * words + 2 * levels
            assert critical_path(DOUBLING, ranks, words).rounds <= levels + 2
    assert critical_path(HALVING, 4096, 4096 * 44) == (24, 2 * 4095 * 44)
    assert critical_path(DOUBLING, 4096, 4096 * 44) == (12, 12 * 4096 * 44)
