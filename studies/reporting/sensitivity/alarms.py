"""Records of the study of false alarms: pieces, what each found, and what all of them say together."""

from __future__ import annotations

from dataclasses import dataclass, field

from studies.reporting.sensitivity.coverage import Cells, CoverageDocument


@dataclass(frozen=True)
class AlarmUnit:
    """A piece of the study: runs of correct solvers, each made by its group, the seed and its number.

    Parameters
    ----------
    group : str
        How its runs are drawn and judged, a name of `studies.alarms.groups.GROUPS`.
    seed : int
        Seed of the study.
    first, runs : int
        Number of its first run within the group, and how many there are.
    """

    group: str
    seed: int
    first: int
    runs: int


@dataclass(frozen=True)
class VariantCount:
    """What was said of the runs of one correct solver.

    Parameters
    ----------
    variant : str
        Its name.
    passed : int
        Runs that none failed, and that a check with a derived bound passed.
    failed : int
        Runs that a check failed.
    vacuous : int
        Runs that none of them passed: no mistake was certain to show.
    inconclusive : int
        The same, where a check could not tell.
    undecided : int
        Runs of which nothing was held against a finite bound that is derived.
    absent : int
        Runs that the solver did not make: a block system that is singular in its precision, or an input
        beyond its range.
    """

    variant: str
    passed: int = 0
    failed: int = 0
    vacuous: int = 0
    inconclusive: int = 0
    undecided: int = 0
    absent: int = 0

    @property
    def judged(self) -> int:
        """Runs that were decided."""
        return self.passed + self.failed


@dataclass(frozen=True)
class Alarm:
    """A FAIL of a correct run, which `studies.alarms.study.again` makes again.

    Parameters
    ----------
    unit : AlarmUnit
        A piece of this run alone.
    variant : str
        The solver.
    problem : str
        The id of the scenario, or the seed of the window.
    check : str
        The check that failed it.
    reason : str
        Its reason.
    """

    unit: AlarmUnit
    variant: str
    problem: str
    check: str
    reason: str


@dataclass(frozen=True)
class AlarmOutcome:
    """What a piece of the study found.

    Parameters
    ----------
    unit : AlarmUnit
        The piece.
    alarms : list of Alarm
        Its failures.
    counts : dict of str to dict of str to int
        By solver, runs by field of `VariantCount`.
    ratios : dict of str to list of (float, int, bool)
        By check, task, kernel and precision, of each verdict with a finite bound: measured / bound, to four
        digits; roundings of the longest sum in the bound, 0 where it is no single sum's; and whether an
        error in every core quantity of a step would have shown (PASS, not VACUOUS). Of the others many have
        no rounding at all, such as runs whose every step is clipped.
    shares : dict of str to dict of str to list of float
        By task, kernel and precision, then by part, shares of the bounds of the worst steps of some runs.
    cells : dict
        Decided runs by check, task, kernel and value of a freedom.
    pairs : dict of str to int
        Decided runs by pair of values of two freedoms.
    planted, refused : dict of str to int
        Runs with a defect by check, defect and value of a freedom; those of them that the check failed.
    """

    unit: AlarmUnit
    alarms: list[Alarm] = field(default_factory=list)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    ratios: dict[str, list[tuple[float, int, bool]]] = field(default_factory=dict)
    shares: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    cells: Cells = field(default_factory=dict)
    pairs: dict[str, int] = field(default_factory=dict)
    planted: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TightnessRow:
    """Distribution of the ratio measured / bound of correct runs.

    Parameters
    ----------
    check, task, kernel, precision : str
        What was judged.
    runs, acted : int
        Verdicts with a finite bound, and those of them in which the quantities of a step acted.
    least, lower, median, upper, ninety_ninth : float or None
        Least ratio, quartiles and 99 % quantile of those in which quantities acted; None if there is none.
    most : float
        Largest ratio of all.
    length : float or None
        Median of the roundings of the longest sum in the bound; None where the bound is no single sum's, or
        no quantity acted.
    product : float or None
        Median of the ratio times that length.
    wanted : bool
        Whether a sharper derivation is wanted: the product is below `studies.alarms.tightness.WANTED`.
    dominates : str
        The part that makes up most of the bound, with its median share; empty where it was not looked at.
    """

    check: str
    task: str
    kernel: str
    precision: str
    runs: int
    acted: int
    least: float | None
    lower: float | None
    median: float | None
    upper: float | None
    ninety_ninth: float | None
    most: float
    length: float | None
    product: float | None
    wanted: bool
    dominates: str


@dataclass(frozen=True)
class AlarmsDocument:
    """The study of false alarms: how many runs of correct solvers were judged, and how many failed.

    Parameters
    ----------
    made : int
        Runs that were drawn.
    judged : int
        Those of them that were decided (N); VACUOUS ones are not.
    failed : int
        Those that a check failed.
    upper : float or None
        Of older reports, a bound on the share that fails: no number of all runs says that of a cell.
    variants : tuple of VariantCount
        By solver.
    alarms : tuple of Alarm
        The failures.
    tightness : tuple of TightnessRow
        How near to their bounds the runs came.
    coverage : CoverageDocument or None
        What they were crossed with; None of a study that did not look.
    """

    made: int
    judged: int
    failed: int
    upper: float | None
    variants: tuple[VariantCount, ...]
    alarms: tuple[Alarm, ...]
    tightness: tuple[TightnessRow, ...]
    coverage: CoverageDocument | None = None
