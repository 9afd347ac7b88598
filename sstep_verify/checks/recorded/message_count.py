"""Check message-count: messages are as many as the declared communication implies for windows of s.

The counts that a run reports, and those of an MPI interposer between solver and MPI library where there was
one, are compared exactly with what the declared communication scheme implies; the formulas are in
sstep_verify/costs/messages.py. An interposer counts each kind of operation by itself: calls, elements and
bytes of allreduces and reduce-scatters, broadcasts, messages from rank to rank, barriers. Without one, the
counts are the solver's own word, and the verdict says so. Other collectives (gathers) belong to the set-up
and to where alpha is recorded, so no more reductions may follow one than alpha was recorded times.
Broadcasts are allowed on ranks whose arithmetic was measured to differ, one a window, and not where the
solver says so. Barriers are those of separate timers.

Where a solver has another way to make its runs, as a user makes them (in one call, without log and
records), the counts of that run are compared too. The scheme per-window may have any set-up. There a run of
half the windows is made too, and what the whole run counts beyond it is compared: collectives, and messages
from rank to rank, of which there are none. The scheme implies no number of words, so words are not
compared, and S-6.2 is not decided.

One process counts what it would send. Only counts are evidence that s was used: the iterates are not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import NamedTuple

import numpy as np

from sstep_verify.checks.determinism import AS_USED, again_key, made_again
from sstep_verify.checks.shared.case import Case, Check, loggable, plain_request, run_key
from sstep_verify.checks.shared.comparison import Comparison, wrong
from sstep_verify.checks.shared.every_s import runs_of_every_s
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
from sstep_verify.trajectory import (
    ALLREDUCE,
    BARRIER,
    BROADCAST,
    BROADCASTS,
    COLLECTIVES,
    POINT_TO_POINT,
    REDUCE_SCATTER,
    Trajectory,
    Witnessed,
)
from sstep_verify.verdict import (
    COUNTED_WINDOWS,
    MESSAGES_ONLY,
    Note,
    NoteKind,
    Place,
    Sensitivity,
    Verdict,
    Why,
)

ID = "message-count"

EVERY_STEP = "communication in every iteration"
"""The planted defect: what the classical method does."""

UNRECORDED = "run without log and records"
"""What is compared besides the plain run."""

OF_CALLS, OF_WORDS = "collectives", "words"
"""Counted quantities of the specification to which what a witness saw belongs."""

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
    case: Case, s: int, as_used: Trajectory | None, whole: Trajectory, half: Trajectory | None = None
) -> Iterator[Verdict]:
    """Compare the counts of a plain run, and of it as a user makes it, with the declared exchange.

    Of exchange per-window what is beyond a run of half the windows is compared: the set-up, whatever it is,
    stands in both. A single window has no verdict: nothing tells it from the set-up. A solver that
    counts nothing is INCONCLUSIVE.
    """
    steps, windows = whole.length, _windows(whole.length, s)
    due: tuple[str, ...] = COUNTED
    if _declared(case).kind != PER_WINDOW:
        expected = expected_counts(case, s, whole)
        made = [_of_run(case, s, whole, expected)]
        made += [] if as_used is None else [_of_run(case, s, as_used, expected, UNRECORDED)]
    elif half is None:
        return
    else:
        steps, windows = steps - half.length, windows - _windows(half.length, s)
        due, made = ("collectives",), [_beyond(whole, half, windows)]
    best, own, _ = made[0]
    every = [count for _, _, counts in made for count in counts]
    comparisons = [count.comparison for count in every]
    missing = [name for name in due if name not in own or name not in best]
    if missing:
        uncounted = Place(item=", ".join(missing))
        comparisons.append(Comparison(0.0, math.inf, 0.0, why=Why.NOT_RECORDED, place=uncounted))
    traffic = whole.seen.traffic if whole.seen else {}
    yield verdict_from(
        ID,
        case,
        s,
        *comparisons,
        units="messages or words" if OF_WORDS in due else MESSAGES_ONLY,
        planned=len(every) + len(missing),
        executed=len(every),
        terms=_terms(case, s, steps - windows, whole, {*own, *((OF_CALLS, OF_WORDS) if traffic else ())}),
        evidence={
            "counted": {name: own[name] for name in due if name in own and name in best},
            "expected": best,
            COUNTED_WINDOWS: windows,
            "seen": {kind: asdict(one) for kind, one in traffic.items()},
            "compared": ["plain run", *([UNRECORDED] if len(made) > 1 else [])],
            BROADCASTS: own.get(BROADCASTS, 0),
            "arithmetic_kinds": whole.seen.arithmetic_kinds if whole.seen else 0,
        },
        signs=[count.sign for count in every if count.comparison.lower][:1],
        notes=() if traffic else (Note(NoteKind.OWN_WORD),),
    )


class _Count(NamedTuple):
    """One count that is compared: the comparison, and the counted quantity of the specification."""

    comparison: Comparison
    sign: str


BY_WITNESS = " that entered the MPI library"

ALIKE = " between ranks whose arithmetic does not differ"

BEYOND = " beyond a run of the first {}"
"""Said of counts of exchange per-window, whose set-up is not known; with how many windows the run has."""

NAMES = {
    ALLREDUCE: "allreduces",
    REDUCE_SCATTER: "reduce-scatters",
    BROADCAST: "broadcasts",
    POINT_TO_POINT: "messages from rank to rank",
    BARRIER: "barriers",
}
"""What is counted, by kind of operation."""


def _count(item: str, found: int, expected: int, run: str, sign: str) -> _Count:
    place = Place(found=found, expected=expected, item=item, run=run)
    return _Count(wrong(abs(found - expected), place=place), sign)


def _of_run(
    case: Case, s: int, run: Trajectory, expected: list[dict[str, int]], made: str = ""
) -> tuple[dict[str, int], dict[str, int], list[_Count]]:
    """What a run was to count, what it counted, and how these compare; `made` says in what way."""
    own = _whole_numbers(run)
    known = [name for name in COUNTED if name in own and name in expected[0]]
    # A kept Gram matrix is formed by the first run that needs it, and later runs find it there.
    best = min(expected, key=lambda wanted: sum(own[name] != wanted[name] for name in known))
    counts = [_count(name, own[name], best[name], made, name) for name in known]
    if run.seen is not None:
        counts += [*_broadcasts(run.seen, own.get(BROADCASTS, 0), best["windows"], made)]
        if run.seen.traffic:
            counts += [*_by_kind(case, run, best, made)]
    return best, own, counts


def _by_kind(case: Case, run: Trajectory, best: dict[str, int], made: str) -> Iterator[_Count]:
    """What a witness saw of each kind, but for broadcasts, and when it saw other collectives."""
    assert run.seen is not None
    declared, traffic = _declared(case), run.seen.traffic
    reductions = messages.of_kinds(declared.kind, case.problem.samples, best)
    size = np.dtype(case.formulas.precision).itemsize
    for kind, (calls, words) in reductions.items():
        one, name = traffic[kind], NAMES[kind]
        yield _count(name + BY_WITNESS, one.calls, calls, made, OF_CALLS)
        if words is not None:
            yield _count(f"words of {name}{BY_WITNESS}", one.elements, words, made, OF_WORDS)
            yield _count(f"bytes of {name}{BY_WITNESS}", one.bytes, words * size, made, OF_WORDS)
    timed = SEPARATE in case.formulas.options
    barriers = (reductions[ALLREDUCE][0] - _norms(case)) if timed else 0
    for kind, calls in ((POINT_TO_POINT, 0), (BARRIER, barriers)):
        yield _count(NAMES[kind] + BY_WITNESS, traffic[kind].calls, calls, made, OF_CALLS)
    followed, recorded = run.seen.after_others, len(run.iterations)
    if followed is not None:
        place = Place(
            found=followed, expected=recorded, item="reductions after another collective", run=made
        )
        yield _Count(wrong(max(followed - recorded, 0), place=place), OF_CALLS)


def _broadcasts(seen: Witnessed, own: int, windows: int, made: str) -> Iterator[_Count]:
    """Broadcasts: none, but where the ranks' arithmetic was measured to differ as many as the solver says.

    These are one a window at most. A solver that says so on ranks of one arithmetic, or sends others, is
    wrong, whether or not a witness saw them.
    """
    differ = seen.arithmetic_kinds > 1
    allowed, where = (min(own, windows), "") if differ else (0, ALIKE)
    yield _count(NAMES[BROADCAST] + where, own, allowed, made, OF_CALLS)
    if seen.traffic:
        found = seen.traffic[BROADCAST].calls
        yield _count(NAMES[BROADCAST] + BY_WITNESS + where, found, allowed, made, OF_CALLS)


def _beyond(
    whole: Trajectory, half: Trajectory, windows: int
) -> tuple[dict[str, int], dict[str, int], list[_Count]]:
    """What a run of exchange per-window communicates beyond one of half its windows.

    `windows` are those by which the runs differ.
    """
    later, earlier = _whole_numbers(whole), _whole_numbers(half)
    first = _windows(half.length, half.s)
    beyond = BEYOND.format("window" if first == 1 else f"{first} windows")
    own = {name: later[name] - earlier[name] for name in later.keys() & earlier.keys()}
    best, counts = {OF_CALLS: windows}, list[_Count]()
    if OF_CALLS in own:
        counts.append(_count(OF_CALLS + beyond, own[OF_CALLS], windows, "", OF_CALLS))
    if whole.seen and half.seen:
        both = whole.seen.traffic, half.seen.traffic
        collectives, fewer = (sum(one[kind].calls for kind in COLLECTIVES) for one in both)
        seen = OF_CALLS + beyond + BY_WITNESS
        counts.append(_count(seen, collectives - fewer, windows, "", OF_CALLS))
        sent, before = (one[POINT_TO_POINT].calls for one in both)
        seen = NAMES[POINT_TO_POINT] + beyond + BY_WITNESS
        counts.append(_count(seen, sent - before, 0, "", OF_CALLS))
    return best, own, counts


def _whole_numbers(run: Trajectory) -> dict[str, int]:
    """The counts of a run without a limit of size: numbers of a narrow type wrap, or round, in a sum."""
    return {name: int(count) for name, count in run.counters.items()}


def _norms(case: Case) -> bool:
    """Whether the set-up reduces squared norms."""
    kernel = case.problem.kernel
    return bool(kernel.of_distance) and case.formulas.rbf == "norm-expansion"


def _terms(case: Case, s: int, more: int, whole: Trajectory, known: set[str]) -> tuple[Sensitivity, ...]:
    """What communicating as the classical method does, or once per draw, would have added.

    `more` are the steps beyond one a window. Either shows in one count, if that is among those `known`.
    """
    exchange = _declared(case).kind
    if exchange in (KEPT_GRAM, COLUMN_CACHE) or s == 1:
        return ()
    often = _counted(EVERY_STEP, more, "collectives" in known)
    if exchange == PER_WINDOW:
        return (often,)
    repeated = whole.length * case.stream.block - distinct_columns(case, s, whole).total
    return often, _counted("columns sent as often as drawn", repeated, "words" in known)


def _counted(name: str, more: int, known: bool) -> Sensitivity:
    """The term of a defect that adds so much to one count."""
    return planted_term(
        name, more * known, 0.0, 1, int(known), Why.NO_EFFECT if known else Why.NOT_RECORDED
    )


def expected_counts(case: Case, s: int, trajectory: Trajectory) -> list[dict[str, int]]:
    """The counts that the declared exchange allows a run, shape of `COUNTED`; the usual ones first.

    Without the words for exchange support where the run has no log: they depend on a.
    """
    declared, samples = _declared(case), case.problem.samples
    trailer = declared.trailer
    norms = _norms(case)
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


def continued(case: Case, trajectories: Mapping[str, Trajectory]) -> dict[str, RunRequest]:
    """The plain run of every s as a user makes it, where the solver has that way, as of determinism."""
    requests: dict[str, RunRequest] = {}
    for s in case.s_values:
        if applies(case, s) and AS_USED in case.variants and _declared(case).kind != PER_WINDOW:
            requests |= made_again(case, AS_USED, s, trajectories)
    return requests


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Judge the runs of every s by themselves; see `Check.judge`. The oracle is not used."""
    verdicts: list[Verdict] = []
    for s in case.s_values:
        if runs := [trajectories[key] for key in _requests(case, s)]:
            verdicts += _judge(case, s, trajectories.get(again_key(AS_USED, s)), *runs)
    return verdicts


CHECK = Check(
    id=ID,
    text=__doc__,
    needs="the plain run of every s, and again as a user makes it, where the solver has that way; of "
    "exchange per-window one of half its windows too, of which words are not compared (S-6.2)",
    planted="communication in every iteration, as the classical method has it",
    runs=runs,
    judge=judge,
    continued=continued,
    level=3,
    applies=applies,
)
