"""Judges a logged run: all its steps, or whole segments of them chosen after the run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from sstep_verify.bounds.step.clip import ClipConstants, clip_constants
from sstep_verify.bounds.step.residual import SolveConstants, solve_constants
from sstep_verify.checks.shared.case import Case, after_run
from sstep_verify.checks.shared.comparison import Comparison, Window, distance_ratios
from sstep_verify.checks.steps.drift_errors import DriftErrors
from sstep_verify.checks.steps.effects import effects_of
from sstep_verify.checks.steps.kept import UNCLIPPED, Kept, Passed, Segment
from sstep_verify.checks.steps.loop import State, judge_steps, state_of
from sstep_verify.checks.steps.residual import block_of
from sstep_verify.checks.steps.rows import Form, JudgeRows
from sstep_verify.checks.steps.step_statistics import StepStatistics, empty_statistics
from sstep_verify.checks.steps.tested import Tested, note_clipped_steps, note_solved_steps
from sstep_verify.checks.steps.weights import (
    FORMED_AGAIN,
    Weights,
    form,
    underflow_shows,
    with_vectors,
)
from sstep_verify.oracle.facade import ROWS, Oracle
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.rounding.block.repeats import last_draws
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.rounding.pairs import LARGEST
from sstep_verify.trajectory import Trajectory

SEGMENT = 1 << 12
"""Coordinates drawn in the steps that are judged in one call, at most."""

BUDGET = 1_000_000
"""Steps of a run up to which all are judged; of a longer one as many, or `SHARE` of them."""

SHARE = 0.05
"""Least share of the steps of a longer run that are judged."""

SAMPLED = 16
"""Of so many times `SEGMENT` iterations of K-RR, the first are looked at for what each quantity does;
failing steps always are.
"""

PARTS = 20
"""Segments of a longer run that are judged besides its first and its last."""


@dataclass(frozen=True)
class JudgedRun:
    """What judging the steps of a run gave.

    Parameters
    ----------
    judge : StepJudge
        Who judged them.
    trajectory : Trajectory
        The run, which has a log.
    judged, decided : int
        Steps judged, and those of them with a finite bound.
    worst : Comparison or None
        The step of which the ratio is largest, whose window is that step alone: distance of the logged
        value from the judge's (K-SVM), or of the residual's entry that is largest relative to its
        bound from 0 (K-RR), infinite where it is no number.
    wrong : ndarray of int64
        Iterations made before each step over its bound, ascending.
    tally : StepStatistics
        Distances, bounds and events.
    tested : Tested
        Quantities.
    """

    judge: StepJudge
    trajectory: Trajectory
    judged: int
    decided: int
    worst: Comparison | None
    wrong: np.ndarray
    tally: StepStatistics
    tested: Tested

    @property
    def case(self) -> Case:
        """The case of the run."""
        return self.judge.case

    def step(self, iteration: int) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates that a step drew, and the values that the log has for them, shape (b,) each."""
        draws, log = self.judge.logged(self.trajectory, iteration, iteration + 1)
        return draws[0], log[0]


