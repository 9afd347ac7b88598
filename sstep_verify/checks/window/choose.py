"""Which windows are replayed, of those recorded: first, last, a sample, and one where each thing happens.

Where a step is free, what its coordinate was before cancels; where it is clipped, nothing that came before
counts. So whether a window could show an error in a quantity cannot be read off its two ends; and what the
solver's ends say of the box is the solver's word. A window of a K-SVM is therefore made again in float64.
Nothing is judged by these numbers: they choose windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np
from sstep_reference.arithmetic import Float

from sstep_verify.checks.shared.case import Case, loggable
from sstep_verify.checks.shared.comparison import Window
from sstep_verify.numerics import kernel_rows
from sstep_verify.problems import Problem
from sstep_verify.quantities import TAIL
from sstep_verify.recurrence.mutation import NONE, LocalWindow, Mutation, left_out, off_by
from sstep_verify.recurrence.steps import Step, finisher_of, mutable_window
from sstep_verify.trajectory import Trajectory

WEIGHTY = 2.0**-20
"""Weight of a quantity (`FloatWindow.weight`) with which the search for a window in which it acts ends."""

CHANGE = Fraction(1, 2**10)
"""Relative change of a quantity whose effect at the window's end is looked at."""

EVENTS = ("overlap", "clip low", "clip high", "free")


def choose_windows(case: Case, trajectory: Trajectory) -> list[Window]:
    """Choose windows among those that a run recorded, in order of iteration, each once.

    Of the seeded sample there are as many as the case says; its update decides what quantities there are.
    """
    problem, recorded = case.problem, trajectory.windows()
    if not recorded:
        return []
    chosen: dict[int, list[str]] = {0: ["first" if recorded[0][0] == 0 else "first recorded"]}
    chosen.setdefault(len(recorded) - 1, []).append("last")
    generator, sampled = np.random.Generator(np.random.PCG64(case.seed)), min(case.windows, len(recorded))
    for place in generator.choice(len(recorded), size=sampled, replace=False).tolist():
        chosen.setdefault(place, []).append("sampled")
    for place, (begin, end) in enumerate(recorded):
        if end - begin < trajectory.s:
            chosen.setdefault(place, []).append("tail")

    @cache
    def again(place: int) -> FloatWindow:
        begin, end = recorded[place]
        draws = case.stream.blocks(trajectory.start + begin, trajectory.start + end)
        return FloatWindow(problem, trajectory.at(begin), draws)

    missing = set(EVENTS if problem.is_svm else EVENTS[:1])
    for place in [*chosen, *range(len(recorded))]:
        if not missing:
            break
        if again(place).events & missing:
            chosen.setdefault(place, [])
            missing -= again(place).events
    if problem.is_svm:
        quantities = problem.quantities(case.formulas.update, trajectory.s, 1)
        names = [name for name in quantities if name != TAIL]
        for name, place in _acting(again, names, [*chosen, *range(len(recorded))]).items():
            chosen.setdefault(place, []).append(f"{name} acts")
    return [
        Window(*recorded[place], (*tags, *sorted(again(place).events)))
        for place, tags in sorted(chosen.items())
    ]


def _acting(again: Callable[[int], FloatWindow], names: list[str], places: list[int]) -> dict[str, int]:
    """Per quantity the first window in which it acts with weight, or else the one where it acts most."""
    heaviest, acting = dict.fromkeys(names, 0.0), {}
    for place in dict.fromkeys(places):
        light = [name for name, weight in heaviest.items() if weight < WEIGHTY]
        if not light:
            break
        for name in light:
            weight = again(place).weight(name)
            if weight > heaviest[name]:
                heaviest[name], acting[name] = weight, place
    return acting


class _Double(Float):
    """Float64 in which a number may be infinite, as a step on a kernel that overflows is."""

    def number(self, x: Any) -> Any:
        """Nearest float64."""
        return np.float64(x)

    def vector(self, values: Iterable[Any]) -> np.ndarray:
        """Array of float64."""
        return np.array(list(values), dtype=np.float64)


DOUBLE = _Double()


class FloatWindow:
    """One window in float64 from the solver's own a, its steps made when they are first asked for.

    Its kernel rows are formed in numerics/__init__.py, its steps in recurrence/steps.py.

    Parameters
    ----------
    problem : Problem
        The problem; of a K-RR, whose steps are all free, none is made.
    begin : ndarray, shape (m,)
        The dual vector at the window's start (a).
    draws : ndarray of int, shape (s, b)
        Coordinates drawn.
    """

    def __init__(self, problem: Problem, begin: np.ndarray, draws: np.ndarray):
        self._problem, self._begin = problem, begin
        self._places, self._order = np.unique(draws, return_inverse=True)

    @cached_property
    def _window(self) -> LocalWindow:
        problem, start, places = self._problem, self._begin.astype(np.float64), self._places
        with np.errstate(over="ignore", invalid="ignore"):
            rows = kernel_rows(problem, places)
            stale = list(rows @ (problem.signs * start))
        gram, draws = list(rows[:, places]), self._order.reshape(-1, 1).tolist()
        labelled = problem.loss.labelled
        return LocalWindow(
            places.tolist(), draws, gram, stale, start[places], problem.targets[places], labelled
        )

    @cached_property
    def _made(self) -> tuple[np.ndarray, list[Step]]:
        """The dual vector at the end, on the window's coordinates, and the steps."""
        steps: list[Step] = []
        return self._end(NONE, steps), steps

    def _end(self, mutation: Mutation, steps: list[Step] | None = None) -> np.ndarray:
        # A kernel that overflows gives steps that are not numbers, and no weight.
        with np.errstate(over="ignore", invalid="ignore"):
            return mutable_window(DOUBLE, self._window, finisher_of(self._problem, DOUBLE), mutation, steps)

    def weight(self, name: str) -> float:
        """How much a quantity of a K-SVM acts on a at the window's end, over the largest value there.

        It acts with `WEIGHTY`, and no more is known, where the largest change of a coordinate is that much
        both per unit relative change of the quantity and if it is left out.
        """
        end = self._made[0]
        largest = float(np.abs(end).max(initial=0.0))
        if not 0.0 < largest < np.inf:
            return 0.0
        off = off_by(name, CHANGE)
        dropped = float(np.abs(self._end(left_out(name)) - end).max()) / largest
        changed = float(np.abs(self._end(off) - end).max()) / largest / float(CHANGE) if off else dropped
        return WEIGHTY if min(changed, dropped) >= WEIGHTY else min(max(changed, dropped), WEIGHTY / 2)

    @cached_property
    def events(self) -> set[str]:
        """What happens in the window, some of `EVENTS`; of a K-RR, what the stream tells."""
        events = {"overlap"} if self._places.size < self._order.size else set()
        if not self._problem.is_svm:
            return events
        dual = self._problem.dual
        for step in self._made[1]:
            if step.free < dual.lower:
                events.add("clip low")
            elif step.free >= dual.upper:
                events.add("clip high")
            elif step.increment:
                events.add("free")
        return events


def screenable(case: Case) -> bool:
    """Whether the windows of a case can be screened: step-replay judges every step of a kept log.

    A window that begins with maintained weights is compared from these only.
    """
    declared = case.formulas
    added = case.problem.is_svm and declared.update == "added"  # its windows are replayed, none is screened
    unfit = loggable(case) or declared.weights is not None
    return not (unfit or added)
