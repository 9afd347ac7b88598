"""Predicted strong scaling on given data: the paper's programs, how far they were checked; our solver.

The figures of what was published are of the timings that `benchmarks/model_fit.py` reads; they are not
part of this project.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from sstep_verify.campaign.cases import Count, Range, limits, load_data, refuse_beyond
from sstep_verify.costs.prediction import Machine, Method, Row, predict
from sstep_verify.costs.profiles import Profile, matrix_profile, read_counts, uniform_profile
from sstep_verify.errors import InputError
from sstep_verify.problems.data.datasets import FOLDER_VARIABLE, stored_file
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

TIMED = {
    Cell(data, svm, kernel, block): found
    for (data, svm, block), row in {
        ("duke", True, 1): (Timed(1280, 4.22), Timed(1280, 4.94), Timed(1024, 2.95)),
        ("duke", False, 1): (Timed(1280, 4.77), Timed(1280, 3.52), Timed(1024, 2.40)),
        ("duke", False, 2): (Timed(1280, 3.55), None, Timed(1024, 2.33)),
        ("duke", False, 4): (Timed(1280, 2.44), None, Timed(1024, 2.97)),
        ("news20.binary", True, 1): (Timed(1280, 2.32), Timed(1280, 2.48), Timed(1024, 2.67)),
        ("news20.binary", False, 1): (Timed(2048, 2.75), Timed(2048, 2.96), Timed(1280, 2.89)),
        ("news20.binary", False, 2): (Timed(2048, 1.71), Timed(2048, 1.83), Timed(1280, 2.09)),
        ("news20.binary", False, 4): (Timed(1152, 0.96), Timed(1152, 1.43), Timed(1280, 1.67)),
    }.items()
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


@dataclass(frozen=True)
class DataItem:
    """Data of a family: a data set's name or file; or any name, with what is known of the data.

    That is m, n and nonzeros, every column as full as the others; or m and `counts`, a file of each
    column's nonzeros that is looked for in the folders of data sets.
    """

    name: str
    samples: Count = 0
    features: Annotated[int, Range(1, 1 << 27, "every column has a number")] = 0
    nonzeros: Count = 0
    counts: str = ""


def item_of(given: Any, where: str) -> DataItem:
    """Data of a family, which are a data set or said by three numbers, or by one and a file."""
    item = DataItem(given.name, given.samples, given.features, given.nonzeros, given.counts)
    if item == DataItem(item.name):
        return item
    if not item.name or "/" in item.name:
        raise InputError(f"{where}, data: name = {item.name!r:.60}, but it is part of an id: no / in it")
    where = f"{where}, data {item.name}"
    if item.counts and (item.features or item.nonzeros):
        raise InputError(f"{where}: counts says features and nonzeros; leave these out")
    needed = {"samples": item.samples}
    if not item.counts:
        needed |= {"features": item.features, "nonzeros": item.nonzeros}
    refuse_beyond(where, needed, limits(DataItem))
    if item.nonzeros > item.samples * item.features:
        raise InputError(f"{where}: nonzeros = {item.nonzeros}, more than m n entries")
    return item


def load_profile(item: DataItem, directory: str | None) -> tuple[Profile, str]:
    """The profile of data, and the SHA-256 of the file that it is from, empty if it is stated.

    Files are looked for in the folder of the data sets. InputError if it is not to be had, or cannot be
    used.
    """
    return _kept(item, directory, os.environ.get(FOLDER_VARIABLE))


@lru_cache(maxsize=4)
def _kept(item: DataItem, directory: str | None, folder: str | None) -> tuple[Profile, str]:
    """Read once for all units of a data set; what cannot be read is tried again."""
    if item.counts:
        path = stored_file(item.counts, directory)
        if path is None:
            folders = {"the folder given (--data)": directory, f"${FOLDER_VARIABLE}": folder}
            tried = [f"{origin} ({Path(one)}) holds none" for origin, one in folders.items() if one]
            raise InputError(
                f"the column counts of {item.name!r} are not at hand: "
                f"{'; '.join(tried) or 'no folder was named'}. Ways out: give the folder that holds the "
                f"file {item.counts} with --data DIR; or name it in ${FOLDER_VARIABLE}"
            )
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        return Profile(item.name, item.samples, read_counts(path, item.samples)), digest
    if item.features:
        return uniform_profile(item.name, item.samples, item.features, item.nonzeros), ""
    loaded = load_data(item.name, directory)
    return matrix_profile(item.name, loaded.data), loaded.sha256
