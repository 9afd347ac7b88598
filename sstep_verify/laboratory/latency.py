"""Classical against s-step under injected latency, every cell measured and predicted.

The prediction looks at no run with a delay. Of an iteration with windows of s at delay D:

    predicted(s, D) = measured(s, 0) + c(s) (lone(D) - lone(0)) + transfer

measured(s, 0) is the time at no delay, c(s) the collectives of an iteration as the interposer counted them
there, lone(D) a collective of one word with nothing else being done: what a delay really is, waking
included. transfer is what the delay adds for each byte, if it does. So the prediction assumes that
computing takes as long beside a slow network as beside a fast one, and that ranks wait for nothing else;
the errors show how far that holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

from sstep_verify.errors import InputError
from sstep_verify.laboratory.ours import OurSolver
from sstep_verify.laboratory.samples import Cell, Delay, Sample, quartiles


class Subject(Protocol):
    """What is measured."""

    name: str

    def sample(self, s: int, ranks: int, delay: Delay, seconds: float) -> Sample:
        """One stretch of about so many seconds."""
        ...


@dataclass(frozen=True)
class Plan:
    """How a study is made.

    Parameters
    ----------
    s : tuple of int
        Iterations of a window; 1, the classical method, among them.
    delays : tuple of Delay
        No delay among them, ascending.
    ranks : int
        P.
    repeats : int
        Stretches of each cell; the cells take turns.
    seconds : float
        Length of a stretch, as far as whole windows allow.

    Raises
    ------
    InputError
        If a value cannot be used.
    """

    s: tuple[int, ...]
    delays: tuple[Delay, ...]
    ranks: int
    repeats: int
    seconds: float

    def __post_init__(self) -> None:
        if self.ranks < 2:
            raise InputError(
                f"{self.ranks} rank: nothing is communicated, so no delay is felt; needed are 2"
            )
        if 1 not in self.s or len(self.s) < 2:
            raise InputError(
                "s-step is compared with the classical method: needed are s = 1 and some other s"
            )
        if Delay() not in self.delays:
            raise InputError("the prediction begins with what is measured at no delay: needed is delay 0")


@dataclass(frozen=True)
class Study:
    """What was measured.

    Parameters
    ----------
    subject, problem : str
        What ran, and what it solved.
    plan : Plan
        How.
    cells : dict
        By s and delay.
    lone : dict
        Seconds of a collective of one word alone, by delay: lower quartile, median, upper quartile.
    """

    subject: str
    problem: str
    plan: Plan
    cells: dict[tuple[int, Delay], Cell]
    lone: dict[Delay, tuple[float, float, float]]

    def given(self, delay: Delay) -> float:
        """Seconds that a delay adds to a collective of one word, as it really is."""
        return self.lone[delay][1] - self.lone[Delay()][1]

    def predicted(self, s: int, delay: Delay) -> float:
        """Seconds of an iteration, from runs without a delay."""
        free = self.cells[s, Delay()]
        waiting = free.collectives * self.given(delay)
        return free.seconds + waiting + delay.transfer(self.plan.ranks, free.words)

    def error(self, s: int, delay: Delay) -> float:
        """Predicted over measured, less 1."""
        return self.predicted(s, delay) / self.cells[s, delay].seconds - 1.0

    def speedup(self, s: int, delay: Delay) -> tuple[float, float, float]:
        """Classical over s-step of every repeat: lower quartile, median, upper quartile."""
        classical, own = self.cells[1, delay], self.cells[s, delay]
        return quartiles([a / b for a, b in zip(classical.all_seconds, own.all_seconds, strict=True)])

    def predicted_speedup(self, s: int, delay: Delay) -> float:
        """The same, predicted."""
        return self.predicted(1, delay) / self.predicted(s, delay)

    def best(self, delay: Delay) -> int:
        """The s of the least seconds measured."""
        return min(self.plan.s, key=lambda s: self.cells[s, delay].seconds)

    def predicted_best(self, delay: Delay) -> int:
        """The s of the least seconds predicted."""
        return min(self.plan.s, key=lambda s: self.predicted(s, delay))


def study(
    subject: Subject,
    problem: str,
    plan: Plan,
    collective: OurSolver,
    tell: Callable[[str], None] = lambda _: None,
) -> Study:
    """Measure all cells in turn, again and again, and a collective alone between them.

    Parameters
    ----------
    subject : Subject
        What is measured.
    problem : str
        What it solves, in words.
    plan : Plan
        How.
    collective : OurSolver
        Whose ranks time the collective alone.
    tell : callable
        Told how far it is.
    """
    keys = list(product(plan.s, plan.delays))
    samples: dict[tuple[int, Delay], list[Sample]] = {key: [] for key in keys}
    lone: dict[Delay, list[float]] = {delay: [] for delay in plan.delays}
    for repeat in range(plan.repeats):
        for delay in plan.delays:
            tell(f"repeat {repeat + 1} of {plan.repeats}, delay {delay.microseconds:g} us")
            lone[delay].append(collective.collective(plan.ranks, delay, plan.seconds))
            for s in plan.s:
                samples[s, delay].append(subject.sample(s, plan.ranks, delay, plan.seconds))
    cells = {key: Cell(tuple(found)) for key, found in samples.items()}
    require_positive(cells, plan.seconds)
    return Study(subject.name, problem, plan, cells, {d: quartiles(found) for d, found in lone.items()})


def require_positive(cells: Mapping[Any, Cell], seconds: float) -> None:
    """Raise InputError where a difference of two runs is lost in what their start-ups vary by."""
    for key, cell in cells.items():
        if min(cell.all_seconds) <= 0:
            raise InputError(
                f"{key}: the longer of two runs took less time than the shorter one, so stretches of "
                f"{seconds:g} s are too short for this program on this machine; pass more --seconds"
            )


def usable(s: Sequence[int], subject: object) -> tuple[int, ...]:
    """Those s that a subject knows; 1 is one of them, wanted or not."""
    knows = getattr(subject, "knows", lambda _: True)
    return tuple(one for one in sorted({1, *s}) if knows(one))
