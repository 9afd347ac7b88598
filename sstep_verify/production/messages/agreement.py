"""Agreement of ranks: an error of one is raised by all, so that none waits for another."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, TypeVar

from sstep_verify.errors import DataError, InputError, MissingExtraError, SstepVerifyError
from sstep_verify.problems.data.svmlight_lines import LineError
from sstep_verify.production.messages.communicator import Communicator

Value = TypeVar("Value")


class ReadingError(SstepVerifyError, RuntimeError):
    """A rank failed for a reason that is not the input's, such as its memory; raised on all ranks."""


class Failure(NamedTuple):
    """Why a rank could not go on, in a form that travels.

    Parameters
    ----------
    kind : type
        Error to raise.
    text : str
        Its message.
    place : tuple of (Path, int) or None
        File and line at fault, the line counted from the first of the rank's share.
    """

    kind: type[SstepVerifyError]
    text: str
    place: tuple[Path, int] | None = None

    def error(self, *, lines_before: int = 0, prefix: str = "") -> SstepVerifyError:
        """The error to raise, with the line counted from the file's first."""
        if self.place is None:
            return self.kind(prefix + self.text)
        path, line = self.place
        return LineError(path, lines_before + line, self.text)


def failure_of(error: Exception) -> Failure:
    """The form of an error that the other ranks are told."""
    if isinstance(error, LineError):
        return Failure(LineError, error.fault, (error.path, error.line))
    for kind in (DataError, InputError, MissingExtraError):
        if isinstance(error, kind):
            return Failure(kind, str(error))
    return Failure(ReadingError, f"{type(error).__name__}: {error}")


def raise_first(
    failures: Sequence[Failure | None], cause: Exception | None, lines: Sequence[int] = ()
) -> None:
    """Raise the first failure of any rank, with its rank where the others met another or none.

    `lines`: how many of a file each rank has read, from which those of later ranks are counted.
    """
    for rank, failure in enumerate(failures):
        if failure is not None:
            prefix = "" if all(other == failure for other in failures) else f"rank {rank}: "
            raise failure.error(lines_before=sum(lines[:rank]), prefix=prefix) from cause


def on_all_ranks(communicator: Communicator, function: Callable[[], Value]) -> Value:
    """Call a function that does not communicate on all ranks; what one of them raises, all raise.

    Raises
    ------
    InputError, MissingExtraError, ReadingError
        What the first rank that failed met, on all ranks.
    """
    value, failure, cause = _attempted(function)
    raise_first(communicator.allgather(failure), cause)
    return value  # type: ignore[return-value]


def on_first_rank(communicator: Communicator, function: Callable[[], Value]) -> Value:
    """Call a function on rank 0 only; all ranks get its result, or raise its error.

    Raises
    ------
    InputError, MissingExtraError, ReadingError
        What it raised; the last where it was neither of the others.
    """
    value, failure, cause = _attempted(function) if communicator.rank == 0 else (None, None, None)
    value, failure = communicator.first((value, failure))
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
