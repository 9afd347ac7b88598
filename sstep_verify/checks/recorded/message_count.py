"""Check message-count: s iterations per communication, counted.

The counts a run reports, and those of a witness between solver and MPI library where there was one, are
compared with what the declared exchange implies, exactly; the formulas stand in
sstep_verify/costs/messages.py. Where no witness looked, the counts are the solver's own word, and the
verdict says so. Formulas and counts are of reductions. Other collectives (broadcasts, gathers, barriers)
belong to the set-up and to where a is recorded, so no more reductions may follow one than a was recorded
times; on ranks whose processors differ rank 0 sends every window's end besides, which is counted and held
against nothing. Of exchange per-window, whose set-up may be anything, the collectives of a run beyond those
of its first half are compared.

One process counts what it would send. Counts alone are evidence that s was used: the iterates are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from sstep_verify.checks.shared.case import Case, Check, loggable, plain_request, run_key
from sstep_verify.checks.shared.every_s import judge_every_s, runs_of_every_s
from sstep_verify.checks.shared.finding import Finding, wrong
from sstep_verify.checks.shared.outcome import verdict_from
from sstep_verify.checks.shared.terms import planted_term
from sstep_verify.costs import messages
from sstep_verify.costs.messages import (
    COUNTED,
    Distinct,
    cache_misses,
    distinct_counts,
    distinct_of,
    drawn_windows,
    panel_sizes,
)
from sstep_verify.declaration import COLUMN_CACHE, KEPT_GRAM, PER_WINDOW, SEPARATE, Exchange
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.trajectory import AFTER_OTHERS, BROADCASTS, WITNESSED, Trajectory
from sstep_verify.verdict import Note, NoteKind, Place, Term, Verdict, Why

ID = "message-count"

EVERY_STEP = "communication in every iteration"
"""The planted defect: what the classical method does."""

SUPPORT = "support"
"""Exchange whose words depend on a, and so on the log of a run."""


def _declared(case: Case) -> Exchange:
    """The exchange that is declared: without one the check does not apply."""
    assert case.formulas.exchange is not None
    return case.formulas.exchange


def _requests(case: Case, s: int) -> dict[str, RunRequest]:
    """The plain run, logged where words depend on a; of exchange per-window one of half its windows."""
    if not applies(case, s):
        return {}
    plain, exchange = plain_request(case, s), _declared(case).kind
    requests = {run_key(s): replace(plain, log=exchange == SUPPORT and loggable(case))}
    half = _windows(case.iterations, s) // 2 * s
    if exchange == PER_WINDOW and half:
        requests[f"messages/half/s={s}"] = replace(plain, iterations=half, record=(half,))
    return requests


def _windows(iterations: int, s: int) -> int:
    return -(-iterations // s)


def _judge(
    case: Case, s: int, oracle: Oracle, whole: Trajectory, half: Trajectory | None = None
) -> Iterator[Verdict]:
    """Compare the counts of a plain run with the declared exchange; the oracle is not used.

    Of exchange per-window what is beyond the first half of the run is compared: the set-up, whatever it
    is, stands in both. A single window has no verdict: nothing tells it from the set-up. A solver that
    counts nothing is INCONCLUSIVE.
    """
    counts, steps, windows = _whole_numbers(whole), whole.length, _windows(whole.length, s)
    due: tuple[str, ...] = COUNTED
    if _declared(case).kind != PER_WINDOW:
        expected = expected_counts(case, s, whole)
    elif half is None:
        return
    else:
        earlier = _whole_numbers(half)
        counts = {name: counts[name] - earlier[name] for name in counts.keys() & earlier.keys()}
        steps, windows = steps - half.length, windows - _windows(half.length, s)
        due, expected = ("collectives",), [{"collectives": windows}]
    known = [name for name in due if name in counts and name in expected[0]]
    # A kept Gram matrix is formed by the first run that needs it, and later runs find it there.
    best = min(expected, key=lambda wanted: sum(counts[name] != wanted[name] for name in known))
    seen = {name: counts[other] for name, other in WITNESSED.items() if other in counts and name in best}
    own = {name: counts[name] for name in known}
    findings = [
        wrong(abs(made - best[name]), place=Place(found=made, expected=best[name], item=name + how))
        for how, of_whom in (("", own), (" that the MPI library counted", seen))
        for name, made in of_whom.items()
    ]
    if half is None:
        findings += _others(case, whole)
    if missing := ", ".join(name for name in due if name not in known):
        uncounted = Place(item=missing)
        findings.append(Finding(0.0, math.inf, 0.0, why=Why.NOT_RECORDED, place=uncounted))
    yield verdict_from(
        ID,
        case,
        s,
        *findings,
        units="messages or words",
        planned=len(due) + len(seen),
        executed=len(known) + len(seen),
        terms=_terms(case, s, steps, windows, whole),
        evidence={
            "counted": own,
            "expected": best,
            "seen": seen,
            BROADCASTS: whole.counters.get(BROADCASTS, 0),
        },
        signs=[
            name for name in known if counts[name] != best[name] or seen.get(name, best[name]) != best[name]
        ][:1],
        notes=() if seen else (Note(NoteKind.OWN_WORD),),
    )


def _whole_numbers(run: Trajectory) -> dict[str, int]:
    """The counts of a run without a limit of size: numbers of a narrow type wrap, or round, in a sum."""
    return {name: int(count) for name, count in run.counters.items()}


def _others(case: Case, trajectory: Trajectory) -> list[Finding]:
    """Collectives beside the reductions: no more than recording a takes, where nothing else makes any."""
    counts, recorded = trajectory.counters, len(trajectory.iterations)
    if AFTER_OTHERS not in counts or BROADCASTS in counts or SEPARATE in case.formulas.options:
        return []
    followed = counts[AFTER_OTHERS]
    place = Place(found=followed, expected=recorded, item="reductions after another collective")
    return [wrong(max(followed - recorded, 0), place=place)]


def _terms(case: Case, s: int, steps: int, windows: int, whole: Trajectory) -> tuple[Term, ...]:
    """What communicating as the classical method does, or once per draw, would have added."""
    exchange = _declared(case).kind
    if exchange in (KEPT_GRAM, COLUMN_CACHE) or s == 1:
        return ()
    often = planted_term(EVERY_STEP, steps - windows, 0.0, windows, windows, Why.NO_EFFECT)
    if exchange == PER_WINDOW:
        return (often,)
    repeated = steps * case.stream.block - distinct_columns(case, s, whole).total
    twice = planted_term("columns sent as often as drawn", repeated, 0.0, windows, windows, Why.NO_EFFECT)
    return often, twice


def expected_counts(case: Case, s: int, trajectory: Trajectory) -> list[dict[str, int]]:
    """The counts that the declared exchange allows a run, shape of `COUNTED`; the usual ones first.

    Without the words for exchange support where the run has no log: they depend on a.
    """
    declared, samples = _declared(case), case.problem.samples
    trailer = declared.trailer
    norms = case.problem.kernel.of_distance and case.formulas.rbf == "norm-expansion"
    if declared.kind == KEPT_GRAM:
        sizes = samples, -(-trajectory.length // s), declared.rows, norms
        return [messages.kept_gram_counts(*sizes, formed, trailer).counters for formed in (True, False)]
    if declared.kind == COLUMN_CACHE:
        capacity = min(declared.words // samples, samples)
        missing = cache_misses(_drawn(case, s, trajectory), samples, capacity)
        return [messages.column_cache_counts(samples, missing, norms, trailer).counters]
    if declared.kind == SUPPORT:
        return [_of_support(case, s, trajectory, norms)]
    distinct = distinct_columns(case, s, trajectory)
    return [messages.window_counts(declared.kind, samples, distinct, norms, trailer).counters]


def _of_support(case: Case, s: int, trajectory: Trajectory, norms: bool) -> dict[str, int]:
    samples, log = case.problem.samples, trajectory.log
    draws = case.stream.blocks(trajectory.start, trajectory.start + trajectory.length)
    known = np.zeros(draws.shape) if log is None else log
    sizes = panel_sizes(draws, known, s, trajectory.alphas[0])
    counts = messages.support_counts(samples, *sizes, norms, _declared(case).trailer)
    return {name: count for name, count in counts.counters.items() if log is not None or name != "words"}


def distinct_columns(case: Case, s: int, trajectory: Trajectory) -> Distinct:
    """Distinct coordinates of the windows of a run."""
    return distinct_of(distinct_counts(_drawn(case, s, trajectory)))


def _drawn(case: Case, s: int, trajectory: Trajectory) -> Iterator[np.ndarray]:
    return drawn_windows(case.stream, s, trajectory.length, trajectory.start)


def applies(case: Case, s: int) -> bool:
    """Whether an exchange is declared."""
    return case.formulas.exchange is not None


def runs(case: Case) -> dict[str, RunRequest]:
    """The runs of every s that is judged, by key."""
    return runs_of_every_s(case, _requests)


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Judge the runs of every s by themselves; see `Check.judge`."""
    return judge_every_s(case, trajectories, oracle, _requests, _judge)


CHECK = Check(
    id=ID,
    text=__doc__,
    needs="the plain run of every s; of exchange per-window one of half its windows too",
    planted="communication in every iteration, as the classical method has it",
    runs=runs,
    judge=judge,
    level=3,
    applies=applies,
)
