"""Windows of a training whose s changes: what it sends must be what the windows of its schedule send.

Every window advances the same iterates in exact arithmetic, so no step shows how long it was. Its messages
do: a window of d distinct coordinates sends d kernel rows, or products among d. Here a communicator between
training and the ranks notes each reduction, and nobody asks the solver. Draws show there too: within an
epoch no coordinate is drawn twice, so a window of k draws has k distinct ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from sstep_verify.costs.messages import TRAILER, schedule
from sstep_verify.errors import ConductError
from sstep_verify.problems import IndexStream
from sstep_verify.protocol import RunRequest
from sstep_verify.solver.communicator import Communicator
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.schedule import Segment, windows_of
from sstep_verify.trajectory import ALLREDUCE, REDUCE_SCATTER


class Message(NamedTuple):
    """A reduction: its collective, and its words; with exchange support a multiple of them."""

    name: str
    words: int
    multiple: bool = False


class Window(NamedTuple):
    """A window that is to be made: its iterations, its distinct coordinates, and its reductions."""

    begin: int
    end: int
    distinct: int
    messages: tuple[Message, ...]


class Interval(NamedTuple):
    """An interval of a training that was made, and the reductions in it."""

    begin: int
    end: int
    noted: list[Message]


class Watched(Communicator):
    """Passes all on to another communicator; `intervals` of a training, with their reductions."""

    def __init__(self, inner: Communicator):
        self._inner = inner
        self.rank, self.size = inner.rank, inner.size
        self._begin: int | None = None
        self._noted: list[Message] = []
        self.intervals: list[Interval] = []
        for name in ("allgather", "first", "alltoallv", "broadcast", "barrier"):
            setattr(self, name, getattr(inner, name))

    @property
    def kinds(self) -> tuple[str, ...]:
        """Those of the ranks."""
        return self._inner.kinds

    def mark(self, iteration: int) -> None:
        """An interval begins or ends at an iteration; outside of intervals training measures."""
        if self._begin is None:
            self._begin, self._noted = iteration, []
        else:
            self.intervals.append(Interval(self._begin, iteration, self._noted))
            self._begin, self._noted = None, []

    def allreduce(self, buffer: np.ndarray) -> None:
        """Note and sum."""
        self._noted.append(Message(ALLREDUCE, buffer.size))
        self._inner.allreduce(buffer)

    def reduce_scatter(self, send: np.ndarray, receive: np.ndarray, counts: np.ndarray) -> None:
        """Note and sum."""
        self._noted.append(Message(REDUCE_SCATTER, send.size))
        self._inner.reduce_scatter(send, receive, counts)


def due_windows(
    sequence: Sequence[Segment], request: RunRequest, settings: Settings, ranks: int, end: int
) -> list[Window]:
    """Windows of a schedule from where a request begins to an iteration, with what each must send.

    ConductError where the request's stream of epochs draws a coordinate twice in an epoch.
    """
    problem, stream = request.problem, request.stream
    norms = problem.kernel.of_distance and settings.rbf == "norm-expansion"
    trailer, interval = TRAILER + (ranks > 1), settings.interval
    assert interval is not None
    made: list[Window] = []
    before = None
    for first, last, exchange in windows_of(sequence, interval, settings.lengthening):
        if first < request.start or first >= end:
            continue
        distinct = _distinct(stream, first, last)
        # A run of its own for every interval and exchange, with a set-up.
        begun = norms and exchange != "gram" and (settings.is_end(first) or exchange != before)
        messages = _messages(exchange, problem.samples, distinct, begun, trailer)
        made.append(Window(first, last, distinct, messages))
        before = exchange
    return made


def _distinct(stream: IndexStream, first: int, last: int) -> int:
    """Distinct coordinates of a window."""
    distinct = int(np.unique(stream.blocks(first, last)).size)
    an_epoch = stream.samples // stream.block
    if stream.kind == "epochs" and first // an_epoch == (last - 1) // an_epoch:
        drawn = (last - first) * stream.block
        if distinct != drawn:
            raise ConductError(
                f"iterations {first} to {last - 1} lie in one epoch and draw {drawn} coordinates, of which "
                f"{distinct} are distinct"
            )
    return distinct


def _messages(exchange: str, samples: int, distinct: int, begun: bool, trailer: int) -> tuple[Message, ...]:
    """Reductions of a window with so many distinct coordinates; after that of norms if it is `begun`."""
    # Which samples a panel of exchange support has depends on alpha.
    multiple = exchange == "support"
    norms = schedule(exchange, samples, (), begun, trailer)
    made = schedule(exchange, 1 if multiple else samples, (distinct,), False, trailer)
    return (*(Message(*one) for one in norms), *(Message(*one, multiple) for one in made))


def require_windows(
    windows: Iterable[Window], made: Iterable[Interval], settings: Settings, ranks: int, samples: int
) -> None:
    """ConductError where the reductions of an interval are not those of its windows, in their order."""
    trailer = TRAILER + (ranks > 1)
    due = {
        last: [message for one in some for message in one.messages]
        for last, some in groupby(windows, lambda one: settings.end(one.begin))
    }
    for begin, end, noted in made:
        wanted = due.get(settings.end(begin), [])
        alike = len(noted) == len(wanted) and all(
            _is(found, one, trailer, samples) for found, one in zip(noted, wanted, strict=True)
        )
        if not alike:
            pairs = zip(noted, wanted, strict=False)
            place = next(
                (k for k, pair in enumerate(pairs) if not _is(*pair, trailer, samples)),
                min(len(noted), len(wanted)),
            )
            found, one = (list(few[place : place + 1]) for few in (noted, wanted))
            raise ConductError(
                f"iterations {begin} to {end - 1} made {len(noted)} reductions, and the windows of their "
                f"schedule make {len(wanted)}; the first that differs is number {place}: "
                f"{_words(found)}, not {_words(one)}"
            )


def _is(found: Message, wanted: Message, trailer: int, samples: int) -> bool:
    if not wanted.multiple:
        return found[:2] == wanted[:2]
    payload, rows = found.words - trailer, wanted.words - trailer
    return found.name == wanted.name and payload % rows == 0 and 0 < payload // rows <= samples


def _words(messages: Sequence[Message]) -> str:
    return f"{messages[0].name} of {messages[0].words} words" if messages else "none"


def require_counts(windows: Sequence[Window], counters: Mapping[str, int], settings: Settings) -> None:
    """ConductError where counts that a training reports are not those of its windows.

    Where kernel rows are kept, windows are counted; with exchange support no words.
    """
    messages = [message for one in windows for message in one.messages]
    due = {
        "windows": len(windows),
        "panel columns": sum(one.distinct for one in windows),
        "collectives": len(messages),
        "words": sum(message.words for message in messages),
    }
    if settings.keep_gram or settings.cache:
        due = {"windows": due["windows"]}
    elif any(message.multiple for message in messages):
        del due["words"]
    for name, wanted in due.items():
        if counters.get(name) != wanted:
            raise ConductError(
                f"counted are {counters.get(name)} {name}, and the windows of the schedule make {wanted}"
            )
