"""Records of runs of correct solvers: false alarms, coverage, tightness, the worst of a search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from sstep_verify.report.plain import grouped

Cells = dict[str, tuple[int, float]]
"""By check, task, kernel and value of a freedom: decided runs, and the largest ratio."""

ENOUGH = 30
"""Decided runs that cover a cell: if none fails, at most a tenth of such runs does (95 % confidence)."""

CROSSED = tuple(
    f"{task} {kernel}" for task in ("svm-l1", "svm-l2", "krr") for kernel in ("linear", "polynomial", "rbf")
)
"""Task and kernel, in the order of the columns."""


@dataclass(frozen=True)
class CoverageRow:
    """One check and one value of a freedom.

    There are decided runs of each of `CROSSED`, VACUOUS and INCONCLUSIVE ones not counted, the largest
    measured / bound, and by task and kernel the reasons why no run is decided there.
    """

    check: str
    freedom: str
    value: str
    decided: tuple[int, ...]
    largest: float
    reasons: dict[str, str]

    @property
    def texts(self) -> list[str]:
        """Of each cell its decided runs, with the share that may fail if none of them did; or a reason."""
        return [
            self.reasons.get(place)
            or (f"{decided} (< {1 - 0.05 ** (1 / decided):.1%})" if decided else "0")
            for place, decided in zip(CROSSED, self.decided, strict=True)
        ]


@dataclass(frozen=True)
class MirrorRow:
    """Runs made with a defect that a check was certain to show, and those of them that it refused.

    The name is that of check and defect, with the value of a freedom where they are counted by it.
    """

    name: str
    made: int
    refused: int


@dataclass(frozen=True)
class CoverageDocument:
    """The table, and what it amounts to.

    Of the pairs of values of two freedoms `pairs` can meet, and `apart` cannot, each by a rule; `unmet` are
    those of the former that met in no decided run. `mirror` has runs made again with defects, `unplanted`
    the checks with values of freedoms of which runs were decided, and none was made again with a defect.
    """

    pairs: int
    apart: int
    unmet: tuple[str, ...]
    mirror: tuple[MirrorRow, ...]
    rows: tuple[CoverageRow, ...]
    unplanted: tuple[str, ...] = ()

    @property
    def neither(self) -> list[str]:
        """Cells that have too few decided runs, and no reason."""
        return [
            f"{row.check}, {row.freedom} = {row.value or 'none'}, {place}: {decided} decided"
            for row in self.rows
            for place, decided in zip(CROSSED, row.decided, strict=True)
            if decided < ENOUGH and place not in row.reasons
        ]

    @property
    def missed(self) -> list[str]:
        """Injected defects that checks did not detect though they were certain to."""
        return [
            f"{row.name}: {row.made - row.refused} of {row.made} not detected"
            for row in self.mirror
            if row.made > row.refused
        ]

    @property
    def sentences(self) -> tuple[str, ...]:
        """Two sentences on cells, one on pairs of implementation choices, and one on injected defects."""
        left, number = len(self.neither), sum(len(row.decided) for row in self.rows)
        explained = sum(len(row.reasons) for row in self.rows)
        # Check and defect, over all values of freedoms.
        whole = [row for row in self.mirror if " = " not in row.name]
        made, refused = (sum(getattr(row, name) for row in whole) for name in ("made", "refused"))
        return (
            f"{number - explained - left:,} of {number:,} cells of the coverage table have at least "
            f"{ENOUGH} decided runs",
            f"{explained:,} cells have a reason for fewer, {left:,} have neither",
            f"{self.pairs - len(self.unmet):,} of {self.pairs:,} possible pairs of choices met in a run, "
            f"{self.apart:,} pairs are impossible",
            f"{refused:,} of {made:,} injected defects detected",
        )

    @property
    def in_words(self) -> str:
        """The sentences, the largest ratios, and all that is not as it should be, in Markdown.

        Names of checks, choices and defects are code: they are no prose.
        """
        ratios = [
            f"| {words} | {value} | {max(row.largest for row in own):.3g} |"
            for name, words in (("check", "check"), ("freedom", "choice"))
            for value, own in grouped(self.rows, attrgetter(name)).items()
        ]
        parts = {
            "Cells with fewer decided runs, and no reason": self.neither,
            "Pairs of choices that met in no decided run": self.unmet,
            "Injected defects that were not detected": self.missed,
            "Checks and values of choices of which no run was repeated with a defect": self.unplanted,
        }
        said = [f"- {one}." for one in self.sentences]
        head = (*said, "", "| of | | largest ratio |", "|---|---|---|", *ratios)
        lists = [
            "\n".join(("", f"## {name}", "", *([f"- `{line}`" for line in lines] or ["none"])))
            for name, lines in parts.items()
        ]
        return "\n".join((*head, *lists, ""))


@dataclass(frozen=True)
class AlarmUnit:
    """A piece of the study: runs of correct solvers, each made by its group, the seed and its number.

    The group, a name of `studies.false_positives.groups.GROUPS`, says how they are drawn and judged;
    `first` is the number of its first run within the group.
    """

    group: str
    seed: int
    first: int
    runs: int


@dataclass(frozen=True)
class VariantCount:
    """Runs of one correct solver by what was said of them.

    One has passed if none failed it, and a check with a derived bound passed it. Of `vacuous` and
    `inconclusive` ones none of these did: no mistake was certain to show, or a check could not tell; of
    `undecided` ones nothing was compared with a finite bound that is derived. `absent` ones were not made:
    a block system that is singular in the solver's precision, or an input beyond its range.
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
    """A FAIL of a correct run, by a check with its reason; `studies.false_positives.study.again` makes it
    again.

    The unit is a piece of this run alone; the problem is given by the id of its scenario or a seed.
    """

    unit: AlarmUnit
    variant: str
    problem: str
    check: str
    reason: str


