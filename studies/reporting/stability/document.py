"""Part of a results document on stability: errors and loss factors of every run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sstep_verify.errors import InputError
from sstep_verify.reporting.plain import DIGITS, Record
from studies.reporting.stability.answers import Answer

Values = tuple[float | None, ...]


@dataclass(frozen=True)
class SecondLook(Record, digits=DIGITS):
    """Errors of an s-step run that was much worse, and of the classical one, in other orders of the data.

    Parameters
    ----------
    s : int
        Iterations per window.
    orders : int
        Orders of samples and features.
    error, classical : float or None
        Median relative errors over them; None if that is of a run that broke down.
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

    Notes
    -----
    Real numbers are rounded to `plain.DIGITS` digits: more digits would say nothing about an error.
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
