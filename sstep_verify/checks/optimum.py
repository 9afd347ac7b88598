"""Check optimum: a run that claims to have converged has.

A run claims it where it ended by a rule and says which gap (K-SVM) or residual (K-RR) it reached, or was
given one to reach, or where the observer ended it at one. A run that ended at its cap, or because its
precision cannot show more, claims nothing.

K-SVM: the duality gap of the final alpha, moved into the box, is at most the claimed one plus the
error of evaluating it. K-RR: the distance from the certified optimum is at most the claimed one plus the
same. Values are enclosed in float64 first, and in balls where float64 cannot decide.

For a vector that was handed over no error of evaluation is allowed. It passes only where the upper end of
its enclosure is within the tolerance asked for, plus what its printed digits lost. Where the enclosure is
too wide for either, the verdict is VACUOUS. Where the optimum is 0 the tolerance allows nothing: the zero
vector passes, and no other one beyond its printed digits does.

Where values were rounded when they were written, what that may change is added to the bound. A vector that
fails is read in other conventions and as the optimum of other problems; what explains it is named.

For K-SVM-L1 with a singular Q the solution need not be unique. The gap, and with it the objective, the
Q-seminorm and the decision values, does not depend on that. The evidence says whether it is proved unique.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sstep_verify.bounds.optimum import ridge as optimum_ridge
from sstep_verify.bounds.optimum import svm as optimum_svm
from sstep_verify.bounds.optimum.reported import written_gap
from sstep_verify.checks.shared.case import Case, Check, plain_run
from sstep_verify.checks.shared.comparison import Comparison, wrong
from sstep_verify.checks.shared.every_s import judge_every_s, runs_of_every_s
from sstep_verify.checks.shared.final_vector import (
    MEASURED,
    OVER,
    notes,
    out_of_range,
    relative_to,
    start_of,
    violation_of,
    written_with,
)
from sstep_verify.checks.shared.outcome import nothing_compared, verdict_from
from sstep_verify.checks.shared.terms import planted_term
from sstep_verify.errors import OracleDisagreementError
from sstep_verify.oracle.balls.objectives import BITS, MOST_SAMPLES
from sstep_verify.oracle.choice import ORACLES
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, norm, norm_upper, rounded_up, unit_roundoff
from sstep_verify.trajectory import GIVEN, OWN_RULE, Trajectory
from sstep_verify.verdict import Hint, Note, NoteKind, Place, Status, Verdict, Why

if TYPE_CHECKING:
    from sstep_verify.diagnosis.conventions import Reading

ID = "optimum"

CLAIMS = ("tolerance", "gap", "residual")
"""tolerance: gap over the optimal value (K-SVM), error over ||a*|| (K-RR); gap: absolute (K-SVM);
residual: 2-norm of y - M a, absolute (K-RR)."""

NO_STEP, ZERO, ONES = "no step made", "the zero vector", "the vector of ones"
"""What must show: of a run; of a vector that was handed over; of one whose optimum is 0."""


def _judge(case: Case, s: int, oracle: Oracle, trajectory: Trajectory) -> list[Verdict]:
    """Compare the end of a run that claims convergence with the certified optimum; no verdict at its cap.

    `Case.claims` holds what a run that ended by the rule it was told claims, see `CLAIMS`. A run that ended
    by a rule of its own claims what it says itself; if it says nothing there is no verdict.

    Raises
    ------
    OracleDisagreementError
        If a feasible a lies above the certified optimal value, or farther from a* than its residual
        allows.
    """
    svm = case.problem.is_svm
    name = "gap" if svm else "residual"
    if trajectory.stopped in OWN_RULE and not case.told:
        claim = trajectory.claims.get(name)
        stated = trajectory.stopped == "tolerance" and claim is not None
        case = replace(case, claims={name: claim.value + claim.rounding} if stated and claim else {})
    if trajectory.stopped in ("iterations", "precision") or {"tolerance", name}.isdisjoint(case.claims):
        return []
    if svm and not oracle.encloses:
        return [nothing_compared(ID, case, s, 1, Why.NEEDS_BALLS, evidence=notes(trajectory))]
    return [(_judge_svm if svm else _judge_ridge)(case, s, trajectory, oracle)]


def _judge_svm(case: Case, s: int, trajectory: Trajectory, oracle: Oracle) -> Verdict:
    problem, optimum = case.problem, oracle.svm_optimum(case.problem)
    point = np.clip(trajectory.final, 0.0, problem.hinge.upper)
    alpha = point.astype(np.float64)
    if out_of_range(trajectory, alpha, optimum.alpha):
        return _not_finite(case, s, trajectory)
    values = optimum_svm.svm_values(problem, case.formulas, alpha)
    best = max(optimum.value_upper, 0.0)
    claimed = case.claims.get("gap", case.claims.get("tolerance", 0.0) * best)
    written = written_gap(problem, alpha, written_with(trajectory), values)
    given = trajectory.stopped == GIVEN
    bound = claimed + written if given else (claimed + values.attainable + written) * ROUND_UP
    gap, dual, how = (values.gap.lower, values.gap.upper), (values.dual.lower, values.dual.upper), "float64"
    # Float64 does not hold a longdouble vector, nor its value to more than its own rounding.
    wide = not np.array_equal(alpha, point)
    rough = Comparison(max(gap[0], 0.0), gap[1], bound).status is Status.INCONCLUSIVE
    if (wide or rough) and problem.samples <= MOST_SAMPLES:
        for bits in (BITS, 4 * BITS) if given else (BITS,):
            exact = oracle.values(problem, [point], bits)[0]
            gap, dual, how = exact["gap"], exact["dual"], "balls"
            if Comparison(max(gap[0], 0.0), gap[1], bound).decided:
                break
    if dual[0] > optimum.value_upper:
        raise OracleDisagreementError(
            f"{problem.label}: a feasible alpha has the dual value {dual[0]!r} at least, above the "
            f"certified optimal value of {optimum.value_upper!r} at most"
        )
    over = relative_to(gap, (max(optimum.value_lower, 0.0), best))
    if given and best > 0:
        gap = (gap[0], over[1] * best * ROUND_UP)  # Relative to the least that the optimal value may be.
    violation = violation_of(problem, alpha, values)
    start, limit = problem.hinge.C * problem.samples, bound  # a = 0: the primal is C m, the dual 0.
    if (first := np.clip(start_of(trajectory), 0.0, problem.hinge.upper)).any():
        unmoved = optimum_svm.svm_values(problem, case.formulas, first)
        attainable = 0.0 if given else unmoved.attainable
        start, limit = max(unmoved.gap.lower, 0.0), (claimed + attainable + written) * ROUND_UP
    return _verdict(
        case,
        s,
        trajectory,
        optimum.alpha,
        (max(gap[0], 0.0), gap[1]),
        bound,
        start=(start, limit),
        moved=not np.array_equal(point, trajectory.final),
        written=written,
        whole=best,
        over=over,
        evidence={
            "enclosed_in": how,
            "claimed_gap": claimed,
            **({} if given else {"attainable_gap": values.attainable}),
            "gap_by_printed_digits": written,
            OVER[0]: list(over),
            "kkt_violation": list(violation),
            "optimal_value": [optimum.value_lower, optimum.value_upper],
            "optimal_value_minus_dual_value": [
                max(optimum.value_lower - dual[1], 0.0) / ROUND_UP,
                (optimum.value_upper - dual[0]) * ROUND_UP,
            ],
            "distance_to_optimum_at_most": optimum_svm.distance_bound(problem, gap[1]),
            "q_seminorm_of_distance_at_most": optimum_svm.seminorm_bound(gap[1]),
            "solution": optimum_svm.uniqueness(problem, values),
        },
    )


def _verdict(
    case: Case,
    s: int,
    trajectory: Trajectory,
    optimum: np.ndarray,
    enclosure: tuple[float, float],
    bound: float,
    *,
    start: tuple[float, float],
    written: float,
    whole: float,
    over: tuple[float, float],
    evidence: dict[str, object],
    moved: bool = False,
) -> Verdict:
    """Return the verdict on an enclosed gap, or distance from the optimum, and its bound.

    `start` is what the run's start has at least, and the bound on it. `written` is the part of the bound
    that is of how the vector was written down, `whole` the optimal value or the norm of the optimum, and
    `over` encloses what was measured over that. `moved` says that the vector was moved into the box.
    """
    svm, given = case.problem.is_svm, trajectory.stopped == GIVEN
    planted = ZERO if given else NO_STEP
    if given and whole == 0.0:
        # The zero vector is the optimum. Only what was not printed is allowed to any other.
        planted, start = ONES, (math.sqrt(case.problem.samples) / ROUND_UP, bound)
    readings: list[Reading] = []
    name, tolerance = "gap" if svm else "distance", case.claims.get("tolerance")
    comparison = Comparison(*enclosure, bound, place=Place(item=name))
    hints: tuple[Hint, ...] = ()
    # Certified optima show how else a vector may be read.
    if comparison.status is Status.FAIL and ORACLES[case.oracle].encloses:
        from sstep_verify.diagnosis.conventions import Answer
        from sstep_verify.diagnosis.hints import explained, hints_of

        claimed = (bound / whole if whole > 0 else 0.0) if tolerance is None else tolerance
        vector = trajectory.final.astype(np.float64)
        answer = Answer(case.problem, vector, written_with(trajectory), optimum, claimed)
        readings = explained(answer, over[0])
        hints = hints_of(case.problem, readings)
    told = [Note(NoteKind.MOVED)] if moved else []
    if written > bound / 2:
        size = trajectory.final.size
        told.append(Note(NoteKind.ROUNDED, (float(written_with(trajectory).max()), size, size)))
    if given and over[1] < math.inf:  # Relative to an optimum of 0 nothing is said.
        told.append(Note(NoteKind.RELATIVE, (over[1], tolerance or 0.0)))
    # Of a vector that was handed over an enclosure that is too wide shows neither.
    undecided: dict[str, Any] = {}
    if given and comparison.status is Status.INCONCLUSIVE:
        undecided = {"status": Status.VACUOUS, "why": Why.TOO_WIDE}
    return verdict_from(
        ID,
        case,
        s,
        comparison,
        **undecided,
        units="gap" if svm else "2-norm",
        bound_origin=f"bounds/optimum/{'svm' if svm else 'ridge'}",
        terms=(planted_term(planted, *start, 1, 1, Why.WITHIN_BOUND),),
        evidence={
            "iterations": trajectory.length,
            MEASURED: list(enclosure),
            **evidence,
            **notes(trajectory),
        },
        signs=[one.sign for one in readings if one.sign],
        claimed=not given,  # A vector that was handed over says nothing of itself.
        hints=hints,
        notes=tuple(told),
    )


def _judge_ridge(case: Case, s: int, trajectory: Trajectory, oracle: Oracle) -> Verdict:
    problem, optimum = case.problem, oracle.ridge_optimum(case.problem)
    alpha = trajectory.final.astype(np.float64)
    if out_of_range(trajectory, alpha, optimum.alpha):
        return _not_finite(case, s, trajectory)
    values = optimum_ridge.ridge_values(problem, case.formulas, alpha)
    m, u = problem.samples, unit_roundoff(case.formulas.precision)
    size, distance = norm(optimum.alpha), norm(alpha - optimum.alpha)
    stored = norm_upper((trajectory.final - alpha).astype(np.float64))
    error = rounded_up(gamma(m + 8, unit_roundoff("float64")) * distance + optimum.error + stored)
    if np.array_equal(trajectory.final, optimum.alpha) and optimum.error == 0.0:
        error = 0.0  # The optimum itself, such as 0 of targets that are all 0.
    lower, upper = max(distance - error, 0.0), (distance + error) * ROUND_UP
    farthest = optimum_ridge.distance_bound(problem, values.residual.upper)
    if lower > farthest + stored:
        raise OracleDisagreementError(
            f"{problem.label}: a is at least {lower:.3g} from the certified a*, but its residual allows "
            f"{farthest:.3g} at most"
        )
    given, least = trajectory.stopped == GIVEN, max(size / ROUND_UP - optimum.error, 0.0)
    most = size * ROUND_UP + optimum.error
    claimed = case.claims.get("tolerance", 0.0) * most
    if "residual" in case.claims:
        claimed = case.claims["residual"] / m
    # Measured by its residual, or by its distance from a reference known up to `optimum.error`.
    attainable = values.residual.solver_error / m + gamma(m + 8, u) * distance + optimum.error
    written = norm_upper(written_with(trajectory))
    bound = claimed + written if given else (claimed + attainable + written) * ROUND_UP
    upper = min(upper, farthest + stored)
    over = relative_to((lower, upper), (least, most))
    if given and most > 0:
        upper = over[1] * most * ROUND_UP  # Relative to the least that ||a*|| may be.
    largest = np.abs(values.entries)
    violation = (float((largest - values.errors).max()), float((largest + values.errors).max()) * ROUND_UP)
    start, limit = least, bound
    if (first := start_of(trajectory)).any():
        solver = optimum_ridge.ridge_values(problem, case.formulas, first).residual.solver_error
        away = norm(first - optimum.alpha)
        error = rounded_up(gamma(m + 8, unit_roundoff("float64")) * away + optimum.error)
        start = max(away / ROUND_UP - error, 0.0)
        attained = 0.0 if given else solver / m + gamma(m + 8, u) * away + optimum.error
        limit = (claimed + attained + written) * ROUND_UP
    return _verdict(
        case,
        s,
        trajectory,
        optimum.alpha,
        (lower, upper),
        bound,
        start=(start, limit),
        written=written,
        whole=size,
        over=over,
        evidence={
            "claimed_distance": claimed,
            **({} if given else {"attainable_distance": attainable}),
            "distance_by_printed_digits": written,
            OVER[1]: list(over),
            "largest_residual_entry": [max(violation[0], 0.0), violation[1]],
            "residual_norm": values.residual.value,
            "distance_by_residual_at_most": farthest,
            "reference_solution": optimum.how,
        },
    )


def _not_finite(case: Case, s: int, trajectory: Trajectory) -> Verdict:
    """The verdict on a final vector that is not finite, or of a size that no optimum has."""
    final = trajectory.final
    largest = int(np.argmax(np.where(np.isfinite(final), np.abs(final), np.inf)))
    place = Place(coordinate=largest, found=float(final[largest]), item="largest entry")
    return verdict_from(
        ID, case, s, wrong(place=place), units="absolute", planned=1, executed=1,
        claimed=trajectory.stopped != GIVEN,
        evidence={"iterations": trajectory.length, **notes(trajectory)},
    )  # fmt: skip


def runs(case: Case) -> dict[str, RunRequest]:
    """The runs of every s that is judged, by key."""
    return runs_of_every_s(case, plain_run)


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Judge the runs of every s by themselves; see `Check.judge`."""
    return judge_every_s(case, trajectories, oracle, plain_run, _judge)


CHECK = Check(
    id=ID,
    text=__doc__,
    exact=True,
    needs="the plain run of every s",
    planted="a run that made no step at all, so that its last alpha is its first; of a vector that was "
    "handed over, the zero vector, or where that is the optimum the vector of ones",
    runs=runs,
    judge=judge,
    given=True,
    bounds=("bounds/optimum/svm", "bounds/optimum/ridge", "bounds/optimum/reported"),
)
