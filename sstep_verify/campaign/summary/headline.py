"""The one sentence on what a campaign showed: no s, no quantity and no error beyond its verdicts."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from sstep_verify.checks.answer.told import OVER
from sstep_verify.checks.optimum import CHECK as ANSWER
from sstep_verify.checks.registry import PRIMARY, gates_of, judges_a_vector
from sstep_verify.quantities import KERNEL
from sstep_verify.reporting.results import Case
from sstep_verify.reporting.two_digits import enclosed, promised
from sstep_verify.verdict import Status, Verdict

WORDS = (
    (Status.FAIL, "wrong on"),
    (Status.INCONCLUSIVE, "inconclusive on"),
)

RANKS = re.compile(r"(?<![^/-])P=(\d+)-?")
"""The number of ranks in the id of a case."""


def right_up_to(case: Case, verdicts: Sequence[Verdict]) -> int:
    """Largest s of a case such that every s of the case up to it is right; 0 if there is none.

    An s is right if a primary check passed its run and no check failed on it or could not decide. Of a
    case that is wrong for another s nothing is said.
    """
    own = [verdict for verdict in verdicts if verdict.case == case.id]
    if case.status in (Status.FAIL, Status.INCONCLUSIVE) or judges_a_vector(own):
        return 0
    largest = 0
    gates = gates_of(own)
    for s in sorted(case.s):
        statuses = {verdict.status for verdict in own if verdict.s == s}
        passed = any(v.check in gates and v.status is Status.PASS for v in own if v.s == s)
        if not passed or statuses & {Status.FAIL, Status.INCONCLUSIVE}:
            break
        largest = s
    return largest


def headline(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> str:
    """What was shown: up to which s on how many problems, what could have been seen, what could not.

    Parameters
    ----------
    cases, verdicts : sequences
        What was done.
    """
    if cases and judges_a_vector(verdicts):
        return _vectors(cases, verdicts)
    words = [_right(cases, verdicts)]
    ends = sum(gates_of(v for v in verdicts if v.case == case.id) != PRIMARY for case in cases)
    if ends:
        words.append(f"{ends} of them judged by the ends of runs alone")
    for status, word in WORDS:
        named = [case.id for case in cases if case.status == status]
        if named:
            listed = ""
            if status is Status.FAIL:
                listed = _first_wrong(named, verdicts) + _right_on_fewer_ranks(named, cases)
            words.append(f"{word} {len(named)}{listed}")
    words += _vacuous(cases, verdicts)
    return "; ".join(filter(None, (", ".join(words), _detectable(verdicts), _not_seen(verdicts))))


def _vectors(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> str:
    """What was shown of vectors that were handed over."""
    words = []
    for case in cases:
        found = next(one for one in verdicts if one.case == case.id and one.check == ANSWER)
        name = "relative error" if case.task == "krr" else "gap over the optimal value"
        # Of a vector that is not finite nothing is known.
        over: Any = next((one for key, one in found.evidence.items() if key in OVER), [0.0, math.inf])
        optimum = "the optimum to the stated tolerance"
        told = {Status.PASS: optimum, Status.FAIL: _wrong(found), Status.VACUOUS: "vacuous"}
        reached = f"{name} in {enclosed(*over)}"
        words.append(f"{told.get(Status(case.status), 'undecided')}, {reached}")
    return "; ".join(words)


def _wrong(found: Verdict) -> str:
    return "not the optimum" if found.status is Status.FAIL else "outside its box"


def _vacuous(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> list[str]:
    """The cases that showed nothing, apart by the s up to which they are right all the same."""
    found: dict[int, list[str]] = {}
    for case in cases:
        if case.status == Status.VACUOUS:
            found.setdefault(right_up_to(case, verdicts), []).append(case.id)
    return [
        f"vacuous{f' for s > {s}' if s else ''} on {len(named)} ({', '.join(named)})"
        for s, named in sorted(found.items())
    ]


def _first_wrong(named: Sequence[str], verdicts: Sequence[Verdict]) -> str:
    """The smallest s that some check fails, over the cases that are wrong."""
    wrong = [one.s for one in verdicts if one.case in named and one.status is Status.FAIL]
    return f" (first at s = {min(wrong)})" if wrong else ""


def _right_on_fewer_ranks(named: Sequence[str], cases: Sequence[Case]) -> str:
    """How many of the cases that are wrong on several ranks pass on fewer."""
    best: dict[str, float] = {}
    for case in cases:
        if case.status == Status.PASS:
            best[_of_any_ranks(case.id)] = min(_ranks(case.id), best.get(_of_any_ranks(case.id), math.inf))
    fewer = [name for name in named if best.get(_of_any_ranks(name), math.inf) < _ranks(name)]
    if not fewer:
        return ""
    return f" ({len(fewer)} of these right on fewer ranks: what ranks share out or sum is at fault)"


def _ranks(name: str) -> int:
    found = RANKS.search(name)
    return int(found[1]) if found else 1


def _of_any_ranks(name: str) -> str:
    """The name of a case without its number of ranks, and without an empty label."""
    return RANKS.sub("", name).rstrip("/-")


def _right(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> str:
    largest = [right_up_to(case, verdicts) for case in cases]
    reached = sorted(set(largest) - {0})
    problems = f"{len(cases)} problem{'s' * (len(cases) != 1)}"
    if not reached:
        return f"right on none of {problems}"
    counts = [(s, sum(one >= s for one in largest)) for s in reached]
    first = f"right for s <= {counts[0][0]} on {counts[0][1]} of {problems}"
    return ", ".join([first, *(f"s <= {s} on {count}" for s, count in counts[1:])])


def _detectable(verdicts: Sequence[Verdict]) -> str:
    """Median and worst of the relative errors in the kernel correction that would have been seen."""
    best: dict[tuple[str, int], float] = {}
    for verdict, term in _primary_terms(verdicts):
        if term.name == KERNEL:
            key = verdict.case, verdict.s
            best[key] = min(best.get(key, math.inf), term.detectable)
    found = sorted(best.values())
    if not found:
        return ""
    return (
        "relative errors in the kernel correction that would have been seen: "
        f"{promised(found[len(found) // 2])} (median over the runs), {promised(found[-1])} (worst)"
    )


def _not_seen(verdicts: Sequence[Verdict]) -> str:
    """Quantities that no primary check of some passed run would have seen left out, with their problems."""
    seen: dict[tuple[str, str, int], bool] = {}
    for verdict, term in _primary_terms(verdicts):
        key = term.name, verdict.case, verdict.s
        seen[key] = seen.get(key, False) or term.status is Status.PASS
    unseen: dict[str, set[str]] = {}
    for (name, case, _), shown in seen.items():
        if not shown:
            unseen.setdefault(name, set()).add(case)
    if not unseen:
        return ""
    parts = [f"{name} on {len(on)} problem{'s' * (len(on) > 1)}" for name, on in unseen.items()]
    return f"not seen somewhere: {', '.join(parts)}"


def _primary_terms(verdicts: Sequence[Verdict]):
    """The terms of the primary checks' passed runs, with their verdicts."""
    for verdict in verdicts:
        if verdict.check in PRIMARY and verdict.status is Status.PASS:
            yield from ((verdict, term) for term in verdict.terms)
