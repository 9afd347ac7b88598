"""Ranks as threads of this process: enough for what is inside a rank, without MPI."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from sstep_verify import ProductionSolver, Trajectory
from sstep_verify.protocol import Observer, RunRequest
from sstep_verify.solver.communicator import Communicator
from sstep_verify.solver.settings import Options
from studies.admissible.arithmetic import added

SECONDS = 120.0
"""After which a rank that waits for the others gives up."""

ORDERS = ("forward", "reversed", "pairwise")
"""Orders in which what the ranks hand over is summed, see `added`."""


class ThreadCommunicator(Communicator):
    """One rank of several; counts its collectives, and the words that it hands to those that sum to all.

    On the board each rank leaves what the others shall see; at the barrier all wait for each other.
    """

    def __init__(
        self, rank: int, board: list[Any], barrier: threading.Barrier, order: str = "forward"
    ) -> None:
        self.rank, self.size = rank, len(board)
        self._board, self._barrier, self._order = board, barrier, order
        self.called: list[str] = []
        self.words = 0

    @property
    def kinds(self) -> tuple[str, ...]:
        """One kind, for all are of this process."""
        return ("thread",) * self.size

    def _everyone(self, name: str, value: Any) -> list[Any]:
        self.called.append(name)
        self._board[self.rank] = (name, value)
        self._barrier.wait(SECONDS)
        found = list(self._board)
        self._barrier.wait(SECONDS)
        assert {other for other, _ in found} == {name}, found
        return [value for _, value in found]

    def allreduce(self, buffer: np.ndarray) -> None:
        """Sum in place."""
        self.words += buffer.size
        buffer[:] = added(self._order, self._everyone("allreduce", buffer.copy()))

    def reduce_scatter(self, send: np.ndarray, receive: np.ndarray, counts: np.ndarray) -> None:
        """Sum; each rank gets its part."""
        whole = added(self._order, self._everyone("reduce_scatter", send.copy()))
        first = int(counts[: self.rank].sum())
        receive[:] = whole[first : first + int(counts[self.rank])]

    def allgather(self, value: Any) -> list[Any]:
        """One object of every rank."""
        return self._everyone("allgather", copy.deepcopy(value))

    def first(self, value: Any) -> Any:
        """Rank 0's object."""
        return self._everyone("first", copy.deepcopy(value))[0]

    def alltoallv(self, send: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """What every rank hands to this one."""
        ends = np.cumsum([0, *counts])
        parts = [send[ends[k] : ends[k + 1]].copy() for k in range(self.size)]
        return np.concatenate([theirs[self.rank] for theirs in self._everyone("alltoallv", parts)])

    def broadcast(self, buffer: np.ndarray) -> None:
        """Rank 0's numbers."""
        buffer[:] = self._everyone("broadcast", buffer.copy())[0]

    def barrier(self) -> None:
        """Wait for all."""
        self._everyone("barrier", None)


def on_threads(
    ranks: int, function: Callable[..., Any], *arguments: Any, order: str = "forward"
) -> list[Any]:
    """What ``function(communicator, *arguments)`` returned on each rank, or the error it raised."""
    board, barrier = [None] * ranks, threading.Barrier(ranks)
    with ThreadPoolExecutor(ranks) as pool:
        played = [
            pool.submit(function, ThreadCommunicator(rank, board, barrier, order), *arguments)
            for rank in range(ranks)
        ]
        return [one.exception() or one.result() for one in played]


class ThreadRanksSolver:
    """The production solver on P ranks that are threads, whose parts are summed in one of `ORDERS`."""

    def __init__(self, ranks: int, order: str, options: Options) -> None:
        self._ranks, self._order, self._options = ranks, order, options
        self.declaration = options.declaration(ranks)

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """What rank 0 returns; the error of the first rank that has one is raised."""

        def rank(communicator: ThreadCommunicator) -> Trajectory:
            return ProductionSolver(communicator, **vars(self._options)).run(request, observe)

        answers = on_threads(self._ranks, rank, order=self._order)
        for answer in answers:
            if isinstance(answer, Exception):
                raise answer
        made: Trajectory = answers[0]
        return made
