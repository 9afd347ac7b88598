"""Where a judged step is: its coordinate, the logged value, and after a FAIL the exact one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sstep_reference import SingularSystemError

from sstep_verify.checks.shared.comparison import Comparison
from sstep_verify.checks.steps.judged import JudgedRun
from sstep_verify.checks.steps.seen import BITS
from sstep_verify.numerics import kernel_rows
from sstep_verify.problems import Problem
from sstep_verify.verdict import Hint, HintKind, Place, Status


def placed(judged: JudgedRun, comparison: Comparison) -> Comparison:
    """The comparison on a step with its place, and a hint where its log was not written.

    A FAIL has the exact value as well, where a window of one step is replayed at all.
    """
    iteration, log = comparison.window.begin, judged.trajectory.log
    hints = comparison.hints
    if log is not None and np.isnan(judged.step(iteration)[1]).any():
        hints = *hints, unwritten(log)
    failed = comparison.status is Status.FAIL
    return replace(comparison, place=_place_of(judged, iteration, with_exact=failed), hints=hints)


def unwritten(log: np.ndarray) -> Hint:
    """How many entries of a log are NaN, of how many, and the first step of them."""
    missing = np.isnan(log)
    first = int(np.flatnonzero(missing.any(axis=1))[0])
    return Hint(HintKind.LOG_NOT_WRITTEN, (int(missing.sum()), missing.size, first + 1))


def _place_of(judged: JudgedRun, iteration: int, *, with_exact: bool) -> Place:
    """The coordinate of a step where the solver's value is farthest from the judge's own in float64."""
    alpha = judged.judge.alpha_before(judged.trajectory, iteration)
    draws, logged = judged.step(iteration)
    entry = 0
    if draws.size > 1:
        with np.errstate(invalid="ignore"):
            apart = np.abs(logged - _own_step(judged.case.problem, alpha, draws))
        entry = int(np.argmax(np.nan_to_num(apart, nan=np.inf)))
    coordinate = int(draws[entry])
    expected = _exact_value(judged, alpha, draws, coordinate) if with_exact else None
    return Place(iteration, iteration + 1, coordinate, found=float(logged[entry]), expected=expected)


def _exact_value(judged: JudgedRun, alpha: np.ndarray, draws: np.ndarray, coordinate: int) -> float | None:
    """The value that the exact step gives a coordinate; None where there is none, or it costs too much."""
    case = judged.case
    affordable = case.problem.samples * case.stream.block <= case.replay_limit
    if not (affordable and np.isfinite(alpha).all()):
        return None
    try:
        # The end does not enter the exact step.
        replay = judged.judge.oracle.replay(case.problem, alpha, alpha, draws[None], BITS)
    except SingularSystemError:
        return None
    exact = replay.exact_end(case.problem, alpha, coordinate)
    return exact if np.isfinite(exact) else None


def _own_step(problem: Problem, alpha: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """The values that one classical step of K-RR gives the coordinates drawn, in float64; or NaN.

    A coordinate that the block holds several times gets all its increments.
    """
    penalty, samples = problem.ridge.penalty, problem.samples
    with np.errstate(all="ignore"):
        rows, values = kernel_rows(problem, draws), alpha.copy()
        system = rows[:, draws] / penalty + samples * np.eye(draws.size)
        right = problem.targets[draws] - samples * alpha[draws] - rows @ alpha / penalty
        try:
            np.add.at(values, draws, np.linalg.solve(system, right))
        except np.linalg.LinAlgError:  # as of numbers that overflow
            return np.full(draws.size, np.nan)
    return values[draws]
