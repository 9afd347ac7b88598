"""Check message-count: s iterations per communication, counted.

The counts a run reports, and those of a witness between solver and MPI library where there was one, are
compared with what the declared exchange implies, exactly; the formulas stand in costs/messages.py. Where no
witness looked, the counts are the solver's own word, and the verdict says so. Formulas and counts are of
reductions. Other collectives (broadcasts, gathers, barriers) belong to the set-up and to where a is
recorded, so no more reductions may follow one than a was recorded times; on ranks whose processors differ
rank 0 sends every window's end besides, which is counted and held against nothing.

One process counts what it would send. Counts alone are evidence that s was used: the iterates are not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from sstep_verify.checks.shared.case import Case, loggable, run_key
from sstep_verify.checks.shared.check import Check
from sstep_verify.checks.shared.every_s import judge_every_s, plain_runs
from sstep_verify.checks.shared.exchange_counts import (
    COUNTED,
    SUPPORT,
    distinct_columns,
    expected_counts,
)
from sstep_verify.checks.shared.finding import Finding, wrong
from sstep_verify.checks.shared.outcome import planted_term, record
from sstep_verify.checks.shared.several import record_of
from sstep_verify.declaration import PER_WINDOW, SEPARATE
from sstep_verify.oracle.facade import Oracle
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import AFTER_OTHERS, BROADCASTS, WITNESSED, Trajectory
from sstep_verify.verdict import Term, Verdict

CHECK = "message-count"

CAUSES = (
    "communication in every iteration instead of every window, columns sent as often as they are drawn, "
    "a message beside the declared ones, another set-up than the declared one, a window that is not s steps"
)


def runs(case: Case) -> dict[str, RunRequest]:
    """The plain run of every s; of exchange per-window also one of about half its windows.

    Where the words depend on a, the plain run is asked for its log.
    """
    found = plain_runs(case)
    if case.declaration.exchange == SUPPORT and loggable(case):
        return {key: replace(plain, log=True) for key, plain in found.items()}
    if case.declaration.exchange == PER_WINDOW:
        for s in case.s_values:
            half = _windows(case.iterations, s) // 2 * s
            if not half:
                continue  # One window: nothing tells it from the set-up.
            plain = found[run_key(s)]
            found[_half(s)] = RunRequest(
                plain.problem, plain.stream, s, half, plain.start, plain.initial, record=(half,)
            )
    return found


def _half(s: int) -> str:
    return f"messages/half/s={s}"


def _windows(iterations: int, s: int) -> int:
    return -(-iterations // s)


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Compare the counts of every plain run with the declared exchange; the oracle is not used.

    Parameters and the list returned are those of `judge_every_s`. A solver that declares no exchange has
    no verdict; one that declares it and counts nothing is INCONCLUSIVE.
    """
    if case.declaration.exchange == PER_WINDOW:
        several = [s for s in case.s_values if _half(s) in trajectories]
        counted = replace(case, s_values=tuple(several))
        return judge_every_s(counted, trajectories, _judge_per_window, lambda s: (run_key(s), _half(s)))
    return judge_every_s(case, trajectories, _judge) if case.declaration.exchange else []


def _judge_per_window(case: Case, s: int, whole: Trajectory, half: Trajectory) -> Verdict:
    """Collectives of a run beyond those of its first half: the set-up, whatever it is, stands in both."""
    known = [run.counters["collectives"] for run in (whole, half) if "collectives" in run.counters]
    due = _windows(whole.length, s) - _windows(half.length, s)
    name = case.declaration.name
    if len(known) == 2:
        made = known[0] - known[1]
        what = (
            f"{name}: {known[0]} collectives in {whole.length} iterations, {known[1]} in {half.length}, so "
            f"{made} in {due} windows; difference"
        )
        finding = wrong(what, abs(made - due))
    else:
        finding = Finding(f"{name}: its collectives are not counted", 0.0, math.inf, 0.0)
    steps = whole.length - half.length
    terms = () if s == 1 else (
        planted_term(
            "communication in every iteration", steps - due, 0.0, due, due,
            f"{steps} iterations are {due} windows, as many as the classical method has",
        ),
    )  # fmt: skip
    return record(
        CHECK,
        case,
        s,
        finding,
        units="messages",
        planned=1,
        executed=int(len(known) == 2),
        origin="one collective a window, beside those of the set-up, so the bound is 0; "
        + _told(case, whole.counters),
        causes=CAUSES,
        terms=terms,
        evidence={
            "collectives": known,
            "windows": due,
            "own word": WITNESSED["collectives"] not in whole.counters,
        },
    )


