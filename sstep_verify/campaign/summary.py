"""What a campaign showed: the roll-up of each case, one sentence, the exit code."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from sstep_verify.campaign.definition import Definition
from sstep_verify.reporting.results import Case, Summary
from sstep_verify.reporting.tally import tally
from sstep_verify.verdict import Status, Verdict, worst

HEADLINE_TERM = "kernel-correction"
PRIMARY_CHECK = "window-replay"


def roll_up(verdicts: Sequence[Verdict]) -> tuple[Status, str]:
    """Status of a case and why.

    Any FAIL or INCONCLUSIVE decides. Otherwise the primary gate does: VACUOUS only if no s > 1 could
    have shown a wrong correction. What other checks could not see is in their own verdicts.
    """
    status = worst(verdict.status for verdict in verdicts)
    if status in (Status.FAIL, Status.INCONCLUSIVE):
        first = next(verdict for verdict in verdicts if verdict.status is status)
        return status, f"{first.check}, s = {first.s}: {first.reason}"
    primary = [verdict for verdict in verdicts if verdict.check == PRIMARY_CHECK]
    if not primary:
        return Status.VACUOUS, "no window of this case was replayed"
    stepped = [verdict for verdict in primary if verdict.s > 1] or primary
    right = sorted(verdict.s for verdict in stepped if verdict.status is Status.PASS)
    if not right:
        return Status.VACUOUS, stepped[-1].reason
    vacuous = sorted(verdict.s for verdict in stepped if verdict.status is Status.VACUOUS)
    reason = f"right for s in {{{', '.join(map(str, right))}}}"
    if vacuous:
        reason += f"; vacuous for s in {{{', '.join(map(str, vacuous))}}}"
    return Status.PASS, reason


def summarise(
    definition: Definition,
    cases: Sequence[Case],
    verdicts: Sequence[Verdict],
    *,
    planned_cases: int,
    too_few: Sequence[str],
    errors: Sequence[str],
    disagreements: Sequence[str],
    seconds: float,
    peak_memory: int | None,
    interrupted: bool,
) -> Summary:
    """Sum up a campaign.

    Parameters
    ----------
    definition : Definition
        The campaign.
    cases, verdicts : sequences
        What was done.
    planned_cases : int
        Cases the campaign has.
    too_few : sequence of str
        Lines on checks and runs with fewer executed comparisons than their minimum.
    errors, disagreements : sequences of str
        Internal errors, and contradictions between oracles.
    seconds : float
        Wall time.
    peak_memory : int or None
        Largest resident memory in bytes, over all processes.
    interrupted : bool
        Whether the campaign was stopped early.

    Returns
    -------
    Summary
    """
    statuses = [Status(case.status) for case in cases]
    vacuous = statuses.count(Status.VACUOUS)
    incomplete = list(too_few)
    if vacuous > definition.tolerated_vacuous:
        incomplete.append(f"{vacuous} vacuous problems, {definition.tolerated_vacuous} tolerated")
    incomplete += _vacuous_checks(definition, verdicts)
    if len(cases) < planned_cases:
        incomplete.append(f"{planned_cases - len(cases)} of {planned_cases} problems not finished")
    if errors or disagreements:
        code = 4
    elif Status.FAIL in statuses:
        code = 1
    elif Status.INCONCLUSIVE in statuses or incomplete:
        code = 3
    else:
        code = 0
    return Summary(
        sentence=_sentence(cases, verdicts, statuses, incomplete, [*errors, *disagreements], interrupted),
        exit_code=code,
        seconds=seconds,
        interrupted=interrupted,
        peak_memory_bytes=peak_memory,
        **tally(verdicts),
    )


def _vacuous_checks(definition: Definition, verdicts: Sequence[Verdict]) -> list[str]:
    """A line per check with more VACUOUS verdicts than the campaign tolerates, if it limits them."""
    tolerated = definition.tolerated_vacuous_per_check
    if tolerated is None:
        return []
    counts = Counter(verdict.check for verdict in verdicts if verdict.status is Status.VACUOUS)
    return [
        f"{count} vacuous verdicts of {check}, {tolerated.get(check, 0)} tolerated"
        for check, count in sorted(counts.items())
        if count > tolerated.get(check, 0)
    ]


def _sentence(cases, verdicts, statuses, incomplete, errors, interrupted) -> str:
    largest = max((s for case in cases for s in case.s), default=0)
    passed = statuses.count(Status.PASS)
    words = [f"right for s <= {largest} on {passed} of {len(cases)} problems"]
    for status, word in (
        (Status.FAIL, "wrong on"),
        (Status.INCONCLUSIVE, "inconclusive on"),
        (Status.VACUOUS, "vacuous on"),
    ):
        if status in statuses:
            words.append(f"{word} {statuses.count(status)}")
    sentence = ", ".join(words)
    seen = [
        term.detectable
        for verdict in verdicts
        for term in verdict.terms
        if verdict.check == PRIMARY_CHECK and term.name == HEADLINE_TERM and math.isfinite(term.detectable)
    ]
    if seen:
        sentence += (
            f"; could have seen relative errors down to {min(seen):.0e} in the kernel correction "
            f"(median over the runs: {sorted(seen)[len(seen) // 2]:.0e})"
        )
    if interrupted:
        sentence = f"interrupted: {sentence}"
    if incomplete:
        sentence += f"; incomplete: {incomplete[0]}" + (
            f" and {len(incomplete) - 1} more" if incomplete[1:] else ""
        )
    if errors:
        sentence += f"; {len(errors)} internal errors"
    return sentence
