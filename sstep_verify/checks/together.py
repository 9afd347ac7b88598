"""Verdicts on a case, looked at together: what one takes as given, and what two runs say of each other.

A check that starts from something that the run recorded, and does not judge it, names the check that does
(`Check.rests_on`). Until that has passed on the same run, the quantities that the record hides are not
tested. Nor is the index stream where the run itself logged what it drew, for then its steps are compared
with its own word.

A relation between runs (`Check.relates`) is decided for runs that are correct by themselves only. Where the
check of their steps failed, the relation is not decided, and what it found is evidence of that failure.
Where no such check decided, the relation does, and says so.

Where the log of a run contradicts what it recorded, verdicts on its windows and its end say so: a program
may record its end alone, and what lies before is then made from the log.

Where every step of a run was judged, its windows and its end are wrong by its faulty steps only. So the
defect that explains these says which requirement all of them violate.

Nothing of a window is left out where it holds a single step. So where the run of s = 1 is faulty as well,
a correction that is missing may be what another defect looks like, as a kernel of which nothing is left off
the diagonal does.

That every step of a run is correct does not show that windows of s were made. What shows it is a count of
collectives that passed, or a number that differs, in its last bits, from that of a run of another s.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from sstep_verify.checks.determinism import ID as DETERMINISM
from sstep_verify.checks.metamorphic_exact import FAILED
from sstep_verify.checks.recorded.message_count import EVERY_STEP
from sstep_verify.checks.recorded.message_count import ID as MESSAGES
from sstep_verify.checks.registry import CHECKS, ENDS, STEPS, WINDOWS, gates_of
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.step_replay import LOG
from sstep_verify.quantities import KERNEL, OVERLAP, SAME, STREAM, required_quantities
from sstep_verify.specification import of_verdict, quantities_of
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import (
    PLACE,
    Defect,
    Hint,
    HintKind,
    Note,
    NoteKind,
    Sensitivity,
    Status,
    Verdict,
    Why,
)


def related(found: Sequence[Verdict], verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The verdicts that a check found, relations among them seen with all verdicts on the same runs."""
    known = list(verdicts)
    return [_related(one, known) for one in found]


def _related(verdict: Verdict, verdicts: Sequence[Verdict]) -> Verdict:
    relates = CHECKS[verdict.check].relates
    if relates is None or not verdict.executed:
        return verdict
    gates, compared = gates_of(verdicts), relates(verdict.s)
    of_steps = [one for one in verdicts if one.check in gates and one.s in compared]
    failed = next((one for one in of_steps if one.status is Status.FAIL), None)
    if failed is not None:
        return replace(
            verdict,
            status=Status.VACUOUS,
            why=Why.WRONG_BY_ITSELF,
            place=None,
            defects=(),
            diagnosed=False,
            requirement="",
            hints=(),
            evidence={key: value for key, value in verdict.evidence.items() if key != PLACE},
            notes=(*verdict.notes, Note(NoteKind.SEE, (failed.check, failed.s))),
        )
    passed = {one.s for one in of_steps if one.status is Status.PASS}
    if passed.issuperset(compared) or verdict.status not in (Status.PASS, Status.FAIL):
        return verdict
    return replace(verdict, notes=(*verdict.notes, Note(NoteKind.DECIDES)))


