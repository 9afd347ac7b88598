"""Agreement of ranks: an error of one is raised by all, so that none waits for another."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TypeVar

from sstep_verify.parallel.communicator import Communicator
from sstep_verify.parallel.data.shares import Failure, failure_of

Value = TypeVar("Value")


def on_all_ranks(communicator: Communicator, function: Callable[[], Value]) -> Value:
    """Call a function that does not communicate on all ranks; what one of them raises, all raise.

    Raises
    ------
    InputError, MissingExtraError, ReadingError
        What the first rank that failed met, on all ranks.
    """
    value, failure, cause = _attempted(function)
    failures: list[Failure | None] = communicator.allgather(failure)
    for rank, found in enumerate(failures):
        if found is not None:
            everywhere = all(other == found for other in failures)
            raise found.error(prefix="" if everywhere else f"rank {rank}: ") from cause
    return value  # type: ignore[return-value]


def on_first_rank(communicator: Communicator, function: Callable[[], Value]) -> Value:
    """Call a function on rank 0 only; all ranks get its result, or raise its error.

    Raises
    ------
    InputError, MissingExtraError, ReadingError
        What it raised; the last where it was neither of the others.
    """
    value, failure, cause = _attempted(function) if communicator.rank == 0 else (None, None, None)
    value, failure = communicator.allgather((value, failure))[0]
    if failure is not None:
        raise failure.error() from cause
    return value


@contextlib.contextmanager
def held_by_first_rank(
    communicator: Communicator, manager: Callable[[], AbstractContextManager[Value]]
) -> Iterator[Value]:
    """Enter a context manager on rank 0 only; all ranks get its value, or raise its error."""
    with contextlib.ExitStack() as held:
        yield on_first_rank(communicator, lambda: held.enter_context(manager()))


def _attempted(
    function: Callable[[], Value],
) -> tuple[Value | None, Failure | None, Exception | None]:
    """Result, failure and error of a call; one of them at least is None."""
    try:
        return function(), None, None
    except Exception as error:
        return None, failure_of(error), error
