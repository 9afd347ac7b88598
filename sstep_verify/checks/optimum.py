"""Check optimum: a run that claims to have converged has.

A run claims it where its case carries a claim and the run ended by it, not at its cap. K-SVM: the duality
gap of the final a, moved into the box, is at most the claimed one plus what rounding lets a correct run
mistake for it. K-RR: the distance from the certified a* is at most the claimed one plus the same. Values
are enclosed in float64 first, and in balls where float64 cannot decide.

Where values were rounded when they were written down, what that may change is added to the bound. A vector
that fails is read in other conventions and as the optimum of other problems; what explains it is named.

For K-SVM-L1 with a singular Q the solution need not be unique; the gap, and with it the objective, the
Q-seminorm and the decision values, does not depend on that, and whether a* is proved unique is reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sstep_verify.bounds.optimum import ridge as optimum_ridge
from sstep_verify.bounds.optimum import svm as optimum_svm
from sstep_verify.bounds.optimum.reported import written_gap
from sstep_verify.checks.shared.case import Case, Check, plain_request, run_key
from sstep_verify.checks.shared.final_vector import (
    OVER,
    notes,
    out_of_range,
    relative_to,
    start_of,
    violation_of,
    written_with,
)
from sstep_verify.checks.shared.finding import Finding, wrong
from sstep_verify.checks.shared.outcome import nothing_compared, planted_term, record
from sstep_verify.errors import OracleDisagreementError
from sstep_verify.oracle.balls.objectives import MOST_SAMPLES
from sstep_verify.oracle.choice import ORACLES
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import OUTWARD, gamma, norm, norm_upper, rounded_up, unit_roundoff
from sstep_verify.trajectory import GIVEN, Trajectory
from sstep_verify.verdict import Status, Verdict, Why

CHECK = "optimum"

CLAIMS = ("tolerance", "gap", "residual")
"""tolerance: gap over the optimal value (K-SVM), error over ||a*|| (K-RR); gap: absolute (K-SVM);
residual: 2-norm of y - M a, absolute (K-RR)."""

PROBLEM = {True: "loss, C, a bias, kernel", False: "lambda, m on the diagonal, kernel"}
"""In what the problem that was solved may be another one, by whether it is a K-SVM."""

CAUSES = (
    "the run stopped early, its stopping rule measures something else, it solves another problem ({}), its "
    "gradient is stale"
)
GIVEN_CAUSES = (
    "{}; it is of a run that had not converged, or of another problem ({}); where its solver stops at a "
    "tolerance, say which (--tolerance)"
)

ORIGIN = {
    True: (
        "{} gap + error of evaluating a gap in the declared precision (sstep_verify/bounds/optimum/svm.py)"
    ),
    False: (
        "{} distance + error of evaluating it in the declared precision "
        "(sstep_verify/bounds/optimum/ridge.py)"
    ),
}
"""Where the bound comes from, by whether it is one of a K-SVM."""


def _word(trajectory: Trajectory) -> str:
    """What a tolerance is: of a run its claim, of a vector that was handed over what is asked of it."""
    return "allowed" if trajectory.stopped == GIVEN else "claimed"


def _judge(case: Case, s: int, oracle: Oracle, trajectory: Trajectory) -> list[Verdict]:
    """Compare the end of a run that claims convergence with the certified optimum; no verdict at its cap.

    `Case.claims` holds what a run that ended by its stopping rule claims, see `CLAIMS`.

    Raises
    ------
    OracleDisagreementError
        If a feasible a lies above the certified optimal value, or farther from a* than its residual
        allows.
    """
    svm = case.problem.is_svm
    known = {"tolerance", "gap" if svm else "residual"}
    if trajectory.stopped == "iterations" or known.isdisjoint(case.claims):
        return []
    if svm and not oracle.encloses:
        return [nothing_compared(CHECK, case, s, 1, Why.NEEDS_BALLS)]
    return [(_judge_svm if svm else _judge_ridge)(case, s, trajectory, oracle)]


def _judge_svm(case: Case, s: int, trajectory: Trajectory, oracle: Oracle) -> Verdict:
    problem, optimum = case.problem, oracle.svm_optimum(case.problem)
    point = np.clip(trajectory.final, 0.0, problem.hinge.upper)
    alpha = point.astype(np.float64)
    if out_of_range(trajectory, alpha, optimum.alpha):
        return _not_finite(case, s, trajectory)
    values = optimum_svm.svm_values(problem, case.declaration, alpha)
    best = max(optimum.value_upper, 0.0)
    claimed = case.claims.get("gap", case.claims.get("tolerance", 0.0) * best)
    written = written_gap(problem, alpha, written_with(trajectory), values)
    bound = (claimed + values.attainable + written) * OUTWARD
    gap, dual, how = (values.gap.lower, values.gap.upper), (values.dual.lower, values.dual.upper), "float64"
    # Float64 does not hold a longdouble vector, nor its value to more than its own rounding.
    wide = not np.array_equal(alpha, point)
    rough = Finding("", max(gap[0], 0.0), gap[1], bound).status is Status.INCONCLUSIVE
    if (wide or rough) and problem.samples <= MOST_SAMPLES:
        exact = oracle.values(problem, [point])[0]
        gap, dual, how = exact["gap"], exact["dual"], "balls"
    if dual[0] > optimum.value_upper:
        raise OracleDisagreementError(
            f"{problem.label}: a feasible a has the dual value {dual[0]!r} at least, above the certified "
            f"optimal value of {optimum.value_upper!r} at most"
        )
    over = relative_to(gap, (max(optimum.value_lower, 0.0), best))
    violation = violation_of(problem, alpha, values)
    start, limit = problem.hinge.C * problem.samples, bound  # a = 0: the primal is C m, the dual 0.
    if (first := np.clip(start_of(trajectory), 0.0, problem.hinge.upper)).any():
        unmoved = optimum_svm.svm_values(problem, case.declaration, first)
        start, limit = max(unmoved.gap.lower, 0.0), (claimed + unmoved.attainable + written) * OUTWARD
    moved = "" if np.array_equal(point, trajectory.final) else ", moved into the box"
    return _verdict(
        case,
        s,
        trajectory,
        optimum.alpha,
        f"gap of the final a of {case.declaration.name}{moved}, {_word(trajectory)} {claimed:.3g}, "
        f"enclosed in {how} as [{gap[0]:.3g}, {gap[1]:.3g}]",
        (max(gap[0], 0.0), gap[1]),
        bound,
        start=(f"has a gap of {start:.3g} at least", start, limit),
        written=written,
        whole=best,
        over=over,
        words=(
            f"at most about {over[1]:.2g} of the optimal value",
            f"KKT violation about {violation[1]:.2g}",
        ),
        evidence={
            "claimed gap": claimed,
            "attainable gap": values.attainable,
            "gap by rounding of what was written, at most": written,
            OVER[0]: list(over),
            "KKT violation, largest, enclosure": list(violation),
            "optimal value, enclosure": [optimum.value_lower, optimum.value_upper],
            "optimal value - dual value, enclosure": [
                max(optimum.value_lower - dual[1], 0.0) / OUTWARD,
                (optimum.value_upper - dual[0]) * OUTWARD,
            ],
            "distance to a*, at most": optimum_svm.distance_bound(problem, gap[1]),
            "Q-seminorm of the distance, at most": optimum_svm.seminorm_bound(gap[1]),
            "solution": optimum_svm.uniqueness(problem, values),
        },
    )


def _verdict(
    case: Case,
    s: int,
    trajectory: Trajectory,
    optimum: np.ndarray,
    what: str,
    enclosure: tuple[float, float],
    bound: float,
    *,
    start: tuple[str, float, float],
    written: float,
    whole: float,
    over: tuple[float, float],
    words: tuple[str, str],
    evidence: dict[str, object],
) -> Verdict:
    """The verdict on an enclosed gap, or distance from a*, and its bound.

    `start` is where the run began: what it has, in words, at least how much of it, and what it might have.
    `written` is the part of the bound that is of how the vector was written down, `whole` the optimal value
    or the norm of a*, `over` encloses what was measured over that, and `words` tell of it and of the
    largest violation of the optimality rules.
    """
    svm, given, hints = case.problem.is_svm, trajectory.stopped == GIVEN, list[Any]()
    causes, tolerance = CAUSES.format(PROBLEM[svm]), case.claims.get("tolerance")
    if given:  # Nothing of a run.
        what += f", {words[0]} (tolerance {tolerance or 0.0:g}), {words[1]}"
    finding = Finding(what, *enclosure, bound)
    # How else a vector may be read is told by certified optima.
    if finding.status is Status.FAIL and ORACLES[case.oracle].encloses:
        from sstep_verify.diagnosis.conventions import Answer
        from sstep_verify.diagnosis.hints import explained, in_words, unexplained

        claimed = (bound / whole if whole > 0 else 0.0) if tolerance is None else tolerance
        vector = trajectory.final.astype(np.float64)
        hints = explained(Answer(case.problem, vector, written_with(trajectory), optimum, claimed), over[0])
        if given:
            causes = GIVEN_CAUSES.format(unexplained(case.problem), PROBLEM[svm])
        causes = in_words(hints) if hints else causes
    begin, least, limit = start
    where = "the start" if start_of(trajectory).any() else "the start a = 0"
    planted = planted_term("no step made", least, limit, 1, 1, f"{where} {begin}, within twice its bound")
    return record(
        CHECK,
        case,
        s,
        finding,
        units="gap" if svm else "2-norm",
        origin=ORIGIN[svm].format(_word(trajectory)),
        causes=causes,
        terms=(planted,),
        evidence={"iterations": trajectory.length, **evidence, **notes(trajectory, hints)},
        signs=[hint.sign for hint in hints if hint.sign],
        claimed=not given,  # A vector that was handed over says nothing of itself.
        uncertain=[f"how it was written down (up to {written:.2g})"] * bool(written > bound / 2),
    )


def _judge_ridge(case: Case, s: int, trajectory: Trajectory, oracle: Oracle) -> Verdict:
    problem, optimum = case.problem, oracle.ridge_optimum(case.problem)
    alpha = trajectory.final.astype(np.float64)
    if out_of_range(trajectory, alpha, optimum.alpha):
        return _not_finite(case, s, trajectory)
    values = optimum_ridge.ridge_values(problem, case.declaration, alpha)
    m, u = problem.samples, unit_roundoff(case.declaration.precision)
    size, distance = norm(optimum.alpha), norm(alpha - optimum.alpha)
    stored = norm_upper((trajectory.final - alpha).astype(np.float64))
    error = rounded_up(gamma(m + 8, unit_roundoff("float64")) * distance + optimum.error + stored)
    lower, upper = max(distance - error, 0.0), (distance + error) * OUTWARD
    farthest = optimum_ridge.distance_bound(problem, values.residual.upper)
    if lower > farthest + stored:
        raise OracleDisagreementError(
            f"{problem.label}: a is at least {lower:.3g} from the certified a*, but its residual allows "
            f"{farthest:.3g} at most"
        )
    claimed = case.claims.get("tolerance", 0.0) * (size + optimum.error)
    if "residual" in case.claims:
        claimed = case.claims["residual"] / m
    # Measured by its residual, or by its distance from a reference known up to `optimum.error`.
    attainable = values.residual.solver_error / m + gamma(m + 8, u) * distance + optimum.error
    written = norm_upper(written_with(trajectory))
    bound = (claimed + attainable + written) * OUTWARD
    upper = min(upper, farthest + stored)
    least = max(size / OUTWARD - optimum.error, 0.0)
    over = relative_to((lower, upper), (least, size * OUTWARD + optimum.error))
    largest = np.abs(values.entries)
    violation = (float((largest - values.errors).max()), float((largest + values.errors).max()) * OUTWARD)
    start, limit = least, bound
    if (first := start_of(trajectory)).any():
        solver = optimum_ridge.ridge_values(problem, case.declaration, first).residual.solver_error
        away = norm(first - optimum.alpha)
        error = rounded_up(gamma(m + 8, unit_roundoff("float64")) * away + optimum.error)
        start = max(away / OUTWARD - error, 0.0)
        limit = (claimed + solver / m + gamma(m + 8, u) * away + optimum.error + written) * OUTWARD
    return _verdict(
        case,
        s,
        trajectory,
        optimum.alpha,
        f"distance of the final a of {case.declaration.name} from a*, {_word(trajectory)} {claimed:.3g}, "
        f"enclosed as [{lower:.3g}, {upper:.3g}]",
        (lower, upper),
        bound,
        start=(f"is {start:.3g} at least away from a*", start, limit),
        written=written,
        whole=size,
        over=over,
        words=(f"at most about {over[1]:.2g} of ||a*||", f"largest residual about {violation[1]:.2g}"),
        evidence={
            "claimed distance": claimed,
            "attainable distance": attainable,
            "distance by rounding of what was written, at most": written,
            OVER[1]: list(over),
            "residual, largest entry, enclosure": [max(violation[0], 0.0), violation[1]],
            "residual, 2-norm": values.residual.value,
            "distance to a* by the residual, at most": farthest,
            "reference solution": optimum.how,
        },
    )


def _not_finite(case: Case, s: int, trajectory: Trajectory) -> Verdict:
    what = f"the final a of {case.declaration.name} is not finite, or of a size that no optimum has"
    return record(
        CHECK, case, s, wrong(what), units="absolute", planned=1, executed=1,
        origin="a is a vector of numbers",
        causes="a division by 0, a number out of range, an increment that was not formed",
        claimed=trajectory.stopped != GIVEN,
        evidence={"iterations": trajectory.length, **notes(trajectory, [])},
    )  # fmt: skip


def runs(case: Case) -> dict[str, RunRequest]:
    """The runs of every s that is judged, by key."""
    return {run_key(s): plain_request(case, s) for s in case.s_values}


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Judge the runs of every s by themselves; see `Check.judge`."""
    verdicts: list[Verdict] = []
    for s in case.s_values:
        verdicts += _judge(case, s, oracle, trajectories[run_key(s)])
    return verdicts


DECLARED = Check(
    id=CHECK,
    text=__doc__,
    exact=True,
    needs="the plain run of every s",
    planted="a run that made no step at all, its last a its first",
    runs=runs,
    judge=judge,
    given=True,
    bounds=("bounds/optimum/svm", "bounds/optimum/ridge", "bounds/optimum/reported"),
)