def settled(case: Case, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """All verdicts on a case, in their order, without what is taken on trust, with hints of each other."""
    verdicts = _beside_classical(verdicts)
    found = [_named_by_steps(case, _without_trust(case, one, verdicts), verdicts) for one in verdicts]
    found = _of_contradicting_logs(found)
    # Runs that differ from themselves differ from scaled ones too.
    unlike = {one.s for one in verdicts if one.check == DETERMINISM and one.status is Status.FAIL}
    for one in (one for one in verdicts if one.s not in unlike):
        differ = one.evidence.get(FAILED)
        if one.why is Why.WRONG_BY_ITSELF and differ:
            check, s = next(note.detail for note in one.notes if note.kind is NoteKind.SEE)
            hint = Hint(HintKind.SCALED_RUNS, tuple(map(str, differ)))  # type: ignore[call-overload]
            first = next(k for k, other in enumerate(found) if (other.check, other.s) == (check, s))
            found[first] = replace(found[first], hints=(*found[first].hints, hint))
    return found


def _of_contradicting_logs(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts; those on windows and ends of a run whose log contradicts it say so."""
    failed = (one for one in verdicts if one.check == STEPS and one.status is Status.FAIL)
    apart = {one.s for one in failed if one.place is not None and one.place.item == LOG}
    note = Note(NoteKind.LOG_CONTRADICTS, (STEPS,))
    return [
        replace(one, notes=(*one.notes, note))
        if one.s in apart and one.check in (WINDOWS, ENDS) and one.executed
        else one
        for one in verdicts
    ]


CORRECTIONS = {KERNEL, SAME, OVERLAP}
"""Quantities that no window of a single step has."""


def _beside_classical(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts; where s = 1 failed as well, missing corrections are no cause that is certain."""
    gates = gates_of(verdicts)
    if not any(one.s == 1 and one.check in gates and one.status is Status.FAIL for one in verdicts):
        return list(verdicts)
    return [
        replace(one, defects=tuple(replace(d, shared=d.shared or _corrects(d)) for d in one.defects))
        for one in verdicts
    ]


def _corrects(defect: Defect) -> bool:
    """Whether all that a defect violates is on the corrections within a window."""
    parts = [{*quantities_of(number)} for number in defect.requirements]
    return bool(parts) and all(part and part <= CORRECTIONS for part in parts)


def _named_by_steps(case: Case, verdict: Verdict, verdicts: Iterable[Verdict]) -> Verdict:
    """A FAIL that names no defect, with the requirement of the defects of the steps of the same run."""
    claims = {one.number for one in of_verdict(verdict.check, case.problem.loss.task)}
    general = verdict.check in (WINDOWS, ENDS) and verdict.requirement in claims
    if verdict.status is not Status.FAIL or verdict.defects or not general:
        return verdict
    for steps in verdicts:
        whole = steps.coverage is not None and steps.coverage.judged == steps.coverage.of
        if (steps.check, steps.s, steps.status) != (STEPS, verdict.s, Status.FAIL) or not whole:
            continue
        certain = all(steps.requirement in one.requirements and not one.shared for one in steps.defects)
        if steps.defects and certain:
            note = Note(NoteKind.NAMED_BY_STEPS, (steps.check,))
            # Where the steps show the cause, none is guessed from the size of an error.
            hints = tuple(one for one in verdict.hints if one.kind is not HintKind.DECLARE_WEIGHTS)
            notes = *verdict.notes, note
            return replace(verdict, requirement=steps.requirement, notes=notes, hints=hints)
    return verdict


def observed(case: Case, verdicts: Sequence[Verdict], runs: Mapping[str, Trajectory]) -> list[Verdict]:
    """The verdicts on a case; those that passed steps of an s > 1 say where no windows were observed.

    `runs` are all that were made, by key.
    """
    gates, shown = gates_of(verdicts), {s for s in case.s_values if _shows_windows(s, verdicts, runs)}
    return [
        replace(one, notes=(*one.notes, Note(NoteKind.UNOBSERVED)))
        if one.check in gates and one.status is Status.PASS and one.s > 1 and one.s not in shown
        else one
        for one in verdicts
    ]


def _shows_windows(s: int, verdicts: Iterable[Verdict], runs: Mapping[str, Trajectory]) -> bool:
    """Whether a count passed that communication in every step would have failed, or a number differs."""
    counted = (one for one in verdicts if one.check == MESSAGES and one.s == s)
    passed = (one for one in counted if one.status is Status.PASS)
    if any(term.name == EVERY_STEP and term.seen for one in passed for term in one.terms):
        return True
    return any(
        _differ(run, other)
        for key, run in runs.items()
        if run.asked is not None and run.asked.s == s
        for other in (runs.get(key.replace(f"s={s}", "s=1")),)
        if other is not None and other is not run
    )


def _differ(run: Trajectory, other: Trajectory) -> bool:
    """Whether two runs of the same steps hold a number that differs."""
    if run.raised or other.raised or run.start != other.start:
        return False
    if run.log is not None and other.log is not None:
        count = min(len(run.log), len(other.log))
        return not np.array_equal(run.log[:count], other.log[:count], equal_nan=True)
    shared, ours, others = np.intersect1d(run.iterations, other.iterations, return_indices=True)
    return bool(shared.size) and not np.array_equal(run.alphas[ours], other.alphas[others], equal_nan=True)


def _without_trust(case: Case, verdict: Verdict, verdicts: Iterable[Verdict]) -> Verdict:
    hidden = _hidden(case, verdict, verdicts)
    terms = tuple(_withdrawn(term, hidden.get(term.name)) for term in verdict.terms)
    if terms == verdict.terms:
        return verdict
    required = (hidden[name] for name in required_quantities(verdict.s) if name in hidden)
    why = next(required, None)
    if verdict.status is not Status.PASS or why is None:
        return replace(verdict, terms=terms)
    return replace(verdict, terms=terms, status=Status.VACUOUS, why=why)


def _hidden(case: Case, verdict: Verdict, verdicts: Iterable[Verdict]) -> dict[str, Why]:
    """Quantities that a verdict takes on trust, and why."""
    passed = {(one.check, one.s) for one in verdicts if one.status is Status.PASS}
    hidden = {STREAM: Why.OWN_DRAWS} if case.stream.kind == "logged" else {}
    for check, quantities in CHECKS[verdict.check].rests_on.items():
        if CHECKS[check].applies(case, verdict.s) and (check, verdict.s) not in passed:
            hidden |= dict.fromkeys(quantities, Why.ON_TRUST)
    return hidden


def _withdrawn(term: Sensitivity, why: Why | None) -> Sensitivity:
    """The term, not tested where there is a reason."""
    if why is None or not term.seen:
        return term
    return replace(term, status=Status.VACUOUS, detection_limit=math.inf, seen=0, why=why)
