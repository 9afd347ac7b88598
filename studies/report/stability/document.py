"""Part of a results document on stability: errors and loss factors of every run, plain answers, words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import ClassVar

from sstep_verify.errors import InputError
from sstep_verify.report import plain
from sstep_verify.report.case import Case
from sstep_verify.report.panels import task_words
from sstep_verify.report.plain import DIGITS, Record

TENFOLD = 10.0
"""Loss factor above which an s-step run is called more than ten times worse."""


def exceeds(loss: float | None, limit: float | None) -> bool:
    """Whether a factor exceeds a limit; a run that broke down exceeds any, an unknown noise is none."""
    return loss is None or loss > (1.0 if limit is None else limit)


@dataclass(frozen=True)
class StabilityRun(Record, digits=DIGITS):
    """One run: of an s, 1 for the classical one, of the solver of a case, at one condition and seed.

    Errors are relative (2-norm), against the exact trajectory: `error` at the last iteration next to that
    of the `classical` run, `largest` over the recorded window ends. `loss` and `largest_loss` are both over
    the classical error at the same iterations, where an error below one unit roundoff counts as one; None
    where a run broke down. `ratio` is the largest measured / bound over the replayed windows, None if none
    was replayed. `noise` is the largest over the smallest error at the last iteration of classical runs
    with samples and features in other orders, what reordered sums do alone; None if a run broke down or
    none was made. Of a loss above `TENFOLD` `again` is the factor of the median errors over so many other
    `orders` of samples and features, 0 if there are none: above `TENFOLD` too if the loss is one of s-step,
    and not of a classical run that happened to round well. The condition is prescribed; `attained` is what
    the data have.
    """

    case: str
    condition: float
    attained: float | None
    seed: int
    s: int
    error: float | None
    classical: float | None
    largest: float | None
    loss: float | None
    largest_loss: float | None
    ratio: float | None = None
    noise: float | None = None
    orders: int = 0
    again: float | None = None

    @property
    def scenario(self) -> tuple[str, float, int]:
        """Case, condition and seed, which the runs of all s share."""
        return self.case, self.condition, self.seed

    @property
    def beyond(self) -> bool:
        """Whether the loss exceeds what reordered sums do to the classical error."""
        return exceeds(self.loss, self.noise)

    @property
    def held(self) -> bool:
        """Whether it exceeds the noise, and `TENFOLD` in the median over other orders, if made."""
        return self.beyond and (not self.orders or exceeds(self.again, TENFOLD))


@dataclass(frozen=True)
class Growth(Record, digits=DIGITS):
    """How the loss factor of one scenario grows with s.

    Mean over the scenarios (the forms of one count as one) of the exponent of s in the loss factor, with
    its 95 % interval, None of fewer than two; and what it makes of a factor `across`, from the smallest
    s > 1 to the largest. The same of the largest loss factor over all runs, one point for each s, None of
    fewer than three. Median and largest noise, None if not measured. `left_out` are runs with a classical
    error below one unit roundoff, which rounding the exact vector may bring.
    """

    scenarios: int
    left_out: int
    exponent: float | None
    low: float | None
    high: float | None
    across: float | None
    largest_exponent: float | None
    largest_low: float | None
    largest_high: float | None
    noise: float | None
    largest_noise: float | None


@dataclass(frozen=True)
class SafeBand(Record, digits=DIGITS):
    """All scenarios with ``low <= u * condition < high``, and the s up to which none of them loses.

    `scenarios` counts runs, each of one case, condition and seed; `noise` is the largest factor that
    reordering does to a classical error in the band. For each s > 1: the largest loss factor, None where a
    run broke down, and how many exceed the noise of their own scenario. `within_noise` and `within_ten` are
    the largest s up to which every loss factor stays within the noise of the band, or no run is
    `StabilityRun.held` to be more than `TENFOLD` times worse; 1 if there is no such s.
    """

    low: float
    high: float
    scenarios: int
    noise: float | None
    s: tuple[int, ...]
    largest: tuple[float | None, ...]
    beyond: tuple[int, ...]
    within_noise: int
    within_ten: int

    def __post_init__(self):
        super().__post_init__()
        if not len(self.s) == len(self.largest) == len(self.beyond):
            where = f"band {self.low:g} to {self.high:g}"
            raise InputError(f"{where}: as many largest factors and counts are needed as values of s")

    @property
    def worst(self) -> float | None:
        """Largest factor over all s; None if a run broke down."""
        return None if None in self.largest else max(value for value in self.largest if value is not None)


@dataclass(frozen=True)
class Answer(Record, digits=DIGITS):
    """What a campaign answers on one task in one precision.

    Of so many s-step `runs` that were compared with a classical one: the largest loss factor, the same
    `on_the_way` over all recorded window ends, None where a run broke down; those that are `worse`, the
    largest first; and bands ascending in u * condition.
    """

    precision: str
    task: str
    growth: Growth
    runs: int
    largest: float | None
    on_the_way: float | None
    worse: tuple[StabilityRun, ...]
    safe: tuple[SafeBand, ...]

    @property
    def name(self) -> str:
        """Precision and task in words."""
        return f"{self.precision}, {task_words(self.task)}"

    @property
    def beyond(self) -> list[StabilityRun]:
        """The worse runs whose factor exceeds the noise of their scenario."""
        return [run for run in self.worse if run.beyond]

    @property
    def held(self) -> list[StabilityRun]:
        """The worse runs that are so in the median over other orders, too."""
        return [run for run in self.worse if run.held]


@dataclass(frozen=True)
class Stability(Record):
    """The part of a document that a stability campaign adds.

    What the data show in plain words; runs in the order of cases, conditions, seeds and s; and answers for
    each precision and task.
    """

    sentences: tuple[str, ...] = ()
    runs: tuple[StabilityRun, ...] = ()
    answers: tuple[Answer, ...] = ()
    broken: ClassVar[tuple[str, ...]] = ()
    """A loss is no fault: what is wrong, verdicts say."""

    @property
    def named(self) -> list[tuple[str, str]]:
        """Who names which case."""
        worse = [("a worse run", run.case) for answer in self.answers for run in answer.worse]
        return [*(("a stability run", run.case) for run in self.runs), *worse]


def middle(values: Iterable[float | None]) -> float | None:
    """Median; a run that broke down counts as larger than any number; None if that is the median."""
    known = [math.inf if value is None else value for value in values]
    found = median(known) if known else math.inf
    return found if math.isfinite(found) else None


def extreme(values: Sequence[float | None]) -> float | None:
    """Largest value; None if a run broke down."""
    return None if None in values else max((value for value in values if value is not None), default=None)


def in_units(value: float | None, unit: float) -> float | None:
    """An error in unit roundoffs; None of a run that broke down."""
    return None if value is None else value / unit


def precision_of(case: Case) -> str:
    """Precision of the runs of a case."""
    return str(case.parameters["precision"])


def form_of(case: Case) -> str:
    """Form of the s-step runs of a case: in-place or frozen."""
    return str(case.parameters["form"])


def short_name(case: Case) -> str:
    """Words for one panel, such as ``K-RR, b = 4, linear``."""
    block = f", b = {case.block}" if case.task == "krr" else ""
    return f"{task_words(case.task)}{block}, {case.kernel}"


def power(value: float) -> str:
    """A condition number in few characters: ``1``, ``1e4``, ``250``."""
    return plain.brief(value, 3)


def brief(value: float | None) -> str:
    """A factor in at most five characters: ``1.3``, ``12``, ``3e4``; ∞ for none."""
    if value is None:
        return "∞"
    if 0.095 <= value < 9.95:
        return f"{value:.1f}"
    if 9.95 <= value < 999.5:
        return f"{value:.0f}"
    mantissa, exponent = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}" if value else "0"
