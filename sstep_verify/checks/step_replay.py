"""Check step-replay: every logged step is one classical step from the run's own a, up to its own rounding.

A log of the new value of each drawn coordinate tells a exactly before every step, also inside a window.
Each step is judged by itself, in float64 by code of the judge's own, against the sum of two bounds: what
any correct implementation of the declared recurrence may be off by, and what the judge may
(bounds/step/clip.py, bounds/step/residual.py, bounds/step/drift.py for carried weights). Nothing is
propagated, so no s is too large, and where all steps are judged a defect that acts in one of them is seen.
The log is tied to the run: it must lead to every recorded a, to the last bit. The step with the largest
ratio, the first of each event, a seeded one and, for each quantity, the one that shows it best are replayed
in exact arithmetic as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sstep_verify.checks.shared.case import Case, loggable, plain_request, run_key
from sstep_verify.checks.shared.check import Check
from sstep_verify.checks.shared.finding import Finding, decisive, unbounded
from sstep_verify.checks.shared.outcome import right_at_one, verdict_on
from sstep_verify.checks.shared.sample import RARE, missed
from sstep_verify.checks.steps.chain import broken_chain, not_numbers
from sstep_verify.checks.steps.ends import wrong_windows
from sstep_verify.checks.steps.exact import exact_steps
from sstep_verify.checks.steps.judged import JudgedRun, StepJudge
from sstep_verify.checks.steps.own_step import own_step
from sstep_verify.checks.steps.seen import corrections, reproducing, step_terms
from sstep_verify.checks.steps.tally import EVENTS
from sstep_verify.checks.window.ends import causes_of
from sstep_verify.diagnosis.candidates import Candidate
from sstep_verify.diagnosis.factors import Factor, off_by_a_factor
from sstep_verify.oracle.facade import Oracle
from sstep_verify.quantities import core
from sstep_verify.solver import RunRequest
from sstep_verify.specification import LEFT_OUT
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Term, Verdict

CHECK = "step-replay"


def runs(case: Case) -> dict[str, RunRequest]:
    """The plain run of every s, made as without this check, with its step log."""
    return {run_key(s): replace(plain_request(case, s), log=True) for s in case.s_values if loggable(case)}


def judge(case: Case, trajectories: Mapping[str, Trajectory], oracle: Oracle) -> list[Verdict]:
    """Judge the steps of every plain run.

    Parameters
    ----------
    case : Case
        The case.
    trajectories : mapping of str to Trajectory
        The runs asked for by `runs`, by key.
    oracle : Oracle
        Replays single steps exactly; keeps kernel entries.

    Returns
    -------
    list of Verdict
        One per run.
    """
    if not loggable(case):
        return []
    judges = StepJudge(case, oracle), StepJudge(case, oracle, judge=False)
    verdicts: list[Verdict] = []
    for s in case.s_values:
        between = s > 1 and right_at_one(case, verdicts)
        verdicts.append(_judge_run(case, s, trajectories[run_key(s)], judges, oracle, between=between))
    return verdicts


def _judge_run(
    case: Case,
    s: int,
    trajectory: Trajectory,
    judges: tuple[StepJudge, StepJudge],
    oracle: Oracle,
    *,
    between: bool,
) -> Verdict:
    units = "value of a coordinate" if case.problem.is_svm else "residual of a block system, one entry"
    if broken := broken_chain(case, trajectory):
        return verdict_on(
            CHECK, case, s, Status.FAIL, broken, f"{broken.what}.",
            units=units, planned=trajectory.length, executed=0, evidence=_evidence(None, trajectory.length),
            signs=broken.signs,
        )  # fmt: skip
    judged = judges[0].run(trajectory)
    exact = exact_steps(case, trajectory, judged, judges[1], oracle)
    findings = [_worded(case, trajectory, judged.worst)] if judged.worst else []
    findings += exact
    terms = step_terms(case, s, trajectory, judged, exact)
    unseen = [name for name in core(min(s, max(trajectory.length, 1))) if not _seen(terms, name)]
    if not findings:
        nothing = unbounded("no step has a finite bound")
        reason = (
            f"None of {judged.judged} judged steps has a finite bound: a kernel entry, a product or a "
            "system is beyond what this precision promises anything about."
        )
        return verdict_on(
            CHECK, case, s, Status.VACUOUS, nothing,
            reason if judged.steps else "There is nothing to judge: the run is of no steps.",
            units=units, planned=judged.steps, executed=0, terms=terms,
            evidence=_evidence(judged, judged.steps),
        )  # fmt: skip
    found = decisive(findings)
    status = Status.VACUOUS if found.status is Status.PASS and unseen else found.status
    if wrong := judged.first_wrong:
        found = replace(found, window=wrong.window)
    at_fault = corrections(case, trajectory, judged)
    first = _first_wrong(case, trajectory, judged, judges[0])
    factors = off_by_a_factor(
        judged.tally.low, judged.tally.high, judged.tally.fits, of_svm=case.problem.is_svm
    )
    causes: list[Candidate] = []
    if case.diagnose and judged.first_wrong:
        windows = wrong_windows(case, trajectory, judged, judges[0], oracle)
        known = bool(reproducing(judged) or factors)
        causes = causes_of(case, min(s, trajectory.length), windows, between=between, pairs=not known)
    diagnosis = _diagnosis(judged, causes, factors, at_fault, first)
    reason = _reason(case, judged, found, status, terms, unseen, diagnosis)
    evidence = _evidence(judged, judged.steps, causes)
    evidence["exact steps"] = [f"{one.what}: ratio {one.ratio:.3g}" for one in exact]
    return verdict_on(
        CHECK, case, s, status, found, reason,
        units=units, planned=judged.steps, executed=judged.decided, terms=terms, evidence=evidence,
        signs=[
            *reproducing(judged),
            *(name for one in causes for name in one.names),
            *(factor.name for factor in factors),
        ]
        or at_fault,
        each=len(causes) == 1 and len(causes[0].names) > 1,
    )  # fmt: skip


def _worded(case: Case, trajectory: Trajectory, worst: Finding) -> Finding:
    """The step with the largest ratio, with what was compared."""
    assert trajectory.log is not None
    drawn, logged = _draws(case, trajectory, worst), trajectory.log[worst.window.begin]
    where = (
        f"coordinate {drawn[0]}" if drawn.size == 1 else f"block of {drawn.size} from coordinate {drawn[0]}"
    )
    missing = f" ({not_numbers(trajectory.log)})" if np.isnan(logged).any() else ""
    what = (
        f"step {worst.window.end}, {where}, logged {float(logged[0])!r}{missing}, "
        "against the judge's step from the same a"
    )
    return replace(worst, what=what)


def _draws(case: Case, trajectory: Trajectory, step: Finding) -> np.ndarray:
    """Coordinates that a step drew, shape (b,)."""
    window, start = step.window, trajectory.start
    return case.stream.blocks(start + window.begin, start + window.end)[0]


def _seen(terms: tuple[Term, ...], name: str) -> bool:
    return any(term.name == name and term.status is Status.PASS for term in terms)


def _evidence(judged: JudgedRun | None, steps: int, causes: Sequence[Candidate] = ()) -> dict[str, object]:
    if judged is None:
        return {"steps": {"judged": 0, "of": steps}}
    events = {
        name: {"steps": int(count), "first": int(first) + 1}
        for name, count, first in zip(EVENTS, judged.tally.events, judged.tally.first, strict=True)
        if count
    }
    return {
        "steps": {"judged": judged.judged, "of": judged.steps},
        "events": events,
        "steps over their bound": int(judged.tally.failed[0]),
        "likely causes": [*_left_out(judged), *_beside(judged, causes)],
    }


def _left_out(judged: JudgedRun) -> list[str]:
    return [f"{name}{LEFT_OUT}" for name in reproducing(judged)]


def _beside(judged: JudgedRun, causes: Sequence[Candidate]) -> list[str]:
    """What explains the wrong windows beside the quantities that the wrong steps tell of."""
    return [one.words for one in causes if one.words not in _left_out(judged)]


def _first_wrong(case: Case, trajectory: Trajectory, judged: JudgedRun, judge: StepJudge) -> str:
    """The first step over its bound, with the solver's value and the judge's own."""
    first = judged.first_wrong
    if first is None or trajectory.log is None:
        return ""
    draws, iteration = _draws(case, trajectory, first), first.window.begin
    alpha = judge.alpha_before(trajectory, iteration)
    logged = np.asarray(trajectory.log[iteration], dtype=np.float64)
    own = own_step(case.problem, alpha, draws)
    place = int(np.argmax(np.nan_to_num(np.abs(logged - own), nan=np.inf)))
    before = float(alpha[draws[place]])
    return (
        f"step {iteration + 1}, coordinate {draws[place]}: from a = {before!r} the "
        f"solver logged {float(logged[place])!r}, the judge's own value is {float(own[place])!r}"
    )


def _reason(case: Case, judged: JudgedRun, found: Finding, status: Status, terms, unseen, diagnosis) -> str:
    words = [
        f"{judged.judged} of {judged.steps} steps of the {case.declaration.name} solver judged, each from "
        f"its own a; {found.what}: measured {found.measured:.3g}, bound {found.bound:.3g} "
        "(bounds/step/)."
    ]
    if judged.judged < judged.steps:
        words.append(
            "Judged are whole stretches, chosen after the run. A defect that strikes each step by itself "
            f"with probability {RARE:g} is missed with probability {missed(judged.judged):.1g}; one "
            "confined to a part of the run is missed unless a stretch meets that part."
        )
    if judged.decided < judged.judged:
        words.append(f"{judged.judged - judged.decided} steps have no finite bound and are not counted.")
    if status is Status.FAIL:
        words.append(diagnosis)
    hidden = [f"{term.name} ({term.reason})" for term in terms if term.status is Status.VACUOUS]
    if status is Status.VACUOUS:
        words.append(f"The run could not have shown an error in: {', '.join(unseen)}.")
    if hidden:
        words.append(f"Not seen: {'; '.join(hidden)}.")
    return " ".join(words)


def _diagnosis(
    judged: JudgedRun,
    causes: Sequence[Candidate],
    factors: list[Factor],
    at_fault: list[str],
    wrong: str,
) -> str:
    failed = int(judged.tally.failed[0])
    if judged.first_wrong is None:
        return "The judge's float64 step is within its bound; the exact step is not."
    words = f"{failed} steps are over their bound, the first is {wrong}."
    names, beside = reproducing(judged), ", ".join(_beside(judged, causes))
    if names:
        words += f" Leaving out one quantity reproduces them: {', '.join(names)}."
    if factors and not names:
        told = " or ".join(f"{one.words}, delta in [{one.low:.4g}, {one.high:.4g}]" for one in factors)
        words += f" A factor 1 + delta on one quantity explains all of them: {told}."
    if beside and len(causes[0].names) > 1:
        words += f" No single mistake known here does, two at once do: {beside}."
    elif beside:
        words += f" Mistakes that each end the wrong windows where the log does: {beside}."
    if names or factors or beside:
        return words
    if at_fault:
        return f"{words} None is the first of its window, so the correction is wrong: {at_fault[0]}."
    return (
        f"{words} Leaving out no single quantity reproduces them, nor does one factor on one of them, nor "
        "a mistake known here: another kernel, another order of draws or another precision than declared "
        "may."
    )


DECLARED = Check(
    id=CHECK,
    text=__doc__,
    needs="the plain run of every s with its step log, where the solver declares that it keeps one",
    planted="stale product, curvature, or for s > 1 the kernel correction left out of the step",
    runs=runs,
    judge=judge,
    bounds=("step/clip", "step/residual", "step/drift"),
    level=1,
    applies=lambda case, s: loggable(case),
    primary=True,
)
