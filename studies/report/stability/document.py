"""Part of a results document on stability: errors and loss factors of every run, and plain answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sstep_verify.errors import InputError
from sstep_verify.report.panels import task_words
from sstep_verify.report.plain import DIGITS, Record

Values = tuple[float | None, ...]


TENFOLD = 10.0
"""Loss factor above which an s-step run is called more than ten times worse."""


@dataclass(frozen=True)
class SecondLook(Record, digits=DIGITS):
    """Median relative errors of a much worse s-step run, and of the classical one, in other orders.

    Of so many orders of samples and features; None if the median is of a run that broke down.
    """

    s: int
    orders: int
    error: float | None
    classical: float | None


@dataclass(frozen=True)
class StabilityRun(Record, digits=DIGITS):
    """All runs of one solver on one scenario: a value for each s, ascending from 1, the classical run.

    Errors are relative (2-norm), against the exact trajectory: `error` at the last iteration, `largest`
    over the recorded window ends. `loss` and `largest_loss` are both over the classical error at the same
    iterations; None where a run broke down. `ratio` is the largest measured / bound over the replayed
    windows; empty if none was replayed. `noise` is the largest over the smallest error at the last
    iteration of classical runs with samples and features in other orders, what reordered sums do alone;
    None if a run broke down or none was made. `again` has the s-step runs with a loss factor above
    `TENFOLD`, made again in other orders. The condition is prescribed; `attained` is what the data have.
    """

    case: str
    condition: float
    attained: float | None
    seed: int
    s: tuple[int, ...]
    error: Values
    largest: Values
    loss: Values
    largest_loss: Values
    ratio: Values
    noise: float | None = None
    again: tuple[SecondLook, ...] = ()

    def __post_init__(self):
        super().__post_init__()
        where = f"stability run of {self.case}"
        if self.s[:1] != (1,) or list(self.s) != sorted(set(self.s)):
            raise InputError(f"{where}: s = {list(self.s)}, but it must ascend from 1")
        if not any(value is not None for value in self.ratio):
            self._set(ratio=())
        for name in ("error", "largest", "loss", "largest_loss", "ratio"):
            count = len(getattr(self, name))
            if count != len(self.s) and (count or name != "ratio"):
                raise InputError(f"{where}: {len(self.s)} values of s, but {count} of {name}")


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
class WorseRun(Record, digits=DIGITS):
    """One s-step run with a loss factor above `TENFOLD`; errors in unit roundoffs, None if it broke down.

    An error below one unit roundoff counts as one in the factor. `noise` is what reordered sums do to the
    classical error of this scenario, and `beyond` whether the factor exceeds it. `again` is the factor of
    the median errors over so many other `orders` of samples and features, 0 if there are none: above
    `TENFOLD` if the loss is one of s-step, and not of a classical run that happened to round well.
    """

    case: str
    condition: float
    attained: float | None
    seed: int
    s: int
    error: float | None
    classical: float | None
    loss: float | None
    noise: float | None
    beyond: bool
    orders: int = 0
    again: float | None = None

    @property
    def held(self) -> bool:
        """Whether the factor exceeds the noise, and `TENFOLD` in the median over other orders, if made."""
        return self.beyond and (not self.orders or self.again is None or self.again > TENFOLD)


@dataclass(frozen=True)
class SafeBand(Record, digits=DIGITS):
    """All scenarios with ``low <= u * condition < high``, and the s up to which none of them loses.

    `scenarios` counts runs, each of one case, condition and seed; `noise` is the largest factor that
    reordering does to a classical error in the band. For each s > 1: the largest loss factor, None where a
    run broke down, and how many exceed the noise of their own scenario. `within_noise` and `within_ten` are
    the largest s up to which every loss factor stays within the noise of the band, or no run is
    `WorseRun.held` to be more than `TENFOLD` times worse; 1 if there is no such s.
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
    worse: tuple[WorseRun, ...]
    safe: tuple[SafeBand, ...]

    @property
    def name(self) -> str:
        """Precision and task in words."""
        return f"{self.precision}, {task_words(self.task)}"

    @property
    def beyond(self) -> list[WorseRun]:
        """The worse runs whose factor exceeds the noise of their scenario."""
        return [run for run in self.worse if run.beyond]

    @property
    def held(self) -> list[WorseRun]:
        """The worse runs that are so in the median over other orders, too."""
        return [run for run in self.worse if run.held]


@dataclass(frozen=True)
class Stability(Record):
    """The part of a document that a stability campaign adds.

    What the data show in plain words; runs in the order of cases, conditions and seeds; and answers for
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
        return [
            *(("a stability run", run.case) for run in self.runs),
            *(("a worse run", run.case) for answer in self.answers for run in answer.worse),
        ]
