"""A run continued from another: begun at a window's end from the alpha that a plain run recorded there.

It must make the steps that exact arithmetic would make from there, up to the rounding of each (S-2.1,
S-2.8). It need not have the bits of the plain run's rest: a solver may keep kernel rows, or maintain a
gradient, and a run that begins again forms these in another order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from sstep_verify.checks.shared.case import Case, run_key
from sstep_verify.checks.shared.comparison import Comparison
from sstep_verify.checks.shared.outcome import verdict_from
from sstep_verify.checks.shared.signs import FIRST_ALPHA, hints_of_signs
from sstep_verify.protocol import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Hint, HintKind, Note, NoteKind, Place, Status, Verdict

CONTINUED = "continued run"
"""Sign of a run that is wrong where it continues one that is correct."""

EVIDENCE = "continued_run"
"""Key of the evidence on such runs."""


def continued_key(s: int) -> str:
    """Key of the continued run of an s."""
    return f"s={s}/continued"


def continued_from(case: Case, plain: Trajectory) -> int:
    """Iteration at which a plain run is continued; 0 if it is not.

    It is the recorded end of a full window that is nearest to the middle of the run, of those at which
    alpha is finite and not 0. A solver that takes no start, or shows a part of alpha or its rounded values
    only, is not continued.
    """
    if not case.restarts or case.formulas.level < 1 or plain.known is not None:
        return 0
    if plain.rounding is not None:
        return 0
    if plain.alphas.shape[1:] != (case.problem.samples,) or plain.alphas.dtype.kind != "f":
        return 0  # The contract says so of the plain run.
    known = [
        iteration
        for iteration, alpha in zip(plain.iterations.tolist(), plain.alphas, strict=True)
        if 0 < iteration < plain.length
        and iteration % plain.s == 0
        and np.isfinite(alpha).all()
        and alpha.any()
    ]
    return min(known, key=lambda iteration: abs(2 * iteration - plain.length), default=0)


def continued_request(
    case: Case, s: int, trajectories: Mapping[str, Trajectory], *, log: bool = False, window: bool = False
) -> dict[str, RunRequest]:
    """The continued run of an s, by key, of at most ``case.short`` iterations; nothing if there is none.

    It has a log, or its first window's end is recorded, where a check asks for that.
    """
    plain = trajectories[run_key(s)]
    begin = continued_from(case, plain)
    if not begin:
        return {}
    length = min(case.short, plain.length - begin)
    start, initial = plain.start + begin, plain.at(begin).copy()
    record = (min(s, length),) if window else ()
    request = RunRequest(case.problem, case.stream, s, length, start, initial, record, log=log)
    return {continued_key(s): request}


def started_at_zero(comparison: Comparison) -> Comparison:
    """The comparison on a continued run that would be correct if it had started from 0."""
    return replace(comparison, signs=(FIRST_ALPHA,), hints=(Hint(HintKind.STARTED_AT_ZERO),))


def joined(
    verdict: Verdict,
    case: Case,
    plain: Trajectory,
    continued: Trajectory,
    comparison: Comparison,
    origin: str,
    judged: int,
) -> Verdict:
    """The verdict on a plain run, joined with the comparison on the run that was continued from it.

    What is wrong with the plain run is named first. Where nothing is, the continued run decides. Of two
    that pass the larger ratio is that of the verdict. `origin` is where the comparison's bound comes from,
    and `judged` how many windows or steps of the continued run were judged.
    """
    begin = continued.start - plain.start
    if judged and comparison.decided and verdict.coverage is not None:
        made = float(begin), float(judged), verdict.coverage.unit
        verdict = replace(verdict, notes=(*verdict.notes, Note(NoteKind.CONTINUED, made)))
    evidence = verdict.evidence | {
        EVIDENCE: {"from": begin, "steps": continued.length, **comparison.numbers()}
    }
    if verdict.status is Status.FAIL or comparison.status not in (Status.FAIL, Status.INCONCLUSIVE):
        passed = verdict.status is comparison.status is Status.PASS
        if not passed or comparison.ratio <= verdict.ratio:
            return replace(verdict, evidence=evidence)
    place = comparison.place or Place(comparison.window.begin, comparison.window.end)
    if comparison.status is Status.PASS:
        return replace(
            verdict,
            ratio=comparison.ratio,
            measured=comparison.measured,
            bound=comparison.bound,
            bound_origin=origin,
            place=replace(place, run=continued_key(verdict.s)),
            evidence=evidence,
        )
    at_zero = any(one.kind is HintKind.STARTED_AT_ZERO for one in comparison.hints)
    return verdict_from(
        verdict.check,
        case,
        verdict.s,
        replace(comparison, place=None),  # no step of the plain run
        place=replace(place, run=continued_key(verdict.s)),
        units=verdict.units,
        bound_origin=origin,
        planned=verdict.planned,
        executed=verdict.executed,
        terms=verdict.terms,
        evidence=evidence,
        signs=comparison.signs if at_zero else (CONTINUED,),
        hints=comparison.hints if at_zero else (*comparison.hints, *hints_of_signs(comparison.signs)),
        coverage=verdict.coverage,
        notes=verdict.notes,
    )
