"""Check residual-gap: maintained weights stay those of alpha, up to their own rounding.

A solver that maintains w instead of forming it in every window declares it. Between two recorded
iterations its distance from the w of alpha, enclosed in balls, may grow by the rounding of the updates in
between and no more (sstep_verify/bounds/residual_gap.py). Each segment starts from the distance measured at
its beginning, so a leak shows in the segment where it happens. A short run is judged in small segments, and
the plain run to its end in larger ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from sstep_verify.bounds.residual_gap import DriftBound, Segment
from sstep_verify.checks.shared.case import Case, Check, plain_request, run_key, unseen_weights
from sstep_verify.checks.shared.comparison import Comparison, unknown, worst_entry, wrong
from sstep_verify.checks.shared.every_s import judge_every_s, runs_of_every_s
from sstep_verify.checks.shared.outcome import verdict_from
from sstep_verify.checks.shared.overflow import finite_promised
from sstep_verify.checks.shared.terms import most_visible, planted_term
from sstep_verify.oracle.balls.objectives import MOST_SAMPLES
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Coverage, Place, Verdict, Why

ID = "residual-gap"

SEGMENTS = 12
"""Most segments that the short and the plain run are cut into, each."""


def _requests(case: Case, s: int) -> dict[str, RunRequest]:
    """The plain run and a short one, recorded in several places."""
    if not applies(case, s) or case.problem.samples > MOST_SAMPLES:
        return {}
    iterations = min(case.short, case.iterations)
    step = max(-(-iterations // (SEGMENTS * s)), 1) * s
    points = tuple(range(step, iterations, step))
    short = RunRequest(case.problem, case.stream, s, iterations, record=points)
    return {f"weights/s={s}": short, run_key(s): plain_request(case, s)}


def sparse(trajectory: Trajectory) -> Trajectory:
    """A run with at most `SEGMENTS` of its recorded iterations besides the first, and the last."""
    if trajectory.weights is None:
        return trajectory
    last = trajectory.iterations.size - 1
    kept = np.unique(np.linspace(0, last, min(SEGMENTS, last) + 1).round().astype(int))
    return replace(
        trajectory,
        iterations=trajectory.iterations[kept],
        alphas=trajectory.alphas[kept],
        weights=trajectory.weights[kept],
    )


def _judge(case: Case, s: int, oracle: Oracle, short: Trajectory, plain: Trajectory) -> Iterator[Verdict]:
    """Compare the weights with those of a; INCONCLUSIVE where they were not recorded.

    Raises
    ------
    InputError
        If the problem has no weights.
    """
    bound, plain = DriftBound(case.problem, case.formulas), sparse(plain)
    comparisons, effects = _segments(case, short, bound, oracle)
    others, further = _segments(case, plain, bound, oracle)
    # Over long segments of the plain run nothing may be promised; what is known of the others stands.
    comparisons += [comparison for comparison in others if comparison.bound < np.inf]
    effect, allowed = most_visible([*effects, *further], (0.0, 0.0))
    why = Why.WITHIN_BOUND if effect else Why.NO_EFFECT
    planned = int(short.iterations.size + plain.iterations.size)
    bounded = sum(comparison.bound < np.inf for comparison in comparisons)
    shown = effect, allowed if effect else 0.0
    yield verdict_from(
        ID,
        case,
        s,
        *comparisons,
        units="absolute, largest entry",
        planned=planned,
        executed=bounded,
        bound_origin="bounds/residual_gap",
        terms=(planted_term("an update left out", *shown, planned, bounded, why),),
        evidence={
            "drift": [
                {"lower": comparison.lower, "upper": comparison.upper, "bound": comparison.bound}
                for comparison in comparisons
            ],
        },
        coverage=Coverage("recorded vector", bounded, planned),
    )


def _segments(
    case: Case, trajectory: Trajectory, bound: DriftBound, oracle: Oracle
) -> tuple[list[Comparison], list[tuple[float, float]]]:
    """Findings at recorded iterations; for each segment the effect of an update left out, and its bound."""
    planned = int(trajectory.iterations.size)
    recorded = trajectory.weights
    if recorded is None:
        return [unknown(why=Why.NOT_RECORDED)], []
    if not (np.isfinite(recorded).all() and np.isfinite(trajectory.alphas).all()):
        if finite_promised(case, trajectory):
            return [wrong(place=Place(item="weights", found=float("nan")))], []
        return [unknown(why=Why.OVERFLOW)], []
    drifts = oracle.drift(case.problem, list(trajectory.alphas), list(recorded))
    comparisons = [_comparison(trajectory, 0, drifts[0], bound.initial(_float(trajectory.alphas[0])))]
    effects = []
    alphas, ends = trajectory.alphas, (trajectory.start + trajectory.iterations).tolist()
    for place in range(1, planned):
        before = place - 1
        draws = case.stream.blocks(ends[before], ends[place])
        segment = Segment(_float(alphas[before]), _float(recorded[before]), drifts[before][1], draws)
        limit = bound.after(segment)
        comparisons.append(_comparison(trajectory, place, drifts[place], limit))
        effects.append(bound.skipped(segment, _float(alphas[place]), limit))
    return comparisons, effects


def _float(vector: np.ndarray) -> np.ndarray:
    return np.asarray(vector, dtype=np.float64)


def _comparison(trajectory: Trajectory, place: int, drift, limit: np.ndarray) -> Comparison:
    """The entry of w that is worst, at one recorded iteration."""
    entry, worst = worst_entry(drift, limit)
    iteration = int(trajectory.iterations[place])
    return replace(worst, place=Place(0, iteration, entry, item="weights"))


def applies(case: Case, s: int) -> bool:
    """Whether maintained weights are declared, by a solver that can record them."""
    return case.formulas.weights is not None and not unseen_weights(case)


def runs(case: Case) -> dict[str, RunRequest]:
    """The runs of every s that is judged, by key."""
    return runs_of_every_s(case, _requests)


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Judge the runs of every s by themselves; see `Check.judge`."""
    return judge_every_s(case, trajectories, oracle, _requests, _judge)


CHECK = Check(
    id=ID,
    text=__doc__,
    exact=True,
    needs="the plain run and a short one of every s, recorded in several places, of declared weights",
    planted="weights that are not updated",
    runs=runs,
    judge=judge,
    bounds=("bounds/residual_gap",),
    level=2,
    applies=applies,
)
