"""Names the mistakes whose exact run passes where a failed short run passed, at every point it shows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sstep_reference import SingularSystemError
from sstep_reference.arithmetic import Balls

from sstep_verify.bounds.kernel.entries import KernelEntries
from sstep_verify.bounds.trajectory_bound import TrajectoryBound
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.short.runs import ShortTruth, short_length
from sstep_verify.checks.window.diagnosis import TAIL_LOST, mistakes, of_correction
from sstep_verify.checks.window.mistaken import SOLVED_INSTEAD, mistaken_panels, mistaken_problems
from sstep_verify.numerics.rounding import gamma, unit_roundoff
from sstep_verify.oracle.facade import FIRST_BITS, Oracle
from sstep_verify.oracle.replay.panel import PanelColumns
from sstep_verify.oracle.trajectories.mutated import mutated_states
from sstep_verify.quantities import quantities_of
from sstep_verify.recurrence.mutation import NONE
from sstep_verify.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class _Tried:
    """A mistake, and the run that it makes of a right one.

    Parameters
    ----------
    name : str
        The mistake.
    case : Case
        The case.
    truth : ShortTruth
        Of the problem that is solved.
    states : dict of int to vector of m points, or None
        Exact states by iteration; those of the truth if None.
    entries : KernelEntries, optional
        Kernel rows of the coordinates drawn by which they come about; those of the truth if absent.
    """

    name: str
    case: Case
    truth: ShortTruth
    states: dict[int, Any] | None = None
    entries: KernelEntries | None = None

    def passes(self, s: int, run: Trajectory) -> bool:
        """Whether a run is as near to it as rounding allows, at every point."""
        if not np.isfinite(run.alphas).all():
            return False
        radii = self._radii(s)
        return all(self._is_near(run, point, radii[point]) for point in self.truth.points(s))

    def _is_near(self, run: Trajectory, point: int, radius: np.ndarray) -> bool:
        bound = self.truth.widened(TrajectoryBound(radius, 1.0, 0), run.rounding_at(point), run.known)
        states = None if self.states is None else self.states[point]
        high = self.truth.distance(point, run.at(point), run.known, states)[1]
        return bool((high <= bound.radius).all())

    def _radii(self, s: int) -> dict[int, np.ndarray]:
        """How far a run of the mistake may be from its exact states, by point.

        Of a right run on another problem that is its bound. Of another recurrence none is proven. A K-SVM
        coordinate is then allowed what all H steps could round if each were its own: in one step
        ``(gamma_k (|K_i| |a| + omega |a_i| + 1) + delta_i |a|) / eta_i + u |a_i|``, with the largest |a| at
        the points and k a count of all that a step sums. (The bound of the right run is 0 where that is
        clipped, which another may not be.) The M-norm of a K-RR grows as a and the entries do.
        """
        bounds = {point: self.truth.bounds(s)[point].radius for point in self.truth.points(s)}
        if self.states is None:
            return bounds
        with np.errstate(over="ignore"):
            largest = np.max([np.abs(_floats(self.states[at])) for at in bounds], axis=0, initial=0.0)
        entries, problem = self.entries or self.truth.entries, self.case.problem
        if not problem.is_svm:
            right = max(float(np.abs(_floats(self.truth.exact.states[at])).max()) for at in bounds)
            usual = float(np.max(np.abs(self.truth.entries.values), initial=0.0))
            more = [float(largest.max()) / right if right else 1.0]
            more.append(float(np.abs(entries.values).max()) / usual if usual else 1.0)
            return {at: radius * max(more[0], 1.0) * max(more[1], 1.0) for at, radius in bounds.items()}
        places, shift, u = (
            self.truth.places,
            problem.hinge.shift,
            unit_roundoff(self.case.declaration.precision),
        )
        length = short_length(self.case)
        summed = np.abs(entries.values) @ largest + shift * largest[places] + 1.0
        eta = entries.values[np.arange(places.size), places] + shift
        error = gamma(problem.samples + problem.features + 2 * s + 8, u) * summed + entries.solver @ largest
        local = np.divide(error, eta, out=np.zeros(places.size), where=eta > 0) + u * largest[places]
        return dict.fromkeys(bounds, length * local)


def _floats(state: Any) -> np.ndarray:
    return np.array([float(value) for value in state])


def reproducing(
    case: Case,
    truth: ShortTruth,
    s: int,
    run: Trajectory,
    oracle: Oracle,
    *,
    between: bool,
) -> tuple[str, ...]:
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
    between : bool
        Whether only what relates the steps of a window can be wrong, since the run of s = 1 is right.

    Returns
    -------
    tuple of str
        Names of mistakes; those in what is solved first, since few runs look like those by chance.
    """
    solved = [] if between else [*_other_problems(case, s), *_other_rows(case, truth, s)]
    tried = [*solved, *_recurrences(case, truth, s, oracle, between=between)]
    return tuple(one.name for one in tried if one.passes(s, run))


def _other_problems(case: Case, s: int) -> Iterator[_Tried]:
    """Right runs on other problems."""
    found = mistaken_problems(case.problem)
    for name in sorted(found, key=[*SOLVED_INSTEAD, *found].index):
        for problem in found[name]:
            other = replace(case, problem=problem, s_values=(s,))
            yield _Tried(name, other, ShortTruth(other, Oracle(problem)))


def _other_rows(case: Case, truth: ShortTruth, s: int) -> Iterator[_Tried]:
    """Right runs on other kernel rows; relative errors of the entries are those of the right ones."""
    draws, start, right = _draws(case), np.zeros(case.problem.samples), truth.entries
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        relative = np.nan_to_num(right.solver / np.abs(right.values), nan=0.0, posinf=1.0)
    for name, panel in mistaken_panels(case, draws).items():
        kernel = PanelColumns(Balls(FIRST_BITS), panel)
        values = panel.entries[np.searchsorted(panel.columns, truth.places)]
        entries = replace(right, values=values, solver=np.maximum(right.solver, relative * np.abs(values)))
        with suppress(SingularSystemError):
            (states,) = mutated_states(case.problem, kernel, start, draws, s, truth.points(s), [NONE])
            yield _Tried(name, case, truth, states, entries)


def _recurrences(
    case: Case, truth: ShortTruth, s: int, oracle: Oracle, *, between: bool
) -> Iterator[_Tried]:
    """Exact runs of other recurrences."""
    draws, start, points = _draws(case), np.zeros(case.problem.samples), truth.points(s)
    task, length = case.problem.loss.task, short_length(case)
    names = [one.name for one in quantities_of(task, case.declaration.update, s, case.stream.block)]
    known = [one for one in mistakes(task, names) if of_correction(one) or not between]
    tried, kernel = [*known, NONE], oracle.kernel(FIRST_BITS)
    whole = length // s * s
    *found, right = oracle.mutated(case.problem, start, draws, s, {*points, whole}, tried)
    for one, states in zip(tried, found, strict=False):
        yield _Tried(one.name, case, truth, states)
    if whole < length:
        start_state = kernel.arithmetic.vector(start)
        yield _Tried(TAIL_LOST, case, truth, {**right, length: right.get(whole, start_state)})


def _draws(case: Case) -> np.ndarray:
    return case.stream.blocks(0, short_length(case))
