"""Check metamorphic-exact: runs that must agree in every bit, judged without any tolerance.

data-up, data-down
    Data times a power of two with the parameters adapted (problems/transforms.py). Rounding commutes with
    powers of two, so every operation of the scaled run gives the scaled result, whatever the order of
    summation - as long as the same operations are made on arrays of the same shapes, nothing under- or
    overflows (checks/metamorphic/scaling_range.py) and the declared formulas scale: repeated
    multiplication does, ``pow`` does not. Sees absolute thresholds and absolute constants in the kernel,
    the curvature, the steps or the box. Does not see one on the gradient of a K-SVM, which has the same
    value in both runs.
targets-up, targets-down (K-RR)
    Targets, and with them the residual and a, times ``-2**k``. Sees absolute thresholds on either, and
    whatever treats the signs differently.
labels (K-SVM)
    y becomes -y. Labels enter as signs, in pairs, so a stays. Sees a bias, weights per class and labels
    left out on one side. Does not see labels put inside the kernel: K(y_i x_i, y_j x_j) stays as well.
restart
    A run continued from the recorded a at the end of a window, with full windows on either side, so that
    panels have the same shapes. Sees whatever else a run carries along, and a lost position in the stream.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sstep_verify.checks.metamorphic.bitwise import blind, compare_bits, still
from sstep_verify.checks.metamorphic.exact_relations import Relation, relations
from sstep_verify.checks.metamorphic.shared import metamorphic_key, original_request, seen_first
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.check import Check
from sstep_verify.checks.shared.finding import Finding, Window, wrong
from sstep_verify.checks.shared.outcome import record
from sstep_verify.numerics.rounding import unit_roundoff
from sstep_verify.oracle.facade import Oracle
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Term, Verdict

CHECK = "metamorphic-exact"

OF_HISTORY = {
    "column-cache": "a cache is empty where a run begins again, so that rows are formed in other panels",
    "support": "what the window before drew is in a panel, but not where a run begins again",
}
"""Exchanges whose panels have another shape after a restart: equal within the bounds, not bit for bit."""

CAUSES = (
    "an absolute threshold or constant; a bias; something beside a that a restart does not restore; a lost "
    "position in the index stream; a formula other than the declared one; a cache filled by another run"
)


def restart_point(case: Case, request: RunRequest) -> tuple[int, str]:
    """Iteration at which a short run is begun again, and why it cannot be (empty if it can).

    Full windows stand on either side: a run of less than s iterations may form other panels.
    """
    if case.declaration.state:
        return 0, f"a run cannot be given {', '.join(case.declaration.state)}, which the solver carries"
    if case.declaration.exchange in OF_HISTORY:
        return 0, OF_HISTORY[case.declaration.exchange]
    full = request.iterations // request.s
    if full < 2:
        return 0, f"fewer than two full windows of {request.s} in {request.iterations} iterations"
    return full // 2 * request.s, ""


def runs(case: Case) -> dict[str, RunRequest]:
    """The short run of every s, and the same on every transformed problem."""
    wanted = {}
    known = {relation.name: relation.transformed for relation in relations(case)}
    for s in case.s_values:
        request = original_request(case, s)
        wanted[metamorphic_key(s)] = request
        for name, changed in known.items():
            if changed is not None:
                wanted[metamorphic_key(s, name)] = replace(
                    request, problem=changed.problem, stream=changed.stream
                )
    return wanted


def continued(case: Case, trajectories: Mapping[str, Trajectory]) -> dict[str, RunRequest]:
    """The short run of every s, begun again at the end of a window from its recorded a."""
    wanted = {}
    for s in case.s_values:
        request = original_request(case, s)
        begin, fault = restart_point(case, request)
        if not fault:
            wanted[metamorphic_key(s, "restart")] = RunRequest(
                case.problem,
                case.stream,
                s,
                request.iterations - begin,
                start=begin,
                initial=trajectories[metamorphic_key(s)].at(begin),
                record=tuple(point - begin for point in request.record if point >= begin),
            )
    return wanted


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Compare bit by bit.

    Parameters are those of `Check.judge`; the oracle is not asked: the runs are compared with each other.

    Returns
    -------
    list of Verdict
        One per s, with one term per relation.
    """
    wanted = relations(case)
    return [_judge_run(case, s, trajectories, wanted) for s in case.s_values]


