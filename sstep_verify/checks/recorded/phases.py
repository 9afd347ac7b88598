"""Check phases: what each step used is right, each quantity as far as what stood before it goes.

A run that writes down its kernel rows, and of every step gradient, curvature and increment, is judged
quantity by quantity in float64: the rows against the data; the gradient (K-RR: right-hand side) and the
curvature (K-RR: block matrix) at the run's own a, which its log tells; the increment as what the recorded
gradient and curvature make of it; the new value of a as what that increment makes of it
(bounds/step/probed.py). So the first quantity out of its bound names the phase that is wrong. Not judged:
a in another scale, sign or order than ours, and steps without a log.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sstep_verify.checks.probed.compared import (
    CURVATURE,
    GRADIENT,
    INCREMENT,
    ROWS,
    STORED,
    Compared,
    first_out,
)
from sstep_verify.checks.probed.quantities import BOTH, TURNED, ProbedRun, malformed
from sstep_verify.checks.probed.told import told_first
from sstep_verify.checks.shared.case import Case, loggable, plain_request, run_key
from sstep_verify.checks.shared.check import check_of_each_s
from sstep_verify.checks.shared.finding import Finding, term_of, unbounded, wrong
from sstep_verify.checks.shared.outcome import verdict_on
from sstep_verify.checks.window_replay import replayable
from sstep_verify.oracle.facade import Oracle
from sstep_verify.quantities import CURVATURE as DIAGONAL
from sstep_verify.quantities import STALE, WRITE_BACK
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import SEEN, Status, Term, Verdict

CHECK = "phases"

WORDS = 1 << 22
"""Kernel entries of the steps of a run up to which it is the plain one; of a longer one the beginning."""

CORE = {GRADIENT: (STALE, BOTH), CURVATURE: (DIAGONAL,), INCREMENT: (TURNED,), STORED: (WRITE_BACK,)}
"""Parts that must show when left out, or the verdict is VACUOUS."""


def _applies(case: Case, s: int) -> bool:
    """Whether the solver writes down what its steps use, and a is known before each of them."""
    return case.declaration.probes and loggable(case)


def _requests(case: Case, s: int) -> dict[str, RunRequest]:
    """The plain run, or windows of its beginning up to `WORDS` kernel entries, with log and probes."""
    window = math.lcm(s, case.unit)
    words = case.problem.samples * case.stream.block * window
    length = min(case.iterations, max(WORDS // words, 1) * window)
    request = replace(plain_request(case, s), log=True, probes=True)
    if length == case.iterations:
        return {run_key(s): request}
    return {f"{CHECK}/s={s}": replace(request, iterations=length, record=())}


def _judge(case: Case, s: int, oracle: Oracle, trajectory: Trajectory) -> list[Verdict]:
    """Judge the recorded quantities of a run; the oracle keeps kernel entries."""
    return [_verdict(case, s, trajectory, oracle)]


def _verdict(case: Case, s: int, trajectory: Trajectory, oracle: Oracle) -> Verdict:
    if fault := malformed(case, trajectory):
        return verdict_on(
            CHECK, case, s, Status.FAIL, wrong(fault), f"{fault}.",
            units="shapes", planned=max(trajectory.length, 1), executed=0, signs=("panels",),
        )  # fmt: skip
    if not trajectory.length:
        return verdict_on(
            CHECK, case, s, Status.VACUOUS, unbounded(""), "No step was made.",
            units="steps", planned=1, executed=0,
        )  # fmt: skip
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is part of what is judged
        run = ProbedRun(case, trajectory, oracle)
        found = run.quantities()
        first, terms = first_out(found, run.width), _terms(found)
    judged, planned = sum(one.judged for one in found), sum(one.distance.size for one in found)
    finding, status = _largest(found), Status.PASS
    if first is not None:
        finding, status = first[0].finding(first[1]), Status.FAIL
    elif not judged or any(term.status is Status.VACUOUS for term in terms if term.name in _core(found)):
        status = Status.VACUOUS
    return verdict_on(
        CHECK, case, s, status, finding, _reason(run, found, first, terms, status),
        units="of the quantity named", planned=planned, executed=judged, terms=terms,
        evidence=_evidence(run, found, first), signs=_signs(first),
    )  # fmt: skip


def _signs(first: tuple[Compared, int] | None) -> tuple[str, ...]:
    """Names of what is wrong, for the sentences that it breaks."""
    if first is None:
        return ()
    return (ROWS,) if first[0].name == ROWS else tuple(first[0].without())


def _largest(found: list[Compared]) -> Finding:
    """The value with the largest ratio."""
    steps = [one.finding(int(one.ratio.argmax())) for one in found if one.distance.size]
    return max([Finding("", 0.0, 0.0, 0.0), *steps], key=lambda finding: finding.ratio)


def _name(one: Compared, part: str) -> str:
    return part if part in (DIAGONAL, TURNED, WRITE_BACK) else f"{part} in the {one.name}"


def _core(found: list[Compared]) -> set[str]:
    return {_name(one, part) for one in found for part in CORE.get(one.name, ()) if part in one.effects}


def _terms(found: list[Compared]) -> tuple[Term, ...]:
    """What leaving each part of each quantity out would have shown."""
    terms = []
    for one in found:
        for part, effects in one.effects.items():
            largest, seen = float(effects.max(initial=0.0)), int((effects > SEEN).sum())
            limit = SEEN / largest if largest > 0.0 else math.inf
            why_not = f"without it no {one.name} changes by more than {largest:.2g} of its bound"
            counts = len(one.bound), one.decided, seen
            terms.append(term_of(_name(one, part), limit, *counts, why_not))
    return tuple(terms)


def _reason(run: ProbedRun, found: list[Compared], first, terms: tuple[Term, ...], status: Status) -> str:
    counts = ", ".join(f"{one.judged} of {one.distance.size} {one.name}" for one in found)
    words = [f"{run.steps} steps of the {run.case.declaration.name} solver; values judged: {counts}."]
    if first is not None:
        words.append(told_first(run, found, *first))
    else:
        words.append(
            f"All that were judged are within their bounds; largest ratio {_largest(found).ratio:.3g} "
            "(bounds/step/probed.py)."
            if any(one.judged for one in found)
            else "None has a finite bound."
        )
    missing = [name for name in (GRADIENT, CURVATURE, STORED) if name not in {one.name for one in found}]
    if missing:
        words.append(f"Not written down, so not judged: {', '.join(missing)}.".replace(STORED, "increment"))
    hidden = [f"{term.name} ({term.reason})" for term in terms if term.status is Status.VACUOUS]
    if hidden and status is not Status.FAIL:
        words.append(f"Not seen: {'; '.join(hidden)}.")
    return " ".join(words)


def _evidence(run: ProbedRun, found: list[Compared], first) -> dict[str, object]:
    evidence: dict[str, object] = {
        "steps recorded": run.steps,
        "values": {
            one.name: {"judged": one.judged, "of": one.distance.size, "out": one.out} for one in found
        },
        "largest ratios": {one.name: float(one.ratio.max(initial=0.0)) for one in found},
    }
    if first is not None:
        one, step = first
        evidence["first out of its bound"] = {"quantity": one.name, "iteration": step + 1}
        evidence["likely causes"] = [f"{part} left out" for part in one.without()]
    return evidence


DECLARED = check_of_each_s(
    _judge,
    _requests,
    id=CHECK,
    text=__doc__,
    needs="the plain run of every s, or its beginning, with log and probes, where the solver declares them",
    planted="stale product, correction, curvature or write-back left out, or the increment turned",
    bounds=("step/probed", "step/clip", "step/residual", "kernel/entries"),
    level=2,
    applies=_applies,
    affordable=replayable,
)
