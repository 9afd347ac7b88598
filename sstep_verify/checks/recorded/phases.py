"""Check phases: what each step used is right, each quantity as far as what stood before it goes.

A run that writes down its kernel rows, and of every step gradient, curvature and increment, is judged
quantity by quantity in float64: the rows against the data; the gradient (K-RR: right-hand side) and the
curvature (K-RR: block matrix) at the run's own a, which its log tells; the increment as what the recorded
gradient and curvature make of it; the new value of a as what that increment makes of it
(sstep_verify/bounds/step/probed.py). So the first quantity out of its bound names the phase that is wrong.
Not judged: a in another scale, sign or order than ours, and steps without a log.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sstep_verify.checks.shared.case import Case, check_of_each_s, loggable, plain_request, run_key
from sstep_verify.checks.shared.finding import Finding, term_of, unbounded, wrong
from sstep_verify.checks.shared.outcome import unseen, verdict_on
from sstep_verify.checks.steps.probed import (
    CURVATURE,
    GRADIENT,
    INCREMENT,
    ROWS,
    STORED,
    Compared,
    first_in_words,
    first_out,
)
from sstep_verify.checks.steps.probed_quantities import BOTH, TURNED, ProbedRun, malformed
from sstep_verify.checks.window_replay import replayable
from sstep_verify.errors import counted
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.quantities import CURVATURE as DIAGONAL
from sstep_verify.quantities import STALE, WRITE_BACK
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import SEEN, Status, Term, Verdict

CHECK = "phases"

WORDS = 1 << 22
"""Kernel entries of the steps of a run up to which it is the plain one; of a longer one the beginning."""

CORE = {GRADIENT: (STALE, BOTH), CURVATURE: (DIAGONAL,), INCREMENT: (TURNED,), STORED: (WRITE_BACK,)}
"""Parts that must show when left out, or the verdict is VACUOUS."""


def _requests(case: Case, s: int) -> dict[str, RunRequest]:
    """The plain run, or windows of its beginning up to `WORDS` kernel entries, with log and probes."""
    window = math.lcm(s, case.unit)
    words = case.problem.samples * case.stream.block * window
    length = min(case.iterations, max(WORDS // words, 1) * window)
    request = replace(plain_request(case, s), log=True, probes=True)
    if length == case.iterations:
        return {run_key(s): request}
    return {f"{CHECK}/s={s}": replace(request, iterations=length, record=())}


def _judge(case: Case, s: int, oracle: Oracle, trajectory: Trajectory) -> Iterator[Verdict]:
    """Judge the recorded quantities of a run; the oracle keeps kernel entries."""
    if fault := malformed(case, trajectory):
        yield verdict_on(
            CHECK, case, s, Status.FAIL, wrong(fault), f"{fault}.",
            units="shapes", planned=max(trajectory.length, 1), executed=0, signs=("panels",),
        )  # fmt: skip
    elif not trajectory.length:
        yield verdict_on(
            CHECK, case, s, Status.VACUOUS, unbounded(""), "No step was made.",
            units="steps", planned=1, executed=0,
        )  # fmt: skip
    else:
        yield _verdict(case, s, oracle, trajectory)


def _verdict(case: Case, s: int, oracle: Oracle, trajectory: Trajectory) -> Verdict:
    """The verdict on the steps of a run that is not malformed."""
    with np.errstate(over="ignore", invalid="ignore"):  # overflow is part of what is judged
        run = ProbedRun(case, trajectory, oracle)
        quantities = run.quantities()
        first = first_out(quantities, run.width)
        terms = tuple(
            _term(quantity, *effects) for quantity in quantities for effects in quantity.effects.items()
        )
    by_name = {quantity.name: quantity for quantity in quantities}
    counts = [f"{each.judged} of {each.distance.size} {name}" for name, each in by_name.items()]
    words = [
        f"{counted(run.steps, 'step')} of the {case.declaration.name} solver; values judged: "
        f"{', '.join(counts)}."
    ]
    evidence: dict[str, object] = {
        "steps recorded": run.steps,
        "values": {
            name: {"judged": each.judged, "of": each.distance.size, "out": each.out}
            for name, each in by_name.items()
        },
        "largest ratios": {name: float(each.ratio.max(initial=0.0)) for name, each in by_name.items()},
    }
    planned, judged = (
        sum(each.distance.size for each in quantities),
        sum(each.judged for each in quantities),
    )
    signs: list[str] = []
    if first is not None:
        quantity, step = first
        finding, status = quantity.finding(step), Status.FAIL
        signs = [ROWS] if quantity.name == ROWS else quantity.without()
        words.append(first_in_words(quantities, first, run.draws, run.width))
        evidence["first out of its bound"] = {"quantity": quantity.name, "iteration": step + 1}
        evidence["likely causes"] = [f"{part} left out" for part in quantity.without()]
    else:
        largest = [each.finding(int(each.ratio.argmax())) for each in quantities if each.distance.size]
        finding = max([Finding("", 0.0, 0.0, 0.0), *largest], key=lambda finding: finding.ratio)
        core = {_name(each, part) for each in quantities for part in CORE.get(each.name, ())}
        hidden = core & {term.name for term in terms if not term.seen}
        status = Status.PASS if judged and not hidden else Status.VACUOUS
        words.append(
            f"All that were judged are within their bounds; largest ratio {finding.ratio:.3g} "
            "(sstep_verify/bounds/step/probed.py)."
            if judged
            else "None has a finite bound."
        )
    missing = [name for name in (GRADIENT, CURVATURE, STORED) if name not in by_name]
    if missing:
        words.append(f"Not written down, so not judged: {', '.join(missing)}.".replace(STORED, "increment"))
    if first is None and (not_seen := unseen(terms)):
        words.append(f"Not seen: {not_seen}.")
    return verdict_on(
        CHECK, case, s, status, finding, " ".join(words),
        units="of the quantity named", planned=planned, executed=judged, terms=terms, evidence=evidence,
        signs=signs,
    )  # fmt: skip


def _name(quantity: Compared, part: str) -> str:
    return part if part in (DIAGONAL, TURNED, WRITE_BACK) else f"{part} in the {quantity.name}"


def _term(quantity: Compared, part: str, effects: np.ndarray) -> Term:
    """What leaving a part of a quantity out would have shown."""
    largest, seen = float(effects.max(initial=0.0)), int((effects > SEEN).sum())
    reason = f"without it no {quantity.name} changes by more than {largest:.2g} of its bound"
    limit = SEEN / largest if largest > 0.0 else math.inf
    return term_of(_name(quantity, part), limit, len(quantity.bound), quantity.decided, seen, reason)


DECLARED = check_of_each_s(
    _judge,
    _requests,
    id=CHECK,
    text=__doc__,
    needs="the plain run of every s, or its beginning, with log and probes, where the solver declares them",
    planted="stale product, correction, curvature or write-back left out, or the increment turned",
    bounds=("bounds/step/probed", "bounds/step/clip", "bounds/step/residual", "rounding/kernel/entries"),
    level=2,
    # The solver writes down what its steps use, and a is known before each of them.
    applies=lambda case, s: case.declaration.probes and loggable(case),
    affordable=replayable,
)
