"""Predicted strong scaling: the paper's programs beside our solver with its best exchange."""

from __future__ import annotations

from collections.abc import Iterable

from sstep_verify.costs.machine import Machine
from sstep_verify.costs.prediction import Method, Row, predict
from sstep_verify.costs.profiles import Profile
from studies.report.scaling.document import ScalingPoint
from studies.scaling.timed import UNKNOWN, Cell, program_error

RANKS = tuple(1 << power for power in range(13))
STEPS = tuple(1 << power for power in range(9))
TOTAL = 640
"""Iterations of the published runs, times b."""


def published_rows(
    machine: Machine, profile: Profile, cell: Cell, ranks: Iterable[int], steps: Iterable[int] = STEPS
) -> list[Row]:
    """Predictions of the paper's programs over P and s."""
    method = Method("allreduce", cell.kernel, cell.svm, cell.block)
    return predict(machine, profile, method, ranks, steps, "published", max(TOTAL // cell.block, 1))


def points(
    machine: Machine,
    profile: Profile,
    cell: Cell,
    ranks: Iterable[int] = RANKS,
    steps: tuple[int, ...] = STEPS,
) -> Iterable[ScalingPoint]:
    """A point for each P: the paper's programs with their best s, 1 apart, and our solver with its best.

    Parameters
    ----------
    machine : Machine
        Fitted to the published programs.
    profile : Profile
        The data.
    cell : Cell
        What is run.
    ranks, steps : iterable of int
        P; s, among which are 1 and a larger one.
    """
    exchanges = ("allreduce", "reduce-scatter", *(("gram",) if cell.kernel == "linear" else ()))
    for count in ranks:
        classical, s_step = ends(published_rows(machine, profile, cell, (count,), steps))
        ours, exchange, our_s = min(
            (row["total"], name, int(row["s"]))
            for name in exchanges
            for row in predict(
                machine, profile, Method(name, cell.kernel, cell.svm, cell.block), (count,), steps
            )
        )
        s = int(s_step["s"])
        yield ScalingPoint(
            count, classical["total"], s_step["total"], s, ours, exchange, our_s,
            program_error(machine, cell, count, 1), program_error(machine, cell, count, s), UNKNOWN,
        )  # fmt: skip


def ends(rows: list[Row]) -> tuple[Row, Row]:
    """The classical row that takes least, and such an s-step row."""
    classical, s_step = ([row for row in rows if (row["s"] == 1) == first] for first in (True, False))
    return min(classical, key=lambda row: row["total"]), min(s_step, key=lambda row: row["total"])
