"""Goes through the windows of a logged run, step by step.

K-SVM and K-RR differ in what finishes a step alone; a K-SVM's step is a block of one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.checks.steps.clip import judge_clipped_step
from sstep_verify.checks.steps.solve import judge_solved_step
from sstep_verify.checks.steps.step_statistics import REPEATED, TAIL_STEP, THRICE, event
from sstep_verify.checks.steps.weights import go_on, move, settle
from sstep_verify.compiled import inlined
from sstep_verify.problems import Problem
from sstep_verify.rounding.sums import increment_error, unequal_error


class State(NamedTuple):
    """The run's own a before the next step, and scratch.

    Parameters
    ----------
    signs, linear, alpha, signed, start : ndarray, shape (m,)
        Labels or ones; ones or targets, which products are taken from; a; signs times a, now (K-RR: a
        itself) and at the window's start.
    largest : ndarray, shape (m,)
        The largest |a| so far in the run; |a| now, where sizes are not kept.
    moved, bounded, increment_error : ndarray, shape (m,)
        |a| at the window's start plus the sizes of increments since; `largest` there plus these, each with
        what the increment used may differ by; that difference alone.
    first : ndarray, shape (m,)
        a at the window's start of the coordinates drawn so far.
    terms : ndarray, shape (m + 2,)
        Sizes of a sum's terms.
    drawn : ndarray of int64, shape (m,)
        Draws of each coordinate in this window so far.
    last : ndarray of int64, shape (b,)
        Coordinates of the step before; -1 at the beginning.
    step : ndarray, shape (b,)
        Their increments.
    keeps : float
        1 where sizes of the run are kept; 0 for a solver that declares weights, whose drift is bounded.
    """

    signs: np.ndarray
    linear: np.ndarray
    alpha: np.ndarray
    signed: np.ndarray
    start: np.ndarray
    largest: np.ndarray
    moved: np.ndarray
    bounded: np.ndarray
    increment_error: np.ndarray
    first: np.ndarray
    terms: np.ndarray
    drawn: np.ndarray
    last: np.ndarray
    step: np.ndarray
    keeps: float


class Progress(NamedTuple):
    """What a window did before a step.

    Parameters
    ----------
    support, held : int
        Nonzero entries of a at its start, and now.
    steps, most : int
        Steps made, and the most often that a coordinate was drawn.
    moves : bool
        Whether one of them moved.
    reach : int
        Leading entries of a beyond which all have been 0 since the run began.
    """

    support: int
    held: int
    steps: int
    most: int
    moves: bool
    reach: int


def state_of(
    problem: Problem, columns: np.ndarray, alpha: np.ndarray, block: int, *, keeps: bool = True
) -> State:
    """The state before the first step of b coordinates from a, of which it has those of some columns only.

    Those left out are 0 all the time; m in the shapes of its arrays counts the others.
    """
    alpha = np.array(alpha[columns], dtype=np.float64)
    signs, linear = (
        np.ascontiguousarray(values[columns], dtype=np.float64)
        for values in (problem.signs, problem.linear)
    )
    signed = signs * alpha if problem.is_svm else alpha
    error, first = np.zeros((2, alpha.size))
    largest, moved, bounded = np.abs(alpha), np.abs(alpha), np.abs(alpha)
    drawn = np.zeros(alpha.size, dtype=np.int64)
    return State(
        signs, linear, alpha, signed, signed.copy(), largest, moved, bounded, error, first,
        np.zeros(alpha.size + 2), drawn, np.full(block, -1, dtype=np.int64), np.zeros(block),
        float(keeps),
    )  # fmt: skip


@inlined
def judge_steps(rows, weights, state, segment, sums, clip, solve, block, kept, tally):
    """Judge the steps of some whole windows, one after the other.

    Of the two finishers that one is compiled of which there are constants, and of rows and weights those
    that are given: whether an argument is None is decided before types are sought.

    Parameters
    ----------
    rows, weights : Rows and Weights, one of them None
        Kernel rows of the coordinates drawn, their errors, and where each coordinate's row is; or, of a
        K-SVM with the linear kernel, samples, and vectors that were formed of the state.
    state : State
        The run's own a, advanced by the log, and the judge's scratch.
    segment : Segment
        Coordinates drawn, logged values, steps per window, and where in the run they lie.
    sums : SumConstants
        Of the bounds.
    clip, solve : ClipConstants and SolveConstants, one of them None
        Of the bounds of a K-SVM and of a K-RR.
    block : Block
        Further scratch, of a K-RR.
    kept : Kept
        Out: what later passes need of each step.
    tally : StepStatistics
        Out: distances, bounds and events.
    """
    steps, held = segment.draws.shape[0], nonzero(state.alpha)
    reach = reached(state.largest, state.alpha)
    if rows is not None:
        reach = max(reach, rows.least)
    for begin in range(0, steps, segment.width):
        end = min(begin + segment.width, steps)
        tail = segment.closing and end - begin < segment.width
        progress = Progress(held, held, 0, 0, False, reach)
        for step in range(begin, end):
            begin_step(state, segment.draws[step], tally, segment.first + step, tail)
            if clip is None:
                if solve is not None:
                    judge_solved_step(rows, state, block, segment, step, solve, progress, kept, tally)
            else:
                judge_clipped_step(rows, weights, state, segment, step, clip, progress, kept, tally)
            progress = follow_step(state, weights, sums, segment, step, progress, block)
        held, reach = progress.held, progress.reach
        window = (segment.first + begin) // segment.width + 1
        end_window(state, weights, segment.draws[begin:end], window)


@inlined
def begin_step(state, drawn, tally, iteration, tail):
    """Count the draws of a step, and the events that the stream makes of it."""
    repeats = 0
    for place in range(drawn.size):
        i = drawn[place]
        if state.drawn[i] == 0:
            state.first[i] = state.alpha[i]
        state.drawn[i] += 1
        repeats = max(repeats, state.drawn[i])
    if repeats > 1:
        event(tally, REPEATED, iteration)
    if repeats > 2:
        event(tally, THRICE, iteration)
    if tail:
        event(tally, TAIL_STEP, iteration)


@inlined
def follow_step(state, weights, sums, segment, step, progress, block):
    """Take the log's word for a step: a after it, and what the window did with it."""
    drawn, logged = segment.draws[step], segment.log[step]
    held, most, moves, reach = progress.held, progress.most, progress.moves, progress.reach
    for place in range(drawn.size):
        i, value, times = drawn[place], logged[place], block.times[place]
        reach = max(reach, i + 1)
        if block.final[place] != place:  # The last draw has the value that all of them left.
            state.last[place], state.step[place] = i, 0.0
            continue
        increment = value - state.alpha[i]
        size = abs(increment)
        error = increment_error(sums, state.drawn[i], state.moved[i], size, value, times)
        if times > 1:
            error += unequal_error(sums, state.drawn[i], times, block.apart[0])
            size += times * block.apart[0]
        held += int(value != 0.0) - int(state.alpha[i] != 0.0)
        most = max(most, state.drawn[i])
        moves = moves or abs(increment) > 0.0
        state.alpha[i], before = value, state.signed[i]
        if abs(value) < np.inf:
            state.largest[i] = max(state.largest[i] * state.keeps, abs(value))
        state.signed[i] = state.signs[i] * value
        state.moved[i] += size
        state.increment_error[i] += error
        state.bounded[i] += size + error
        if weights is not None:
            move(weights, i, before, state.signed[i], size + error, error)
        state.last[place], state.step[place] = i, increment
    return Progress(progress.support, held, progress.steps + 1, most, moves, reach)


@inlined
def end_window(state, weights, draws, window):
    """Forget what a window did that drew these coordinates, shape (steps, b): its number counts from 1."""
    for step in range(draws.shape[0]):
        for place in range(draws.shape[1]):
            i = draws[step, place]
            state.drawn[i] = 0
            state.increment_error[i] = 0.0
            state.moved[i] = abs(state.alpha[i])
            # Of an a that is no finite number nothing is promised; it is no size of later windows.
            known = state.moved[i] <= state.largest[i]
            state.bounded[i] = state.largest[i] if known else state.moved[i]
            state.start[i] = state.signed[i]
            if weights is not None:
                settle(weights, i, state.bounded[i])
    if weights is not None:
        go_on(weights, state, window)


@inlined
def nonzero(vector):
    """Number of the entries of a vector that are not 0."""
    count = 0
    for value in vector:
        count += int(value != 0.0)
    return count


@inlined
def reached(largest, alpha):
    """Leading entries up to the last one of either vector that is not 0, or no number."""
    for place in range(alpha.size, 0, -1):
        if largest[place - 1] != 0.0 or alpha[place - 1] != 0.0:
            return place
    return 0
