"""An autopsy: all runs that a speed-up is taken apart from, timed in turn; see `laboratory.factors`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sstep_verify.errors import InputError
from sstep_verify.laboratory.factors import Factors, Times, factors
from sstep_verify.laboratory.latency import Subject, require_positive
from sstep_verify.laboratory.ours import OurSolver
from sstep_verify.laboratory.samples import Cell, Delay, Sample, quartiles

PROGRAM, NOT_LATE = "program", ", not late"

Key = tuple[str, int, int]
"""Whose, s, and ranks: the program's, or our classical solver's by its exchange; with `NOT_LATE` behind it
without the delay."""


@dataclass(frozen=True)
class Plan:
    """How an autopsy is made.

    Parameters
    ----------
    s : tuple of int
        Iterations of a window that are tried, 1 among them.
    delay : Delay
        Of every collective on the P ranks.
    ranks, repeats : int
        P; stretches of each cell.
    seconds : float
        Length of a stretch.

    Raises
    ------
    InputError
        If there is nothing to compare.
    """

    s: tuple[int, ...]
    delay: Delay
    ranks: int
    repeats: int
    seconds: float

    def __post_init__(self) -> None:
        if self.s == (1,):
            raise InputError("a speed-up is that of some s over the classical method: an s > 1 is needed")


@dataclass(frozen=True)
class Autopsy:
    """What was measured.

    Parameters
    ----------
    subject, problem : str
        What ran, and what it solved.
    plan : Plan
        How.
    cells : dict
        Seconds by `Key`.
    lone : tuple of float
        Seconds of a collective alone without a delay, in every repeat.
    ours : bool
        Whether the program is our solver, whose own classical method may be the strong one.
    """

    subject: str
    problem: str
    plan: Plan
    cells: dict[Key, Cell]
    lone: tuple[float, ...]
    ours: bool

    def strongest(self, ranks: int) -> str:
        """Exchange of our fastest classical solver on some ranks; `PROGRAM` for our solver's own."""
        candidates = [
            key
            for key in self.cells
            if key[1:] == (1, ranks) and not key[0].endswith(NOT_LATE) and (self.ours or key[0] != PROGRAM)
        ]
        return min(candidates, key=lambda key: self.cells[key].seconds)[0]

    @property
    def best(self) -> int:
        """The program's s of the least seconds on P ranks."""
        tried = [s for s in self.plan.s if s > 1]
        return min(tried, key=lambda s: self.cells[PROGRAM, s, self.plan.ranks].seconds)

    def factors(self, s: int) -> Factors:
        """From the medians, so that they multiply to the speed-up of the medians."""
        return factors(self._times(s, None))

    def spread(self, s: int) -> list[Factors]:
        """From every repeat by itself."""
        return [factors(self._times(s, repeat)) for repeat in range(self.plan.repeats)]

    def _times(self, s: int, repeat: int | None) -> Times:
        ranks, best, best1 = self.plan.ranks, self.strongest(self.plan.ranks), self.strongest(1)
        classical, own = self.cells[PROGRAM, 1, ranks], self.cells[PROGRAM, s, ranks]

        def taken(who: str, s: int, ranks: int) -> float:
            cell = self.cells[who, s, ranks]
            return cell.seconds if repeat is None else cell.all_seconds[repeat]

        lone = quartiles(list(self.lone))[1] if repeat is None else self.lone[repeat]
        base = min(PROGRAM, best, key=lambda who: taken(who, 1, ranks))
        late = taken(base, 1, ranks) - taken(base + NOT_LATE, 1, ranks)
        fewer = own.collectives / classical.collectives
        saved = (1.0 - fewer) * (late + self.cells[base, 1, ranks].collectives * lone)
        return Times(
            taken(PROGRAM, 1, ranks), taken(PROGRAM, s, ranks), taken(best, 1, ranks),
            taken(PROGRAM, 1, 1), taken(PROGRAM, s, 1), taken(best1, 1, 1),
            saved, fewer,
        )  # fmt: skip


def autopsy(
    subject: Subject | None,
    problem: str,
    plan: Plan,
    ours: OurSolver,
    exchanges: tuple[str, ...],
    tell: Callable[[str], None] = lambda _: None,
) -> Autopsy:
    """Measure all that the factors are made of, in turn, again and again.

    Parameters
    ----------
    subject : Subject or None
        The program; our own solver where there is none.
    problem : str
        What is solved, in words.
    plan : Plan
        How.
    ours : OurSolver
        The classical baseline, whose ranks time the collective alone too.
    exchanges : tuple of str
        Exchanges of the baseline that are tried; where our solver is the subject, beside its own.
    tell : callable
        Told how far it is.
    """
    measured = subject or ours
    keys: list[Key] = [(PROGRAM, s, ranks) for ranks in (1, plan.ranks) for s in plan.s]
    keys += [(exchange, 1, ranks) for ranks in (1, plan.ranks) for exchange in exchanges]
    keys += [(who + NOT_LATE, 1, plan.ranks) for who in (PROGRAM, *exchanges)]
    samples: dict[Key, list[Sample]] = {key: [] for key in keys}
    lone = []
    for repeat in range(plan.repeats):
        tell(f"repeat {repeat + 1} of {plan.repeats}")
        lone.append(ours.collective(plan.ranks, Delay(), plan.seconds))
        for who, s, ranks in keys:
            delay = Delay() if ranks == 1 or who.endswith(NOT_LATE) else plan.delay
            if who.startswith(PROGRAM):
                found = measured.sample(s, ranks, delay, plan.seconds)
            else:
                found = ours.sample(s, ranks, delay, plan.seconds, who.removesuffix(NOT_LATE))
            samples[who, s, ranks].append(found)
    cells = {key: Cell(tuple(found)) for key, found in samples.items()}
    require_positive(cells, plan.seconds)
    return Autopsy(measured.name, problem, plan, cells, tuple(lone), subject is None)
