"""Sums up a campaign: the status of each case, one sentence, the exit code.

An s is right on a case if a primary check passed a complete window of it and no check says otherwise; the
headline never says more than that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from sstep_verify.campaign.expected import meet
from sstep_verify.campaign.headline import headline, passes, right_at, s_in_words
from sstep_verify.campaign.messages import REFUSED, State
from sstep_verify.campaign.model import Definition
from sstep_verify.checks import metamorphic_bounded, metamorphic_exact
from sstep_verify.checks.optimum import CHECK as ANSWER
from sstep_verify.checks.registry import PRIMARY, gates_of, judges_a_vector
from sstep_verify.checks.shared.final_vector import ALONE, EXPLAINED
from sstep_verify.report.plain import grouped
from sstep_verify.report.results import Case, Summary, tally
from sstep_verify.specification import names_a_part
from sstep_verify.verdict import Status, Verdict, worst

RIGHT_WITH = "right with"
"""Key of the evidence that holds what of a program file, said otherwise, would have made a run right."""

RELATING = (metamorphic_exact.CHECK, metamorphic_bounded.CHECK)
"""Checks that compare runs of two problems, or a run with its own rest."""


def roll_up(verdicts: Sequence[Verdict]) -> tuple[Status, str]:
    """Status of a case and why.

    Any FAIL or INCONCLUSIVE decides. Otherwise the primary gate does: VACUOUS only if no s > 1 could have
    shown a wrong correction, in a complete window. What other checks could not see is in their own
    verdicts.
    The reason of a FAIL is that of the verdict that tells most.
    """
    status = worst(verdict.status for verdict in verdicts)
    if status in (Status.FAIL, Status.INCONCLUSIVE):
        told = telling([verdict for verdict in verdicts if verdict.status is status])
        s = "" if judges_a_vector(verdicts) else f", s = {told.s}"
        return status, f"{told.check}{s}: {told.reason}"
    gates = gates_of(verdicts)
    primary = [verdict for verdict in verdicts if verdict.check in gates]
    if not primary:
        return Status.VACUOUS, "no step of this case was judged"
    stepped = [verdict for verdict in primary if verdict.s > 1] or primary
    if not any(verdict.status is Status.PASS for verdict in stepped):
        return Status.VACUOUS, stepped[-1].reason
    if judges_a_vector(verdicts):
        return Status.PASS, f"the optimum: {primary[0].reason}"
    right = {verdict.s for verdict in primary if passes(verdict)}
    short = {verdict.s for verdict in primary if verdict.status is Status.PASS} - right
    vacuous = {verdict.s for verdict in primary} - right - short
    parts = (("right", right), ("vacuous", vacuous), ("no window was complete, so nothing is said,", short))
    reason = "; ".join(f"{word} for {s_in_words(tuple(values))}" for word, values in parts if values)
    return Status.PASS if any(passes(verdict) for verdict in stepped) else Status.VACUOUS, reason


def telling(verdicts: Sequence[Verdict]) -> Verdict:
    """One that is right by another convention, or explains the answer; one on one part; else the first.

    What relates two runs tells less than what a run itself breaks.
    """
    right = next((one for one in verdicts if one.evidence.get(RIGHT_WITH)), None)
    if right is not None:
        return right
    answers = (one for one in verdicts if one.check == ANSWER)
    named = (one for one in answers if one.evidence.get(EXPLAINED) or one.evidence.get(ALONE))
    telling = (one for one in verdicts if one.check not in RELATING and names_a_part(one.sentences))
    return next(named, next(telling, verdicts[0]))


def summarise(
    definition: Definition,
    cases: Sequence[Case],
    verdicts: Sequence[Verdict],
    *,
    planned_cases: int,
    steps: int,
    too_few: Mapping[str, Sequence[str]],
    state: State,
) -> Summary:
    """Sum up a campaign.

    `steps` are the iterations made by all runs whose s the campaign speaks of; `too_few` has lines on
    checks and runs with fewer executed comparisons than their minimum, by case, those of none under an
    empty id.
    """
    met = meet(definition.expected, cases, verdicts, state)
    incomplete = [line for case, lines in too_few.items() if case not in met.cases for line in lines]
    incomplete += vacuous_lines(definition, cases, [one for one in verdicts if one.case not in met.cases])
    missing = planned_cases - len(cases)
    unfinished = f"{missing} of {planned_cases} problem{'s' * (planned_cases > 1)} not finished"
    if met.refused:  # These are the problems that are missing, so they are no reason of their own.
        incomplete.insert(0, f"{REFUSED}: {met.refused[0]}" + f" ({unfinished})" * (missing > 0))
    elif missing > met.not_judged:
        incomplete.append(unfinished)
    code = state.exit_code(
        failed=Status.FAIL in met.statuses or bool(met.stale),
        incomplete=Status.INCONCLUSIVE in met.statuses or bool(incomplete),
    )
    sentence = headline(cases, verdicts)
    if state.interrupted:
        sentence = f"interrupted: {sentence}"
    if met.lines:
        sentence += f"; {len(met.lines)} expected failure{'s' * (len(met.lines) > 1)}"
    if met.stale:
        more = f" and {len(met.stale) - 1} more" if met.stale[1:] else ""
        sentence += f"; expected, but not met: {met.stale[0]}{more}"
    if incomplete:
        others = len(incomplete) - 1
        more = f" (and {others} other reason{'s' * (others > 1)})" if others else ""
        sentence += f"; incomplete: {incomplete[0]}{more}"
    if count := len(state.internal):
        sentence += f"; {count} internal error{'s' if count > 1 else ''}"
    counted = tally(verdicts)
    return Summary(
        sentence=sentence,
        exit_code=code,
        steps_judged=steps_judged(verdicts),
        steps=steps,
        right_at={case.id: list(right_at(case, verdicts)) for case in cases},
        vacuous=tuple(case.id for case in cases if case.status == Status.VACUOUS),
        counts=counted["counts"],
        coverage=counted["coverage"],
    )


def steps_decided(verdicts: Sequence[Verdict]) -> bool:
    """Whether a primary check passed or failed a run."""
    return any(one.check in PRIMARY and one.status in (Status.PASS, Status.FAIL) for one in verdicts)


def steps_judged(verdicts: Sequence[Verdict]) -> int:
    """Steps that some primary check judged: on every run, those of the check that judged most."""
    told = ((one, one.evidence.get("steps")) for one in verdicts if one.check in PRIMARY)
    judged = ((one.case, one.s, int(steps["judged"])) for one, steps in told if isinstance(steps, dict))
    runs = grouped(judged, lambda one: one[:2])
    return sum(max(steps for _, _, steps in those) for those in runs.values())


def vacuous_lines(definition: Definition, cases: Sequence[Case], verdicts: Sequence[Verdict]) -> list[str]:
    """A line for the VACUOUS cases, and for the VACUOUS verdicts of each check, that are not tolerated."""
    beyond = [
        case.id
        for case in cases
        if case.status == Status.VACUOUS and not _matches(definition.tolerated_vacuous, case.id)
    ]
    tolerated = definition.tolerated_vacuous_per_check
    vacuous = [one for one in verdicts if one.status is Status.VACUOUS and tolerated is not None]
    named = ((one.check, one.case, f"{one.case}, s={one.s}") for one in vacuous)
    left = (one for one in named if not _matches((tolerated or {}).get(one[0], ()), *one[1:]))
    return [f"vacuous and not tolerated: {_listed(beyond)}"] * bool(beyond) + [
        f"vacuous verdicts of {check} that are not tolerated: {_listed([name for *_, name in names])}"
        for check, names in sorted(grouped(left, lambda one: one[0]).items())
    ]


def _matches(patterns: Sequence[str], *names: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more
