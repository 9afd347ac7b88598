"""Check metamorphic-exact: runs that must agree in every bit, judged without any tolerance.

data-up, data-down
    Data times a power of two with the parameters adapted (sstep_verify/problems/transforms.py). Rounding
    commutes with powers of two, so every operation of the scaled run gives the scaled result, whatever the
    order of summation - as long as the same operations are made on arrays of the same shapes and nothing
    under- or overflows (sstep_verify/checks/metamorphic/scaling_range.py). Not under a polynomial kernel,
    which a library's ``pow`` may raise. Sees absolute thresholds and absolute constants in the kernel, the
    curvature, the steps or the box. Does not see one on the gradient of a K-SVM, which has the same value
    in both runs.
targets-up, targets-down (K-RR)
    Targets, and with them the residual and a, times ``2**k``. Sees absolute thresholds on either.
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
from sstep_verify.checks.shared.finding import Finding, Window, term_of, wrong
from sstep_verify.checks.shared.outcome import record
from sstep_verify.errors import counted
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import smallest_subnormal, unit_roundoff
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Term, Verdict

CHECK = "metamorphic-exact"

ROWS_LOOKED_AT = 64
"""Drawn samples among which the RBF kernel is searched for an entry off the diagonal."""


def runs(case: Case) -> dict[str, RunRequest]:
    """The short run of every s, and the same on every transformed problem."""
    wanted: dict[str, RunRequest] = {}
    if not scalable(case):
        return wanted
    related = [relation for relation in same_bits(case) if not relation.reason]
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
    terms: list[Term] = []
    compared: dict[str, Finding] = {}
    claims: dict[str, str] = {}
    for relation in related:
        changed, name = relation.transformed, relation.name
        reason = relation.reason or relation.no_room_for(case, original.alphas)
        if reason:
            planned = original.iterations.size - 1
            terms.append(term_of(name, math.inf, planned, 0, 0, f"not applicable: {reason}"))
            continue
        other, claims[name] = trajectories[metamorphic_key(s, name)], relation.claim
        states = [changed.back(state) for state in other.alphas]
        compared[name] = compare_bits(f"{name} ({relation.claim})", original, other.iterations, states)
        # What a planted defect would have shown; why it would not, if it would not.
        unseen, count = blind(case, relation, original), len(states) - 1
        limit = math.inf if unseen else unit_roundoff(case.declaration.precision)
        terms.append(term_of(name, limit, count, count, 0 if unseen else count, unseen))
    failed = {name: finding for name, finding in compared.items() if finding.note}
    until = next(iter(failed.values())).window if failed else Window(0, 0)
    outcomes = "; ".join(finding.what for finding in (failed or compared).values()) or "none applies here"
    what = f"runs of the {case.declaration.name} solver that must agree in every bit: {outcomes}"
    largest = max((finding.measured for finding in failed.values()), default=0.0)
    return record(
        CHECK,
        case,
        s,
        wrong(what, largest, window=until),
        units="absolute, largest coordinate",
        planned=sum(term.planned for term in terms),
        executed=sum(term.decided for term in terms),
        origin="rounding commutes with powers of two",
        terms=seen_first(terms),
        evidence={"relations": claims, "failed": list(failed)},
        signs=list(failed),
    )


def compare_bits(
    what: str, original: Trajectory, iterations: np.ndarray, states: list[np.ndarray]
) -> Finding:
    """Compare the states of a run, mapped back, with those of the original one, bit by bit."""
    largest, note, first = 0.0, "", 0
    for iteration, state in zip(iterations.tolist(), states, strict=True):
        expected = original.at(iteration)
        if np.array_equal(expected, state, equal_nan=True):
            continue
        with np.errstate(invalid="ignore"):
            difference = np.abs(expected - state)
        difference = np.where(np.isfinite(difference), difference, math.inf)
        difference[(expected == state) | (np.isnan(expected) & np.isnan(state))] = 0.0
        place = int(np.argmax(difference))
        # A difference of longdouble numbers may be 0 as a float64, and is one all the same.
        largest = max(largest, float(difference[place]) or smallest_subnormal("float64"))
        first = first or iteration
        note = note or (
            f"differs, first at iteration {iteration} in "
            f"{counted(int(np.count_nonzero(difference)), 'coordinate')}: number {place} is "
            f"{expected[place]!s} and, mapped back, {state[place]!s}"
        )
    return wrong(f"{what} {note}".rstrip(), largest, window=Window(0, first), note=note)


def blind(case: Case, relation: Relation, original: Trajectory) -> str:
    """Why a planted defect of this relation would not show on this run; empty if it would."""
    # A recorded coordinate shows the outcome of a step: any of K-RR, a free one of K-SVM.
    svm, states = case.problem.is_svm, original.alphas
    shows = (states > 0) & (states < case.problem.hinge.upper) if svm else states != 0
    if not shows.any():
        return "every recorded coordinate lies on the box or is 0, where no constant can show"
    if relation.name.startswith("data") and case.problem.kernel.of_distance:
        draws = np.unique(case.stream.blocks(0, original.length))[:ROWS_LOOKED_AT]
        entries = kernel_entries(case.problem, case.declaration, draws).values
        entries[np.arange(draws.size), draws] = 0.0
        largest = float(entries.max())
        if largest * case.problem.samples < unit_roundoff(case.declaration.precision):
            return f"no off-diagonal kernel entry looked at exceeds {largest:.3g}: distances do not act"
    return ""


DECLARED = Check(
    id=CHECK,
    text=__doc__,
    needs="the short run of every s, on every transformed problem too",
    planted="an absolute constant that acts on some coordinate",
    runs=runs,
    judge=judge,
    given=True,
    level=1,
    applies=lambda case, s: scalable(case),
)
