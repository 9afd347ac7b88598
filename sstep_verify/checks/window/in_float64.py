"""A window of a K-SVM run made again in float64: what happens in it, and how much each quantity acts.

Where a step is free, what its coordinate was before cancels; where it is clipped, nothing that came before
counts. So whether a window could show an error in a quantity cannot be read off its two ends; and what the
solver's ends say of the box is the solver's word. Nothing is judged by these numbers: they choose windows.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from sstep_reference.arithmetic import Float

from sstep_verify.numerics.kernel_matrix import kernel_rows
from sstep_verify.problems import Problem
from sstep_verify.recurrence.mutation import NONE, Mutation, left_out, off_by
from sstep_verify.recurrence.steps import Step, finisher_of, mutable_window
from sstep_verify.recurrence.window import LocalWindow

CHANGE = Fraction(1, 2**10)
"""Relative change of a quantity whose effect at the window's end is looked at."""

EVENTS = ("overlap", "clip low", "clip high", "free")


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
    """One window in float64 from the solver's own a.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    begin : ndarray, shape (m,)
        The dual vector at the window's start (a).
    draws : ndarray of int, shape (s,)
        Coordinates drawn.
    """

    def __init__(self, problem: Problem, begin: np.ndarray, draws: np.ndarray):
        self._clip: Any = finisher_of(problem, DOUBLE)
        places, order = np.unique(draws, return_inverse=True)
        labels, start = problem.targets, begin.astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            rows = kernel_rows(problem, places)
            self._window = LocalWindow(
                places.tolist(),
                order.reshape(-1, 1).tolist(),
                list(rows[:, places]),
                list(rows @ (labels * start)),
                start[places],
                labels[places],
            )

    @cached_property
    def _made(self) -> tuple[np.ndarray, list[Step]]:
        """The dual vector at the end, on the window's coordinates, and the steps."""
        steps: list[Step] = []
        return self._end(NONE, steps), steps

    def _end(self, mutation: Mutation, steps: list[Step] | None = None) -> np.ndarray:
        # A kernel that overflows gives steps that are not numbers, and no weight.
        with np.errstate(over="ignore", invalid="ignore"):
            return mutable_window(DOUBLE, self._window, self._clip, mutation, steps)

    def weights(self, names: Iterable[str]) -> dict[str, tuple[float, float]]:
        """What each quantity changes in a at the window's end, over the largest value there.

        Parameters
        ----------
        names : iterable of str
            Quantities.

        Returns
        -------
        dict of str to (float, float)
            The largest change of a coordinate per unit relative change of the quantity, and if it is left
            out.
        """
        end = self._made[0]
        largest = float(np.abs(end).max(initial=0.0))
        found = {}
        for name in names:
            found[name] = (0.0, 0.0)
            if 0.0 < largest < np.inf:
                off = off_by(name, CHANGE)
                dropped = float(np.abs(self._end(left_out(name)) - end).max()) / largest
                changed = float(np.abs(self._end(off) - end).max()) / largest if off else 0.0
                found[name] = (changed / float(CHANGE) if off else dropped, dropped)
        return found

    def events(self) -> set[str]:
        """What happens in the window, some of `EVENTS`."""
        found = {"overlap"} if len(self._window.coordinates) < len(self._window.draws) else set()
        upper = np.inf if self._clip.upper is None else self._clip.upper
        for step in self._made[1]:
            if step.unclipped < 0:
                found.add("clip low")
            elif step.unclipped >= upper:
                found.add("clip high")
            elif step.increment:
                found.add("free")
        return found
