"""Check rank-coherence: every rank holds the same alpha, bit for bit, at every recorded iteration.

Each rank makes the same updates from the same reduced panel. So nothing but the reduction may differ
between ranks, and an allreduce must give all of them the same bits. A difference of one bit can flip a
clip and grow. The run leaves digests of alpha per rank (``Trajectory.fingerprints``). An MPI interposer may
leave digests of what collectives gave to each (``Trajectory.received``). These can show that ranks differ,
but they do not show that ranks hold the same. The bound is 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sstep_verify.checks.shared.case import Case, Check, plain_run
from sstep_verify.checks.shared.comparison import Comparison, wrong
from sstep_verify.checks.shared.every_s import judge_every_s, runs_of_every_s
from sstep_verify.checks.shared.outcome import verdict_from
from sstep_verify.checks.shared.terms import planted_term
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems.problem import fingerprint
from sstep_verify.protocol import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Coverage, Place, Sensitivity, Verdict, Why

ID = "rank-coherence"


def _shows(case: Case, trajectory: Trajectory) -> bool:
    """Whether a run has digests to show, or shows without them that ranks differ."""
    received = trajectory.received
    return (
        (case.formulas.ranks > 1 and case.formulas.level >= 3)
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
    ranks = case.formulas.ranks
    known = [k for k in trajectory.iterations.tolist() if k in trajectory.fingerprints]
    planned = int(trajectory.iterations.size) if case.formulas.level >= 3 else len(known)
    comparisons = [_compare(ranks, trajectory, iteration) for iteration in known]
    terms, collectives = list[Sensitivity](), 0
    if planned:  # A rank that made no updates would add its first a to those that are compared.
        distinct = len({fingerprint(a) for a in (trajectory.alphas[0], *map(trajectory.at, known))}) - 1
        counts = planned, len(known)
        shown = distinct, 0.0, *counts, Why.NO_EFFECT, distinct
        terms.append(planted_term("a rank that goes its own way", *shown))
    if (received := trajectory.received) is not None:
        collectives, distinct = received.shape[1], len(np.unique(received[0])) - 1
        comparisons.append(_received(received))
        counts = collectives, collectives
        shown = distinct, 0.0, *counts, Why.NO_EFFECT, distinct
        terms.append(planted_term("a rank that receives others", *shown))
    if not comparisons:
        comparisons = [Comparison(0.0, float(ranks), 0.0, why=Why.NOT_RECORDED)]
    yield verdict_from(
        ID,
        case,
        s,
        *comparisons,
        units="ranks",
        planned=planned + collectives,
        executed=len(known) + collectives,
        terms=tuple(terms),
        coverage=Coverage("recorded alpha", len(known), planned),
        evidence={"ranks": ranks, "iterations": known, "collectives": collectives},
    )


def _received(received: np.ndarray) -> Comparison:
    """Ranks that received other bits than rank 0 in the first collective where any did."""
    differ = received != received[0]
    if not differ.any():
        return wrong(0.0)
    first = int(np.argmax(differ.any(axis=0)))
    ranks = np.flatnonzero(differ[:, first]).tolist()
    return wrong(len(ranks), place=Place(item=f"collective {first + 1}, {_named(ranks)}"))


def _named(ranks: list[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}" if ranks else ""


def _compare(ranks: int, trajectory: Trajectory, iteration: int) -> Comparison:
    digests = trajectory.fingerprints[iteration]
    if len(digests) != ranks:
        place = Place(0, iteration, found=len(digests), expected=ranks, item="number of ranks")
        return wrong(abs(ranks - len(digests)), place=place)
    own = fingerprint(trajectory.at(iteration))
    differ = [rank for rank, digest in enumerate(digests) if digest != own]
    return wrong(len(differ), place=Place(0, iteration, item=_named(differ)))


def runs(case: Case) -> dict[str, RunRequest]:
    """The runs of every s that is judged, by key."""
    return runs_of_every_s(case, plain_run)


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Judge the runs of every s by themselves; see `Check.judge`."""
    return judge_every_s(case, trajectories, oracle, plain_run, _judge)


CHECK = Check(
    id=ID,
    text=__doc__,
    needs="the plain run of every s, on several ranks",
    planted="a rank that makes other updates than the others, or none",
    runs=runs,
    judge=judge,
)