@dataclass(frozen=True)
class TightnessRow:
    """Distribution of the ratio measured / bound of correct runs.

    Of `runs` verdicts with a finite bound quantities of a step acted in `acted`: quantiles are of these,
    None if there is none, and `most` is the largest of all. `length` is the median of the roundings of the
    longest sum in the bound, `product` that of the ratio times it; None where the bound is no single sum's,
    or no quantity acted. A sharper derivation is `wanted` where the product is below
    `studies.false_positives.study.WANTED`; `dominates` names the part that makes up most of the bound, with
    its median share, empty where it was not looked at.
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

    @property
    def broken(self) -> Iterator[str]:
        """What must not be: correct runs failed, injected defects not detected."""
        if self.failed:
            yield f"correct runs failed: {self.failed} of {self.judged:,}"
        yield from self.coverage.missed if self.coverage else ()

    @property
    def sentences(self) -> Iterator[str]:
        """How many false alarms there were, and what was covered."""
        # Reports made before runs were crossed with freedoms count VACUOUS ones too.
        runs = "decided runs of correct solvers" if self.coverage else "correct runs"
        yield f"{self.failed} false alarm{'s' * (self.failed != 1)} in {self.judged:,} {runs}"
        if self.coverage:
            yield from self.coverage.sentences


@dataclass(frozen=True)
class HardCase:
    """The worst case that a search found of one measure, task, kernel and precision.

    Measures are "ratio", measured error to bound of the worst step; "loss", the error of the s-step run
    over that of the classical one; "hidden", the ratio of a mistake that is labelled numerically
    equivalent, steps repeated in exact arithmetic included; "carried" and "factored", the largest ratio
    over checks of windows of a solver that carries a state, or that forms A (A'a). The solver is one of
    `studies.worst_case.cases.solver_named`, the scenario that of `Scenario.from_id`; the method that found
    it evolution, targeted or random, and `random` the largest value of as many seconds of random draws.
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
class WorstCaseDocument:
    """All committed cases, made and judged again.

    `failed` counts those that step-replay fails; ratio and stability loss are the largest ones.
    """

    cases: tuple[ReplayedCase, ...]
    failed: int
    ratio: float
    loss: float

    @property
    def broken(self) -> list[str]:
        """Cases that failed."""
        return [f"worst cases failed: {self.failed} of {len(self.cases)}"] * (self.failed > 0)

    @property
    def sentences(self) -> list[str]:
        """How many cases were made again, and how near they come to failing."""
        told = f"{len(self.cases)} worst cases of correct runs made again, {self.failed} failed"
        return [f"{told}; ratios up to {self.ratio:.2g}"]
