"""Collectives of the ranks, timed at several sizes."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from sstep_verify.launch import run
from sstep_verify.parallel.communicator import Communicator, communicator_of

WORDS = (2, 32, 512, 8_192, 65_536, 524_288)
"""Float64 words of the reductions."""

MOST, QUANTILE = 512, 0.25
"""Calls of one size at most; of their times, the one that counts: other work only adds to them."""


def collective_table(ranks: int, seconds: float) -> tuple[list[list[float]], list[list[float]]]:
    """Rows [ranks, bytes, us] of allreduce and of reduce-scatter, on so many ranks.

    Parameters
    ----------
    ranks : int
        P.
    seconds : float
        For one collective at one size, about.
    """
    found = run(ranks, timed_collectives, seconds)
    slowest = np.max(np.array(found), axis=0)
    rows = [
        [[float(ranks), 8.0 * words, float(taken)] for words, taken in zip(WORDS, part, strict=True)]
        for part in slowest
    ]
    return rows[0], rows[1]


def timed_collectives(comm: Any, seconds: float) -> list[list[float]]:
    """Microseconds of allreduce, and of reduce-scatter, by size, on this rank."""
    communicator = communicator_of(comm)
    found: list[list[float]] = [[], []]
    for words in WORDS:
        buffer = np.zeros(words)
        counts = np.diff(np.arange(comm.size + 1) * words // comm.size)
        receive = np.empty(int(counts[comm.rank]))
        calls = (
            partial(communicator.allreduce, buffer),
            partial(communicator.reduce_scatter, buffer, receive, counts),
        )
        for place, call in enumerate(calls):
            call()
            taken = [_once(communicator, call) for _ in range(3)]
            count = int(np.clip(seconds / max(max(communicator.allgather(max(taken))), 1e-7), 5, MOST))
            taken = [_once(communicator, call) for _ in range(count)]
            found[place].append(1e6 * float(np.quantile(taken, QUANTILE)))
    return found


def _once(communicator: Communicator, call: Callable[[], None]) -> float:
    """Seconds of one call that all ranks enter together."""
    communicator.barrier()
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin
