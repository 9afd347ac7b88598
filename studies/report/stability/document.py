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
    """All runs of one solver on one scenario: a value for each s.

    Parameters
    ----------
    case : str
        Id of the case.
    condition : float
        Prescribed condition number of the data.
    attained : float or None
        The condition number that the data have, from a float64 singular value decomposition.
    seed : int
        Seed of data and index stream.
    s : tuple of int, shape (k,)
        Iterations per window, ascending from 1, the classical run.
    error : tuple of float, shape (k,)
        Relative error against the exact trajectory at the last iteration (2-norm).
    largest : tuple of float, shape (k,)
        The largest over the recorded window ends.
    loss, largest_loss : tuple of float, shape (k,)
        Stability loss factors of both: s-step error over the classical error, `largest_loss` at the
        same iterations; None where a run broke down.
    ratio : tuple of float, shape (k,) or (0,)
        Largest measured / bound over the replayed windows; None where none was replayed, empty if
        that is so for every s.
    noise : float or None
        Largest over smallest error at the last iteration of classical runs with samples and features in
        other orders: what reordered sums do alone. None if a run broke down or none was made.
    again : tuple of SecondLook
        The s-step runs with a loss factor above `TENFOLD`, made again in other orders.

    Raises
    ------
    InputError
        If shapes disagree or s does not ascend from 1.
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

    Parameters
    ----------
    scenarios : int
        Scenarios whose exponents were averaged; the forms of one count as one.
    left_out : int
        Runs with a classical error below one unit roundoff, which rounding the exact vector may bring.
    exponent, low, high : float or None
        Mean over the scenarios of the exponent of s in the loss factor, and its 95 % interval; None of
        fewer than two scenarios.
    across : float or None
        What that exponent makes of a factor from the smallest s > 1 to the largest.
    largest_exponent, largest_low, largest_high : float or None
        Exponent of s in the largest loss factor over all runs, one point for each s, and its 95 % interval;
        None of fewer than three points.
    noise, largest_noise : float or None
        Median and largest over the scenarios of what reordering samples and features does to the
        classical error, as a factor; None if not measured.
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
    """One s-step run with a loss factor above `TENFOLD`.

    Parameters
    ----------
    case : str
        Id of the case.
    condition, attained : float
        Condition asked for, and the one that the data have.
    seed, s : int
        Which run.
    error, classical : float or None
        Relative errors at the last iteration, in unit roundoffs; None where the run broke down.
    loss : float or None
        Loss factor, where an error below one unit roundoff counts as one.
    noise : float or None
        What reordered sums do to the classical error of this scenario.
    beyond : bool
        Whether the loss factor exceeds that noise.
    orders : int
        Other orders of samples and features in which both runs were made again; 0 if they were not.
    again : float or None
        Loss factor of the median errors over those orders: above `TENFOLD` if the loss is one of s-step,
        and not of a classical run that happened to round well.
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
    """All scenarios whose u * condition lies in one band, and the s up to which none of them loses.

    Parameters
    ----------
    low, high : float
        Ends of the band, ``low <= u * condition < high``, by the condition that the data have.
    scenarios : int
        Runs in it, each of one case, condition and seed.
    noise : float or None
        Noise floor of the band: the largest factor that reordering does to a classical error in it.
    s : tuple of int, shape (k,)
        Values of s > 1 that were run.
    largest : tuple of float, shape (k,)
        The largest loss factor at each; None where a run broke down.
    beyond : tuple of int, shape (k,)
        Loss factors that exceed the noise of their own scenario.
    within_noise, within_ten : int
        Largest s up to which every loss factor stays within the noise floor of the band, or no run is
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

    Parameters
    ----------
    precision, task : str
        Which.
    growth : Growth
        Growth with s.
    runs : int
        s-step runs that were compared with a classical one.
    largest, on_the_way : float or None
        The largest loss factor of them; the same of the largest error over all recorded window ends,
        against the classical one at the same iterations. None where a run broke down.
    worse : tuple of WorseRun
        Those with a loss factor above `TENFOLD`, the largest first.
    safe : tuple of SafeBand
        Ascending in u * condition.
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

    Parameters
    ----------
    sentences : tuple of str
        What the data show, in plain words; first on the page.
    runs : tuple of StabilityRun
        In the order of cases, conditions and seeds.
    answers : tuple of Answer
        For each precision and task: growth with s, where s-step is much worse, which s is safe.
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
