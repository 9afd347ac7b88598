"""Critical path of one allreduce: rounds and words, of two algorithms, exactly.

Source: section "Computation and Communication Analysis": "We assume that the Allreduce has a cost of
L = O(log P) and W = O(w)". With g = floor(log2 P) and w words, no rank does more than

    recursive doubling    g rounds, g w words: L holds, W only up to the factor log P
    halving and doubling  2 g rounds, 2 w (1 - 2^-g) words, rounded up to whole words a round: both hold

and where P is no power of two, one round of w words before and one after.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

DOUBLING, HALVING = "recursive doubling", "halving and doubling"
"""The two algorithms."""


class Sent(NamedTuple):
    """A message of one round.

    Parameters
    ----------
    source, target : int
        Ranks.
    first, last : int
        Words first..last-1 of the buffer.
    added : bool
        Whether the target adds them to its own or takes them as they are.
    """

    source: int
    target: int
    first: int
    last: int
    added: bool


class Path(NamedTuple):
    """What the busiest rank of an allreduce does: rounds in which it sends or receives, words it sends."""

    rounds: int
    words: int


def critical_path(algorithm: str, ranks: int, words: int) -> Path:
    """Rounds of an allreduce, and words summed over them of the longest message of each.

    Parameters
    ----------
    algorithm : {"recursive doubling", "halving and doubling"}
        How it is done.
    ranks, words : int
        Ranks (P), and length of the buffer (w).

    Returns
    -------
    Path
    """
    levels = ranks.bit_length() - 1
    outside = 0 if ranks == 1 << levels else 2
    if algorithm == DOUBLING:
        return Path(levels + outside, (levels + outside) * words)
    parts = sum(-(-words // (1 << level)) for level in range(1, levels + 1))
    return Path(2 * levels + outside, 2 * parts + outside * words)


def rounds(algorithm: str, ranks: int, words: int) -> Iterator[list[Sent]]:
    """The messages of an allreduce, round by round; each round's are sent before any is received.

    Parameters are those of `critical_path`.
    """
    levels = ranks.bit_length() - 1
    inner = 1 << levels
    # Ranks beyond the largest power of two hand over their words, and get the sums at the end.
    if inner < ranks:
        yield [Sent(rank, rank - inner, 0, words, True) for rank in range(inner, ranks)]
    if algorithm == DOUBLING:
        for level in range(levels):
            yield [Sent(rank, rank ^ 1 << level, 0, words, True) for rank in range(inner)]
    else:
        held = [(0, words)] * inner
        cuts: list[list[tuple[int, int]]] = []
        for level in reversed(range(levels)):
            cuts.append(held)
            kept = [_half(held[rank], bool(rank >> level & 1)) for rank in range(inner)]
            yield [
                Sent(rank, rank ^ 1 << level, *_half(held[rank], not rank >> level & 1), True)
                for rank in range(inner)
            ]
            held = kept
        for level in range(levels):
            yield [Sent(rank, rank ^ 1 << level, *held[rank], False) for rank in range(inner)]
            held = cuts.pop()
    if inner < ranks:
        yield [Sent(rank - inner, rank, 0, words, False) for rank in range(inner, ranks)]


def _half(part: tuple[int, int], upper: bool) -> tuple[int, int]:
    """The lower half of a part of the buffer, or the upper one, which may be a word shorter."""
    middle = -(-(part[0] + part[1]) // 2)
    return (middle, part[1]) if upper else (part[0], middle)
