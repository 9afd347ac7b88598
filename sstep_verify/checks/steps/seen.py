"""From the counts of judged steps to what a verdict says of each quantity."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding
from sstep_verify.checks.steps.judged import JudgedRun
from sstep_verify.checks.steps.tally import CLIP_HIGH, CLIP_LOW, NAMES, REPEATED
from sstep_verify.numerics.rounding import unit_roundoff
from sstep_verify.problems import Hinge
from sstep_verify.quantities import (
    BOUNDARY,
    KERNEL,
    LOWER,
    OVERLAP,
    SAME,
    STALE,
    TAIL,
    UPPER,
    WRITE_BACK,
    quantities_of,
)
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import SEEN, Status, Term

SHARE = 0.9
"""Share of the wrong steps that a mistake must reproduce to be named."""

CHANCE = 0.01
"""Chance up to which wrong steps that fall on any place of a window alike may all miss its first one."""


def step_terms(
    case: Case, s: int, trajectory: Trajectory, judged: JudgedRun, exact: Sequence[Finding]
) -> tuple[Term, ...]:
    """One record per quantity that the steps of a run have.

    Parameters
    ----------
    case : Case
        The case.
    s : int
        Iterations per window.
    trajectory : Trajectory
        The run.
    judged : JudgedRun
        What judging its steps found.
    exact : sequence of Finding
        Steps replayed in exact arithmetic.
    """
    problem = case.problem
    task = problem.loss.task
    width = min(s, max(trajectory.length, 1))
    shown = {name: error for step in exact if step.decided for name, error in step.detection_limit.items()}
    terms = []
    for quantity in quantities_of(task, case.declaration.update, width, case.stream.block):
        if quantity.name == TAIL and trajectory.length % s == 0:
            continue
        if quantity.name == BOUNDARY and trajectory.length <= s:
            continue
        if quantity.name == WRITE_BACK:
            terms.append(_write_back(case, trajectory))
            continue
        place = NAMES.index(quantity.name)
        seen, effect = int(judged.tally.seen[place]), float(judged.tally.relative[place])
        by_judge = SEEN / effect if effect > 0.0 else math.inf
        terms.append(
            Term(
                name=quantity.name,
                status=Status.PASS if seen else Status.VACUOUS,
                detection_limit=min(by_judge, shown.get(quantity.name, math.inf)),
                planned=int(judged.tally.planned[0]),
                decided=int(judged.tally.looked[0]),
                seen=seen,
                reason="" if seen else _why_not(case, quantity.name, trajectory, judged),
            )
        )
    return tuple(terms)


def _write_back(case: Case, trajectory: Trajectory) -> Term:
    """Stored values are compared bit for bit at every recorded iteration."""
    pairs = zip(trajectory.alphas[:-1], trajectory.alphas[1:], strict=True)
    moved = sum(not np.array_equal(before, after) for before, after in pairs)
    compared = trajectory.iterations.size - 1
    return Term(
        WRITE_BACK,
        Status.PASS if moved else Status.VACUOUS,
        unit_roundoff(case.declaration.precision) if moved else math.inf,
        compared,
        compared,
        moved,
        "" if moved else "a does not move between recorded iterations",
    )


def _why_not(case: Case, name: str, trajectory: Trajectory, judged: JudgedRun) -> str:
    events = judged.tally.events
    if name == STALE and trajectory.length <= trajectory.s and not trajectory.alphas[0].any():
        return "the run is a single window from a = 0, where every stale product is 0"
    if name == UPPER and not events[CLIP_HIGH]:
        upper = case.problem.hinge.C if isinstance(case.problem.loss, Hinge) else math.inf
        return f"no coordinate reaches C = {upper:g}"
    if name == LOWER and not events[CLIP_LOW]:
        return "no step is clipped at 0"
    if name in (SAME, OVERLAP) and not events[REPEATED]:
        return "no coordinate is drawn twice in a window"
    if name == TAIL:
        return "no step of the short last window moves its coordinate by more than twice its bound"
    if float(judged.tally.effect[NAMES.index(name)]) == 0.0:
        return f"it changes none of {int(judged.tally.looked[0])} steps"
    return "leaving it out changes no step by more than twice its bound"


def reproducing(judged: JudgedRun) -> list[str]:
    """Quantities whose absence reproduces at least `SHARE` of the wrong steps, the best first."""
    failed = int(judged.tally.failed[0])
    if not failed:
        return []
    order = np.argsort(-judged.tally.reproduced, kind="stable")
    return [NAMES[place] for place in order if judged.tally.reproduced[place] >= SHARE * failed]


def corrections(case: Case, trajectory: Trajectory, judged: JudgedRun) -> list[str]:
    """The corrections, where steps are wrong only at places of their windows at which these act.

    The first step of a window has no correction; otherwise its formula is that of the others. Wrong steps
    that all draw a coordinate again tell of the correction for that one.
    """
    s, wrong = trajectory.s, judged.wrong
    if s == 1 or not (wrong % s).all() or wrong.size * math.log1p(-1 / s) > math.log(CHANCE):
        return []
    draws = case.stream.blocks(trajectory.start, trajectory.start + trajectory.length)
    again = all(np.isin(draws[k], draws[k - k % s : k]).any() for k in wrong.tolist())
    return [SAME if again else KERNEL]
