"""Detection limits as they are measured: units of work, trials with doses, and what came of each unit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from sstep_verify.declaration import Precision

LIMITS: Final = "limits"
DOSES: Final = "doses"
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
        samples, s = ("+".join(map(str, sizes)) for sizes in (self.samples, self.s))
        return f"{self.kind}/{self.task}/{self.kernel}/m={samples}/s={s}/{'+'.join(self.precisions)}"


@dataclass(frozen=True)
class ActingRuns:
    """The drawn runs of one precision in which a quantity of a step acts.

    Of `draws` problems it acts in `acted`, a run each. Per acting run there is the smallest relative error
    that a verdict was certain to show, None where none was; `seen` counts those of which a verdict was
    certain to show the quantity left out.
    """

    quantity: str
    precision: str
    draws: int
    acted: int
    detection_limit: tuple[float | None, ...]
    seen: int


@dataclass(frozen=True)
class RivalDose:
    """The smallest dose, at most 1, to which a rival says no; None if it accepts even that.

    An `alarm` is that it refuses the right answer too; then no dose is told.
    """

    rival: str
    alarm: bool
    dose: float | None


@dataclass(frozen=True)
class DoseTrial:
    """Doses of an error in one quantity of one run, judged by one check.

    Parameters
    ----------
    check : str
        What judged.
    predicted : float
        The relative error at which the verdict should turn: the bound over the effect.
    found : float or None
        The smallest dose tried that failed; None if none up to four times what is certain to show did.
    resolved : bool
        Whether doses can be told apart there: a factor next to 1 holds multiples of two roundoffs.
    certain, missed : int
        Doses tried of a size that was certain to show, and those of them that did not fail.
    """

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

    There is a trial per check that told how small an error it was certain to show, and a dose of every
    rival that could say something.
    """

    scenario: str
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