def _judge_run(
    case: Case, s: int, trajectories: Mapping[str, Trajectory], wanted: Sequence[Relation]
) -> Verdict:
    original = trajectories[metamorphic_key(s)]
    terms: list[Term] = []
    outcomes: dict[str, Finding] = {}
    claims: dict[str, str] = {}

    def compare(
        name: str, claim: str, iterations: np.ndarray, states: list[np.ndarray], blind: str
    ) -> None:
        claims[name] = claim
        outcomes[name] = compare_bits(f"{name} ({claim})", original, iterations, states)
        terms.append(_term(case, name, len(states) - 1, blind))

    for relation in wanted:
        changed = relation.transformed
        reason = relation.reason or relation.no_room_for_states(case, original.alphas)
        if reason or changed is None:
            terms.append(_not_applicable(relation.name, original, reason))
            continue
        other = trajectories[metamorphic_key(s, relation.name)]
        states = [changed.back(state) for state in other.alphas]
        hidden = blind(case, relation.name, original)
        compare(relation.name, relation.claim, other.iterations, states, hidden)
    begin, reason = restart_point(case, original_request(case, s))
    if reason:
        terms.append(_not_applicable("restart", original, reason))
    else:
        other = trajectories[metamorphic_key(s, "restart")]
        claim, iterations = f"continued from a at iteration {begin}", other.iterations + begin
        compare("restart", claim, iterations, list(other.alphas), still(original, begin))
    return _verdict(case, s, terms, outcomes, claims)


def _term(case: Case, name: str, compared: int, blind: str) -> Term:
    return Term(
        name=name,
        status=Status.VACUOUS if blind else Status.PASS,
        detection_limit=math.inf if blind else unit_roundoff(case.declaration.precision),
        planned=compared,
        decided=compared,
        seen=0 if blind else compared,
        reason=blind,
    )


def _not_applicable(name: str, original: Trajectory, reason: str) -> Term:
    planned = original.iterations.size - 1
    return Term(name, Status.VACUOUS, math.inf, planned, 0, 0, f"not applicable: {reason}")


def _verdict(
    case: Case, s: int, terms: list[Term], outcomes: Mapping[str, Finding], claims: Mapping[str, str]
) -> Verdict:
    failed = {name: finding for name, finding in outcomes.items() if finding.note}
    # The steps of a run that goes on from another are none of a plain run's.
    plain = failed and "restart" not in failed
    until = next(iter(failed.values())).window if plain else Window(0, 0)
    told = "; ".join(finding.what for finding in (failed or outcomes).values())
    largest = max((finding.measured for finding in failed.values()), default=0.0)
    return record(
        CHECK,
        case,
        s,
        wrong(
            f"runs of the {case.declaration.name} solver that must agree in every bit: {told}",
            largest,
            window=until,
        ),
        units="absolute, largest coordinate",
        planned=sum(term.planned for term in terms),
        executed=sum(term.decided for term in terms),
        origin="rounding commutes with powers of two, with signs and with stopping between windows",
        causes=CAUSES,
        terms=seen_first(terms),
        evidence={
            "relations": dict(claims),
            "failed": list(failed),
        },
        signs=list(failed),
        each=True,
    )


DECLARED = Check(
    id=CHECK,
    text=__doc__,
    needs="the short run of every s, on every transformed problem too, and begun again at a window's end",
    planted="an absolute constant, or a lost state or position, that acts on some coordinate",
    runs=runs,
    continued=continued,
    judge=judge,
    level=1,
)
