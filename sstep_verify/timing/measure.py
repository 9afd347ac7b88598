"""All studies: cells that take turns, again and again; the delay that is injected; what a report tells."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.files import whole_folder, write_text
from sstep_verify.provenance import collect

if TYPE_CHECKING:
    from sstep_verify.timing.programs import SomeProgram
    from sstep_verify.timing.ranks import OurSolver

QUARTILES = (0.25, 0.5, 0.75)

SUBJECT = "program"
"""Who is measured, beside our classical solver with one of its exchanges."""

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


class Sample(NamedTuple):
    """One stretch of a run, of one iteration on average: seconds of the slowest rank; collectives entered,
    and words of 8 bytes handed to them, by the rank that had most, as the interposer counted them.
    """

    seconds: float
    collectives: float
    words: float


class Cell:
    """The stretches of one `Key`, one for each repeat; of each quantity the median."""

    def __init__(self, samples: Sequence[Sample]):
        self.all_seconds, collectives, words = map(list, zip(*samples, strict=True))
        self.seconds, self.collectives, self.words = (
            quartiles(values)[1] for values in (self.all_seconds, collectives, words)
        )


class Key(NamedTuple):
    """Whose iteration is timed (`SUBJECT`, or our solver by its exchange), s, P, and the delay."""

    who: str
    s: int
    ranks: int
    delay: Delay


class Plan(NamedTuple):
    """How a study is made: s, 1 among them, and delays, 0 among them, both ascending; P, at least 2;
    stretches of each cell, and their length, as far as whole windows allow.
    """

    s: tuple[int, ...]
    delays: tuple[Delay, ...]
    ranks: int
    repeats: int
    seconds: float


@dataclass(frozen=True)
class Measured:
    """What was measured: what ran (`own`: our solver) and what it solved, how, and all cells.

    `lone` has the seconds of a collective of one word alone in every repeat, by delay.
    """

    subject: str
    problem: str
    own: bool
    plan: Plan
    cells: dict[Key, Cell]
    lone: dict[Delay, list[float]]

    @classmethod
    def of(
        cls,
        subject: SomeProgram | None,
        ours: OurSolver,
        problem: str,
        plan: Plan,
        keys: Sequence[Key],
        alone: Sequence[Delay],
        tell: Tell = lambda _: None,
    ) -> Self:
        """Measure all cells in turn, again and again, and between them a collective alone, at some delays.

        `ours` is the classical baseline; without a subject it is what is measured, too. `tell` is told how
        far it is. InputError if there is nothing to compare, or a difference of two runs is lost in what
        their start-ups vary by.
        """
        if 1 not in plan.s or len(plan.s) < 2:
            raise InputError(
                "s-step is compared with the classical method: needed are s = 1 and some other s"
            )
        measured = subject or ours
        samples: dict[Key, list[Sample]] = {key: [] for key in keys}
        lone: dict[Delay, list[float]] = {delay: [] for delay in alone}
        for repeat in range(plan.repeats):
            for delay in plan.delays:
                tell(f"repeat {repeat + 1} of {plan.repeats}, delay {delay.microseconds:g} us")
                if delay in lone:
                    lone[delay].append(ours.collective(plan.ranks, delay, plan.seconds))
                for key in (key for key in samples if key.delay == delay):
                    if key.who == SUBJECT:
                        sample = measured.sample(key.s, key.ranks, delay, plan.seconds)
                    else:
                        sample = ours.sample(key.s, key.ranks, delay, plan.seconds, key.who)
                    samples[key].append(sample)
        cells = {key: Cell(stretches) for key, stretches in samples.items()}
        for key, cell in cells.items():
            if min(cell.all_seconds) <= 0:
                raise InputError(
                    f"s = {key.s} on {key.ranks} ranks: the longer of two runs took less time than the "
                    f"shorter one, so stretches of {plan.seconds:g} s are too short for this program on "
                    "this machine; pass more --seconds"
                )
        return cls(measured.name, problem, subject is None, plan, cells, lone)

    @property
    def shared(self) -> dict[str, Any]:
        """What the document of every study has."""
        plan = self.plan
        return {
            "problem": self.problem, "subject": self.subject, "ranks": plan.ranks, "repeats": plan.repeats,
            "seconds": plan.seconds, "per byte": plan.delays[-1].per_byte,
            "units": "microseconds of an iteration",
        }  # fmt: skip


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
