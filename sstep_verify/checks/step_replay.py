"""Check step-replay: every logged step is one classical step from the run's own a, up to its own rounding.

A log of the new value of each drawn coordinate tells a exactly before every step, also inside a window.
Each step is judged by itself, in float64 by code of the judge's own, against the sum of two bounds: what
any correct implementation of the declared recurrence may be off by, and what the judge may
(sstep_verify/bounds/step/clip.py, sstep_verify/bounds/step/residual.py, sstep_verify/bounds/step/drift.py
for carried weights). Nothing is propagated, so no s is too large, and where all steps are judged a defect
that acts in one of them is seen. The log is tied to the run: it must lead to every recorded a, 0 and -0
being equal; of a solver that is run anew for each of these, to the last. A run that is continued at a
window's end, from the alpha recorded there, is judged alike. The step with the largest ratio, the first of
each event, a seeded one and, for each quantity, the one that shows it best are replayed in exact arithmetic
as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sstep_verify.checks.shared.case import Case, Check, loggable, plain_request, run_key
from sstep_verify.checks.shared.continued import continued_key, continued_request, joined
from sstep_verify.checks.shared.finding import Finding, Window, decisive, unbounded, wrong
from sstep_verify.checks.shared.outcome import (
    ELSEWHERE,
    FIRST,
    NO_LOG,
    RARE,
    TOO_MANY,
    facts,
    missed,
    right_at_one,
    unseen,
    verdict_on,
)
from sstep_verify.checks.steps.judged import JudgedRun, StepJudge
from sstep_verify.checks.steps.seen import exact_steps, step_terms
from sstep_verify.checks.steps.tally import EVENTS
from sstep_verify.checks.window.replays import WindowReplays
from sstep_verify.errors import counted
from sstep_verify.oracle.facade import Oracle
from sstep_verify.protocol import RunRequest
from sstep_verify.quantities import STREAM, WRITE_BACK, core
from sstep_verify.rounding.arithmetic import gamma, unit_roundoff
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Defect, Hint, HintKind, Place, Status, Term, Verdict

CHECK = "step-replay"


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
            verdict = joined(verdict, case, plain, after, _judge_continued(case, after, step_judge))
        verdicts.append(verdict)
    return verdicts


def _judge_continued(case: Case, trajectory: Trajectory, step_judge: StepJudge) -> Finding:
    """The step of a continued run with the largest ratio, or how its log fails to lead to its end."""
    if broken := broken_chain(case, trajectory):
        return broken
    judged = step_judge.run(trajectory)
    return _worded(judged, judged.worst) if judged.worst else unbounded("no step has a finite bound")


def _judge_run(
    case: Case, s: int, trajectory: Trajectory, step_judge: StepJudge, *, between: bool
) -> Verdict:
    units = "value of a coordinate" if case.problem.is_svm else "residual of a block system, one entry"
    length = trajectory.length
    evidence: dict[str, object] = {"steps": {"judged": 0, "of": length}}
    if broken := broken_chain(case, trajectory):
        from sstep_verify.checks.steps.causes import of_recorded

        replays = WindowReplays(case, step_judge.oracle)
        broken, found = of_recorded(broken, case, trajectory, replays, between=between)
        reason = f"{broken.what}. {broken.note}".rstrip()
        return verdict_on(
            CHECK, case, s, Status.FAIL, broken, reason, units=units, planned=length, executed=0,
            evidence=evidence | broken.details, signs=broken.signs, defects=found.defects,
            hints=(*broken.hints, *facts(broken.signs), *found.hints), diagnosed=case.diagnose,
        )  # fmt: skip
    judged = step_judge.run(trajectory)
    exact = exact_steps(judged)
    terms = step_terms(judged, exact)
    evidence |= _evidence(judged)
    if not (judged.worst or exact):
        reason = (
            f"None of {counted(judged.judged, 'judged step')} has a finite bound: a kernel entry, a "
            f"product or a system is beyond what this precision promises anything about, or {TOO_MANY}."
        )
        return verdict_on(
            CHECK, case, s, Status.VACUOUS, unbounded("no step has a finite bound"),
            reason if length else "There is nothing to judge: the run is of no steps.",
            units=units, planned=length, executed=0, terms=terms, evidence=evidence,
        )  # fmt: skip
    worst = [_worded(judged, judged.worst)] if judged.worst else []
    finding = decisive([*worst, *exact])
    defects: tuple[Defect, ...] = ()
    hints: tuple[Hint, ...] = ()
    if judged.wrong.size:
        from sstep_verify.checks.steps.causes import diagnosed

        finding, found = diagnosed(finding, judged, between=between)
        defects, hints = found.defects, found.hints
    exact_ratios = [f"{step.what}: ratio {step.ratio:.3g}" for step in exact]
    evidence |= finding.details | {"exact steps": exact_ratios}
    seen = {term.name for term in terms if term.status is Status.PASS}
    hidden = [name for name in core(min(s, max(length, 1))) if name not in seen]
    status = Status.VACUOUS if finding.status is Status.PASS and hidden else finding.status
    return verdict_on(
        CHECK, case, s, status, finding, _reason(judged, finding, status, terms, hidden),
        units=units, planned=length, executed=judged.decided, terms=terms, evidence=evidence,
        defects=defects, hints=hints, diagnosed=case.diagnose,
    )  # fmt: skip


def broken_chain(case: Case, trajectory: Trajectory) -> Finding | None:
    """How the log fails to lead to what was recorded, with the signs of it; None where it does."""
    log, block = trajectory.log, case.stream.block
    if log is None:
        what = "the run was asked for its step log and declares to keep one, but left none"
        return wrong(what, signs=(NO_LOG,))
    if log.shape != (trajectory.length, block):
        made = f"{counted(trajectory.length, 'step')} of b = {block}"
        what = f"the step log has shape {log.shape}, but the run made {made}"
        return wrong(what, signs=(NO_LOG,))
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
            if _leads_by_increments(case, before, log[position:iteration], draws, recorded):
                broken = replace(broken, hints=(*broken.hints, Hint(HintKind.LOG_OF_INCREMENTS)))
            if apart and not position and WRITE_BACK in broken.signs:
                what, signs = f"{broken.what}; or, {ELSEWHERE}", (*broken.signs, FIRST)
                return replace(broken, what=what, signs=signs)
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


def _not_numbers(log: np.ndarray) -> Hint | None:
    """How many entries of a log are NaN, of how many, and the first step of them; None where none is."""
    missing = np.isnan(log)
    if not missing.any():
        return None
    first, count = int(np.flatnonzero(missing.any(axis=1))[0]), int(missing.sum())
    return Hint(HintKind.LOG_NOT_WRITTEN, (count, missing.size, first + 1))


def _not_written(hint: Hint) -> str:
    count, of, first = hint.detail
    return f"{count} of the {of} entries of the step log are NaN, as if unwritten, first in step {first}"


def _broken_at(
    iteration: int, alpha: np.ndarray, recorded: np.ndarray, draws: np.ndarray, log: np.ndarray
) -> Finding:
    """The first recorded a that the log does not lead to, with the signs of it."""
    places = np.flatnonzero((alpha != recorded) & ~(np.isnan(alpha) & np.isnan(recorded)))
    undrawn = places[~np.isin(places, draws)]
    place = int((undrawn if undrawn.size else places)[0])
    what = (
        f"the step log leads to a[{place}] = {float(alpha[place])!r} at iteration {iteration}, but "
        f"the run recorded {float(recorded[place])!r} there"
    )
    why = "it was not stored as logged, or not logged as stored, or another coordinate was"
    signs, hints = ["step log", STREAM, NO_LOG], list[Hint]()
    if np.array_equal(alpha.astype(np.float64), recorded.astype(np.float64), equal_nan=True):
        why = (
            f"the same in float64, which a log is in, but a is in {recorded.dtype} and not the value logged"
        )
        signs = [NO_LOG]
    elif undrawn.size:
        why, signs = "no step since the a before drew it", [STREAM, WRITE_BACK]
    elif np.isnan(alpha[place]):
        hints += [unwritten] if (unwritten := _not_numbers(log)) else []
        why, signs = "; ".join(map(_not_written, hints)), [NO_LOG]
    at = Place(0, iteration, place, found=float(recorded[place]), expected=float(alpha[place]))
    return wrong(
        f"{what}: {why}", window=Window(0, iteration), place=at, signs=tuple(signs), hints=tuple(hints)
    )


def _worded(judged: JudgedRun, worst: Finding) -> Finding:
    """The step with the largest ratio, with what was compared."""
    iteration = worst.window.begin
    drawn, logged = judged.step(iteration)
    where = (
        f"coordinate {drawn[0]}" if drawn.size == 1 else f"block of {drawn.size} from coordinate {drawn[0]}"
    )
    log = judged.trajectory.log
    unwritten = _not_numbers(log) if log is not None and np.isnan(logged).any() else None
    missing = f" ({_not_written(unwritten)})" if unwritten else ""
    what = (
        f"step {iteration + 1}, {where}, logged {float(logged[0])!r}{missing}, "
        "against the judge's step from the same a"
    )
    return replace(worst, what=what)


def _evidence(judged: JudgedRun) -> dict[str, object]:
    events = {
        name: {"steps": int(count), "first": int(first) + 1}
        for name, count, first in zip(EVENTS, judged.tally.events, judged.tally.first, strict=True)
        if count
    }
    return {
        "steps": {"judged": judged.judged, "of": judged.trajectory.length},
        "events": events,
        "steps over their bound": judged.wrong.size,
    }


def _reason(
    judged: JudgedRun, finding: Finding, status: Status, terms: Sequence[Term], hidden: Sequence[str]
) -> str:
    length = judged.trajectory.length
    words = [
        f"{judged.judged} of {counted(length, 'step')} of the {judged.case.formulas.name} solver "
        f"judged, each from its own a; {finding.what}: measured {finding.measured:.3g}, bound "
        f"{finding.bound:.3g} "
        f"(sstep_verify/bounds/step/{'clip' if judged.case.problem.is_svm else 'residual'}.py)."
    ]
    if judged.judged < length:
        words.append(
            "Judged are whole stretches, chosen after the run. A defect that strikes each step by itself "
            f"with probability {RARE:g} is missed with probability {missed(judged.judged):.3g}; one "
            "confined to a part of the run is missed unless a stretch meets that part."
        )
    if judged.decided < judged.judged:
        loose = counted(judged.judged - judged.decided, "step")
        words.append(f"Without a finite bound, and so not counted: {loose}.")
    if status is Status.FAIL:
        within = "The judge's float64 step is within its bound; the exact step is not."
        words.append(finding.note or within)
    if status is Status.VACUOUS:
        words.append(f"The run could not have shown an error in: {', '.join(hidden)}.")
    # What reproduces wrong steps was seen in them, though no right step is certain to show it.
    if not_seen := unseen(term for term in terms if term.name not in finding.signs):
        words.append(f"Not seen: {not_seen}.")
    return " ".join(words)


DECLARED = Check(
    id=CHECK,
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
    applies=lambda case, s: loggable(case),
    primary=True,
)
