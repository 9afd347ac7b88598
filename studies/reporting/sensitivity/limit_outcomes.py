"""Detection limits as they are measured: units of work, trials with doses, and what came of each unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sstep_verify.declaration import Precision

LIMITS, DOSES = "limits", "doses"
"""Kinds of unit: detection limits of drawn runs, and trials with doses of an error."""


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
    detection_limit : tuple of (float or None), shape (acted,)
        Per acting run the smallest relative error that a verdict was certain to show; None where none was.
    seen : int
        Acting runs of which a verdict was certain to show the quantity left out.
    """

    quantity: str
    precision: str
    switch: bool
    draws: int
    acted: int
    detection_limit: tuple[float | None, ...]
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
