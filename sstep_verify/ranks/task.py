"""A call and its answer as bytes, and the call itself; the same in a pool and in place."""

from __future__ import annotations

import importlib
import pickle
import sys
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sstep_verify.errors import InputError
from sstep_verify.floating_point import restore_with_warning
from sstep_verify.ranks.failures import LaunchError, MismatchError, RankError, RankState, dissenters
from sstep_verify.ranks.heartbeat import CURRENT, observed, own_state

RETIRED = 500
"""Communicators kept after failed calls: a freed one's number, and its stray messages, would come again."""

MPI_KIND = "mpi4py.MPI.Exception"
"""Name given to an error that the MPI library raised."""


_under_way = False


@dataclass(frozen=True)
class Answer:
    """A rank's message at the end of its part.

    Where it stands, and what the function returned, or what it raised: type, message and traceback.
    """

    state: RankState
    value: Any = None
    failure: tuple[str, str, str] | None = None


def check_function(function: Callable) -> str:
    """Full name of a function that every rank can import, or InputError."""
    module, name = function.__module__, function.__qualname__
    if module == "__main__" or getattr(sys.modules.get(module), name, None) is not function:
        raise InputError(
            f"{module}.{name} is not a function of an importable module, so the ranks cannot find it: "
            "define it at the top level of a module other than __main__"
        )
    return f"{module}.{name}"


def pack_call(function: Callable, arguments: tuple) -> bytes:
    """A call as bytes, with the folders in which modules are found; InputError if they cannot be sent."""
    try:
        inputs = pickle.dumps(arguments)
    except Exception as error:
        raise InputError(
            f"arguments of {function.__name__} cannot be sent to the ranks: {error}"
        ) from error
    # The inputs may need the folders to be read.
    return pickle.dumps((list(sys.path), function.__module__, function.__name__, inputs))


def execute(communicator: Any, call: bytes) -> bytes:
    """Make a call; an `Answer` as bytes, whatever happens."""
    global _under_way

    rank, _under_way = communicator.rank, True
    CURRENT.reset()
    try:
        path, module, name, inputs = pickle.loads(call)
        if sys.path != path:
            sys.path[:] = path
            importlib.invalidate_caches()
        function = getattr(importlib.import_module(module), name)
        arguments = pickle.loads(inputs)
        restore_with_warning(f"before {name} on rank {rank}")
        value = function(observed(communicator), *arguments)
        return pickle.dumps(Answer(own_state(rank, finished=True), value))
    except BaseException as error:
        kind = MPI_KIND if type(error).__module__ == "mpi4py.MPI" else type(error).__name__
        said = (kind, str(error), traceback.format_exc())
        return pickle.dumps(Answer(own_state(rank, finished=True), failure=said))
    finally:
        _under_way = False


def under_way() -> bool:
    """Whether this process is just making a call as one of its ranks."""
    return _under_way


def read_answer(rank: int, answer: bytes) -> Answer:
    """An answer from its bytes; a failure of that rank if this process cannot read what it returned."""
    try:
        return pickle.loads(answer)
    except Exception as error:
        said = (type(error).__name__, f"its result cannot be read here: {error}", traceback.format_exc())
        return Answer(RankState(rank, finished=True), failure=said)


def failure_of(name: str, answers: dict[int, Answer], unfinished: list[RankState]) -> LaunchError | None:
    """The error that a call ends with, if any; `unfinished` had not answered though one rank had failed."""
    failures = {rank: answer.failure for rank, answer in answers.items() if answer.failure}
    states = [answers[rank].state for rank in sorted(answers)]
    # The library's complaint comes from whoever met the mismatch, not from who made it.
    own = {rank: said for rank, said in failures.items() if said[0] != MPI_KIND}
    if own:
        return RankError(name, own, unfinished)
    states = sorted([*states, *unfinished], key=lambda state: state.rank)
    if dissenters(states):
        return MismatchError(name, states, failures)
    return RankError(name, failures, unfinished) if failures else None


class Rooms:
    """Communicators for calls: a new one after every failed call, whose messages may still be on the way.

    Making one is a collective call.
    """

    def __init__(self, make: Callable[[], Any]):
        self._make, self._retired = make, deque[Any]()
        self._current: Any = None

    def enter(self, fresh: bool) -> Any:
        """The communicator of the next call; a new one if asked for, or at first."""
        if self._current is None or fresh:
            if self._current is not None:
                self._retired.append(self._current)
            if len(self._retired) > RETIRED:
                self._retired.popleft().Free()
            self._current = self._make()
        return self._current
