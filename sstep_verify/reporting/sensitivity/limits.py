"""Detection limits in neutral types: what is to be measured, what was, and the rows of a report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sstep_verify.declaration import Precision

LIMITS, DOSES = "limits", "doses"
"""Kinds of unit: detectable errors of drawn runs, and trials with doses of an error."""


@dataclass(frozen=True)
class LimitUnit:
    """What one process measures at a time, in seconds to a minute.

    Parameters
    ----------
    kind : {"limits", "doses"}
        What is measured.
    task, kernel : str
        Task and kind of kernel of the problems drawn.
    samples, s : tuple of int
        Numbers of samples (m) and iterations per window to draw from: one each for limits.
    precisions : tuple of str
        Precisions in which each problem is solved.
    seed : int
        Seed of the draws (PCG64).
    wanted : int
        Acting runs per quantity (limits), or pairs of problem and quantity (doses).
    most : int
        Problems drawn at most.
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
        sizes = "+".join(map(str, self.samples)), "+".join(map(str, self.s))
        precisions = "+".join(self.precisions)
        return f"{self.kind}/{self.task}/{self.kernel}/m={sizes[0]}/s={sizes[1]}/{precisions}"


@dataclass(frozen=True)
class ActingRuns:
    """The drawn runs of one precision in which a quantity acts.

    Parameters
    ----------
    quantity, precision : str
        The quantity of a step, and the precision of the solver.
    switch : bool
        Whether it is there or not, so that the only error in it is to leave it out.
    draws : int
        Problems drawn for it.
    acted : int
        Those of them in which it acts; a run each.
    detectable : tuple of (float or None), shape (acted,)
        Per acting run the smallest relative error that a verdict was certain to show; None where none was.
    seen : int
        Acting runs of which a verdict was certain to show the quantity left out.
    """

    quantity: str
    precision: str
    switch: bool
    draws: int
    acted: int
    detectable: tuple[float | None, ...]
    seen: int


@dataclass(frozen=True)
class RivalDose:
    """The smallest dose to which a rival says no.

    Parameters
    ----------
    rival : str
        Its name.
    alarm : bool
        Whether it refuses the right answer too; then no dose is told.
    dose : float or None
        Relative error, at most 1; None if it accepts even that, or gave an alarm.
    """

    rival: str
    alarm: bool
    dose: float | None


@dataclass(frozen=True)
class DoseTrial:
    """Doses of an error in one quantity of one run, judged by one check.

    Parameters
    ----------
    scenario, precision, quantity, check : str
        Id of the drawn problem, precision of the solver, quantity that is off, check that judged.
    predicted : float
        The relative error at which the verdict should turn: the bound over the effect.
    found : float or None
        The smallest dose tried that failed; None if none up to four times what is certain to show did.
    resolved : bool
        Whether doses can be told apart there: a factor next to 1 holds multiples of two roundoffs.
    certain, missed : int
        Doses tried of a size that was certain to show, and those of them that did not fail.
    """

    scenario: str
    precision: str
    quantity: str
    check: str
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
class DosePair:
    """One quantity of one drawn run in which it acts: trials of our checks, and what rivals saw.

    Parameters
    ----------
    scenario, task, kernel, precision, quantity : str
        Id of the drawn problem with its task and kernel, precision of the solver, quantity that is off.
    trials : tuple of DoseTrial
        One per check that told how small an error it was certain to show.
    rivals : tuple of RivalDose
        Of every rival that could say something.
    """

    scenario: str
    task: str
    kernel: str
    precision: str
    quantity: str
    trials: tuple[DoseTrial, ...]
    rivals: tuple[RivalDose, ...]


@dataclass(frozen=True)
class LimitOutcome:
    """What was measured of one unit.

    Parameters
    ----------
    unit : LimitUnit
        The unit.
    acting : tuple of ActingRuns
        Of limits: per quantity and precision.
    pairs : tuple of DosePair
        Of doses: per problem and quantity.
    switches, switches_missed : int
        Of doses: quantities left out where a verdict was certain to show it, and those of them not failed.
    judged : int
        Runs without an error that were judged.
    alarms : tuple of str
        Ids of those of them that failed, none of which may.
    """

    unit: LimitUnit
    acting: tuple[ActingRuns, ...] = ()
    pairs: tuple[DosePair, ...] = ()
    switches: int = 0
    switches_missed: int = 0
    judged: int = 0
    alarms: tuple[str, ...] = ()


@dataclass(frozen=True)
class LimitRow:
    """The detection limit of one quantity in one stratum, or over several of them.

    Parameters
    ----------
    quantity, precision, task, kernel : str
        What; task and kernel are empty in a row over all of them.
    samples, s : int
        Samples and iterations per window; 0 in a row over all of them.
    switch : bool
        Whether the quantity is there or not.
    draws, acted : int
        Problems drawn, and those in which the quantity acts.
    share, share_low, share_high : float
        Their share, with its 95 % interval (Clopper-Pearson).
    rank : int or None
        The limit is the acting run of this rank, by size; None if there are too few for a limit.
    limit : float or None
        Relative error that 95 % of acting runs are certain to show, with confidence 95 %; None if there are
        too few runs, or no such error.
    median, largest : float or None
        Over the acting runs; None where nothing smaller than infinity is certain to show.
    seen : int
        Acting runs certain to show the quantity left out.
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
    """How well a check's predictions were met by its verdicts on doses.

    Parameters
    ----------
    check, precision, quantity : str
        What; the quantity is empty in a row over all of them.
    trials : int
        Trials whose doses can be told apart.
    within : int
        Those of them in which the verdict turned within a factor 2 of the prediction.
    smallest, median, largest : float or None
        Of found over predicted; None where the verdict never turned, or there are no trials.
    unresolved : int
        Trials whose doses cannot be told apart.
    certain, missed : int
        Doses certain to show, and those of them that did not fail: none, by theorem.
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

    Parameters
    ----------
    rival : str
        Name of the rival; ``sstep-verify`` for our checks.
    precision, quantity : str
        What; the quantity is empty in a row over all of them.
    pairs : int
        Pairs of problem and quantity tried.
    alarms : int
        Those of them whose right answer it refused; they are not counted further.
    never : int
        Those of them in which it accepted every dose up to 1.
    rank : int or None
        The limit is the pair of this rank, by size; None if there are too few.
    limit, median : float or None
        Relative error that 95 % of pairs show, with confidence 95 %; the median. None: doses of 1 are
        accepted, or there are too few.
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

    Parameters
    ----------
    content, confidence : float
        Of every limit: the share of runs it holds for, and the confidence in that.
    strata : tuple of LimitRow
        Per task, kernel, precision, m, s and quantity.
    overall : tuple of LimitRow
        Per precision and quantity, over all strata, each drawn until the same number of runs acted.
    doses : tuple of DoseRow
        Per check, precision and quantity, and over quantities.
    rivals : tuple of RivalRow
        Per rival, precision and quantity, and over quantities; ours first.
    pairs : int
        Pairs of problem and quantity that got doses.
    switches, switches_missed : int
        Quantities left out where that was certain to show, and those of them not failed: none, by theorem.
    judged : int
        Runs without an error that were judged.
    alarms : tuple of str
        Ids of those of them that failed: none.
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
