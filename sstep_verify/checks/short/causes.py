"""The points of a failed short run, as diagnosis asks about them: whether a mistake passes near all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from sstep_reference import SingularSystemError

from sstep_verify.bounds.window import TrajectoryBound
from sstep_verify.checks.shared.comparison import Comparison
from sstep_verify.checks.short.runs import ShortTruth, short_length, short_points
from sstep_verify.checks.window.causes import suspects_in
from sstep_verify.checks.window.compare import undrawn_apart
from sstep_verify.diagnosis.candidates import Candidate
from sstep_verify.diagnosis.factors import at_end
from sstep_verify.diagnosis.kernel_rows import rows_of
from sstep_verify.diagnosis.search import explanations, mistaken_reach
from sstep_verify.oracle.balls.exact_kernel import PanelColumns
from sstep_verify.oracle.facade import FIRST_BITS
from sstep_verify.oracle.trajectories import mutated_states
from sstep_verify.problems import Problem
from sstep_verify.recurrence.mutation import NONE
from sstep_verify.rounding.box import box_of
from sstep_verify.rounding.kernel.entries import KernelEntries
from sstep_verify.trajectory import Panel, Trajectory
from sstep_verify.verdict import Status

ONE_FEWER, ONE_MORE = "one iteration fewer", "one iteration more"
"""Mistakes: of H iterations the last is not made or leaves nothing; a further step is made after them."""

States = dict[int, Any]
"""Exact states of a run, vectors of m points, by iteration."""


@dataclass(frozen=True, eq=False)
class ShortRun:
    """The points of a short run of an s, all or those up to some iteration.

    The truth is that about short runs of a case in which they are as long as what is looked at.
    """

    truth: ShortTruth
    s: int
    run: Trajectory
    _others: dict[int, ShortTruth] = field(default_factory=dict)

    def work(self, candidate: Candidate) -> int:
        """Products of the steps, and of the kernel's entries where these are others."""
        problem = candidate.problem
        entries = 0 if candidate.mutation is not NONE else self.truth.places.size * problem.features
        return problem.samples * (short_length(self.truth.case) * self.truth.case.stream.block + entries)

    def ended_by(self, alike: Sequence[Candidate]) -> list[bool]:
        """Whether a run of each candidate is as near to the run as rounding allows, at every point."""
        problem, rows = alike[0].problem, alike[0].rows
        if not np.isfinite(self.run.alphas).all():
            return [False] * len(alike)
        truth = self._truth_of(problem)
        declared = self.truth.case.formulas
        entries = rows_of(problem, declared, truth.places, rows) if rows else truth.entries
        try:
            states = self._states(truth, entries if rows else None, alike)
        except SingularSystemError:
            # The system of one of them says nothing of the others.
            return [len(alike) > 1 and self.ended_by([one])[0] for one in alike]
        return [
            self._passes(problem, truth, entries, exact)
            and not (one.mutation.threshold and exact is not None and self._moved_in(exact))
            for one, exact in zip(alike, states, strict=True)
        ]

    def _moved_in(self, states: States) -> bool:
        """Whether the run changed a value between two points that are alike in these states.

        A step that is left out leaves its coordinate as it was, to the last bit.
        """
        points = sorted(self._points(self.truth))
        if self.run.known is not None or not points:
            return False
        places = self.truth.places
        ends = [(np.zeros(places.size), np.zeros(places.size))]
        ends += [(_floats(states[point])[places], self.run.at(point)[places]) for point in points]
        return any(
            ((exact == before) & (found != last)).any() for (before, last), (exact, found) in pairwise(ends)
        )

    def at_ends(self) -> bool:
        """Whether every value that is wrong at a point is an end of the box, up to its bound."""
        truth, run, problem = self.truth, self.run, self.truth.case.problem
        if not problem.is_svm:
            return False
        for point in self._points(truth):
            bound = truth.widened(truth.bounds(self.s)[point], run.rounding_at(point), run.known).radius
            low, values = truth.distance(point, run.at(point), run.known)[0], run.at(point)[truth.places]
            wrong = zip(values[low > bound], bound[low > bound], strict=True)
            if not all(at_end(box_of(problem.dual), value, off) for value, off in wrong):
                return False
        return True

    def other_length(self) -> str:
        """Which other number of iterations leads to every point; empty if none does, or the right one."""
        truth, problem, start = (
            self.truth,
            self.truth.case.problem,
            np.zeros(self.truth.case.problem.samples),
        )
        moved = [undrawn_apart(start, self.run.at(point), truth.places) for point in self._points(truth)]
        if not np.isfinite(self.run.alphas).all() or any(one is not None for one in moved):
            return ""
        if self._passes(problem, truth, truth.entries, truth.exact.states):
            return ""
        for name, states_of in ((ONE_FEWER, self._one_fewer), (ONE_MORE, self._one_more)):
            if (states := states_of()) and self._passes(problem, truth, truth.entries, states):
                return name
        return ""

    def _one_fewer(self) -> States:
        """The exact alpha of one iteration before each point."""
        truth, points = self.truth, self._points(self.truth)
        states = self._exact(truth.case.stream.blocks(0, short_length(truth.case)), [p - 1 for p in points])
        return {point: states[point - 1] for point in points}

    def _one_more(self) -> States:
        """The exact alpha of each point after a step of a K-SVM on the one coordinate that is off there.

        Nothing where none or several are off.
        """
        truth, run, found = self.truth, self.run, States()
        for point in self._points(truth) if truth.case.problem.is_svm and run.known is None else ():
            bound = truth.widened(truth.bounds(self.s)[point], run.rounding_at(point), None).radius
            off = truth.places[truth.distance(point, run.at(point))[0] > bound]
            if off.size > 1:
                return {}
            draws = np.concatenate([truth.case.stream.blocks(0, point), off.reshape(-1, 1)])
            found[point] = self._exact(draws, [len(draws)])[len(draws)]
        return found

    def _exact(self, draws: np.ndarray, at: Sequence[int]) -> States:
        """Exact states of these iterations of a run of some draws."""
        truth = self.truth
        start = np.zeros(truth.case.problem.samples)
        (states,) = truth.oracle.mutated(truth.case.problem, start, draws, 1, {*at} - {0}, [NONE])
        return {0: truth.vector(start), **states}

    def _truth_of(self, problem: Problem) -> ShortTruth:
        case = self.truth.case
        if problem is case.problem:
            return self.truth
        if id(problem) not in self._others:  # The truth holds the problem, so that none takes its id.
            other = replace(case, problem=problem, s_values=(self.s,))
            self._others[id(problem)] = ShortTruth(other, self.truth.oracle.of(problem))
        return self._others[id(problem)]

    def _states(
        self, truth: ShortTruth, rows: KernelEntries | None, candidates: Sequence[Candidate]
    ) -> list[States | None]:
        """Exact states of each candidate; None where they are those of the truth."""
        if rows is None and all(candidate.mutation is NONE for candidate in candidates):
            return [None] * len(candidates)
        problem, length = candidates[0].problem, short_length(truth.case)
        whole = length // self.s * self.s
        draws, start = truth.case.stream.blocks(0, length), np.zeros(problem.samples)
        points = {*self._points(truth), whole}
        mutations = [replace(candidate.mutation, lose_tail=False) for candidate in candidates]
        if rows is None:
            states = truth.oracle.mutated(problem, start, draws, self.s, points, mutations)
        elif not np.isfinite(rows.values).all():
            raise SingularSystemError("kernel rows that are not finite")
        else:
            kernel = PanelColumns(truth.oracle.arithmetic(FIRST_BITS), Panel(truth.places, rows.values))
            states = mutated_states(problem, kernel, start, draws, self.s, points, mutations)
        zero = truth.vector(start)
        # A last, short window that is not made leaves what the one before it left.
        return [
            exact | ({length: exact.get(whole, zero)} if candidate.mutation.lose_tail else {})
            for candidate, exact in zip(candidates, states, strict=True)
        ]

    def _points(self, truth: ShortTruth) -> list[int]:
        return [point for point in short_points(truth.case, self.s) if point in self.run.iterations]

    def _passes(
        self, problem: Problem, truth: ShortTruth, entries: KernelEntries, states: States | None
    ) -> bool:
        radii, run = self._radii(problem, truth, entries, states), self.run
        for point in self._points(truth):
            bound = truth.widened(TrajectoryBound(radii[point]), run.rounding_at(point), run.known)
            exact = None if states is None else states[point]
            high = truth.distance(point, run.at(point), run.known, exact)[1]
            if not (high <= bound.radius).all():
                return False
        return True

    def _radii(
        self, problem: Problem, truth: ShortTruth, entries: KernelEntries, states: States | None
    ) -> dict[int, np.ndarray]:
        """How far a run may be from its exact states, by point.

        Of a right run on a problem that is its bound. Of another recurrence none is proven: a K-SVM is then
        allowed `mistaken_reach`, and the M-norm of a K-RR grows as a and the entries do.
        """
        bounds = {point: truth.bounds(self.s)[point].radius for point in self._points(truth)}
        if states is None:
            return bounds
        with np.errstate(over="ignore"):
            largest = np.max([np.abs(_floats(states[at])) for at in bounds], axis=0, initial=0.0)
        if problem.is_svm:
            reach = mistaken_reach(
                problem,
                self.truth.case.formulas,
                entries,
                truth.places,
                largest,
                short_length(truth.case),
                self.s,
            )
            return dict.fromkeys(bounds, reach)
        right = max(float(np.abs(_floats(truth.exact.states[at])).max()) for at in bounds)
        usual = float(np.max(np.abs(truth.entries.values), initial=0.0))
        larger = max(float(largest.max()) / right if right else 1.0, 1.0)
        larger *= max(float(np.abs(entries.values).max()) / usual if usual else 1.0, 1.0)
        return {at: radius * larger for at, radius in bounds.items()}


def _floats(state: Any) -> np.ndarray:
    return np.array([float(value) for value in state])


def causes_of(
    truth: ShortTruth, s: int, run: Trajectory, points: Sequence[Comparison], *, between: bool
) -> list[Candidate]:
    """What makes of a right run this one, which failed, up to the bound of a right run.

    It is looked for at the first of its points that failed, which is cheap, and then at all of them; only
    what relates the steps of a window if `between`, since the run of s = 1 is right. Where nothing is, or
    causes are not to be looked for, one iteration fewer or more is tried.
    """
    first = next(point.window.end for point in points if point.status is Status.FAIL)
    case, places = truth.case, [ShortRun(truth, s, run)]
    if first < short_length(case):
        shorter = ShortTruth(replace(case, short=first, s_values=(s,)), truth.oracle)
        places.append(ShortRun(shorter, s, run))
    suspects = suspects_in(case, s, between=between)
    if case.diagnose and (found := explanations(suspects, places)):
        return found
    length = places[0].other_length()
    return [Candidate((length,), case.problem)] if length else []
