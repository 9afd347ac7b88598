"""Why steps of a run are wrong: a quantity left out or off by a factor, a mistake, the correction."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding, Window
from sstep_verify.checks.steps.judged import JudgedRun, StepJudge
from sstep_verify.checks.steps.tally import NAMES
from sstep_verify.checks.window.ends import causes_of
from sstep_verify.checks.window.replays import WindowReplays
from sstep_verify.diagnosis.candidates import Candidate
from sstep_verify.diagnosis.factors import off_by_a_factor
from sstep_verify.diagnosis.search import RIGHT
from sstep_verify.numerics.kernel_matrix import kernel_rows
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Problem
from sstep_verify.quantities import KERNEL, SAME
from sstep_verify.rounding.finisher import box_of, finish, finish_flat
from sstep_verify.specification import LEFT_OUT
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import NAMED

SHARE = 0.9
"""Share of the wrong steps that a mistake must reproduce to be named."""

CHANCE = 0.01
"""Chance up to which wrong steps that fall on any place of a window alike may all miss its first one."""

WORK = 1 << 18
"""Products of increments, and kernel entries, of a window up to which mistakes are tried in it."""

WRONG = 8
"""Windows that hold a wrong step, in which mistakes are tried."""


def diagnosed(
    finding: Finding,
    case: Case,
    trajectory: Trajectory,
    judged: JudgedRun,
    judge: StepJudge,
    oracle: Oracle,
    *,
    between: bool,
) -> tuple[Finding, bool]:
    """The finding of a run with wrong steps, placed at the first of them, with what explains them all.

    Parameters
    ----------
    finding : Finding
        The comparison that decides.
    case : Case
        The case.
    trajectory : Trajectory
        A run with a log.
    judged : JudgedRun
        What judging its steps found.
    judge : StepJudge
        Follows the log.
    oracle : Oracle
        Replays windows.
    between : bool
        Whether only what relates the steps of a window can be wrong, since the run of s = 1 is right.

    Returns
    -------
    finding : Finding
        Its note says what explains the wrong steps, its details and its signs name it.
    each : bool
        Whether each of its signs is wrong, not one of them or another.
    """
    svm, width, first = case.problem.is_svm, min(trajectory.s, trajectory.length), int(judged.wrong[0])
    names = reproducing(judged)
    factors = off_by_a_factor(judged.tally.low, judged.tally.high, judged.tally.fits, of_svm=svm)
    causes: list[Candidate] = []
    if case.diagnose:
        windows = wrong_windows(case, trajectory, judged, judge, oracle)
        causes = causes_of(case, width, windows, between=between, pairs=not (names or factors))
    likely = [f"{name}{LEFT_OUT}" for name in names]
    beside = [cause.words for cause in causes if cause.words not in likely]
    # A cause is not named again as a factor on the same quantity, such as one of 0.
    sized = [one.cause for one in factors if not any(one.holds(cause.mutation) for cause in causes)]
    signs = [
        *names,
        *(name for cause in causes for name in cause.names),
        *(factor.name for factor in factors),
    ]
    pair = len(causes) > 0 and len(causes[0].names) > 1
    says = []
    if names:
        says.append(f"Leaving out one quantity reproduces them: {', '.join(names)}.")
    elif factors:
        ranges = " or ".join(factor.interval for factor in factors)
        says.append(f"A factor 1 + delta on one quantity explains all of them: {ranges}.")
    if beside and pair:
        says.append(f"No single mistake known here does, two at once do: {', '.join(beside)}.")
    elif beside:
        says.append(f"Mistakes that each end the wrong windows where the log does: {', '.join(beside)}.")
    if not says:
        signs = corrections(case, trajectory, judged)
        says.append(
            f"None is the first of its window, so the correction is wrong: {signs[0]}."
            if signs
            else "Leaving out no single quantity reproduces them, nor does one factor on one of them, nor "
            "a mistake known here: another kernel, another order of draws or another precision than "
            "declared may."
        )
    over = f"{judged.wrong.size} steps are over their bound, the first is "
    note = " ".join([f"{over}{_step_in_words(case, trajectory, judge, first)}.", *says])
    details: dict[str, object] = {NAMED: [*likely, *beside, *([] if names else sized)]}
    placed = replace(
        finding, window=Window(first, first + 1), note=note, signs=tuple(signs), details=details
    )
    return placed, pair and len(causes) == 1


def reproducing(judged: JudgedRun) -> list[str]:
    """Quantities whose absence reproduces at least `SHARE` of the wrong steps, the best first."""
    order = np.argsort(-judged.tally.reproduced, kind="stable")
    least = SHARE * judged.wrong.size
    return [NAMES[place] for place in order if judged.tally.reproduced[place] >= least]


def corrections(case: Case, trajectory: Trajectory, judged: JudgedRun) -> list[str]:
    """The corrections, where steps are wrong only at places of their windows at which these act.

    Wrong steps that all draw a coordinate again tell of the correction for that one.
    """
    if not never_first(judged.wrong, trajectory.s):
        return []
    draws, s = case.stream.blocks(trajectory.start, trajectory.start + trajectory.length), trajectory.s
    again = all(np.isin(draws[k], draws[k - k % s : k]).any() for k in judged.wrong.tolist())
    return [SAME if again else KERNEL]


def never_first(wrong: np.ndarray, width: int) -> bool:
    """Whether wrong steps miss the first place of their windows of s, and not by chance.

    The first step of a window has no correction; otherwise its formula is that of the others.
    """
    if width == 1 or not (wrong % width).all():
        return False
    return wrong.size * math.log1p(-1 / width) <= math.log(CHANCE)


def wrong_windows(
    case: Case, trajectory: Trajectory, judged: JudgedRun, judge: StepJudge, oracle: Oracle
) -> list[Finding]:
    """Some windows that hold a wrong step, the first and the last among them, and some that hold none.

    Each is replayed from the run's own a: the log tells it at both ends of every window, recorded or not.
    It tells no state that is carried beside a; where there is one there is nothing to replay.
    """
    drawn = min(trajectory.s, max(trajectory.length, 1)) * case.stream.block
    distinct, samples = min(drawn, case.problem.samples), case.problem.samples
    if case.declaration.state or distinct * max(drawn, samples) > WORK:
        return []
    wrong = np.unique(judged.wrong // trajectory.s)
    right = np.setdiff1d(np.arange(-(-trajectory.length // trajectory.s)), wrong)
    windows = [*_spread(wrong, WRONG), *_spread(right, RIGHT)]
    replays = WindowReplays(case, oracle)
    return [_replayed(trajectory, window * trajectory.s, judge, replays) for window in sorted(windows)]


def _spread(windows: np.ndarray, most: int) -> list[int]:
    """At most so many of some windows, their first and last among them, as far apart as the others are."""
    if not windows.size:
        return []
    places = np.unique(np.linspace(0, windows.size - 1, most).astype(np.int64))
    return [int(window) for window in windows[places]]


def _replayed(trajectory: Trajectory, begin: int, judge: StepJudge, replays: WindowReplays) -> Finding:
    end = min(begin + trajectory.s, trajectory.length)
    ends = np.array([*([begin - trajectory.s] if begin else []), begin, end])
    alphas = np.array([judge.alpha_before(trajectory, iteration) for iteration in ends])
    part = replace(trajectory, iterations=ends, alphas=alphas, log=None, rounding=None, panels={})
    return replays.finding(part, Window(begin, end), from_panel=False, names=())


def _step_in_words(case: Case, trajectory: Trajectory, judge: StepJudge, iteration: int) -> str:
    """A wrong step, with the solver's value and the judge's own where these are farthest apart."""
    assert trajectory.log is not None
    draws = case.stream.blocks(trajectory.start + iteration, trajectory.start + iteration + 1)[0]
    alpha = judge.alpha_before(trajectory, iteration)
    logged = np.asarray(trajectory.log[iteration], dtype=np.float64)
    values = own_step(case.problem, alpha, draws)
    place = int(np.argmax(np.nan_to_num(np.abs(logged - values), nan=np.inf)))
    return (
        f"step {iteration + 1}, coordinate {draws[place]}: from a = {float(alpha[draws[place]])!r} the "
        f"solver logged {float(logged[place])!r}, the judge's own value is {float(values[place])!r}"
    )


def own_step(problem: Problem, alpha: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """The values that one classical step in plain float64 gives the coordinates drawn, for words.

    From a of shape (m,); b values. NaN where the block system of a K-RR cannot be solved in float64.
    """
    with np.errstate(all="ignore"):
        rows = kernel_rows(problem, draws)
        if problem.is_svm:
            dual, box, place, signs = problem.dual, box_of(problem.dual), int(draws[0]), problem.signs
            linear, curvature = float(problem.linear[place]), float(rows[0, place]) + dual.shift
            slope = signs[place] * float(rows[0] @ (signs * alpha)) - linear + dual.shift * alpha[place]
            if not curvature:
                return np.array([finish_flat(box, linear)])
            return np.array([finish(box, alpha[place] - slope / curvature, dual.threshold / curvature)])
        m, penalty = problem.samples, problem.ridge.penalty
        block = rows[:, draws] / penalty + m * np.eye(draws.size)
        residual = problem.targets[draws] - m * alpha[draws] - rows @ alpha / penalty
        try:
            return alpha[draws] + np.linalg.solve(block, residual)
        except np.linalg.LinAlgError:
            return np.full(draws.size, np.nan)
