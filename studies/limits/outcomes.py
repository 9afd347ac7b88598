"""Detection limits as they are measured: units of work, trials with doses, and what came of each unit."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from sstep_verify.checks.step_replay import CHECK as STEPS
from sstep_verify.checks.window_replay import CHECK as WINDOWS
from sstep_verify.declaration import Precision
from sstep_verify.recurrence.mutation import off_by

LIMITS: Final = "limits"
DOSES: Final = "doses"
"""Kinds of unit: detection limits of drawn runs, and trials with doses of an error."""

EITHER = "either"
"""Name of the two checks together: a campaign is red if one of them is."""

JUDGES = {STEPS: (STEPS,), WINDOWS: (WINDOWS,), EITHER: (STEPS, WINDOWS)}
"""What is tried by itself, and the checks that it consists of."""


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
    """The smallest dose, at most 1, to which a rival says no; None if it accepts even that.

    An `alarm` is that it refuses the right answer too; then no dose is told.
    """

    rival: str
    alarm: bool
    dose: float | None


@dataclass(frozen=True)
class DoseTrial:
    """Doses of an error in one quantity of one run, judged by one check.

    The verdict should turn at the relative error `predicted`, the bound over the effect; the smallest dose
    tried that failed is `found`, None if none up to four times what is certain to show did. Doses can be
    told apart if `resolved`: a factor next to 1 holds multiples of two roundoffs. Of those of a size that
    was `certain` to show, `missed` did not fail.
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
    """What was measured of one unit: acting runs of limits, pairs of doses.

    Of doses `switches` counts quantities left out where a verdict was certain to show it, `switches_missed`
    those of them not failed. Of `judged` runs without an error none may fail: `alarms` are the ids of those
    that did.
    """

    unit: LimitUnit
    acting: tuple[ActingRuns, ...] = ()
    pairs: tuple[DosePair, ...] = ()
    switches: int = 0
    switches_missed: int = 0
    judged: int = 0
    alarms: tuple[str, ...] = ()


def is_switch(quantity: str) -> bool:
    """Whether a quantity is there or not, so that it has no small error."""
    return off_by(quantity, Fraction(0)) is None
