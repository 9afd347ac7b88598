"""Predicted strong scaling: the paper's programs beside our solver with its best exchange."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sstep_verify.costs.model.machine import Machine
from sstep_verify.costs.model.production import Method
from sstep_verify.costs.model.profiles import Profile
from sstep_verify.costs.model.table import Row, predict

RANKS = tuple(1 << power for power in range(13))
STEPS = tuple(1 << power for power in range(9))
TOTAL = 640
"""Iterations of the published runs, times b."""


class Point(NamedTuple):
    """Microseconds per iteration on P ranks: classical and s-step of the paper's programs, and ours.

    With s and `our_s` that take least, 1 included in ours only.
    """

    ranks: int
    classical: float
    s_step: float
    s: int
    ours: float
    exchange: str
    our_s: int


def published_rows(
    machine: Machine,
    profile: Profile,
    method: Method,
    ranks: Iterable[int],
    steps: Iterable[int] = STEPS,
) -> list[Row]:
    """Predictions of the paper's programs over P and s."""
    iterations = max(TOTAL // method.block, 1)
    return predict(machine, profile, method, ranks, tuple(steps), "published", iterations)


def scaling(
    machine: Machine,
    profile: Profile,
    method: Method,
    ranks: Iterable[int] = RANKS,
    steps: Iterable[int] = STEPS,
) -> list[Point]:
    """A point for each P.

    Parameters
    ----------
    machine : Machine
        Fitted to the published programs.
    profile : Profile
        The data.
    method : Method
        What is run; its exchange is that of the paper's programs, and ours is the best.
    ranks, steps : iterable of int
        P; s, among which are 1 and a larger one.
    """
    found, steps = [], tuple(steps)
    for count in ranks:
        rows = published_rows(machine, profile, method, (count,), steps)
        classical, s_step = ends(rows)
        ours, exchange, own = _ours(machine, profile, method, count, steps)
        found.append(
            Point(count, classical["total"], s_step["total"], int(s_step["s"]), ours, exchange, own)
        )
    return found


def _ours(
    machine: Machine, profile: Profile, method: Method, ranks: int, steps: tuple[int, ...]
) -> tuple[float, str, int]:
    """Our solver with the exchange and s that take least."""
    taken = []
    for exchange in ("allreduce", "reduce-scatter", *(("gram",) if method.kernel == "linear" else ())):
        row = best(predict(machine, profile, method._replace(exchange=exchange), (ranks,), steps))
        taken.append((row["total"], exchange, int(row["s"])))
    return min(taken)


def best(rows: Iterable[Row]) -> Row:
    """The row that takes least."""
    return min(rows, key=lambda row: row["total"])


def ends(rows: list[Row]) -> tuple[Row, Row]:
    """Best classical row, and best s-step row."""
    return best(row for row in rows if row["s"] == 1), best(row for row in rows if row["s"] > 1)
