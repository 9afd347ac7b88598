"""Steps of a run again in exact arithmetic, against the solver's share of the bound alone.

These are notable ones, and for each quantity of a step the one that would show the smallest error in it:
the judge's own roundings, about half of what a float64 step is compared with, are no part of that bound.
"""

from __future__ import annotations

import math

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding, Window, ratios, unbounded
from sstep_verify.checks.steps.judged import JudgedRun, StepJudge
from sstep_verify.checks.steps.tally import EVENTS, NAMES, Tally
from sstep_verify.oracle.facade import MOST_BITS, Oracle
from sstep_verify.quantities import LOWER, UPPER
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import SEEN

EXACT_WORDS = 1 << 16
"""Kernel entries of the exact steps of a run; one step is replayed even where it has more."""

ENDS = (UPPER, LOWER)
"""Of what is certainly clipped the float64 judge knows the last bit."""

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
        One per step replayed that has a bound; with the smallest relative error, by quantity, that it was
        certain to show, of those that it shows best.
    """
    words = case.problem.samples * case.stream.block
    if words > case.replay_limit:
        return []
    most = max(EXACT_WORDS // words, 1)
    why = _notable(case, judged)
    telling = _telling(trajectory, judged, judge) if most > len(why) else {}
    for iteration, errors in telling.items():
        why.setdefault(iteration, f"{next(iter(errors))} shows best")
    findings = (
        _exact(case, trajectory, iteration, why[iteration], judge, oracle, telling.get(iteration, {}))
        for iteration in list(why)[:most]
    )
    return [finding for finding in findings if finding.bound < math.inf]


def _telling(trajectory: Trajectory, judged: JudgedRun, judge: StepJudge) -> dict[int, dict[str, float]]:
    """Iterations made before each step that shows a quantity best, and the errors it shows, by quantity.

    It is sought in the window of the step at which the float64 judge would see it best.
    """
    windows: dict[int, Tally] = {}
    telling: dict[int, dict[str, float]] = {}
    for number, name in enumerate(NAMES):
        best = int(judged.tally.best[number])
        if best < 0 or name in ENDS:
            continue
        window = best // trajectory.s
        if window not in windows:
            windows[window] = judge.window(trajectory, best)
        tally = windows[window]
        if 0.0 < tally.relative[number] < math.inf:
            errors = telling.setdefault(int(tally.best[number]), {})
            errors[name] = SEEN / float(tally.relative[number])
    return telling


def _notable(case: Case, judged: JudgedRun) -> dict[int, str]:
    """Iterations and why: the worst step, the first wrong one, the first of each event, a seeded one."""
    if judged.worst is None:
        return {}
    notable = {judged.worst.window.begin: "largest ratio"}
    if judged.first_wrong is not None:
        notable.setdefault(judged.first_wrong.window.begin, "first over its bound")
    for name, first in zip(EVENTS, judged.tally.first.tolist(), strict=True):
        if first >= 0:
            notable.setdefault(first, f"first {name}")
    generator = np.random.Generator(np.random.PCG64(case.seed))
    notable.setdefault(int(generator.integers(judged.steps)), "seeded")
    return notable


def _exact(
    case: Case,
    trajectory: Trajectory,
    iteration: int,
    why: str,
    judge: StepJudge,
    oracle: Oracle,
    detection_limit: dict[str, float],
) -> Finding:
    drawn = case.stream.blocks(trajectory.start + iteration, trajectory.start + iteration + 1)
    before = judge.alpha_before(trajectory, iteration)
    after = before.copy()
    assert trajectory.log is not None
    after[drawn[0]] = trajectory.log[iteration]
    bounds = judge.step_bounds(trajectory, iteration)
    what = f"step {iteration + 1} ({why}) in exact arithmetic"
    bound = float(bounds.max())
    if not bound < math.inf or not np.isfinite(before).all():
        return unbounded(what, math.inf)  # a step from no vector of numbers is none
    if not np.isfinite(after).all():
        return Finding(what, math.inf, math.inf, bound, detection_limit=detection_limit)
    bits = BITS
    while True:
        if case.problem.is_svm:
            replay = oracle.replay(case.problem, before, after, drawn, bits)
            lower, upper = replay.lower, replay.upper
        else:
            lower, upper = oracle.residual(case.problem, after, drawn[0], bits)
        place = int(np.argmax(ratios(upper, bounds)))
        finding = Finding(
            what, float(lower[place]), float(upper[place]), float(bounds[place]),
            Window(iteration, iteration + 1), detection_limit=detection_limit,
        )  # fmt: skip
        # The radius must be small beside the bound, or the ratio is that of the radius.
        if finding.upper - finding.lower <= finding.bound * 2.0**-10 or bits >= MOST_BITS or bound == 0.0:
            return finding
        bits *= 2
