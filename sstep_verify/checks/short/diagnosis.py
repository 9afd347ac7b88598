"""Names the mistakes whose exact run passes where a failed short run passed, at every point it shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sstep_reference import SingularSystemError
from sstep_reference.arithmetic import Balls

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.short.runs import ShortTruth, short_length
from sstep_verify.checks.window.diagnosis import TAIL_LOST, mistakes
from sstep_verify.checks.window.mistaken import SOLVED_INSTEAD, mistaken_panels, mistaken_problems
from sstep_verify.defects.mutation import NONE
from sstep_verify.oracle.facade import FIRST_BITS, Oracle
from sstep_verify.oracle.replay.panel import PanelColumns
from sstep_verify.oracle.trajectories.mutated import mutated_states
from sstep_verify.quantities import quantities_of
from sstep_verify.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class _Tried:
    """A mistake, and the run that it makes of a right one.

    Parameters
    ----------
    name : str
        The mistake.
    truth : ShortTruth
        Of the problem that is solved.
    states : dict of int to vector of m points, or None
        Exact states by iteration; those of the truth if None.
    larger : float
        How many times larger than the bounds of the truth errors may be.
    """

    name: str
    truth: ShortTruth
    states: dict[int, Any] | None = None
    larger: float = 1.0

    def passes(self, s: int, run: Trajectory) -> bool:
        """Whether a run is as near to it as rounding allows, at every point."""
        return all(self._is_near(s, run, point) for point in self.truth.points(s))

    def _is_near(self, s: int, run: Trajectory, point: int) -> bool:
        state, truth = run.at(point), self.truth
        if not np.isfinite(state).all():
            return False
        bound = self._bound(s, run, point)
        if self.states is None:
            return bool((truth.distance(point, state, run.known)[1] <= bound).all())
        # Where the right run is clipped for certain its bound is 0, which that of another need not be.
        bound = np.array([np.max(self._bound(s, run, one), initial=0.0) for one in truth.points(s)])
        high = truth.distance(point, state, run.known, self.states[point])[1]
        return bool((high <= bound.max() * self.larger).all())

    def _bound(self, s: int, run: Trajectory, point: int) -> np.ndarray:
        bound = self.truth.bounds(s)[point]
        return self.truth.widened(bound, run.rounding_at(point), run.known).radius


def reproducing(case: Case, truth: ShortTruth, s: int, run: Trajectory, oracle: Oracle) -> tuple[str, ...]:
    """Mistakes of which one alone makes of a right run this one, up to the bound of a right run.

    Parameters
    ----------
    case, truth
        The case and what is known of its short runs.
    s : int
        Iterations per window.
    run : Trajectory
        A short run that failed.
    oracle : Oracle
        Gives the exact kernel.

    Returns
    -------
    tuple of str
        Names of mistakes; those in what is solved first, since few runs look like those by chance.
    """
    tried = (*_other_problems(case, s), *_other_rows(case, truth, s), *_recurrences(case, truth, s, oracle))
    return tuple(one.name for one in tried if one.passes(s, run))


def _other_problems(case: Case, s: int) -> Iterator[_Tried]:
    """Right runs on other problems."""
    found = mistaken_problems(case.problem)
    for name in sorted(found, key=[*SOLVED_INSTEAD, *found].index):
        for problem in found[name]:
            yield _Tried(name, ShortTruth(replace(case, problem=problem, s_values=(s,)), Oracle(problem)))


def _other_rows(case: Case, truth: ShortTruth, s: int) -> Iterator[_Tried]:
    """Right runs on other kernel rows; errors grow with the entries, twice in a product of them."""
    draws, start = _draws(case), np.zeros(case.problem.samples)
    usual = float(np.max(np.abs(truth.entries.values), initial=0.0))
    for name, panel in mistaken_panels(case, draws).items():
        kernel = PanelColumns(Balls(FIRST_BITS), panel)
        larger = float(np.max(np.abs(panel.entries))) / usual if usual else 1.0
        with suppress(SingularSystemError):
            (states,) = mutated_states(case.problem, kernel, start, draws, s, truth.points(s), [NONE])
            yield _Tried(name, truth, states, max(larger, 1.0) ** 2)


def _recurrences(case: Case, truth: ShortTruth, s: int, oracle: Oracle) -> Iterator[_Tried]:
    """Exact runs of other recurrences."""
    draws, start, points = _draws(case), np.zeros(case.problem.samples), truth.points(s)
    task, length = case.problem.loss.task, short_length(case)
    names = [one.name for one in quantities_of(task, case.declaration.update, s, case.stream.block)]
    tried, kernel = [*mistakes(task, names), NONE], oracle.kernel(FIRST_BITS)
    whole = length // s * s
    *found, right = oracle.mutated(case.problem, start, draws, s, {*points, whole}, tried)
    for one, states in zip(tried, found, strict=False):
        yield _Tried(one.name, truth, states)
    if whole < length:
        start_state = kernel.arithmetic.vector(start)
        yield _Tried(TAIL_LOST, truth, {**right, length: right.get(whole, start_state)})


def _draws(case: Case) -> np.ndarray:
    return case.stream.blocks(0, short_length(case))
