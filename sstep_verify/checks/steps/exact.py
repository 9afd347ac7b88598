"""Notable steps of a run again in exact arithmetic, against the solver's share of the bound alone."""

from __future__ import annotations

import math

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding
from sstep_verify.checks.steps.found import JudgedRun
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.checks.steps.tally import EVENTS
from sstep_verify.oracle.facade import MOST_BITS, Oracle
from sstep_verify.trajectory import Trajectory

EXACT_WORDS = 1 << 16
"""Kernel entries of the exact steps of a run; one step is replayed even where it has more."""

BITS = 192
"""Precision a step is replayed with at first: one step loses few bits."""


def exact_steps(
    case: Case, trajectory: Trajectory, judged: JudgedRun, judge: StepJudge, oracle: Oracle
) -> list[Finding]:
    """Replay steps of a run exactly.

    Parameters
    ----------
    case : Case
        The case.
    trajectory : Trajectory
        A run with a log.
    judged : JudgedRun
        What the float64 judge found.
    judge : StepJudge
        Gives the solver's share of a step's bound.
    oracle : Oracle
        Replays.

    Returns
    -------
    list of Finding
        One per step replayed.
    """
    words = case.problem.samples * case.stream.block
    if words > case.replay_limit:
        return []
    wanted = _notable(case, judged)[: max(EXACT_WORDS // words, 1)]
    found = [_exact(case, trajectory, iteration, why, judge, oracle) for iteration, why in wanted]
    return [finding for finding in found if finding.bound < math.inf]


def _notable(case: Case, judged: JudgedRun) -> list[tuple[int, str]]:
    """Iterations and why: the worst step, the first wrong one, the first of each event, a seeded one."""
    if judged.worst is None:
        return []
    found = {judged.worst.iteration: "largest ratio"}
    if judged.first_wrong is not None:
        found.setdefault(judged.first_wrong.iteration, "first over its bound")
    for name, first in zip(EVENTS, judged.tally.first.tolist(), strict=True):
        if first >= 0:
            found.setdefault(first, f"first {name}")
    generator = np.random.Generator(np.random.PCG64(case.seed))
    found.setdefault(int(generator.integers(judged.steps)), "seeded")
    return list(found.items())


def _exact(
    case: Case, trajectory: Trajectory, iteration: int, why: str, judge: StepJudge, oracle: Oracle
) -> Finding:
    drawn = case.stream.blocks(trajectory.start + iteration, trajectory.start + iteration + 1)
    before = judge.alpha_before(trajectory, iteration)
    after = before.copy()
    assert trajectory.log is not None
    after[drawn[0]] = trajectory.log[iteration]
    bound = judge.step(trajectory, iteration).whole
    if not case.problem.is_svm:
        bound /= math.sqrt(case.problem.samples)  # the M-norm is at most the residual's 2-norm over sqrt(m)
    what = f"step {iteration + 1} ({why}) in exact arithmetic"
    if not bound < math.inf or not (np.isfinite(before).all() and np.isfinite(after).all()):
        return Finding(what, math.inf, math.inf, bound)
    bits = BITS
    while True:
        replay = oracle.replay(case.problem, before, after, drawn, bits)
        finding = Finding(what, float(replay.lower.max()), float(replay.upper.max()), bound)
        # The radius must be small beside the bound, or the ratio is that of the radius.
        if finding.upper - finding.lower <= bound * 2.0**-10 or bits >= MOST_BITS or bound == 0.0:
            return finding
        bits *= 2