def _judge(case: Case, s: int, trajectory: Trajectory) -> Verdict:
    expected = expected_counts(case, s, trajectory)
    counts = trajectory.counters
    known = [name for name in COUNTED if name in counts and name in expected[0]]
    # A kept Gram matrix is formed by the first run that needs it, and later runs find it there.
    best = min(expected, key=lambda wanted: sum(counts[name] != wanted[name] for name in known))
    seen = {name: counts[other] for name, other in WITNESSED.items() if other in counts and name in best}
    who = f"{case.declaration.name}, exchange {case.declaration.exchange}, {trajectory.length} iterations"
    findings = [
        wrong(f"{who}: {name} {how} {made}, expected {best[name]}; difference", abs(made - best[name]))
        for how, of_one in (
            ("counted", {name: counts[name] for name in known}),
            ("that the MPI library saw", seen),
        )
        for name, made in of_one.items()
    ]
    findings += _others(case, trajectory)
    if len(known) < len(COUNTED):
        missing = ", ".join(name for name in COUNTED if name not in known)
        findings.append(
            Finding(
                f"the declared exchange is not counted, or what is due not known: {missing} missing",
                0.0,
                math.inf,
                0.0,
            )
        )
    return record_of(
        CHECK,
        case,
        s,
        findings,
        units="messages or words",
        planned=len(COUNTED) + len(seen),
        executed=len(known) + len(seen),
        origin=f"what the declared exchange implies, so the bound is 0; {_told(case, counts)}",
        causes=CAUSES,
        terms=_terms(case, s, trajectory),
        evidence={
            "counted": {name: counts[name] for name in known},
            "expected": best,
            "seen": seen,
            "own word": not seen,
            BROADCASTS: counts.get(BROADCASTS, 0),
        },
        signs=[
            name for name in known if counts[name] != best[name] or seen.get(name, best[name]) != best[name]
        ],
        each=True,
    )


def _others(case: Case, trajectory: Trajectory) -> list[Finding]:
    """Collectives beside the reductions: no more than recording a takes, where nothing else makes any."""
    counts, recorded = trajectory.counters, len(trajectory.iterations)
    if AFTER_OTHERS not in counts or BROADCASTS in counts or SEPARATE in case.declaration.options:
        return []
    over = max(counts[AFTER_OTHERS] - recorded, 0)
    what = (
        f"{case.declaration.name}: {counts[AFTER_OTHERS]} of its reductions follow another collective that "
        f"the MPI library saw, but a is recorded {recorded} times; more than that"
    )
    return [wrong(what, over)]


def _told(case: Case, counts: Mapping[str, int]) -> str:
    """Whose counts they are, and what nobody has counted."""
    if case.declaration.ranks == 1:
        return "one process counts what it would send"
    own = "its own word, for no witness stood between it and the MPI library"
    told = (
        f"the counts are {'what the MPI library saw, too' if WITNESSED['collectives'] in counts else own}"
    )
    if BROADCASTS in counts:
        told += (
            f"; the ranks' processors differ, and {counts[BROADCASTS]} broadcasts of rank 0's numbers, by "
            "its own count, are held against nothing"
        )
    return told


def _terms(case: Case, s: int, trajectory: Trajectory) -> tuple[Term, ...]:
    """What communicating as the classical method does, or once per draw, would have added."""
    if case.declaration.exchange in ("kept-gram", "column-cache") or s == 1:
        return ()
    windows = -(-trajectory.length // s)
    repeated = trajectory.length * case.stream.block - distinct_columns(case, s, trajectory)[0]
    return (
        planted_term(
            "communication in every iteration", trajectory.length - windows, 0.0, windows, windows,
            f"{trajectory.length} iterations are {windows} windows, as many as the classical method has",
        ),
        planted_term(
            "columns sent as often as drawn", repeated, 0.0, windows, windows,
            "no window draws a coordinate twice",
        ),
    )  # fmt: skip


DECLARED = Check(
    id=CHECK,
    text=__doc__,
    needs="the plain run of every s; of exchange per-window one of half its windows too",
    planted="communication in every iteration, as the classical method has it",
    runs=runs,
    judge=judge,
    level=3,
    applies=lambda case, s: bool(case.declaration.exchange),
)
