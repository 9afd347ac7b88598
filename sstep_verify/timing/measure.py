"""What a measurement is made of: the delay that is injected, segments and cells; what a report tells."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sstep_verify.files import whole_folder, write_text
from sstep_verify.provenance import collect
from sstep_verify.trajectory import COLLECTIVES, Traffic

QUARTILES = (0.25, 0.5, 0.75)

Tell = Callable[[str], None]


class Delay(NamedTuple):
    """What every collective of more than one rank is late by: ceil(log2 P) (alpha + beta bytes).

    Alpha in microseconds; beta in nanoseconds, for each byte that a rank hands in.
    """

    microseconds: float = 0.0
    per_byte: float = 0.0

    def transfer(self, ranks: int, words: float) -> float:
        """Seconds of the part that grows with the words of 8 bytes."""
        return 8e-9 * self.per_byte * words * levels(ranks)


def of_collectives(traffic: Mapping[str, Traffic]) -> tuple[int, float]:
    """Collectives of all kinds, and words of 8 bytes handed to them: what is late by a `Delay`."""
    found = [traffic[kind] for kind in COLLECTIVES]
    return sum(one.calls for one in found), sum(one.bytes for one in found) / 8


class Sample(NamedTuple):
    """One segment of a run, of one iteration on average: seconds of the slowest rank; collectives entered,
    and words of 8 bytes handed to them, by the rank that had most, as the interposer counted them.
    """

    seconds: float
    collectives: float
    words: float


class Cell:
    """The segments of one s at one delay, one for each repeat; of each quantity the median."""

    def __init__(self, samples: Sequence[Sample]):
        self.all_seconds, collectives, words = map(list, zip(*samples, strict=True))
        self.seconds, self.collectives, self.words = (
            quartiles(values)[1] for values in (self.all_seconds, collectives, words)
        )


class Plan(NamedTuple):
    """How a study is made: s, 1 among them, and delays, 0 among them, both ascending; P, at least 2;
    segments of each cell, and their length, as far as whole windows allow.
    """

    s: tuple[int, ...]
    delays: tuple[Delay, ...]
    ranks: int
    repeats: int
    seconds: float


def levels(ranks: int) -> int:
    """Levels of a binary tree over some ranks, ceil(log2 P)."""
    return (ranks - 1).bit_length()


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    low, middle, high = np.quantile(values, QUARTILES).tolist()
    return low, middle, high


def about(mpi: str, command: list[str]) -> dict[str, Any]:
    """Machine, MPI and versions."""
    facts = collect(command)
    chosen = ("package", "git", "python", "packages", "blas", "machine", "date", "command")
    return {"mpi": mpi, "load": list(os.getloadavg())} | {name: facts[name] for name in chosen}


def in_words(known: dict[str, Any], ranks: int) -> str:
    """Machine and MPI in one line."""
    machine = known["machine"]
    cores = machine["usable_cores"] or machine["cores"]
    crowded = ", which take turns" if ranks > (cores or ranks) else ""
    return (
        f"{machine['cpu']}, {cores} usable cores for {ranks} ranks{crowded}; load {known['load'][0]:.1f} "
        f"at the beginning; {' '.join(known['mpi'].split())}"
    )


def spread(values: list[float] | tuple[float, ...], digits: int = 2) -> str:
    """Median and quartiles: ``m [l, h]`` of (l, m, h)."""
    low, middle, high = (f"{value:.{digits}f}" for value in values)
    return f"{middle} [{low}, {high}]"


def write(
    folder: Path, name: str, lines: list[str], document: dict[str, Any], more: dict[str, str]
) -> None:
    """Write text, JSON (not finite: null) and more by suffix into a folder, which is whole or not there."""
    from sstep_verify.report.plain import plain

    content = json.dumps(plain(document), indent=1, ensure_ascii=False, allow_nan=False)
    with whole_folder(folder) as partial:
        for suffix, text in {"txt": "\n".join(lines) + "\n", "json": content + "\n", **more}.items():
            write_text(partial / f"{name}.{suffix}", text)
