"""Check metamorphic-exact: runs of scaled problems end in the scaled alpha, bit for bit.

data-up, data-down
    Data times a power of two with the parameters adapted (sstep_verify/problems/transforms.py). Rounding
    commutes with powers of two, so every operation of the scaled run gives the scaled result, whatever the
    order of summation. This holds as long as the same operations are made on arrays of the same shapes and
    nothing under- or overflows (sstep_verify/checks/metamorphic/scaling_range.py). It is not applied to a
    polynomial kernel, which a library's ``pow`` may raise. It detects absolute thresholds and absolute
    constants in the kernel, the curvature, the steps or the box, and a kernel matrix that is kept from a
    run on other data. It does not detect an absolute constant on the gradient of a K-SVM, which has the
    same value in both runs.
targets-up, targets-down (K-RR)
    Targets, and with them the residual and alpha, times ``2**k``. It detects absolute thresholds on either.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from sstep_verify.checks.metamorphic.relations import (
    Relation,
    metamorphic_key,
    original_request,
    same_bits,
    scalable,
    seen_first,
)
from sstep_verify.checks.shared.case import Case, Check
from sstep_verify.checks.shared.comparison import Comparison, wrong
from sstep_verify.checks.shared.outcome import verdict_from
from sstep_verify.checks.shared.terms import planted_term
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import smallest_subnormal, unit_roundoff
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Place, Sensitivity, Status, Verdict, Why

ID = "metamorphic-exact"

FAILED = "failed"
"""Key of the evidence: names of the relations whose runs differ."""

ROWS_LOOKED_AT = 64
"""Drawn samples among which the RBF kernel is searched for an entry off the diagonal."""


def of_one_s(s: int) -> tuple[int, ...]:
    """The s of the runs that are compared."""
    return (s,)


def applies(case: Case, s: int) -> bool:
    """Whether the problem can be scaled."""
    return scalable(case)


def runs(case: Case) -> dict[str, RunRequest]:
    """The short run of every s, and the same on every transformed problem."""
    wanted: dict[str, RunRequest] = {}
    if not scalable(case):
        return wanted
    related = [relation for relation in same_bits(case) if relation.why is None]
    for s in case.s_values:
        request = original_request(case, s)
        wanted[metamorphic_key(s)] = request
        for relation in related:
            wanted[metamorphic_key(s, relation.name)] = relation.request(request)
    return wanted


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Compare bit by bit.

    Parameters are those of `Check.judge`; the oracle is not asked: the runs are compared with each other.

    Returns
    -------
    list of Verdict
        One per s, with one term per relation.
    """
    if not scalable(case):
        return []
    related = same_bits(case)
    return [_judge_run(case, s, trajectories, related) for s in case.s_values]


def _judge_run(
    case: Case, s: int, trajectories: Mapping[str, Trajectory], related: Sequence[Relation]
) -> Verdict:
    original = trajectories[metamorphic_key(s)]
    terms: list[Sensitivity] = []
    compared: dict[str, Comparison] = {}
    claims: dict[str, str] = {}
    for relation in related:
        changed, name = relation.transformed, relation.name
        why = relation.why
        if why is None and not relation.has_room_for(case, original.alphas):
            why = Why.OUT_OF_RANGE
        if why is not None:
            planned = original.iterations.size - 1
            terms.append(Sensitivity(name, Status.VACUOUS, math.inf, planned, 0, 0, why=why))
            continue
        other, claims[name] = trajectories[metamorphic_key(s, name)], relation.claim
        # A run that its solver's own rule ended has no later points.
        shared = np.isin(other.iterations, original.iterations)
        points = other.iterations[shared]
        if points.size < 2:
            planned = original.iterations.size - 1
            terms.append(Sensitivity(name, Status.VACUOUS, math.inf, planned, 0, 0, why=Why.NOT_RECORDED))
            continue
        states = [changed.back(state) for state in other.alphas[shared]]
        compared[name] = compare_bits(name, original, points, states)
        # Whether an injected defect would have shown on this run.
        count, shown = len(states) - 1, would_show(case, relation, original, points[1:])
        terms.append(planted_term(name, shown, 0.0, count, count, Why.NO_EFFECT, shown))
    failed = {name: comparison for name, comparison in compared.items() if comparison.place is not None}
    first = next(iter(failed.values())).place if failed else None
    largest = max((comparison.measured for comparison in failed.values()), default=0.0)
    ordered = seen_first(terms)
    return verdict_from(
        ID,
        case,
        s,
        wrong(largest, place=first),
        units="absolute, largest coordinate",
        planned=sum(term.planned for term in terms),
        executed=sum(term.decided for term in terms),
        terms=ordered,
        evidence={"relations": claims, FAILED: list(failed)},
        signs=list(failed)[:1],
    )


def compare_bits(
    name: str, original: Trajectory, iterations: np.ndarray, states: list[np.ndarray]
) -> Comparison:
    """Compare the states of a run, mapped back, with those of the original one, bit by bit."""
    largest, first = 0.0, None
    for iteration, state in zip(iterations.tolist(), states, strict=True):
        expected = original.at(iteration)
        if np.array_equal(expected, state, equal_nan=True):
            continue
        with np.errstate(invalid="ignore"):
            difference = np.abs(expected - state)
        difference = np.where(np.isfinite(difference), difference, math.inf)
        difference[(expected == state) | (np.isnan(expected) & np.isnan(state))] = 0.0
        place = int(np.argmax(difference))
        # A difference of wider numbers may be 0 as a float64, and is one all the same.
        largest = max(largest, float(difference[place]) or smallest_subnormal("float64"))
        found, exact = float(state[place]), float(expected[place])
        first = first or Place(0, iteration, place, found=found, expected=exact, run=f"run {name}")
    return wrong(largest, place=first)


def would_show(case: Case, relation: Relation, original: Trajectory, iterations: np.ndarray) -> int:
    """At how many recorded iterations an injected absolute constant would show."""
    # A recorded coordinate shows the outcome of a step: any of K-RR, a free one of K-SVM.
    svm, states = case.problem.is_svm, original.alphas[np.isin(original.iterations, iterations)]
    shows = (states > 0) & (states < case.problem.hinge.upper) if svm else states != 0
    shown = int(shows.any(axis=1).sum())
    if not shown or not (relation.name.startswith("data") and case.problem.kernel.of_distance):
        return shown
    draws = np.unique(case.stream.blocks(0, original.length))[:ROWS_LOOKED_AT]
    entries = kernel_entries(case.problem, case.formulas, draws).values
    entries[np.arange(draws.size), draws] = 0.0
    # Without a kernel entry off the diagonal, distances have no effect.
    lost = float(entries.max()) * case.problem.samples < unit_roundoff(case.formulas.precision)
    return 0 if lost else shown


CHECK = Check(
    id=ID,
    text=__doc__,
    needs="the short run of every s, on every transformed problem too",
    planted="an absolute constant that has an effect on some coordinate",
    runs=runs,
    judge=judge,
    given=True,
    level=1,
    applies=applies,
    relates=of_one_s,
)
