"""Check rank-coherence: every rank holds the same a, bit for bit, at every recorded iteration.

Each rank makes the same updates from the same reduced panel, so nothing but the reduction may differ
between them, and an allreduce must give all ranks the same bits. A difference of one bit can flip a clip
and grow. The run leaves digests of a per rank (``Trajectory.fingerprints``); a witness may leave digests
of what collectives gave to each (``Trajectory.received``), which can show that ranks differ but not,
alone, that they hold the same. The bound is 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sstep_verify.checks.shared.case import Case, check_of_each_s
from sstep_verify.checks.shared.finding import Finding, Window, wrong
from sstep_verify.checks.shared.outcome import planted_term, record
from sstep_verify.errors import counted
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems.problem import fingerprint
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Term, Verdict

CHECK = "rank-coherence"

CAUSES = (
    "a reduction that gives ranks different bits, an index stream drawn anew on each rank, a kernel "
    "function applied to partial sums, ranks that disagree on how many there are"
)


def _shows(case: Case, trajectory: Trajectory) -> bool:
    """Whether a run has digests to show, or shows without them that ranks differ."""
    received = trajectory.received
    return (
        (case.declaration.ranks > 1 and case.declaration.level >= 3)
        or any(
            digests != (fingerprint(trajectory.at(iteration)),)
            for iteration, digests in trajectory.fingerprints.items()
        )
        or (received is not None and bool((received != received[0]).any()))
    )


def _judge(case: Case, s: int, oracle: Oracle, trajectory: Trajectory) -> Iterator[Verdict]:
    """Compare the digests of all ranks, whose number the case declares; the oracle is not used.

    A run on more than one rank has a verdict if it left digests of a, or if a witness saw that ranks were
    given other bits; INCONCLUSIVE if it left none, and its solver is one that has them to show (level 3).
    """
    if not _shows(case, trajectory):
        return
    ranks = case.declaration.ranks
    known = [k for k in trajectory.iterations.tolist() if k in trajectory.fingerprints]
    planned = int(trajectory.iterations.size) if case.declaration.level >= 3 else len(known)
    findings = [_compare(case, ranks, trajectory, iteration) for iteration in known]
    terms, collectives = list[Term](), 0
    if planned:  # A rank that made no updates would add its first a to those that are compared.
        distinct = len({fingerprint(a) for a in (trajectory.alphas[0], *map(trajectory.at, known))}) - 1
        still = "a is the first a where ranks are compared, so one that made no updates would not show"
        terms.append(
            planted_term("a rank that goes its own way", distinct, 0.0, planned, len(known), still)
        )
    if (received := trajectory.received) is not None:
        collectives, distinct = received.shape[1], len(np.unique(received[0])) - 1
        findings.append(_received(case, received))
        still = "every collective gave the same, so numbers of an earlier one would not show"
        terms.append(
            planted_term("a rank that receives others", distinct, 0.0, collectives, collectives, still)
        )
    if not findings:
        what = f"digests of a on {counted(ranks, 'rank')}: the run left none"
        findings = [Finding(what, 0.0, float(ranks), 0.0)]
    yield record(
        CHECK,
        case,
        s,
        *findings,
        units="ranks",
        planned=planned + collectives,
        executed=len(known) + collectives,
        origin="all ranks make the same updates, so the bound is 0",
        causes=CAUSES,
        terms=tuple(terms),
        evidence={"ranks": ranks, "iterations": known, "collectives": collectives},
    )


def _received(case: Case, received: np.ndarray) -> Finding:
    """Ranks that received other bits than rank 0 in the first collective where any did."""
    differ, calls = received != received[0], received.shape[1]
    who = f"{case.declaration.name}: ranks that received other bits than rank 0"
    if not differ.any():
        return wrong(f"{who} in any of {counted(calls, 'collective')} meant to give all the same", 0.0)
    first = int(np.argmax(differ.any(axis=0)))
    ranks = np.flatnonzero(differ[:, first]).tolist()
    where = f"in number {first + 1} of {counted(calls, 'collective')} meant to give all the same"
    return wrong(f"{who} {where}{_named(ranks)}", len(ranks))


def _named(ranks: list[int]) -> str:
    return f" (ranks {', '.join(map(str, ranks))})" if ranks else ""


def _compare(case: Case, ranks: int, trajectory: Trajectory, iteration: int) -> Finding:
    digests = trajectory.fingerprints[iteration]
    if len(digests) != ranks:
        gave = f"{counted(len(digests), 'rank')} gave a digest at iteration {iteration}"
        what = f"{gave}, {ranks} are declared: off by"
        return wrong(what, abs(ranks - len(digests)), window=Window(0, iteration))
    own = fingerprint(trajectory.at(iteration))
    differ = [rank for rank, digest in enumerate(digests) if digest != own]
    what = (
        f"{case.declaration.name} on {counted(ranks, 'rank')} at iteration {iteration}: ranks whose a has "
        f"other bits than the recorded one{_named(differ)}"
    )
    return wrong(what, len(differ), window=Window(0, iteration))


DECLARED = check_of_each_s(
    _judge,
    id=CHECK,
    text=__doc__,
    needs="the plain run of every s, on several ranks",
    planted="a rank that goes its own way, or makes no updates",
)
