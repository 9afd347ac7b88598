"""Ranks as threads of this process: enough to test what is inside a rank without MPI."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from typing import Any

import numpy as np

SECONDS = 20.0
"""After which a rank that waits for the others gives up."""


class ThreadCommunicator:
    """One rank of several; counts its collectives, and the words that it hands to those that sum to all."""

    def __init__(self, rank: int, board: list, barrier: threading.Barrier):
        self.rank, self.size = rank, len(board)
        self._board, self._barrier = board, barrier
        self.called: list[str] = []
        self.words = 0

    def _everyone(self, name: str, value: Any) -> list[Any]:
        self.called.append(name)
        self._board[self.rank] = (name, value)
        self._barrier.wait(SECONDS)
        found = list(self._board)
        self._barrier.wait(SECONDS)
        assert {other for other, _ in found} == {name}, found
        return [value for _, value in found]

    def allreduce(self, buffer: np.ndarray) -> None:
        self.words += buffer.size
        buffer[:] = np.sum(self._everyone("allreduce", buffer.copy()), axis=0)

    def reduce_scatter(self, send: np.ndarray, receive: np.ndarray, counts: np.ndarray) -> None:
        whole = np.sum(self._everyone("reduce_scatter", send.copy()), axis=0)
        first = int(counts[: self.rank].sum())
        receive[:] = whole[first : first + int(counts[self.rank])]

    def allgather(self, value: Any) -> list[Any]:
        return self._everyone("allgather", copy.deepcopy(value))

    def alltoallv(self, send: np.ndarray, counts: np.ndarray) -> np.ndarray:
        ends = np.cumsum([0, *counts])
        parts = [send[ends[k] : ends[k + 1]].copy() for k in range(self.size)]
        return np.concatenate([theirs[self.rank] for theirs in self._everyone("alltoallv", parts)])

    def barrier(self) -> None:
        self._everyone("barrier", None)


def on_threads(ranks: int, function: Callable[..., Any], *arguments: Any) -> list[Any]:
    """What ``function(communicator, *arguments)`` returned on each rank, or the error it raised."""
    board, barrier = [None] * ranks, threading.Barrier(ranks)
    answers: list[Any] = [None] * ranks

    def play(rank: int) -> None:
        try:
            answers[rank] = function(ThreadCommunicator(rank, board, barrier), *arguments)
        except Exception as error:
            answers[rank] = error

    threads = [threading.Thread(target=play, args=(rank,), daemon=True) for rank in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(2 * SECONDS)
        assert not thread.is_alive(), "a rank does not end"
    return answers
