"""Judges a logged run: all its steps, or whole stretches of them chosen after the run."""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.ridge_inputs import ridge_inputs
from sstep_verify.bounds.step.drift import WeightsDrift
from sstep_verify.bounds.step.ridge import RidgeStepConstants, ridge_step_constants
from sstep_verify.bounds.step.svm_constants import SvmStepConstants, svm_step_constants
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.sample import after_run
from sstep_verify.checks.steps.found import JudgedRun, judged_step, largest_step
from sstep_verify.checks.steps.ridge import judge_ridge_steps
from sstep_verify.checks.steps.rows import JudgeRows
from sstep_verify.checks.steps.state import RidgeState, Stretch, SvmState, ridge_state, svm_state
from sstep_verify.checks.steps.svm import judge_svm_steps
from sstep_verify.checks.steps.tally import Tally, empty_tally, part_of
from sstep_verify.compiled import compiled
from sstep_verify.oracle.facade import Oracle
from sstep_verify.trajectory import Trajectory

STRETCH = 1 << 12
"""Coordinates drawn in the steps that are judged in one call."""

NOTHING = -1.0
"""In place of the largest number: no number is smaller, so that nothing is promised."""

SAMPLED = 16
"""Of so many K-RR stretches one is looked at for what each quantity does; failing steps always are."""


