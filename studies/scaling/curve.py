"""Predicted strong scaling: the paper's programs, with how far they were checked, beside our solver.

The figures of what was published are of the timings that `benchmarks/model_fit.py` reads; they are not
part of this project.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from sstep_verify.costs.prediction import Machine, Method, Row, predict
from sstep_verify.costs.profiles import Profile
from studies.report.scaling.part import ScalingPoint

KERNELS = ("linear", "polynomial", "rbf")


class Cell(NamedTuple):
    """A data set by name, whether it is a K-SVM, the kernel, and b."""

    data: str
    svm: bool
    kernel: str
    block: int = 1


class Timed(NamedTuple):
    """Of a cell: the largest P timed; the best classical time over the best s-step time, each over P."""

    ranks: int
    speedup: float


LAST = 64
"""Largest s timed, of every cell."""

_TIMED: dict[tuple[str, bool, int], tuple[Timed | None, Timed | None, Timed | None]] = {
    ("duke", True, 1): (Timed(1280, 4.22), Timed(1280, 4.94), Timed(1024, 2.95)),
    ("duke", False, 1): (Timed(1280, 4.77), Timed(1280, 3.52), Timed(1024, 2.40)),
    ("duke", False, 2): (Timed(1280, 3.55), None, Timed(1024, 2.33)),
    ("duke", False, 4): (Timed(1280, 2.44), None, Timed(1024, 2.97)),
    ("news20.binary", True, 1): (Timed(1280, 2.32), Timed(1280, 2.48), Timed(1024, 2.67)),
    ("news20.binary", False, 1): (Timed(2048, 2.75), Timed(2048, 2.96), Timed(1280, 2.89)),
    ("news20.binary", False, 2): (Timed(2048, 1.71), Timed(2048, 1.83), Timed(1280, 2.09)),
    ("news20.binary", False, 4): (Timed(1152, 0.96), Timed(1152, 1.43), Timed(1280, 1.67)),
}

TIMED = {
    Cell(data, svm, kernel, block): found
    for (data, svm, block), row in _TIMED.items()
    for kernel, found in zip(KERNELS, row, strict=True)
    if found is not None
}
"""The cells of the paper that were timed."""

DATA = {cell.data for cell in TIMED}

SHAPES = {
    "colon-cancer": (62, 2_000),
    "duke": (44, 7_129),
    "synthetic": (2_000, 800_000),
    "news20.binary": (19_996, 1_355_191),
}
"""Samples and features of the paper's data sets, without which a name says nothing."""

UNKNOWN = "not known"
"""The error of what was never compared with a measurement."""


def program_error(machine: Machine, cell: Cell, ranks: int, s: int) -> str:
    """Stated error of a predicted time of the paper's programs: classical (s = 1) or s-step."""
    known, off = TIMED.get(cell), machine.errors
    if not off or s > LAST or ranks > (known.ranks if known else max(one.ranks for one in TIMED.values())):
        return UNKNOWN
    if cell.data not in DATA:
        return f"{off['unfitted_least']:g} to {off['unfitted_most']:g} %"
    return f"{off['classical' if s == 1 else 's_step']:g} %"


RANKS = tuple(1 << power for power in range(13))
STEPS = tuple(1 << power for power in range(9))


def published_rows(
    machine: Machine, profile: Profile, cell: Cell, ranks: Iterable[int], steps: Iterable[int] = STEPS
) -> list[Row]:
    """Predictions of the paper's programs over P and s."""
    method = Method("allreduce", cell.kernel, cell.svm, cell.block)
    # Of the published runs 640 are the iterations, times b.
    return predict(machine, profile, method, ranks, steps, "published", max(640 // cell.block, 1))


def points(
    case: str,
    machine: Machine,
    profile: Profile,
    cell: Cell,
    ranks: Iterable[int] = RANKS,
    steps: tuple[int, ...] = STEPS,
) -> Iterable[ScalingPoint]:
    """A point for each P: the paper's programs with their best s, 1 apart, and our solver with its best.

    The machine is one fitted to the published programs; among the steps are 1 and a larger one.
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
        # More than four digits would say nothing.
        times = [float(f"{time:.4g}") for time in (classical["total"], s_step["total"], ours)]
        yield ScalingPoint(
            case, count, times[0], times[1], s, times[2], exchange, our_s,
            program_error(machine, cell, count, 1), program_error(machine, cell, count, s), UNKNOWN,
        )  # fmt: skip


def ends(rows: list[Row]) -> tuple[Row, Row]:
    """The classical row that takes least, and such an s-step row."""
    classical, s_step = ([row for row in rows if (row["s"] == 1) == first] for first in (True, False))
    return min(classical, key=lambda row: row["total"]), min(s_step, key=lambda row: row["total"])
