"""Check step-replay: every logged step is one classical step from the run's own alpha, up to its rounding.

From a log of the new value of each drawn coordinate alpha is known exactly before every step, also inside a
window. Each step is judged by itself, in float64 by code of the judge's own, against the sum of two bounds:
what any correct implementation of the declared recurrence may be off by, and what the judge may
(sstep_verify/bounds/step/clip.py, sstep_verify/bounds/step/residual.py, sstep_verify/bounds/step/drift.py
for maintained weights). Nothing is propagated, so no s is too large. Where all steps are judged, a defect
that exceeds the bound in one of them is detected.

The log is tied to the run: it must lead to every recorded alpha, 0 and -0 being equal; of a solver that is
run again for each of these, to the last. A run that is continued at a window's end, from the alpha recorded
there, is judged alike. Steps of a K-SVM are also counted by the limits that they leave and reach (low to
free, high to low); the evidence lists the transitions that no step makes.

Some steps are replayed in exact arithmetic as well, as many as `EXACT_WORDS` allows
(sstep_verify/checks/steps/seen.py). First come the step with the largest ratio, the first faulty one, the
first of each event and a seeded one. Then come those that show a quantity best; limits of the box are left
out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify.checks.shared.case import Case, Check, loggable, plain_request, run_key
from sstep_verify.checks.shared.comparison import Comparison, Window, decisive, unbounded, wrong
from sstep_verify.checks.shared.continued import (
    continued_key,
    continued_request,
    joined,
    started_at_zero,
)
from sstep_verify.checks.shared.last_window import hints_of_last_window
from sstep_verify.checks.shared.outcome import right_at_one, verdict_from
from sstep_verify.checks.shared.signs import FIRST_ALPHA, NO_LOG, hints_of_signs
from sstep_verify.checks.shared.terms import core_terms
from sstep_verify.checks.steps.judged import JudgedRun, StepJudge
from sstep_verify.checks.steps.other_declarations import SINGLE, held_in_float32, hints_of_declarations
from sstep_verify.checks.steps.place import placed, unwritten
from sstep_verify.checks.steps.seen import exact_steps, identifier, step_terms
from sstep_verify.checks.steps.step_statistics import EVENTS, transitions_in
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.quantities import STREAM, WRITE_BACK
from sstep_verify.rounding.arithmetic import gamma, unit_roundoff
from sstep_verify.specification import requirements_of
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import (
    BY_INCREMENT,
    FIRST_STEP,
    LOG,
    WORST_STEP,
    Coverage,
    Hint,
    HintKind,
    Place,
    Status,
    Verdict,
    Why,
)

ID = "step-replay"

STEP_LOG = "step log"
"""Sign of a log that does not lead to what was recorded, whichever of the two is wrong."""


def applies(case: Case, s: int) -> bool:
    """Whether the solver logs its steps, and the log is of a size to be kept."""
    return loggable(case)


def runs(case: Case) -> dict[str, RunRequest]:
    """The plain run of every s, made as without this check, with its step log."""
    return {run_key(s): replace(plain_request(case, s), log=True) for s in case.s_values if loggable(case)}


def continued(case: Case, trajectories: Mapping[str, Trajectory]) -> dict[str, RunRequest]:
    """The run of every s continued at a window's end, with its step log."""
    wanted: dict[str, RunRequest] = {}
    for s in case.s_values if loggable(case) else ():
        wanted |= continued_request(case, s, trajectories, log=True)
    return wanted


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Judge the steps of every plain run, and of the run continued from it.

    Parameters are those of `Check.judge`; the oracle replays single steps exactly and keeps kernel entries.

    Returns
    -------
    list of Verdict
        One per run.
    """
    if not loggable(case):
        return []
    step_judge = StepJudge(case, oracle)
    verdicts: list[Verdict] = []
    for s in case.s_values:
        between = s > 1 and right_at_one(case, verdicts)
        plain, after = trajectories[run_key(s)], trajectories.get(continued_key(s))
        verdict = _judge_run(case, s, plain, step_judge, between=between)
        if after is not None:
            broken = broken_chain(case, after)
            comparison = broken or _judge_continued(after, step_judge)
            decides = verdict.status is not Status.FAIL and comparison.status is Status.FAIL
            if decides and _correct_from_zero(after, step_judge):
                comparison = started_at_zero(comparison)
            judged = 0 if broken else after.length
            verdict = joined(verdict, case, plain, after, comparison, _origin(case), judged)
        verdicts.append(verdict)
    return verdicts


def _judge_continued(trajectory: Trajectory, step_judge: StepJudge) -> Comparison:
    """The step of a continued run with the largest ratio."""
    judged = step_judge.run(trajectory)
    return placed(judged, judged.worst) if judged.worst else unbounded(why=Why.NO_BOUND)


def _correct_from_zero(trajectory: Trajectory, step_judge: StepJudge) -> bool:
    """Whether the steps of a run are correct, and led to what it recorded, if it started from 0."""
    case, log = step_judge.case, trajectory.log
    if log is None or log.shape != (trajectory.length, case.stream.block) or not trajectory.length:
        return False
    draws = case.stream.blocks(trajectory.start, trajectory.start + trajectory.length)
    alphas = np.zeros_like(trajectory.alphas)
    for place, iteration in enumerate(trajectory.iterations.tolist()):
        made = draws[:iteration].ravel()
        alphas[place, made] = log[:iteration].ravel()
        # An adapter that has the log and no alpha leaves the start in what no step drew.
        if not np.array_equal(alphas[place, made], trajectory.alphas[place, made]):
            return False
    comparison = _judge_continued(replace(trajectory, alphas=alphas), step_judge)
    return comparison.status is Status.PASS


def _origin(case: Case) -> str:
    """The module that the bound of a step comes from."""
    return "bounds/step/clip" if case.problem.is_svm else "bounds/step/residual"


def _judge_run(
    case: Case, s: int, trajectory: Trajectory, step_judge: StepJudge, *, between: bool
) -> Verdict:
    """The verdict on the plain run of an s, before the continued run is joined to it.

    The log must lead to what was recorded, or no step is judged. Steps are judged by
    checks/steps/judged.py, and the worst comparison decides.
    """
    svm, length = case.problem.is_svm, trajectory.length
    fields: dict[str, Any] = {
        "units": "value of a coordinate" if svm else "residual of a block system, one entry",
        "planned": length,
    }
    if broken := broken_chain(case, trajectory):
        return _contradicted(case, s, trajectory, broken, step_judge, fields, between=between)
    judged = step_judge.run(trajectory)
    exact = exact_steps(judged)
    terms = step_terms(judged, exact)
    fields |= {
        "bound_origin": _origin(case),
        "executed": judged.decided,
        "terms": terms,
        "coverage": Coverage("step", judged.decided, length),
    }
    if not (judged.worst or exact):
        nothing = unbounded(why=Why.NO_BOUND if length else Why.NO_STEPS)
        return verdict_from(ID, case, s, nothing, evidence=_evidence(judged), **fields)
    comparison = decisive([*([judged.worst] if judged.worst else []), *exact])
    if judged.wrong.size:
        from sstep_verify.checks.steps.causes import diagnosed

        # The verdict points to the first wrong step; its value and bound stay those of the worst, which
        # report/words.py names where it is another.
        worst = comparison.window.end
        comparison, found = diagnosed(comparison, judged, between=between)
        unexplained = case.diagnose and not found.defects
        other = hints_of_declarations(judged, step_judge.oracle, unexplained=unexplained)
        last = hints_of_last_window(judged.wrong.tolist(), length, s, others=judged.decided > length % s)
        fields |= {"defects": found.defects, "hints": (*comparison.hints, *found.hints, *last, *other)}
        still = {HintKind.NOTHING_MOVED, HintKind.STOPPED} & {one.kind for one in found.hints}
        fields |= {"diagnosed": case.diagnose and not still, "signs": found.signs}
    else:
        comparison = placed(judged, comparison)
    fields["required"] = core_terms(terms, min(s, length))
    repeated = [
        {"step": step.window.end, "ratio": step.ratio, "status": step.status.value} | step.details
        for step in exact
    ]
    evidence = _evidence(judged) | {"exact_steps": repeated}
    if judged.wrong.size:
        evidence[WORST_STEP] = worst
        if worst != comparison.window.end:
            evidence[FIRST_STEP] = _first_wrong(judged, exact)
        shown = {int(comparison.window.end), int(worst)}
        if longer := [step for step in sorted(shown) if _longer_than_any(judged, step - 1)]:
            evidence[BY_INCREMENT] = longer
    return verdict_from(ID, case, s, replace(comparison, signs=()), evidence=evidence, **fields)


def _longer_than_any(judged: JudgedRun, iteration: int) -> bool:
    """Whether the increment of a K-RR step is longer than that of any correct step, so has no residual."""
    if judged.case.problem.is_svm or not np.isfinite(judged.step(iteration)[1]).all():
        return False
    return bool(np.isinf(judged.judge.step_bounds(judged.trajectory, iteration)).all())


def _first_wrong(judged: JudgedRun, exact: Sequence[Comparison]) -> dict[str, float]:
    """Measured value and bound of the first wrong step: of its exact replay, if there is one."""
    for step in exact:
        if step.window.begin == judged.wrong[0] and step.status is Status.FAIL:
            return {"measured": step.measured, "bound": step.bound}
    first = int(np.argmax(judged.tally.over))
    return {"measured": float(judged.tally.distance[first]), "bound": float(judged.tally.bound[first])}


def _contradicted(
    case: Case,
    s: int,
    trajectory: Trajectory,
    broken: Comparison,
    step_judge: StepJudge,
    fields: Mapping[str, Any],
    *,
    between: bool,
) -> Verdict:
    """The verdict on a log that does not lead to what was recorded, of which no step is judged."""
    from sstep_verify.checks.steps.causes import of_recorded

    found = of_recorded(broken, trajectory, step_judge, between=between)
    verdict = verdict_from(
        ID,
        case,
        s,
        broken,
        executed=0,
        evidence={"steps": {"judged": 0, "of": trajectory.length}} | broken.details,
        defects=found.defects,
        hints=(*broken.hints, *hints_of_signs(broken.signs), *found.hints),
        diagnosed=bool(found.defects),
        coverage=Coverage("step", 0, trajectory.length),
        **fields,
    )
    if found.defects or FIRST_ALPHA in broken.signs:
        return verdict
    # Of a log of increments it is known that it is not what was declared.
    not_a_log = broken.signs == (NO_LOG,) or HintKind.LOG_OF_INCREMENTS in {
        one.kind for one in broken.hints
    }
    (number,) = requirements_of(case.problem.loss.task, (NO_LOG if not_a_log else STEP_LOG,))
    return replace(verdict, requirement=number)


def broken_chain(case: Case, trajectory: Trajectory) -> Comparison | None:
    """How the log fails to lead to what was recorded, with the signs of it; None where it does."""
    log, shape = trajectory.log, (trajectory.length, case.stream.block)
    if log is None:
        return wrong(place=Place(item="log missing"), signs=(NO_LOG,))
    if log.shape != shape:
        shapes: dict[str, object] = {"log_shape": [*log.shape], "expected_shape": [*shape]}
        return wrong(place=Place(item="log shape"), signs=(NO_LOG,), details=shapes)
    alpha, position, before = np.array(trajectory.alphas[0]), 0, trajectory.alphas[0]
    apart = case.formulas.level < 2
    if apart and _leads_to_end(case, trajectory, log):
        return None  # What runs of other lengths ended in contradicts no log of this one.
    for iteration, recorded in zip(trajectory.iterations.tolist(), trajectory.alphas, strict=True):
        draws = case.stream.blocks(trajectory.start + position, trajectory.start + iteration)
        # Of a repeated coordinate the last value stays.
        alpha[draws.ravel()] = log[position:iteration].ravel()
        if not np.array_equal(alpha, recorded, equal_nan=True):
            broken = _broken_at(iteration, alpha, recorded, draws, log)
            in_float64 = any(one.kind is HintKind.LOG_IN_FLOAT64 for one in broken.hints)
            whole = case.stream.blocks(trajectory.start, trajectory.start + trajectory.length)
            ends = trajectory.alphas[0], log, whole, trajectory.final
            if not in_float64 and (
                _leads_by_increments(case, before, log[position:iteration], draws, recorded)
                or (not log[position:iteration].any() and _leads_by_increments(case, *ends))
            ):
                broken = replace(broken, hints=(*broken.hints, Hint(HintKind.LOG_OF_INCREMENTS)))
            if _rounded_to_float32(case, log, alpha, recorded):
                broken = replace(broken, hints=(*broken.hints, Hint(HintKind.LOG_IN_FLOAT32, ("alpha",))))
            if apart and not position and WRITE_BACK in broken.signs:
                return replace(broken, signs=(*broken.signs, FIRST_ALPHA))
            return broken
        position, before = iteration, recorded
    return None


def _leads_to_end(case: Case, trajectory: Trajectory, log: np.ndarray) -> bool:
    """Whether a log leads from the first alpha to the last."""
    alpha = np.array(trajectory.alphas[0])
    draws = case.stream.blocks(trajectory.start, trajectory.start + trajectory.length)
    alpha[draws.ravel()] = log.ravel()
    return np.array_equal(alpha, trajectory.final, equal_nan=True)


def _leads_by_increments(
    case: Case, before: np.ndarray, log: np.ndarray, draws: np.ndarray, recorded: np.ndarray
) -> bool:
    """Whether a log leads from one recorded alpha to the next if its entries are increments."""
    alpha, size = before.astype(np.float64), np.abs(before).astype(np.float64)
    np.add.at(alpha, draws.ravel(), log.ravel().astype(np.float64))
    np.add.at(size, draws.ravel(), np.abs(log).ravel().astype(np.float64))
    off = 2.0 * gamma(draws.size + 4, unit_roundoff(case.formulas.precision)) * size
    return bool(log.any() and (np.abs(alpha - recorded.astype(np.float64)) <= off).all())


def _rounded_to_float32(case: Case, log: np.ndarray, alpha: np.ndarray, recorded: np.ndarray) -> bool:
    """Whether a log in float32, not of limits of the box only, leads to the recorded alpha so rounded."""
    if case.declaration.precision == SINGLE or not held_in_float32(log).all():
        return False
    limits = [case.problem.dual.lower, case.problem.dual.upper] if case.problem.is_svm else []
    with np.errstate(over="ignore", invalid="ignore"):
        inside = ~np.isin(log, np.array(limits, np.float32))
        drawn = np.where(alpha == recorded, alpha, recorded.astype(np.float32))
    return bool(inside.any() and np.array_equal(drawn, alpha))


def _broken_at(
    iteration: int, alpha: np.ndarray, recorded: np.ndarray, draws: np.ndarray, log: np.ndarray
) -> Comparison:
    """The first recorded a that the log does not lead to, with the signs of it."""
    places = np.flatnonzero((alpha != recorded) & ~(np.isnan(alpha) & np.isnan(recorded)))
    undrawn = places[~np.isin(places, draws)]
    place = int((undrawn if undrawn.size else places)[0])
    signs, hints = [STEP_LOG, STREAM, NO_LOG], list[Hint]()
    if np.array_equal(alpha.astype(np.float64), recorded.astype(np.float64), equal_nan=True):
        signs, hints = [NO_LOG], [Hint(HintKind.LOG_IN_FLOAT64, (str(recorded.dtype),))]
    elif undrawn.size:
        signs = [STREAM, WRITE_BACK]
    elif np.isnan(alpha[place]):
        signs, hints = [NO_LOG], [unwritten(log)] if np.isnan(log).any() else []
    found, led = float(recorded[place]), float(alpha[place])
    at = Place(0, iteration, place, found=found, expected=led, item=LOG)
    return wrong(window=Window(0, iteration), place=at, signs=tuple(signs), hints=tuple(hints))


def _evidence(judged: JudgedRun) -> dict[str, object]:
    events = {
        identifier(name): {"steps": int(count), "first": int(first) + 1}
        for name, count, first in zip(EVENTS, judged.tally.events, judged.tally.first, strict=True)
        if count
    }
    evidence: dict[str, object] = {
        "steps": {"judged": judged.judged, "of": judged.trajectory.length},
        "events": events,
        "steps_over_bound": judged.wrong.size,
    }
    if judged.case.problem.is_svm:
        dual = judged.case.problem.dual
        possible = map(identifier, transitions_in(dual.lower, dual.upper))
        evidence["transitions_not_made"] = [name for name in possible if name not in events]
    return evidence


CHECK = Check(
    id=ID,
    text=__doc__,
    exact=True,
    needs="the plain run of every s, and one continued from it at a window's end, with their step logs, "
    "where the solver declares that it keeps one",
    planted="stale product, curvature, or for s > 1 the kernel correction left out of the step",
    runs=runs,
    continued=continued,
    judge=judge,
    bounds=("bounds/step/clip", "bounds/step/residual", "bounds/step/drift"),
    level=1,
    applies=applies,
    primary=True,
)