class StepJudge:
    """Judges logged runs of one case.

    Parameters
    ----------
    case : Case
        The case.
    oracle : Oracle
        Keeps kernel entries for all cases that share them.
    budget : int
        Steps of a run up to which all are judged; of a longer one as many, or `share` of them.
    share : float
        Least share of the steps of a longer run.
    judge : bool
        Whether the judge's own float64 errors are part of the bounds; False to compare with exact steps.
    """

    def __init__(
        self,
        case: Case,
        oracle: Oracle,
        budget: int = 1_000_000,
        share: float = 0.05,
        *,
        judge: bool = True,
    ):
        self._case, self._budget, self._share, self._judge = case, budget, share, judge
        problem = case.problem
        self._inputs = (
            None
            if problem.is_svm
            else ridge_inputs(problem.ridge.penalty, problem.targets, case.declaration)
        )
        self._rows = JudgeRows(case, oracle, self._inputs, judge=judge)

    def run(self, trajectory: Trajectory) -> JudgedRun:
        """Judge the steps of a run that has a log."""
        steps, width = trajectory.length, trajectory.s
        stretches = self._stretches(trajectory)
        per_call = max(STRETCH // (width * self._case.stream.block), 1) * width
        tally = empty_tally(min(per_call, max(steps, 1)), self._case.stream.block)
        worst = first_wrong = None
        judged = decided = position = 0
        wrong = [np.empty(0, dtype=np.int64)]
        state = self._state(trajectory)
        drift = self._drift(trajectory)
        for begin, end in stretches:
            self._skip(trajectory, state, position, begin)
            for first in range(begin, end, per_call):
                last = min(first + per_call, end)
                self._judge_steps(trajectory, state, tally, drift, first, last)
                distance, bound = tally.distance[: last - first], tally.bound[: last - first]
                finite = np.isfinite(bound)
                judged, decided = judged + last - first, decided + int(finite.sum())
                found = largest_step(tally, finite, first)
                if found and (worst is None or found.ratio > worst.ratio):
                    worst = found
                places = np.flatnonzero(finite & ~(distance <= bound))
                wrong.append(first + places)
                if first_wrong is None and found and found.ratio > 1.0:
                    first_wrong = judged_step(tally, int(places[0]), first)
            position = end
        return JudgedRun(steps, judged, decided, worst, first_wrong, tally, np.concatenate(wrong))

    def step_bounds(self, trajectory: Trajectory, iteration: int) -> np.ndarray:
        """The bounds of one step again, from the start of its window: one (K-SVM), or one an entry (b,)."""
        begin = iteration // trajectory.s * trajectory.s
        tally = empty_tally(trajectory.s, self._case.stream.block)
        state = self._judge_from(trajectory, tally, begin, iteration + 1)
        if isinstance(state, SvmState):
            return tally.bound[iteration - begin : iteration - begin + 1]
        return state.left

    def window(self, trajectory: Trajectory, iteration: int) -> Tally:
        """Judge the window again that holds a step; what its steps could have shown."""
        begin = iteration // trajectory.s * trajectory.s
        end = min(begin + trajectory.s, trajectory.length)
        tally = empty_tally(end - begin, self._case.stream.block)
        self._judge_from(trajectory, tally, begin, end, looked=True)
        return tally

    def gradients(self, trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
        """The gradients of all steps (K-RR: right-hand sides) and bounds on the solver's, both (H, b)."""
        tally = empty_tally(trajectory.length, self._case.stream.block)
        state, drift = self._state(trajectory), self._drift(trajectory)
        if trajectory.length:
            self._judge_steps(trajectory, state, tally, drift, 0, trajectory.length)
        return tally.gradient, tally.gradient_bound

    def alpha_before(self, trajectory: Trajectory, iteration: int) -> np.ndarray:
        """The run's own a before a step, shape (m,)."""
        state = self._state(trajectory)
        self._skip(trajectory, state, 0, iteration)
        return state.alpha

    def _stretches(self, trajectory: Trajectory) -> list[tuple[int, int]]:
        """Whole windows to judge: all, or first, last and seeded ones, by a digest of the run's end."""
        steps, width = trajectory.length, trajectory.s
        wanted = max(self._budget, int(self._share * steps))
        # Weights drift from step to step, so that none can be left out.
        if steps <= wanted or self._case.declaration.state:
            return [(0, steps)] if steps else []
        parts = 20
        length = -(-wanted // parts // width) * width
        slots = -(-steps // length)
        generator = after_run(trajectory)
        chosen = {0, slots - 1, *generator.choice(slots, size=min(parts, slots), replace=False).tolist()}
        return [(slot * length, min((slot + 1) * length, steps)) for slot in sorted(chosen)]

    def _state(self, trajectory: Trajectory) -> SvmState | RidgeState:
        problem, alpha = self._case.problem, np.array(trajectory.alphas[0], dtype=np.float64)
        if problem.is_svm:
            return svm_state(problem.targets, alpha)
        return ridge_state(problem.targets, alpha, self._case.stream.block)

    def _drift(self, trajectory: Trajectory) -> WeightsDrift | None:
        case = self._case
        if not case.declaration.state:
            return None
        return WeightsDrift(
            case.problem, case.declaration, trajectory.alphas[0], trajectory.start, trajectory.s
        )

    def _draws(self, trajectory: Trajectory, begin: int, end: int) -> np.ndarray:
        return self._case.stream.blocks(trajectory.start + begin, trajectory.start + end)

    @staticmethod
    def _log(trajectory: Trajectory, begin: int, end: int) -> np.ndarray:
        assert trajectory.log is not None
        return np.ascontiguousarray(trajectory.log[begin:end], dtype=np.float64)

    def _skip(self, trajectory: Trajectory, state, begin: int, end: int) -> None:
        """Take the log's word for some steps."""
        for first in range(begin, end, 1 << 16):
            last = min(first + (1 << 16), end)
            draws, log = self._draws(trajectory, first, last), self._log(trajectory, first, last)
            follow(state.alpha, draws, log, state.step)
            state.last[:] = draws[-1]
        if end > begin:
            state.bounded[:] = state.moved[:] = np.abs(state.alpha)
            if isinstance(state, SvmState):
                state.signed[:] = state.start[:] = state.labels * state.alpha
            else:
                state.start[:] = state.alpha

    def _judge_from(
        self, trajectory: Trajectory, tally: Tally, begin: int, end: int, *, looked: bool = False
    ) -> SvmState | RidgeState:
        """Judge iterations begin..end-1 of one window, of a run of which nothing else is judged."""
        state = self._state(trajectory)
        self._skip(trajectory, state, 0, begin)
        drift = self._drift(trajectory)
        if drift is not None and begin:
            drift.along(self._draws(trajectory, 0, begin), self._log(trajectory, 0, begin))
        self._judge_steps(trajectory, state, tally, drift, begin, end, looked=looked)
        return state

    def _judge_steps(
        self, trajectory: Trajectory, state, tally: Tally, drift, begin: int, end: int, *, looked=False
    ) -> None:
        """Judge the windows of iterations begin..end-1, in as many calls as their rows allow.

        All of them are looked at for what each quantity does, or sampled stretches.
        """
        case, width = self._case, trajectory.s
        draws, log = self._draws(trajectory, begin, end), self._log(trajectory, begin, end)
        errors = np.zeros(end - begin) if drift is None else drift.along(draws, log)
        samples, block = case.problem.samples, case.stream.block
        step = max(self._rows.most // (width * block), 1) * width if not self._rows.whole else end - begin
        for first in range(0, end - begin, step):
            part = slice(first, min(first + step, end - begin))
            steps = part.stop - part.start
            closing = begin + part.stop == trajectory.length
            sampled = np.full(steps, looked or ((begin + first) // STRETCH) % SAMPLED == 0 or closing)
            at = begin + first
            own = part_of(tally, part)
            if case.problem.is_svm:
                loss = case.problem.hinge
                constants: SvmStepConstants | RidgeStepConstants = svm_step_constants(
                    case.declaration,
                    samples,
                    samples,
                    width,
                    loss.shift,
                    loss.upper,
                    self._rows.factored,
                    judge=self._judge,
                )
            else:
                constants = ridge_step_constants(
                    case.declaration, samples, samples, width, block, self._rows.factored, judge=self._judge
                )
            if self._rows.factored.may_overflow(state.alpha, log[part], constants.largest):
                constants = constants._replace(largest=NOTHING)
            rows = self._rows.of(draws[part])
            if case.problem.is_svm:
                stretch = Stretch(draws[part].ravel(), log[part].ravel(), width, at, closing, sampled)
                judge_svm_steps(
                    rows, state, stretch, (loss.shift, loss.upper), constants, errors[part], own
                )
            else:
                stretch = Stretch(draws[part], log[part], width, at, closing, sampled)
                judge_ridge_steps(rows, state, stretch, self._inputs, constants, errors[part], own)


@compiled
def follow(alpha, draws, log, increment):
    """Set a to what the log says after some steps, and the last increment; draws and log (steps, b)."""
    for step in range(draws.shape[0]):
        for place in range(draws.shape[1]):
            increment[place] = log[step, place] - alpha[draws[step, place]]
            alpha[draws[step, place]] = log[step, place]
