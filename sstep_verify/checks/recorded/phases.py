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
    first_in_words,
    first_out,
)
from sstep_verify.checks.probed.quantities import BOTH, TURNED, ProbedRun, malformed
from sstep_verify.checks.shared.case import Case, loggable, plain_request, run_key
from sstep_verify.checks.shared.check import check_of_each_s
from sstep_verify.checks.shared.finding import Finding, term_of, unbounded, wrong
from sstep_verify.checks.shared.outcome import unseen, verdict_on
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
        quantities = run.quantities()
        first = first_out(quantities, run.width)
        terms = tuple(_term(one, *effects) for one in quantities for effects in one.effects.items())
    counts = [f"{one.judged} of {one.distance.size} {one.name}" for one in quantities]
    words = [
        f"{run.steps} steps of the {case.declaration.name} solver; values judged: {', '.join(counts)}."
    ]
    evidence: dict[str, object] = {
        "steps recorded": run.steps,
        "values": {
            one.name: {"judged": one.judged, "of": one.distance.size, "out": one.out} for one in quantities
        },
        "largest ratios": {one.name: float(one.ratio.max(initial=0.0)) for one in quantities},
    }
    planned, judged = sum(one.distance.size for one in quantities), sum(one.judged for one in quantities)
    signs: list[str] = []
    if first is not None:
        quantity, step = first
        finding, status = quantity.finding(step), Status.FAIL
        signs = [ROWS] if quantity.name == ROWS else quantity.without()
        words.append(first_in_words(quantities, first, run.draws, run.width))
        evidence["first out of its bound"] = {"quantity": quantity.name, "iteration": step + 1}
        evidence["likely causes"] = [f"{part} left out" for part in quantity.without()]
    else:
        finding = _largest(quantities)
        hidden = {term.name for term in terms if not term.seen}
        status = Status.PASS if judged and hidden.isdisjoint(_core(quantities)) else Status.VACUOUS
        words.append(
            f"All that were judged are within their bounds; largest ratio {finding.ratio:.3g} "
            "(bounds/step/probed.py)."
            if judged
            else "None has a finite bound."
        )
    names = {one.name for one in quantities}
    missing = [name for name in (GRADIENT, CURVATURE, STORED) if name not in names]
    if missing:
        words.append(f"Not written down, so not judged: {', '.join(missing)}.".replace(STORED, "increment"))
    if first is None and (not_seen := unseen(terms)):
        words.append(f"Not seen: {not_seen}.")
    return verdict_on(
        CHECK, case, s, status, finding, " ".join(words),
        units="of the quantity named", planned=planned, executed=judged, terms=terms, evidence=evidence,
        signs=signs,
    )  # fmt: skip


def _largest(quantities: list[Compared]) -> Finding:
    """The value with the largest ratio."""
    steps = [one.finding(int(one.ratio.argmax())) for one in quantities if one.distance.size]
    return max([Finding("", 0.0, 0.0, 0.0), *steps], key=lambda finding: finding.ratio)


def _name(one: Compared, part: str) -> str:
    return part if part in (DIAGONAL, TURNED, WRITE_BACK) else f"{part} in the {one.name}"


def _core(quantities: list[Compared]) -> set[str]:
    parts = ((one, part) for one in quantities for part in CORE.get(one.name, ()))
    return {_name(one, part) for one, part in parts if part in one.effects}


def _term(one: Compared, part: str, effects: np.ndarray) -> Term:
    """What leaving a part of a quantity out would have shown."""
    largest, seen = float(effects.max(initial=0.0)), int((effects > SEEN).sum())
    reason = f"without it no {one.name} changes by more than {largest:.2g} of its bound"
    limit = SEEN / largest if largest > 0.0 else math.inf
    return term_of(_name(one, part), limit, len(one.bound), one.decided, seen, reason)


DECLARED = check_of_each_s(
    _judge,
    _requests,
    id=CHECK,
    text=__doc__,
    needs="the plain run of every s, or its beginning, with log and probes, where the solver declares them",
    planted="stale product, correction, curvature or write-back left out, or the increment turned",
    bounds=("bounds/step/probed", "bounds/step/clip", "bounds/step/residual", "rounding/kernel/entries"),
    level=2,
    applies=_applies,
    affordable=replayable,
)