class StepJudge:
    """Judges logged runs of one case.

    Parameters
    ----------
    case : Case
        The case.
    oracle : Oracle
        Keeps kernel entries for all cases that share them.
    judge : bool
        Whether the judge's own float64 errors are part of the bounds; False to compare with exact steps.
    form : Form, optional
        What forms kernel rows with bounds on their errors; `kernel_entries` if absent.
    """

    def __init__(self, case: Case, oracle: Oracle, *, judge: bool = True, form: Form | None = None):
        self.case, self.oracle, self._judge, self._form = case, oracle, judge, form
        self._block, self._effects = block_of(case.stream.block), effects_of(case.stream.block)
        self._kept = Kept.room(1, case.stream.block, of_svm=case.problem.is_svm)
        self._drift = None if case.formulas.weights is None else DriftErrors(case)
        self.rows = JudgeRows(case, oracle, judge=judge, form=form or kernel_entries, first=case.initial)

    @cached_property
    def exact(self) -> StepJudge:
        """The judge whose bounds are the solver's share alone, for exact steps."""
        judge = StepJudge(self.case, self.oracle, judge=False, form=self._form)
        judge._drift = self._drift
        return judge

    def run(self, trajectory: Trajectory) -> JudgedRun:
        """Judge the steps of a run that has a log."""
        segments = self._segments(trajectory)
        steps = np.concatenate([np.arange(0), *(np.arange(begin, end) for begin, end in segments)])
        tally, tested, judged, position = empty_statistics(steps.size), Tested.nothing(), 0, 0
        state = self._first_state(trajectory)
        for begin, end in segments:
            self._skip(trajectory, state, position, begin)
            part = tally.part(slice(judged, None))
            for passed in self._judge_steps(trajectory, state, part, begin, end):
                self._test(passed, tested)
            judged, position = judged + end - begin, end
        distance, bound, worst = tally.distance, tally.bound, None
        finite = np.isfinite(bound)
        if decided := int(np.count_nonzero(finite)):
            place = int(np.where(finite, distance_ratios(distance, bound), -1.0).argmax())
            size = float(np.nan_to_num(distance[place], nan=np.inf, posinf=np.inf))
            step = Window(int(steps[place]), int(steps[place]) + 1)
            worst = Comparison(size, size, float(bound[place]), step)
        return JudgedRun(self, trajectory, judged, decided, worst, steps[tally.over], tally, tested)

    def again(self, trajectory: Trajectory, iterations: np.ndarray) -> Iterator[Passed]:
        """Judge the segments again that hold some judged steps, as `run` does; ascending iterations."""
        state, position = self._first_state(trajectory), 0
        for begin, end in self._segments(trajectory):
            self._skip(trajectory, state, position, begin)
            tally, position = empty_statistics(end - begin), end
            yield from self._judge_steps(trajectory, state, tally, begin, end, iterations)

    def step_bounds(self, trajectory: Trajectory, iteration: int) -> np.ndarray:
        """The bounds of one step again, from the start of its window: one (K-SVM), or one an entry (b,)."""
        last = self.passed(trajectory, iteration)
        if self.case.problem.is_svm:
            return last.tally.bound[-1:].copy()
        return last.kept.left[len(last.segment.draws) - 1].copy()

    def passed(self, trajectory: Trajectory, iteration: int) -> Passed:
        """One step again, from the start of its window: the last of those that are handed on."""
        begin = iteration // trajectory.s * trajectory.s
        *_, last = self._judge_again(trajectory, begin, iteration + 1)
        return last

    def window(self, trajectory: Trajectory, iteration: int) -> Tested:
        """Judge the window again that holds a step; what its steps could have shown."""
        begin = iteration // trajectory.s * trajectory.s
        end = min(begin + trajectory.s, trajectory.length)
        tested = Tested.nothing()
        for passed in self._judge_again(trajectory, begin, end):
            self._test(passed, tested, whole=True)
        return tested

    def window_by_exact_steps(self, trajectory: Trajectory, iteration: int) -> Tested:
        """Judge the window again that holds a step; what its steps could have shown, replayed exactly.

        The judge's own errors are no part of their bounds, so that what it computes is known up to these.
        """
        begin = iteration // trajectory.s * trajectory.s
        end = min(begin + trajectory.s, trajectory.length)
        errors = np.concatenate([_errors(one) for one in self._judge_again(trajectory, begin, end)])
        tested = Tested.nothing()
        for passed in self.exact._judge_again(trajectory, begin, end):
            first, steps = passed.segment.first - begin, len(passed.segment.draws)
            self.exact._test(passed, tested, errors[first : first + steps], whole=True)
        return tested

    def logged(self, trajectory: Trajectory, begin: int, end: int) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates drawn in iterations begin..end-1, and logged values, shape (steps, b) each.

        All draws of a coordinate in one step have the value that the last of them has in the log.
        """
        assert trajectory.log is not None
        draws = self.case.stream.blocks(trajectory.start + begin, trajectory.start + end)
        log = np.ascontiguousarray(trajectory.log[begin:end], dtype=np.float64)
        return draws, with_last_values(draws, log) if self.case.stream.replacement else log

    def alpha_before(self, trajectory: Trajectory, iteration: int) -> np.ndarray:
        """The run's own a before a step, shape (m,)."""
        alpha = np.array(trajectory.alphas[0], dtype=np.float64)
        for first in range(0, iteration, 1 << 16):
            draws, log = self.logged(trajectory, first, min(first + (1 << 16), iteration))
            # Of a repeated coordinate the last value stays.
            alpha[draws.ravel()] = log.ravel()
        return alpha

    def step_error(
        self, before: np.ndarray, after: np.ndarray, drawn: np.ndarray, bits: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Enclose what is wrong about one stored step, with so many bits: see `Oracle.step_error`.

        A step of a K-SVM is the same among the samples alone that alpha reaches.
        """
        problem, rows = self.case.problem, self.rows
        if not problem.is_svm or 2 * rows.columns.size > problem.samples:
            return self.oracle.step_error(problem, before, after, drawn, bits)
        some = rows.columns
        part = replace(problem, data=problem.data[some], targets=problem.targets[some])
        # Its kernel serves all losses: cases that share an oracle differ in these.
        oracle = self.oracle.kept((ROWS, "exact", rows.digest), lambda: self.oracle.of(part))
        return oracle.step_error(part, before[some], after[some], rows.place[drawn], bits)

    def constants(self, width: int) -> ClipConstants | SolveConstants:
        """What the bounds of all steps of windows of s are made from."""
        problem, declaration, factored = self.case.problem, self.case.formulas, self.rows.factored
        counts = problem.samples, problem.samples, width
        if problem.is_svm:
            return clip_constants(declaration, *counts, problem.dual, factored, judge=self._judge)
        solved = self.case.stream.block, problem.ridge.penalty
        return solve_constants(declaration, *counts, *solved, factored, judge=self._judge)

    def _segments(self, trajectory: Trajectory) -> list[tuple[int, int]]:
        """Whole windows to judge: all, or first, last and seeded ones, by a digest of the run's end."""
        steps, width = trajectory.length, trajectory.s
        wanted = max(BUDGET, int(SHARE * steps))
        # Weights drift from step to step, so that none can be left out.
        if steps <= wanted or self.case.formulas.weights is not None:
            return [(0, steps)] if steps else []
        length = -(-wanted // PARTS // width) * width
        slots = -(-steps // length)
        generator = after_run(trajectory)
        chosen = {0, slots - 1, *generator.choice(slots, size=min(PARTS, slots), replace=False).tolist()}
        return [(slot * length, min((slot + 1) * length, steps)) for slot in sorted(chosen)]

    def _first_state(self, trajectory: Trajectory) -> State:
        """The state before the first step."""
        case, alpha = self.case, np.array(trajectory.alphas[0], dtype=np.float64)
        self.rows = self.rows.holding(alpha)
        kept = case.formulas.weights is None
        return state_of(case.problem, self.rows.columns, alpha, case.stream.block, keeps=kept)

    def _drift_errors(self, trajectory: Trajectory, begin: int, end: int) -> np.ndarray:
        """What the drift of carried weights adds to iterations begin..end-1, shape (end - begin,)."""
        if self._drift is None:
            return np.zeros(end - begin)
        return self._drift.along(trajectory, partial(self.logged, trajectory))[begin:end]

    def _skip(self, trajectory: Trajectory, state: State, begin: int, end: int) -> None:
        """Take the log's word for some steps."""
        for first in range(begin, end, 1 << 16):
            draws, log = self.logged(trajectory, first, min(first + (1 << 16), end))
            draws = self.rows.place[draws]
            sizes = np.where(np.isfinite(log), np.abs(log), 0.0)
            np.maximum.at(state.largest, draws.ravel(), sizes.ravel())
            # Of a repeated coordinate the last value stays.
            state.alpha[draws[:-1].ravel()] = log[:-1].ravel()
            state.last[:], state.step[:] = draws[-1], log[-1] - state.alpha[draws[-1]]
            if self.case.stream.replacement:
                state.step[:] *= last_draws(draws[-1:])[0] == np.arange(draws.shape[1])
            state.alpha[draws[-1]] = log[-1]
        if end > begin:
            state.moved[:] = np.abs(state.alpha)
            if not state.keeps:
                state.largest[:] = np.where(np.isfinite(state.moved), state.moved, 0.0)
            state.bounded[:] = np.where(state.moved <= state.largest, state.largest, state.moved)
            state.signed[:] = state.start[:] = state.signs * state.alpha

    def _judge_again(self, trajectory: Trajectory, begin: int, end: int) -> Iterator[Passed]:
        """Judge iterations begin..end-1 of whole windows by themselves."""
        state = self._first_state(trajectory)
        self._skip(trajectory, state, 0, begin)
        return self._judge_steps(trajectory, state, empty_statistics(end - begin), begin, end)

    def _judge_steps(
        self,
        trajectory: Trajectory,
        state: State,
        tally: StepStatistics,
        begin: int,
        end: int,
        iterations: np.ndarray | None = None,
    ) -> Iterator[Passed]:
        """Judge the windows of iterations begin..end-1, in as many calls as their rows allow.

        Each is handed on for the later passes; what is kept of its steps lasts until the next. If some
        `iterations` are given, segments that hold none of them are skipped.
        """
        case, width, constants = self.case, trajectory.s, self.constants(trajectory.s)
        draws, log = self.logged(trajectory, begin, end)
        errors = self._drift_errors(trajectory, begin, end)
        draws = self.rows.place[draws]
        weights, formed = self._weights_of(trajectory, state, log, constants.sums.largest), -1
        most = SEGMENT if weights is not None or self.rows.whole else min(SEGMENT, self.rows.most)
        step = max(most // (width * case.stream.block), 1) * width
        for first in range(0, end - begin, step):
            part, at = slice(first, min(first + step, end - begin)), begin + first
            stop = begin + part.stop
            if iterations is not None and not ((iterations >= at) & (iterations < stop)).any():
                self._skip(trajectory, state, at, stop)
                formed = -1
                continue
            of_part = errors[part].copy()
            within = self.rows.factored.steps_within(state.alpha, log[part], constants.sums.largest)
            # Of later steps a product may be no number, so that nothing is promised.
            of_part[within:] = np.inf
            segment = Segment(draws[part], log[part], width, at, stop == trajectory.length, of_part)
            clip, solve = (constants, None) if case.problem.is_svm else (None, constants)
            rows, counts, kept = None, tally.part(part), self._room(stop - at)
            if weights is None:
                rows = self.rows.of(segment.draws)
            elif formed < 0 or stop - formed > FORMED_AGAIN:
                form(weights, state)
                formed = at
            judge_steps(
                rows, weights, state, segment, constants.sums, clip, solve, self._block, kept, counts
            )
            yield Passed(kept, segment, counts, clip, solve)

    def _weights_of(
        self, trajectory: Trajectory, state: State, log: np.ndarray, largest: float
    ) -> Weights | None:
        """Samples and room for vectors, where products are formed of these: no number leaves the range."""
        weights = self.rows.weights
        if weights is None or self.rows.factored.may_overflow(state.alpha, log, largest):
            return None
        most = float(np.maximum(np.abs(log).max(initial=0.0), state.bounded.max(initial=0.0)))
        u = unit_roundoff(self.case.formulas.precision)
        if not most <= LARGEST or underflow_shows(weights, most, trajectory.s, u):
            return None
        width, every, features = trajectory.s, self.case.formulas.weights or 0, self.case.problem.features
        # Where it is not known when they are formed, their drift goes on (bounds/step/drift.py).
        every = 0 if every and trajectory.start % (width * every) else every
        if every and self.rows.longer(weights.values.size + features, every * width):
            return None
        return with_vectors(weights, features, every, trajectory.start // width)

    def _test(
        self, passed: Passed, tested: Tested, errors: np.ndarray | None = None, *, whole: bool = False
    ) -> None:
        """Count what the steps of a segment would have shown; of K-RR's, if not `whole`, of a sample.

        `errors` are those of the judge where they are no part of the bounds.
        """
        kept, segment, tally, clip, solve = passed
        if errors is None:
            errors = np.zeros(segment.draws.shape)
        if clip is not None:
            note_clipped_steps(kept, segment, tally, clip, self._effects, tested, errors)
            return
        sampled = whole or (segment.first // SEGMENT) % SAMPLED == 0 or segment.closing
        if sampled or tally.over.any():
            note_solved_steps(kept, segment, tally, solve, self._effects, tested, errors, sampled)

    def _room(self, steps: int) -> Kept:
        """Room for what is kept of so many steps, the same for each segment."""
        if steps > len(self._kept.table):
            self._kept = Kept.room(steps, self.case.stream.block, of_svm=self.case.problem.is_svm)
        return self._kept


def _errors(passed: Passed) -> np.ndarray:
    """Bounds on what judged steps are compared by, shape (steps, b), which hold the judge's own errors."""
    steps, kept = len(passed.segment.draws), passed.kept
    return (kept.left if passed.clip is None else kept.table[:, :1, UNCLIPPED])[:steps].copy()


def with_last_values(draws: np.ndarray, log: np.ndarray) -> np.ndarray:
    """The log with the value of the last draw of each coordinate in its step at all of its draws."""
    return np.take_along_axis(log, last_draws(draws), axis=1)
