"""Check metamorphic-exact: runs that must agree in every bit, judged without any tolerance.

data-up, data-down
    Data times a power of two with the parameters adapted (sstep_verify/problems/transforms.py). Rounding
    commutes with powers of two, so every operation of the scaled run gives the scaled result, whatever the
    order of summation - as long as the same operations are made on arrays of the same shapes, nothing
    under- or overflows (sstep_verify/checks/metamorphic/scaling_range.py) and the declared formulas scale:
    repeated multiplication does, ``pow`` does not. Sees absolute thresholds and absolute constants in the
    kernel, the curvature, the steps or the box. Does not see one on the gradient of a K-SVM, which has the
    same value in both runs.
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

from sstep_verify.checks.metamorphic.exact import (
    RESTART,
    Relation,
    blind,
    compare_bits,
    metamorphic_key,
    original_request,
    relations,
    restart,
    seen_first,
)
from sstep_verify.checks.shared.case import Case, Check
from sstep_verify.checks.shared.finding import Finding, Window, term_of, wrong
from sstep_verify.checks.shared.outcome import record
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Term, Verdict

CHECK = "metamorphic-exact"

CAUSES = (
    "an absolute threshold or constant; a bias; something beside a that a restart does not restore; a lost "
    "position in the index stream; a formula other than the declared one; a cache filled by another run"
)


def runs(case: Case) -> dict[str, RunRequest]:
    """The short run of every s, and the same on every transformed problem."""
    wanted = {}
    known = [relation for relation in relations(case) if not relation.reason]
    for s in case.s_values:
        request = original_request(case, s)
        wanted[metamorphic_key(s)] = request
        for relation in known:
            changed = relation.transformed
            wanted[metamorphic_key(s, relation.name)] = replace(
                request, problem=changed.problem, stream=changed.stream
            )
    return wanted


def continued(case: Case, trajectories: Mapping[str, Trajectory]) -> dict[str, RunRequest]:
    """The short run of every s, begun again at the end of a window from its recorded a."""
    wanted = {}
    for s in case.s_values:
        request = original_request(case, s)
        again = restart(case, request)
        if not again.reason:
            wanted[metamorphic_key(s, again.name)] = replace(
                request,
                iterations=request.iterations - again.begin,
                start=again.begin,
                initial=trajectories[metamorphic_key(s)].at(again.begin),
                record=tuple(point - again.begin for point in request.record if point >= again.begin),
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
    compared: dict[str, Finding] = {}
    claims: dict[str, str] = {}
    for relation in (*wanted, restart(case, original_request(case, s))):
        changed, name = relation.transformed, relation.name
        reason = relation.reason or relation.no_room_for_states(case, original.alphas)
        if reason:
            planned = original.iterations.size - 1
            terms.append(term_of(name, math.inf, planned, 0, 0, f"not applicable: {reason}"))
            continue
        other, claims[name] = trajectories[metamorphic_key(s, name)], relation.claim
        states = [changed.back(state) for state in other.alphas]
        iterations, what = other.iterations + relation.begin, f"{name} ({relation.claim})"
        compared[name] = compare_bits(what, original, iterations, states)
        # What a planted defect would have shown; why it would not, if it would not.
        unseen, count = blind(case, relation, original), len(states) - 1
        limit = math.inf if unseen else unit_roundoff(case.declaration.precision)
        terms.append(term_of(name, limit, count, count, 0 if unseen else count, unseen))
    failed = {name: finding for name, finding in compared.items() if finding.note}
    # The steps of a run that goes on from another are none of a plain run's.
    plain = failed and RESTART not in failed
    until = next(iter(failed.values())).window if plain else Window(0, 0)
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
        origin="rounding commutes with powers of two, with signs and with stopping between windows",
        causes=CAUSES,
        terms=seen_first(terms),
        evidence={"relations": claims, "failed": list(failed)},
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
    given=True,
    level=1,
)
