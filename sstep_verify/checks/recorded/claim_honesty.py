"""Check claim-honesty: what a solver reports about its result is true of the result.

The values that a run reports about its last alpha (``Trajectory.claims``), and what it predicts for the
training samples, are compared with enclosures of the true ones. A correct solver may err by evaluating them
in its precision, in any order, and by the decimals that it prints. The bounds are those of
sstep_verify/bounds/optimum/svm.py, sstep_verify/bounds/optimum/ridge.py and
sstep_verify/bounds/optimum/reported.py. Nothing is promised where a number on the way to a value may
overflow in its precision (sstep_verify/bounds/optimum/reported.py).

The reason for which a run ended is such a report, too. One that says that it reached its tolerance must
have an exact relative gap (K-RR: residual) of at most that tolerance. No error of evaluation is allowed
there, since an upper limit must prove it. None is allowed for a limit that it states, such as ``gap at
most``. One that balls cannot decide is left out. Relative values that it measured on its way are compared
with those of the alpha recorded there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from sstep_verify.bounds.optimum.reported import may_overflow, predictions
from sstep_verify.bounds.optimum.ridge import ridge_values
from sstep_verify.bounds.optimum.svm import Evaluated, svm_values
from sstep_verify.checks.recorded.ratios import Interval, limited, of_limit, of_ratio, relative
from sstep_verify.checks.shared.case import Case, Check, plain_run
from sstep_verify.checks.shared.comparison import Comparison, decisive, executed, unknown
from sstep_verify.checks.shared.every_s import judge_every_s, runs_of_every_s
from sstep_verify.checks.shared.outcome import verdict_from
from sstep_verify.checks.shared.terms import most_visible, planted_term
from sstep_verify.oracle.balls.objectives import MOST_SAMPLES
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.trajectory import RELATIVE, Claim, Trajectory
from sstep_verify.verdict import Coverage, Hint, HintKind, Place, Status, Verdict, Why

ID = "claim-honesty"

PREDICTION = "prediction {}"
"""Name of the claim that is the value of a training sample, by its number, as in `exact_values`."""

CONVERGENCE = "convergence"
"""What a run says that ends because it reached the tolerance that it was told."""

ITERATIONS, PRIMAL, DUAL, GAP = "iterations", "primal", "dual", "gap"
"""Names of claims."""

EARLIER = 64
"""Other recorded alpha, the first and the last ones, of which wrong values are tried."""


def _judge(case: Case, s: int, oracle: Oracle, trajectory: Trajectory) -> Iterator[Verdict]:
    """Compare what a run reports with the truth.

    Known are objective, primal, dual, gap, residual (K-RR), iterations, limits of these and of the relative
    value, relative values at recorded iterations, and "prediction N" of training sample N; a claim of
    another name is INCONCLUSIVE. A run that reports nothing has no verdict.
    """
    if not trajectory.claims:
        return
    # Balls of all vectors are made together: most of their cost is the kernel matrix.
    passed = {RELATIVE.format(k): trajectory.at(k) for k in trajectory.iterations.tolist()}
    passed = {name: vector for name, vector in passed.items() if name in trajectory.claims}
    balls = _Balls(case, [trajectory.final, *passed.values()], oracle)
    predicted = PREDICTION.format(0) in trajectory.claims
    true = _True(case, trajectory.final, balls, 0, predicted)
    start = _True(case, trajectory.alphas[0], balls, 0, predicted)
    at = {name: _True(case, vector, balls, k + 1) for k, (name, vector) in enumerate(passed.items())}
    names: list[str] = []
    comparisons, effects = [], []
    for name, claim in trajectory.claims.items():
        if name == ITERATIONS:
            length = float(trajectory.length)
            comparison = _comparison(name, claim, Evaluated(length, 0.0, 0.0), (length, length))
        elif name in at and at[name].floats:
            comparison = at[name].decided(partial(of_ratio, case, claim, at[name].floats, item=name))
        elif (value := limited(name)) in (*true.floats, "relative"):
            comparison = true.decided(partial(_of_limit, case, name, value, claim))
            if not comparison.decided:
                continue  # Nothing is nearer to 0 than a limit may be.
        else:
            comparison = _comparison(name, claim, true.floats.get(name), true.roughly(name))
            # Nothing is decided, or the ratio would be that of the enclosure's width, not of the claim.
            undecided = comparison.status is Status.INCONCLUSIVE
            if name in true.floats and (
                undecided or comparison.upper - comparison.lower > comparison.bound / 2
            ):
                comparison = _comparison(name, claim, true.floats[name], true.exactly(name))
            effects.append((true.change(start, name), comparison.bound))
        names.append(name)
        comparisons.append(comparison)
    if (reached := _reached(case, trajectory, true)) is not None:
        names.append(CONVERGENCE)
        comparisons.append(reached)
    effect, bound = most_visible(effects, (math.inf, 0.0))
    counts = len(comparisons), executed(comparisons)
    yield verdict_from(
        ID,
        case,
        s,
        *comparisons,
        units="absolute",
        bound_origin="bounds/optimum/reported",
        terms=(planted_term("value of an earlier alpha", effect, bound, *counts, Why.WITHIN_BOUND),),
        evidence={
            "claims": [
                {
                    "claim": name,
                    "lower": comparison.lower,
                    "upper": comparison.upper,
                    "bound": comparison.bound,
                }
                for name, comparison in zip(names, comparisons, strict=True)
            ]
        },
        coverage=Coverage("claim", executed(comparisons), len(comparisons)),
        **_explained(case, trajectory, dict(zip(names, comparisons, strict=True))),
    )


def _explained(case: Case, trajectory: Trajectory, comparisons: Mapping[str, Comparison]) -> dict[str, Any]:
    """What the claim that decides a FAIL is a sign of, and the other alpha of which the values are.

    The formula of the gap is no sign where the wrong values are those of another alpha, or the gap is the
    difference of the objectives that are reported, one of which is wrong.
    """
    decided = decisive([*comparisons.values()]).place
    wrong = {
        name: comparison for name, comparison in comparisons.items() if comparison.status is Status.FAIL
    }
    if not wrong or decided is None:
        return {}
    if decided.item in (ITERATIONS, CONVERGENCE):
        return {"signs": (decided.item,)}
    of = _iteration_of(case, trajectory, wrong) if case.diagnose else None
    if of is not None:
        return {"hints": (Hint(HintKind.VALUE_OF_EARLIER, (of,)),)}
    consistent = not {PRIMAL, DUAL}.isdisjoint(wrong) and _is_difference(trajectory.claims)
    return {"signs": () if decided.item == GAP and consistent else (decided.item,)}


def _is_difference(claims: Mapping[str, Claim]) -> bool:
    """Whether the reported gap is the reported primal minus the reported dual value, up to rounding."""
    if not {PRIMAL, DUAL, GAP} <= claims.keys():
        return False
    primal, dual, gap = (claims[name] for name in (PRIMAL, DUAL, GAP))
    rounding = gap.rounding + primal.rounding + dual.rounding
    with np.errstate(all="ignore"):
        rounding += unit_roundoff("float64") * 2 * (abs(primal.value) + abs(dual.value))
        return bool(abs(primal.value - dual.value - gap.value) <= rounding)


def _iteration_of(case: Case, trajectory: Trajectory, wrong: Mapping[str, Comparison]) -> int | None:
    """The iteration of another recorded alpha whose values the wrong ones are; None if there is none.

    Each is within its bound of the value there as far as that is known, and nearer to it than to the last.
    """
    claims = {name: trajectory.claims[name] for name in wrong if name not in (ITERATIONS, CONVERGENCE)}
    for place in [0, *range(len(trajectory.iterations) - 2, 0, -1)][: EARLIER if claims else 0]:
        known = _evaluated(case, trajectory.alphas[place], PREDICTION.format(0) in trajectory.claims)
        if not known.keys() >= claims.keys():
            continue
        there = {name: _comparison_of(name, claim, known[name]) for name, claim in claims.items()}
        if all(
            one.status is not Status.FAIL and one.upper < wrong[name].lower for name, one in there.items()
        ):
            return int(trajectory.iterations[place])
    return None


def _comparison_of(name: str, claim: Claim, known: Evaluated) -> Comparison:
    """The comparison by a value in float64."""
    return _comparison(name, claim, known, (known.lower, known.upper))


class _Balls:
    """Exact values at some dual vectors, made when they are first asked for."""

    def __init__(self, case: Case, vectors: list[np.ndarray], oracle: Oracle):
        self._problem, self._vectors, self._oracle = case.problem, vectors, oracle

    @cached_property
    def values(self) -> list[dict[str, Interval]]:
        """Enclosures by name, of each vector."""
        return self._oracle.values(self._problem, self._vectors)


class _True:
    """True values at a dual vector: in float64 with an error, in balls where that is too wide."""

    def __init__(self, case: Case, vector: np.ndarray, balls: _Balls, place: int, predicted: bool = False):
        self._problem, self._vector, self._balls, self._place = case.problem, vector, balls, place
        self.floats = _evaluated(case, vector, predicted)

    def roughly(self, name: str) -> tuple[float, float]:
        """Enclosure in float64; of a longdouble vector, which float64 does not hold, there is none."""
        known = self.floats.get(name)
        if known is None or not np.array_equal(self._vector.astype(np.float64), self._vector):
            return -math.inf, math.inf
        return known.lower, known.upper

    def exactly(self, name: str) -> tuple[float, float]:
        """Enclosure in balls, where m is small enough."""
        if self._problem.samples > MOST_SAMPLES:
            return self.roughly(name)
        return self._balls.values[self._place][name]

    def decided(self, compare: Callable[[Callable[[str], Interval]], Comparison]) -> Comparison:
        """A comparison by the enclosures in float64, or in balls where these are too wide to decide it."""
        found = compare(self.roughly)
        return found if found.decided else compare(self.exactly)

    def change(self, start: _True, name: str) -> float:
        """Lower bound on the difference between the value at the start and here."""
        if name not in self.floats or name not in start.floats:
            return 0.0
        end, begin = self.floats[name], start.floats[name]
        return max(abs(end.value - begin.value) - end.judge_error - begin.judge_error, 0.0)


def _reached(case: Case, trajectory: Trajectory, true: _True) -> Comparison | None:
    """Whether a run that says so reached the tolerance it was told; None where it says no such thing.

    None, too, where float64 cannot tell, and there are too many samples for balls.
    """
    name = "tolerance" if case.problem.is_svm else "residual"
    if trajectory.stopped != "tolerance" or not (case.told and name in case.claims and true.floats):
        return None
    found = true.decided(partial(_of_tolerance, case))
    return found if found.decided or case.problem.samples <= MOST_SAMPLES else None


def _of_tolerance(case: Case, enclosed: Callable[[str], Interval]) -> Comparison:
    """The relative gap (K-RR: the residual) and what the run was told to reach, by enclosures of values."""
    place = Place(item=CONVERGENCE)
    if not case.problem.is_svm:
        return Comparison(*enclosed("residual"), case.claims["residual"], place=place)
    return Comparison(*relative(case.problem, enclosed), case.claims["tolerance"], place=place)


def _of_limit(
    case: Case, name: str, value: str, claim: Claim, enclosed: Callable[[str], Interval]
) -> Comparison:
    """A limit of a value, or of the relative one."""
    return of_limit(
        name, claim, relative(case.problem, enclosed) if value == "relative" else enclosed(value)
    )


def _evaluated(case: Case, vector: np.ndarray, predicted: bool) -> dict[str, Evaluated]:
    """Values of a dual vector by the names a solver may report; none if it is not finite."""
    alpha = vector.astype(np.float64)
    if not np.isfinite(alpha).all():
        return {}
    evaluate = svm_values if case.problem.is_svm else ridge_values
    values = vars(evaluate(case.problem, case.formulas, alpha))
    known = {name: value for name, value in values.items() if isinstance(value, Evaluated)}
    known["objective"] = replace(known["dual"], value=-known["dual"].value)
    samples = predictions(case.problem, case.formulas, alpha) if predicted else []
    known |= {PREDICTION.format(place): value for place, value in enumerate(samples)}
    if may_overflow(case.problem, case.formulas, alpha):
        return {name: replace(value, solver_error=math.inf) for name, value in known.items()}
    return known


def _comparison(name: str, claim: Claim, known: Evaluated | None, true: tuple[float, float]) -> Comparison:
    """Enclosure of the distance between what is reported and what is true."""
    if known is None:
        return unknown(why=Why.UNKNOWN_CLAIM, place=Place(found=claim.value, item=name))
    low, high = true
    bound = known.solver_error + claim.rounding
    middle = (low + high) / 2
    expected = middle if math.isfinite(middle) else None
    place = Place(found=claim.value, expected=expected, item=name)
    if not math.isfinite(claim.value):
        return Comparison(math.inf if bound < math.inf else 0.0, math.inf, bound, place=place)
    # A difference is rounded by at most half an ulp, and the factor moves it by at least a whole one.
    lower = max(low - claim.value, claim.value - high, 0.0) * (1 - 2.0**-52)
    upper = max(high - claim.value, claim.value - low) * (1 + 2.0**-52)
    return Comparison(lower, upper, bound, place=place)


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
    planted="the value of an earlier alpha, reported as that of the last",
    runs=runs,
    judge=judge,
    given=True,
    bounds=(
        "bounds/optimum/svm",
        "bounds/optimum/ridge",
        "bounds/optimum/reported",
    ),
)
