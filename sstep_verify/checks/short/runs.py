"""Short runs from zero, their exact trajectory, bound C and what each term does: shared by two checks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from sstep_verify.bounds.carried_run import carried_weights
from sstep_verify.bounds.window import TrajectoryBound
from sstep_verify.bounds.window.ridge import ridge_trajectory_bound
from sstep_verify.bounds.window.svm import svm_trajectory_bound
from sstep_verify.checks.shared.case import Case
from sstep_verify.oracle.balls.exact_kernel import magnitude_interval
from sstep_verify.oracle.facade import FIRST_BITS, Oracle
from sstep_verify.oracle.trajectories import EnclosedTrajectory
from sstep_verify.protocol import RunRequest
from sstep_verify.quantities import STALE, TAIL, SvmSteps
from sstep_verify.recurrence.mutation import NONE, left_out
from sstep_verify.rounding.arithmetic import ROUND_UP
from sstep_verify.rounding.block.energy import energy_norm, energy_reach, without_kernel
from sstep_verify.rounding.block.repeats import redrawn
from sstep_verify.rounding.kernel.entries import KernelEntries, kernel_entries

WORK = 1 << 19
"""Kernel entries (H b m) that the exact trajectory of a short run may go through: a second or so."""

HALVINGS = 6
"""Recorded window ends lie at about H, H/2, ..., H/2**(HALVINGS - 1)."""


def short_key(s: int) -> str:
    """Key of the short run of an s."""
    return f"short/s={s}"


def short_length(case: Case) -> int:
    """Iterations of the short runs: the case's limit, fewer where the oracle's work would exceed `WORK`."""
    affordable = max(WORK // (case.stream.block * case.problem.samples), 2)
    return min(case.short, case.iterations, affordable) // case.unit * case.unit


def short_points(case: Case, s: int) -> tuple[int, ...]:
    """Window ends of an s at which its short run is judged, ascending; for s = 1 those of every s."""
    length = short_length(case)
    if s == 1:
        others = {point for other in case.s_values if other > 1 for point in short_points(case, other)}
        return tuple(sorted(others | set(_ends(length, case.unit))))
    return tuple(sorted(set(_ends(length, math.lcm(s, case.unit)))))


def _ends(length: int, s: int) -> list[int]:
    """Window ends at or after H, H/2, H/4, ...; none if H = 0."""
    targets = {-(-length // 2**halving) for halving in range(HALVINGS)} - {0}
    return [min(-(-target // s) * s, length) for target in targets]


def short_request(case: Case, s: int) -> RunRequest:
    """The short run of an s from zero."""
    return RunRequest(case.problem, case.stream, s, short_length(case), record=short_points(case, s))


def has_bound(case: Case, s: int) -> bool:
    """Whether a run of the declared form has bound C: weights maintained in float32 have none yet."""
    return case.formulas.weights is None or case.formulas.precision == "float64"


class ShortTruth:
    """Everything about the short runs of a case that does not depend on the solver's output."""

    def __init__(self, case: Case, oracle: Oracle):
        # A copy: the oracle keeps this for as long as there is the case itself.
        self.case, self.oracle, self._problem = replace(case), oracle, case.problem
        self._draws = case.stream.blocks(0, short_length(case))
        self._bounds: dict[int, dict[int, TrajectoryBound]] = {}
        self._effects: dict[tuple[int, bytes], dict[int, dict[str, np.ndarray]]] = {}

    @property
    def places(self) -> np.ndarray:
        """Distinct coordinates drawn, shape (c,)."""
        return self.exact.places

    @cached_property
    def exact(self) -> EnclosedTrajectory:
        """The exact trajectory at the points of every s."""
        at = {point for s in {1, *self.case.s_values} for point in short_points(self.case, s)}
        return self.oracle.enclosed(self._problem, np.zeros(self._problem.samples), self._draws, at)

    @cached_property
    def entries(self) -> KernelEntries:
        """Float64 kernel rows of the distinct coordinates, shape (c, m)."""
        return kernel_entries(self._problem, self.case.formulas, self.places)

    def bounds(self, s: int) -> dict[int, TrajectoryBound]:
        """Bound C of the run of an s at its points."""
        if s not in self._bounds:
            problem, declared, exact = self._problem, self.case.formulas, self.exact
            ends = list(short_points(self.case, s))
            start = np.zeros(problem.samples)
            carried = carried_weights(problem, declared, exact.places, start)
            if isinstance(exact.steps, SvmSteps):
                self._bounds[s] = svm_trajectory_bound(
                    self.entries, exact.places, start, exact.steps, exact.errors, s, ends,
                    problem.dual, declared, carried,
                )  # fmt: skip
            else:
                self._bounds[s] = ridge_trajectory_bound(
                    self.entries, exact.places, start, problem.targets, exact.steps, exact.errors, s, ends,
                    problem.ridge.penalty, declared, carried,
                )  # fmt: skip
        return self._bounds[s]

    def seen(self, known: np.ndarray | None) -> np.ndarray:
        """Which of the distinct coordinates are known, shape (c,)."""
        return np.ones(self.places.size, dtype=bool) if known is None else known[self.places]

    def vector(self, values: np.ndarray) -> Any:
        """Exact numbers of float64 ones, shape (m,)."""
        return self.oracle.kernel(FIRST_BITS).arithmetic.vector(values)

    def distance(
        self,
        iteration: int,
        other: np.ndarray | list,
        known: np.ndarray | None = None,
        states: Any = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Interval of a vector's distance from the oracle's: per distinct coordinate, or in the M-norm.

        With other states, shape (m,), the distance from those.
        Where only some entries of the vector are known, the others count as right: 0 per coordinate, or
        in the M-norm what the known ones alone prove (`without_kernel`).
        """
        kernel, seen = self.oracle.kernel(FIRST_BITS), self.seen(known).tolist()
        arithmetic, exact = kernel.arithmetic, self.exact.states[iteration] if states is None else states
        with arithmetic.working():
            differences = [
                arithmetic.number(other[i]) - exact[i] if there else arithmetic.number(0.0)
                for i, there in zip(self.places.tolist(), seen, strict=True)
            ]
        if self._problem.is_svm:
            low, high = np.array([magnitude_interval(value) for value in differences]).reshape(-1, 2).T
            return low, high
        # Over the largest of them, so that none that matters is rounded to a subnormal number.
        with arithmetic.working():
            largest = max((value.abs_upper() for value in differences), key=float)
            if largest.is_zero() or not largest.is_finite():
                return self.norm(np.array([float(value) for value in differences]), known)
            low, high = self.norm(np.array([float(value / largest) for value in differences]), known)
            lower = magnitude_interval(largest * float(low[0]))[0]
            upper = magnitude_interval(largest * float(high[0]))[1]  # infinite where the norm is
        return np.array([lower]), np.array([upper])

    def norm(
        self, difference: np.ndarray, known: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Interval of the M-norm of a difference on the distinct coordinates, each of shape (1,)."""
        samples, penalty = self._problem.samples, self._problem.ridge.penalty
        low, high = energy_norm(self._norm_entries(known), self.places, difference, samples, penalty)
        return np.array([low]), np.array([high])

    def _norm_entries(self, known: np.ndarray | None) -> KernelEntries:
        return self.entries if self.seen(known).all() else without_kernel(self.entries)

    def widened(
        self, bound: TrajectoryBound, rounding: np.ndarray | None, known: np.ndarray | None = None
    ) -> TrajectoryBound:
        """A bound on what was written down, given one on the run and the rounding of each coordinate."""
        problem, seen, radius = self._problem, self.seen(known), bound.radius
        if problem.is_svm:
            radius = np.where(seen, radius, 0.0)
        if rounding is None:
            return replace(bound, radius=radius)
        sizes = np.where(seen, rounding[self.places], 0.0)
        if not problem.is_svm:
            norm = self._norm_entries(known), self.places, sizes, problem.samples, problem.ridge.penalty
            sizes = np.array([energy_reach(*norm)])
        return replace(bound, radius=(radius + sizes) * ROUND_UP, written=sizes)

    def of_these_runs(self, bound: TrajectoryBound, runs: Sequence[np.ndarray], s: int) -> TrajectoryBound:
        """A bound of the difference of two runs that leave the exact trajectory, from their states, (k, m).

        That of correct runs is 0 where these are clipped, as others need not be. What all steps may round
        that are made from values of this size is allowed besides. No mistake is known to keep it, so it is
        no proved bound: a recurrence that amplifies a rounding by more than its own values grow may exceed
        it.
        """
        from sstep_verify.diagnosis.search import mistaken_reach

        problem, steps = self._problem, short_length(self.case)
        with np.errstate(over="ignore"):
            largest = np.max([np.abs(states).max(axis=0) for states in runs], axis=0).astype(np.float64)
        if problem.is_svm:
            formulas = self.case.formulas
            reach = mistaken_reach(problem, formulas, self.entries, self.places, largest, steps, s)
            return replace(bound, radius=np.maximum(bound.radius, 2 * reach))
        usual = max(float(np.abs([float(one) for one in state]).max()) for state in self._states)
        return replace(
            bound, radius=bound.radius * max(float(largest.max()) / usual if usual else 1.0, 1.0)
        )

    @cached_property
    def _states(self) -> list[Any]:
        """The exact states that are known."""
        return list(self.exact.states.values())

    def effects(self, s: int, known: np.ndarray | None = None) -> dict[int, dict[str, np.ndarray]]:
        """What leaving out each term of the s-step recurrence changes, by point and term."""
        key = s, b"" if known is None else known.tobytes()
        if key not in self._effects:
            terms, points = self._acting_terms(s), short_points(self.case, s)
            mutations = [left_out(term) for term in terms]
            start, length = np.zeros(self._problem.samples), self._draws.shape[0]
            whole = length // s * s
            if whole < length:  # A last, short window that is not made leaves what the one before it left.
                mutations.append(NONE)
            states = self.oracle.mutated(self._problem, start, self._draws, s, {*points, whole}, mutations)
            self._effects[key] = {
                point: {
                    term: self._change(point, state[point], known)
                    for term, state in zip(terms, states, strict=False)
                }
                for point in points
            }
            if whole < length:
                left = states[-1].get(whole, self.vector(start))
                self._effects[key][length][TAIL] = self._change(length, left, known)
        return self._effects[key]

    def _change(self, point: int, mutated, known: np.ndarray | None) -> np.ndarray:
        """Lower bound on what a mutant changes; what is below half the digits of its run counts as none."""
        size = float(np.max(self.distance(point, np.zeros(self._problem.samples))[1], initial=0.0))
        low = self.distance(point, mutated, known)[0]
        with np.errstate(invalid="ignore"):  # infinite - infinite: nothing is known
            return np.fmax(low - 2.0 ** -(self.exact.bits // 2) * size, 0.0)

    def _acting_terms(self, s: int) -> list[str]:
        windows = [self._draws[begin : begin + s] for begin in range(0, self._draws.shape[0], s)]
        terms = [STALE] if s == 1 else []
        if any(len(window) > 1 and np.unique(window).size > 1 for window in windows):
            terms.append("kernel-correction")
        frozen = self.case.formulas.update == "frozen"
        if frozen and any(map(redrawn, windows)):
            terms.append("overlap")
        if self._problem.is_svm and self._problem.boxed.shift:
            terms.append("omega")
        return terms


def short_truth(case: Case, oracle: Oracle) -> ShortTruth:
    """The truth about a case's short runs, which the oracle keeps for all checks that use it."""
    return oracle.kept_of(case, lambda: ShortTruth(case, oracle))
