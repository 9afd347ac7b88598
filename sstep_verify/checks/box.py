"""Check box: every alpha of a K-SVM is feasible, ``0 <= alpha <= nu``, but for what its update may round.

In place, a clipped coordinate is stored as the clipped value, so leaving the box by one ulp is a failure.
Where increments are added, at once (Algorithm 1 as printed) or frozen at the window's end (the paper's
s-step form), it lands on a sum, which rounds. How far off it may land is derived in
sstep_verify/bounds/box.py. The evidence counts the coordinates that are exactly on a limit, and those that
landed next to one. That clipped coordinates are exactly on a limit is part of window-replay, whose bound
for them is 0 in place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sstep_verify.bounds.box import box_bounds
from sstep_verify.bounds.step.clip import clip_constants, entry_errors
from sstep_verify.checks.shared.case import Case, Check, plain_run
from sstep_verify.checks.shared.comparison import Comparison
from sstep_verify.checks.shared.every_s import judge_every_s, runs_of_every_s
from sstep_verify.checks.shared.final_vector import notes, written_with
from sstep_verify.checks.shared.outcome import verdict_from
from sstep_verify.checks.shared.overflow import finite_promised
from sstep_verify.checks.shared.terms import planted_term
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.quantities import LOWER, UPPER
from sstep_verify.rounding.arithmetic import ROUND_UP
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.rounding.rows import largest_sample_sizes
from sstep_verify.rounding.sums import NOT_FACTORED, Factored
from sstep_verify.trajectory import GIVEN, Trajectory
from sstep_verify.verdict import (
    DETECTION_FACTOR,
    Hint,
    HintKind,
    Place,
    Sensitivity,
    Status,
    Verdict,
    Why,
)

ID = "box"

PROBED = 16
"""Coordinates on the box whose unclipped value is formed, to know what the clip did."""


def _judge(case: Case, s: int, oracle: Oracle, trajectory: Trajectory) -> Iterator[Verdict]:
    """Compare every recorded a of a plain run with the box; the oracle is not used."""
    upper, alphas = case.problem.hinge.upper, trajectory.alphas
    if alphas.dtype != np.longdouble:
        alphas = alphas.astype(np.float64)
    times = _most_draws(case, s, trajectory)
    length, start = trajectory.length, case.initial
    allowed = box_bounds(case.problem, case.formulas, s, length, times, start)
    # What is tolerated by a claim, and the digits that were not written down.
    beside = case.claims.get("box", 0.0) + float(written_with(trajectory).max(initial=0.0))
    allowed = (allowed[0] + beside, allowed[1] + beside)
    worst = np.inf
    if not np.isfinite(alphas).all() and not finite_promised(case, trajectory):
        worst, allowed = 0.0, (np.inf, np.inf)
    below = np.where(np.isfinite(alphas), np.maximum(-alphas, 0.0), worst)
    with np.errstate(invalid="ignore"):
        above = np.maximum(alphas - upper, 0.0)
    above[~np.isfinite(alphas)] = 0.0
    ends = {
        LOWER: _comparison(trajectory, below, allowed[0], 0.0),
        UPPER: _comparison(trajectory, above, allowed[1], upper),
    }
    passed = [end for end, comparison in ends.items() if comparison.status is Status.FAIL]
    signed = bool(passed) and trajectory.stopped != GIVEN and _signed(case, alphas, allowed)
    yield verdict_from(
        ID,
        case,
        s,
        *ends.values(),
        units="absolute",
        planned=int(alphas.size),
        executed=int(alphas.size),
        bound_origin="bounds/box",
        terms=(_clip_term(case, trajectory, max(allowed)),),
        evidence=_evidence(trajectory, upper, allowed, below, above) | notes(trajectory),
        signs=passed[:1],
        hints=(Hint(HintKind.SIGNED_BY_LABELS),) if signed else (),
    )


def _signed(case: Case, alphas: np.ndarray, allowed: tuple[float, float]) -> bool:
    """Whether every recorded value, times the label of its sample, is in the box."""
    values = case.problem.targets * alphas
    return bool(((values >= -allowed[0]) & (values - case.problem.hinge.upper <= allowed[1])).all())


def _comparison(trajectory: Trajectory, beyond: np.ndarray, bound: float, limit: float) -> Comparison:
    """The farthest that a recorded value lies outside one limit of the box, and where."""
    row, coordinate = (int(k) for k in np.unravel_index(int(np.argmax(beyond)), beyond.shape))
    # The difference of two floats of one type is rounded by half an ulp, so its sign is right.
    distance = float(beyond[row, coordinate])
    end = 0 if trajectory.stopped == GIVEN else int(trajectory.iterations[row])
    value = trajectory.alphas[row, coordinate].item()
    outside = Place(0, end, coordinate, found=value, expected=limit) if distance > 0 else Place(0, end)
    return Comparison(distance, distance, bound, place=outside)


def _most_draws(case: Case, s: int, trajectory: Trajectory) -> int:
    """Most draws of one coordinate in one window; only a frozen update has use for it."""
    if case.formulas.update != "frozen" or trajectory.length == 0:
        return 1
    draws = case.stream.blocks(trajectory.start, trajectory.start + trajectory.length)
    window = np.arange(draws.size) // (s * case.stream.block)
    counts = np.unique(window * case.problem.samples + draws.ravel(), return_counts=True)[1]
    return int(counts.max())


def _clip_term(case: Case, trajectory: Trajectory, bound: float) -> Sensitivity:
    """What a step without the clip would do to coordinates that sit on the box, late in the run."""
    problem, recorded = case.problem, int(trajectory.alphas.size)
    block = case.stream.block
    draws = case.stream.blocks(trajectory.start, trajectory.start + trajectory.length).ravel()
    drawn, places = np.unique(draws, return_index=True)
    # Nobody knows what a vector that was handed over was drawn from: any of its coordinates may be clipped.
    first = np.full(problem.samples, -1 if trajectory.stopped == GIVEN else np.iinfo(np.int64).max)
    first[drawn] = places // block
    finite = np.isfinite(trajectory.alphas)
    on_box = (trajectory.alphas <= bound) | (trajectory.alphas >= problem.hinge.upper - bound)
    rows = np.flatnonzero(
        (on_box & (first < trajectory.iterations[:, None])).any(axis=1) & finite.all(axis=1)
    )
    if rows.size == 0:
        return planted_term("clip dropped", 0.0, bound, recorded, recorded, Why.NO_EFFECT)
    row = int(rows[-1])
    alpha = trajectory.alphas[row].astype(np.float64)
    sitting = np.flatnonzero(on_box[row] & (first < trajectory.iterations[row]))
    generator = np.random.Generator(np.random.PCG64(case.seed))
    probed = generator.choice(sitting, size=min(PROBED, sitting.size), replace=False)
    effect = _beyond(case, alpha, probed)
    most, shown = float(effect.max()), int((effect > DETECTION_FACTOR * bound).sum())
    return planted_term("clip dropped", most, bound, recorded, recorded, Why.WITHIN_BOUND, shown)


def _beyond(case: Case, alpha: np.ndarray, places: np.ndarray) -> np.ndarray:
    """How far outside the box a solver's unclipped values of some coordinates lie at least.

    Each is that of a step from alpha, whose rounding may hide what an exact step would show
    (sstep_verify/bounds/step/clip.py).
    """
    problem, loss, declared = case.problem, case.problem.hinge, case.formulas
    rows, here, size = kernel_entries(problem, declared, places), alpha[places], np.abs(alpha)
    factored = Factored(problem.features, *largest_sample_sizes(problem)) if rows.factored else NOT_FACTORED
    constants = clip_constants(declared, problem.samples, problem.samples, 1, problem.dual, factored)
    sizes, errors = entry_errors(rows)
    diagonal = np.arange(places.size), places
    # Entries that may overflow promise nothing of the unclipped value.
    known = np.isfinite(rows.magnitude).all(axis=1)
    with np.errstate(all="ignore"):
        curvature = rows.values[diagonal] + loss.shift
        slope = problem.targets[places] * (rows.values @ (problem.targets * alpha)) - 1 + loss.shift * here
        error = constants.sums.longest * (sizes @ size + 1.0 + loss.shift * np.abs(here)) + errors @ size
        error += constants.sums.underflow
        off = errors[diagonal] + constants.curvature * curvature + constants.underflow_error
        quotient = (np.abs(slope) - error * ROUND_UP) / ((curvature + off) * ROUND_UP)
        step = quotient * (1.0 - constants.quotient) - constants.underflow_error
        room = np.maximum(np.where(slope > 0, here, loss.upper - here), 0.0)
        beyond = (step - room) * (1.0 - constants.quotient) / ROUND_UP
        beyond = np.nan_to_num(beyond, nan=0.0, posinf=np.inf)
    # No curvature: without the clip the step is infinite.
    beyond = np.where(curvature == 0.0, np.inf, np.maximum(beyond, 0.0))
    return np.where(known, beyond, 0.0)


def _evidence(trajectory: Trajectory, upper: float, allowed, below, above) -> dict[str, object]:
    alpha = trajectory.final
    tolerated = (alpha > 0) & (alpha < upper) & ((alpha <= allowed[0]) | (alpha >= upper - allowed[1]))
    return {
        "on_zero": int(np.count_nonzero(alpha == 0)),
        "on_upper_limit": int(np.count_nonzero(alpha == upper)),
        "near_a_limit_within_the_bound": int(np.count_nonzero(tolerated)),
        "recorded_values_outside": int(np.count_nonzero((below > 0) | (above > 0))),
        "bounds_below_zero_and_above_upper": [float(value) for value in allowed],
    }


def applies(case: Case, s: int) -> bool:
    """Whether the problem has a box."""
    return case.problem.is_svm


def _requests(case: Case, s: int) -> dict[str, RunRequest]:
    """The plain run."""
    return plain_run(case, s) if applies(case, s) else {}


def runs(case: Case) -> dict[str, RunRequest]:
    """The runs of every s that is judged, by key."""
    return runs_of_every_s(case, _requests)


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Judge the runs of every s by themselves; see `Check.judge`."""
    return judge_every_s(case, trajectories, oracle, _requests, _judge)


CHECK = Check(
    id=ID,
    text=__doc__,
    needs="the plain run of every s; none for K-RR, which has no box",
    planted="the clip left out",
    runs=runs,
    judge=judge,
    bounds=("bounds/box", "bounds/overflow"),
    level=0,
    applies=applies,
)
