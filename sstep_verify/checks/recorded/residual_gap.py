"""Check residual-gap: a state carried beside a stays what it stands for, up to its own rounding.

A solver that maintains a gradient, a residual or w instead of forming it anew declares it. Between two
recorded iterations its distance from the true quantity, enclosed in balls, may grow by the rounding of
the updates in between and no more (bounds/residual_gap.py). Each segment starts from the distance
measured at its beginning, so a leak shows in the segment where it happens. Judged are a short run, in small
segments, and the plain run to its end, in larger ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from sstep_verify.bounds.residual_gap import DriftBound, Segment
from sstep_verify.checks.contract import finite_promised
from sstep_verify.checks.shared.case import Case, run_key
from sstep_verify.checks.shared.check import Check
from sstep_verify.checks.shared.every_s import judge_every_s, plain_runs
from sstep_verify.checks.shared.finding import Finding, Window, decisive, unknown, wrong
from sstep_verify.checks.shared.outcome import planted_term
from sstep_verify.checks.shared.several import most_visible, record_of
from sstep_verify.oracle.balls.values import MOST_SAMPLES, exact_drift
from sstep_verify.oracle.facade import Oracle
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Verdict

CHECK = "residual-gap"

SEGMENTS = 12
"""Most segments that the short and the plain run are cut into, each."""

CAUSES = (
    "an increment that is not applied to the state, or applied twice when a coordinate is drawn twice, {} "
    "left out of the update"
)
SVM_CAUSES = CAUSES.format("a clipped step whose unclipped increment is applied, a label or the shift")
RIDGE_CAUSES = CAUSES.format("lambda or m")
ORIGIN = "distance at the segment's start + rounding of the updates in it (bounds/residual_gap.py)"


def key(s: int) -> str:
    """Key of the run of an s whose state is judged."""
    return f"state/s={s}"


def runs(case: Case) -> dict[str, RunRequest]:
    """The plain run and a short one of every s, recorded in several places; none without a state."""
    if not case.declaration.state or case.problem.samples > MOST_SAMPLES:
        return {}
    requests = {}
    for s in case.s_values:
        iterations = min(case.short, case.iterations)
        step = max(-(-iterations // (SEGMENTS * s)), 1) * s
        record_at = tuple(range(step, iterations, step))
        requests[key(s)] = RunRequest(case.problem, case.stream, s, iterations, record=record_at)
    return plain_runs(case) | requests


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Compare every declared state with what it stands for; the oracle is not used, for that needs no run.

    Parameters and the list returned are those of `judge_every_s`: one verdict per s and state, INCONCLUSIVE
    where a declared state was not recorded.

    Raises
    ------
    InputError
        If a state is declared that the problem does not have.
    """
    if not runs(case):
        return []
    verdicts = []
    for name in case.declaration.state:
        bound = DriftBound(case.problem, case.declaration, name)
        judged = partial(_judge, name=name, bound=bound)
        verdicts += judge_every_s(case, trajectories, judged, lambda s: (key(s), run_key(s)))
    return verdicts


def sparse(trajectory: Trajectory, name: str) -> Trajectory:
    """A run with at most `SEGMENTS` of its recorded iterations beside the first, and the last."""
    recorded = trajectory.state.get(name)
    if recorded is None:
        return trajectory
    last = trajectory.iterations.size - 1
    kept = np.unique(np.linspace(0, last, min(SEGMENTS, last) + 1).round().astype(int))
    return replace(
        trajectory,
        iterations=trajectory.iterations[kept],
        alphas=trajectory.alphas[kept],
        state={name: recorded[kept]},
    )


def _judge(
    case: Case, s: int, short: Trajectory, plain: Trajectory, name: str, bound: DriftBound
) -> Verdict:
    findings, effects = _segments(case, name, short, bound)
    plain = sparse(plain, name)
    others, further = _segments(case, name, plain, bound)
    # Over long segments of the plain run nothing may be promised; what is known of the others stands.
    findings += [finding for finding in others if finding.bound < np.inf]
    effect, allowed = most_visible([*effects, *further], (0.0, 0.0))
    still = (
        "a does not move between any two recorded iterations, so no update of the state could be missing"
    )
    planned = int(short.iterations.size + plain.iterations.size)
    decided = sum(finding.bound < np.inf for finding in findings)
    return record_of(
        CHECK,
        case,
        s,
        findings,
        units="absolute, largest entry",
        planned=planned,
        executed=decided,
        origin=ORIGIN,
        causes=SVM_CAUSES if case.problem.is_svm else RIDGE_CAUSES,
        terms=(
            planted_term("an update left out", effect, allowed if effect else 0.0, planned, decided, still),
        ),
        evidence={
            "state": name,
            "drift": [{"lower": one.lower, "upper": one.upper, "bound": one.bound} for one in findings],
        },
    )


def _segments(
    case: Case, name: str, trajectory: Trajectory, bound: DriftBound
) -> tuple[list[Finding], list[tuple[float, float]]]:
    """Findings at recorded iterations; for each segment the effect of an update left out, and its bound."""
    planned = int(trajectory.iterations.size)
    recorded = trajectory.state.get(name)
    if recorded is None:
        what = f"{case.declaration.name} declares the state {name!r}, but the run did not record it"
        return [unknown(what)], []
    if not (np.isfinite(recorded).all() and np.isfinite(trajectory.alphas).all()):
        what = f"{name} or a of {case.declaration.name} is not finite"
        if finite_promised(case, trajectory):
            return [wrong(what)], []
        return [unknown(f"{what}, as those of a correct run may be")], []
    drifts = exact_drift(case.problem, name, list(trajectory.alphas), list(recorded))
    findings = [_finding(case, name, trajectory, 0, drifts[0], bound.initial(_float(trajectory.alphas[0])))]
    effects = []
    for place in range(1, planned):
        limit = bound.after(segment := _segment(case, trajectory, recorded, place, drifts[place - 1][1]))
        findings.append(_finding(case, name, trajectory, place, drifts[place], limit))
        effects.append(bound.skipped(segment, _float(trajectory.alphas[place]), limit))
    return findings, effects


def _segment(case: Case, trajectory: Trajectory, recorded, place: int, drift: np.ndarray) -> Segment:
    begin, end = (trajectory.start + int(trajectory.iterations[k]) for k in (place - 1, place))
    return Segment(
        _float(trajectory.alphas[place - 1]),
        _float(recorded[place - 1]),
        drift,
        case.stream.blocks(begin, end),
    )


def _float(vector: np.ndarray) -> np.ndarray:
    return np.asarray(vector, dtype=np.float64)


def _finding(
    case: Case, name: str, trajectory: Trajectory, place: int, drift, limit: np.ndarray
) -> Finding:
    """The entry of the state that is worst, at one recorded iteration."""
    low, high = drift
    entries = [
        Finding("", *values) for values in zip(low.tolist(), high.tolist(), limit.tolist(), strict=True)
    ]
    worst = decisive(entries)
    what = (
        f"{name} carried by {case.declaration.name} at iteration {int(trajectory.iterations[place])}, "
        f"entry {next(k for k, one in enumerate(entries) if one is worst)}: distance from the true one"
    )
    until = Window(0, int(trajectory.iterations[place]))
    return Finding(what, worst.lower, worst.upper, worst.bound, until)


DECLARED = Check(
    id=CHECK,
    text=__doc__,
    needs="the plain run and a short one of every s, recorded in several places, where a state is declared",
    planted="a carried quantity that is not updated",
    runs=runs,
    judge=judge,
    bounds=("residual_gap",),
    level=2,
    applies=lambda case, s: bool(case.declaration.state),
)
