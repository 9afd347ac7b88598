"""Windows of a logged run that hold wrong steps, as diagnosis asks about them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding, Window
from sstep_verify.checks.steps.judged import JudgedRun, StepJudge
from sstep_verify.checks.window.replays import WindowReplays
from sstep_verify.diagnosis.search import RIGHT
from sstep_verify.oracle.facade import Oracle
from sstep_verify.trajectory import Trajectory

WORK = 1 << 18
"""Products of increments, and kernel entries, of a window up to which mistakes are tried in it."""

WRONG = 8
"""Windows that hold a wrong step, in which mistakes are tried."""


def wrong_windows(
    case: Case, trajectory: Trajectory, judged: JudgedRun, judge: StepJudge, oracle: Oracle
) -> list[Finding]:
    """Some windows that hold a wrong step, the first and the last among them, and some that hold none.

    Each is replayed from the run's own a: the log tells it at both ends of every window, recorded or not.
    It tells no state that is carried beside a; where there is one there is nothing to replay.

    Parameters
    ----------
    case : Case
        The case.
    trajectory : Trajectory
        A run with a log.
    judged : JudgedRun
        What judging its steps found.
    judge : StepJudge
        Follows the log.
    oracle : Oracle
        Replays.
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
    ends = np.array([begin, end])
    alphas = np.array([judge.alpha_before(trajectory, iteration) for iteration in ends])
    part = replace(trajectory, iterations=ends, alphas=alphas, log=None, rounding=None, panels={})
    return replays.finding(part, Window(begin, end), from_panel=False, names=())
