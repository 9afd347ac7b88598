"""Detection limits: as they are measured, a unit of work at a time, and as the rows of a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sstep_verify.declaration import Precision
from sstep_verify.quantities import KERNEL
from sstep_verify.report.plain import promised

OURS = "sstep-verify"
"""Stands for our checks where rivals are named."""


@dataclass(frozen=True)
class LimitUnit:
    """What one process measures at a time, in seconds to a minute.

    Problems have one of `samples` (m) and one of `s` iterations a window, a single one each for limits,
    and are solved in every one of `precisions`. At `most` so many are drawn, until `wanted` runs act per
    quantity (limits), or that many pairs of problem and quantity had doses.
    """

    kind: Literal["limits", "doses"]
    task: str
    kernel: str
    samples: tuple[int, ...]
    s: tuple[int, ...]
    precisions: tuple[Precision, ...]
    seed: int
    wanted: int
    most: int

    @property
    def id(self) -> str:
        """Unique name, such as ``limits/krr/rbf/m=16/s=4/float64+float32``."""
        samples, s = ("+".join(map(str, sizes)) for sizes in (self.samples, self.s))
        return f"{self.kind}/{self.task}/{self.kernel}/m={samples}/s={s}/{'+'.join(self.precisions)}"


@dataclass(frozen=True)
class ActingRuns:
    """The drawn runs of one precision in which a quantity of a step acts.

    Of `draws` problems there is per acting run the smallest relative error that a verdict was certain to
    show, None where none was; `seen` counts those of which a verdict was certain to show the quantity left
    out.
    """

    quantity: str
    precision: str
    draws: int
    detection_limit: tuple[float | None, ...]
    seen: int


@dataclass(frozen=True)
class RivalDose:
    """The smallest dose, at most 1, to which a rival, or a campaign of ours, says no.

    It is of one quantity of one drawn run in which it acts, None if even 1 is accepted. An `alarm` is that
    the right answer is refused too; then no dose is stated.
    """

    rival: str
    precision: str
    quantity: str
    alarm: bool
    dose: float | None


@dataclass(frozen=True)
class DoseTrial:
    """Doses of an error in one quantity of one run, judged by one check.

    The verdict should turn at the relative error `predicted`, the bound over the effect; the smallest dose
    tried that failed is `found`, None if none up to four times what is certain to show did. Doses can be
    distinguished if `resolved`: a factor next to 1 holds multiples of two roundoffs. Of those of a size
    that was `certain` to show, `missed` did not fail.
    """

    check: str
    precision: str
    quantity: str
    predicted: float
    found: float | None
    resolved: bool
    certain: int
    missed: int

    @property
    def within(self) -> bool:
        """Whether the verdict turned within a factor 2 of the prediction."""
        return self.found is not None and self.predicted / 2 <= self.found <= 2 * self.predicted


@dataclass(frozen=True)
class LimitOutcome:
    """What was measured of one unit: acting runs of limits; of doses trials of our checks, and rivals.

    Of doses `switches` counts quantities left out where a verdict was certain to show it, `switches_missed`
    those of them not failed. Of `judged` runs without an error none may fail: `alarms` are the ids of those
    that did.
    """

    unit: LimitUnit
    acting: tuple[ActingRuns, ...] = ()
    trials: tuple[DoseTrial, ...] = ()
    rivals: tuple[RivalDose, ...] = ()
    switches: int = 0
    switches_missed: int = 0
    judged: int = 0
    alarms: tuple[str, ...] = ()


@dataclass(frozen=True)
class LimitRow:
    """The detection limit of one quantity in one stratum, or over several of them.

    A row over all has no task and kernel, and 0 for samples and s; a `switch` is there or not. The quantity
    acts in `acted` of the problems drawn: their share has a 95 % interval (Clopper-Pearson). The limit, the
    relative error that 95 % of acting runs are certain to show, with confidence 95 %, is that of the acting
    run of this rank, by size; None if there are too few runs, or no such error. Median and largest are over
    the acting runs, None where nothing smaller than infinity is certain to show; `seen` are the acting runs
    certain to show the quantity left out.
    """

    quantity: str
    precision: str
    task: str
    kernel: str
    samples: int
    s: int
    switch: bool
    draws: int
    acted: int
    share: float
    share_low: float
    share_high: float
    rank: int | None
    limit: float | None
    median: float | None
    largest: float | None
    seen: int


@dataclass(frozen=True)
class DoseRow:
    """How well a check's predictions were met by its verdicts on doses; no quantity is over all of them.

    Of `trials` whose doses can be distinguished (of `unresolved` they cannot) the verdict turned within a
    factor 2 of the prediction in `within`; smallest, median and largest are of found over predicted, None
    where the verdict never turned, or there are no trials. Of doses certain to show none is missed, by
    theorem.
    """

    check: str
    precision: str
    quantity: str
    trials: int
    within: int
    smallest: float | None
    median: float | None
    largest: float | None
    unresolved: int
    certain: int
    missed: int


@dataclass(frozen=True)
class RivalRow:
    """The detection limit of one rival, or of our checks, on the dosed runs in which the quantity acts.

    No quantity is over all of them. Of the pairs of problem and quantity `alarms` are those whose right
    answer it refused, which are not counted further, and `never` those in which it accepted every dose up
    to 1. The limit, which 95 % of pairs show with confidence 95 %, is the pair of this rank, by size; limit
    and median are None where doses of 1 are accepted, or there are too few.
    """

    rival: str
    precision: str
    quantity: str
    pairs: int
    alarms: int
    never: int
    rank: int | None
    limit: float | None
    median: float | None


@dataclass(frozen=True)
class LimitsDocument:
    """The part of a sensitivity report on detection limits.

    Every limit holds for a share of runs, `content`, with a confidence. Overall rows are over all strata,
    each drawn until the same number of runs acted; of rivals ours stands first. `pairs` of problem and
    quantity got doses; of `switches`, quantities left out where that was certain to show, none is missed,
    by theorem; of runs `judged` without an error none failed, else `alarms` holds their ids.
    """

    content: float
    confidence: float
    strata: tuple[LimitRow, ...]
    overall: tuple[LimitRow, ...]
    doses: tuple[DoseRow, ...]
    rivals: tuple[RivalRow, ...]
    pairs: int
    switches: int
    switches_missed: int
    judged: int
    alarms: tuple[str, ...]

    @property
    def sentences(self) -> Iterator[str]:
        """The float64 limits, rounded up: of the kernel correction, of the worst quantity, of switches."""
        rows = [row for row in self.overall if row.precision == "float64"]
        limits = {row.quantity: row.limit for row in rows if row.limit and not row.switch}
        if limits:
            worst = max(limits, key=lambda name: limits[name] or 0.0)
            kernel = f"{promised(limits[KERNEL])} for the kernel correction, " if KERNEL in limits else ""
            yield (
                "detection limits in 95 % of the float64 runs in which the quantity has an effect, with 95 "
                f"% confidence: {kernel}{promised(limits[worst])} for the worst quantity ({worst})"
            )
        if switches := [row for row in rows if row.switch and row.acted]:
            *others, last = (row.quantity for row in switches)
            names = " or ".join(filter(None, (", ".join(others), last)))
            seen, acted = sum(row.seen for row in switches), sum(row.acted for row in switches)
            yield f"{names} left out: detected in {seen:,} of {acted:,} float64 runs"

    @property
    def broken(self) -> tuple[str, ...]:
        """What was certain to show but was not detected, and correct runs that failed, a line each."""
        unseen, missed = "certain to show, not detected", [row for row in self.doses if row.missed]
        told = (", ".join(filter(None, (row.check, row.precision, row.quantity))) for row in missed)
        return (
            *([f"quantities left out, {unseen}: {self.switches_missed}"] if self.switches_missed else ()),
            *(
                f"injected errors {unseen}: {row.missed} of {row.certain}, {of}"
                for row, of in zip(missed, told, strict=True)
            ),
            *(f"run without an error failed: {one}" for one in self.alarms),
        )
