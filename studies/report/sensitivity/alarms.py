"""Records of runs of correct solvers: false alarms, how tight bounds are, the worst cases of a search."""

from __future__ import annotations

from dataclasses import dataclass

from studies.report.sensitivity.coverage import CoverageDocument


@dataclass(frozen=True)
class AlarmUnit:
    """A piece of the study: runs of correct solvers, each made by its group, the seed and its number.

    The group, a name of `studies.alarms.groups.GROUPS`, says how they are drawn and judged; `first` is the
    number of its first run within the group.
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
    vacuous, inconclusive : int
        Runs that none of them passed: no mistake was certain to show, or a check could not tell.
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
    """A FAIL of a correct run, by a check with its reason; `studies.alarms.study.again` makes it again.

    The unit is a piece of this run alone; the problem is told by the id of its scenario or a seed.
    """

    unit: AlarmUnit
    variant: str
    problem: str
    check: str
    reason: str


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
    """The study of false alarms.

    Of `made` runs of correct solvers `judged` were decided (N), which VACUOUS ones are not, and `failed` of
    these were failed by a check. `upper`, a bound on the share that fails, is of older reports: no number
    of all runs says that of a cell. There is no coverage of a study that did not look.
    """

    made: int
    judged: int
    failed: int
    upper: float | None
    variants: tuple[VariantCount, ...]
    alarms: tuple[Alarm, ...]
    tightness: tuple[TightnessRow, ...]
    coverage: CoverageDocument | None = None


@dataclass(frozen=True)
class HardCase:
    """The worst case that a search found of one measure, task, kernel and precision.

    Parameters
    ----------
    measure : {"ratio", "loss", "hidden", "carried", "factored"}
        Ratio of measured error to bound of the worst step; stability loss: the error of the s-step run
        over that of the classical one; the ratio of a mistake that is labelled numerically equivalent,
        steps repeated in exact arithmetic included; the largest ratio over checks of windows, of a solver
        that carries a state, or that forms A (A'a).
    solver : str
        The solver, a name of `studies.adversary.cases.solver_named`.
    scenario : str
        Id of the scenario, which `Scenario.from_id` makes again.
    value : float
        The measure.
    method : str
        What found it: evolution, targeted, or random.
    random : float
        Largest value of as many seconds of random draws.
    """

    measure: str
    solver: str
    scenario: str
    value: float
    method: str
    random: float


@dataclass(frozen=True)
class ReplayedCase:
    """A committed case, made and judged again: status by step-replay, exact steps included; the measure."""

    case: HardCase
    status: str
    value: float


@dataclass(frozen=True)
class AdversaryDocument:
    """All committed cases, made and judged again.

    `failed` counts those that step-replay fails; ratio and stability loss are the largest ones.
    """

    cases: tuple[ReplayedCase, ...]
    failed: int
    ratio: float
    loss: float
