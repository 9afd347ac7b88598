"""Sums up a campaign: failures that are expected, what is incomplete, one sentence, the exit code.

An s is right on a case if a primary check passed a complete window of it and no check says otherwise; the
headline never says more than that. Failures that a list names as expected do not fail a run, and those that
it names in vain do.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import cast

from sstep_verify.campaign.headline import gave_up_on, headline, right_at
from sstep_verify.campaign.model import REFUSED, Definition, State
from sstep_verify.checks.contract import ID as CONTRACT
from sstep_verify.checks.registry import CHECKS, PRIMARY
from sstep_verify.errors import InputError, closest, counted
from sstep_verify.files import read_whole
from sstep_verify.files.records import build, table_from
from sstep_verify.problems.kernels import KERNELS
from sstep_verify.problems.losses import TASKS
from sstep_verify.report.case import Case, noun_of
from sstep_verify.report.plain import grouped
from sstep_verify.report.results import Results, Summary, tally
from sstep_verify.verdict import UNSETTLED, Status, Verdict, Why

MOST_BYTES = 1 << 20

UNFILLED = "to be filled in"
"""Reason that is written where nobody has given one."""

KINDS = (*(f"{check}: {status}" for check in CHECKS for status in UNSETTLED), REFUSED)
"""Kinds of failures: a check with what it said, or that the problem was not judged."""


@dataclass(frozen=True)
class ExpectedFailure:
    """A failure that is known, whatever the s: id of the case, one of `KINDS`, and why it stays.

    InputError if the kind is unknown, or there is no reason.
    """

    id: str
    kind: str
    reason: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(
                f"kind {self.kind!r} of {self.id!r} is unknown{closest(self.kind, KINDS)}; known: CHECK: "
                f"FAIL, CHECK: INCONCLUSIVE and {REFUSED!r}, with CHECK one of {', '.join(CHECKS)}"
            )
        if not self.reason.strip():
            raise InputError(f"{self.id!r}, {self.kind!r}: reason is empty; say why this failure is known")


@dataclass(frozen=True)
class _File:
    """The list in a file."""

    expected: tuple[ExpectedFailure, ...] = ()


def read_expected(path: str | Path, known: Collection[str]) -> tuple[ExpectedFailure, ...]:
    """Read a list of expected failures: a TOML file with tables ``[[expected]]``.

    All ids of cases are `known`. InputError if it cannot be read, an entry is unusable or stands twice, or
    names no case.
    """
    what = "a list of expected failures"
    table = table_from(read_whole(path, MOST_BYTES, what), str(path), what)
    failures = build(table, _File, str(path)).expected
    count = Counter((failure.id, failure.kind) for failure in failures)
    for failure in failures:
        if count[failure.id, failure.kind] > 1:
            raise InputError(f"{path}: {failure.id!r}, {failure.kind!r} stands twice")
        if failure.id not in known:
            if part := _left_out(failure.id, known):
                raise InputError(
                    f"{path}: {failure.id!r} is no case of this selection: none has the {part}; select it, "
                    "too, or remove this entry"
                )
            meant = closest(failure.id, known)
            raise InputError(f"{path}: {failure.id!r} names no case{meant}; remove it, or fix its id")
    return failures


def _left_out(id_: str, known: Collection[str]) -> str:
    """The kernel or task in an id that is none of the known ids' but one that a selection may leave out."""
    cases = [_kernel_and_task(case) for case in known]
    kernel, task = _kernel_and_task(id_)
    if kernel in KERNELS and kernel not in (one for one, _ in cases):
        return f"kernel {kernel}"
    if task in TASKS and task not in (one for _, one in cases):
        return f"task {task}"
    return ""


def _kernel_and_task(id_: str) -> tuple[str, str]:
    """The name of the kernel and the task in an id such as ``duke/rbf,sigma=1/svm-l1/C=1``; else empty."""
    parts = id_.split("/")
    return (parts[1].partition(",")[0], parts[2]) if len(parts) > 3 else ("", "")


def expected_text(results: Results, known: Iterable[ExpectedFailure] = ()) -> str:
    """A list of what fails in some results; reasons that are known are kept."""
    reasons = {(one.id, one.kind): one.reason for one in known}
    met = [
        (one["case"], f"{one['check']}: {one['status']}")
        for one in results.verdicts
        if one["status"] in UNSETTLED
    ]
    ids = planned_ids(results)
    refused = results.campaign.errors(REFUSED)
    met += [(one, REFUSED) for one in ids if any(_is_of(error, one) for error in refused)]
    # A basic string of TOML is one of JSON.
    quoted = partial(json.dumps, ensure_ascii=False)
    tables = (
        f"[[expected]]\nid = {quoted(case)}\nkind = {quoted(kind)}\n"
        f"reason = {quoted(reasons.get((case, kind), UNFILLED))}\n"
        for case, kind in dict.fromkeys(met)
    )
    head = "# Failures that are known: they do not fail the run. One that is met no more does.\n"
    return "\n".join([head, *tables])


def planned_ids(results: Results) -> list[str]:
    """Ids of all cases that were to be run."""
    planned = results.campaign.parameters.get("planned", ())
    return [str(one) for one in planned] if isinstance(planned, list) else []


def _is_of(error: str, case: str) -> bool:
    """Whether an error is that of a case: it begins with the id."""
    return error.startswith((f"{case}: ", f"{case}, check "))


def summarise(
    definition: Definition,
    cases: Sequence[Case],
    verdicts: Sequence[Verdict],
    *,
    planned_cases: int,
    planned_problems: int,
    steps: int,
    too_few: Mapping[str, Sequence[str]],
    state: State,
) -> Summary:
    """Sum up a campaign.

    `planned_problems` differ among the cases planned, which are counted as `noun_of` counts cases.
    `steps` are the iterations made by all runs whose s the campaign speaks of; `too_few` has lines on
    checks and runs with fewer executed comparisons than their minimum, by case, those of none under an
    empty id. An expected failure that was not met is stale; of an interrupted run none is. What is missing
    for a case that has one that was met is missing of it.
    """
    expected, errors = definition.expected, state.errors[REFUSED]
    wanted = {(one.id, one.kind) for one in expected}
    unjudged = [case for case, kind in wanted if kind == REFUSED and any(_is_of(e, case) for e in errors)]
    refused = [error for error in errors if not any(_is_of(error, case) for case in unjudged)]
    unsettled = [one for one in verdicts if one.status in UNSETTLED]
    found = {(one.case, f"{one.check}: {one.status}") for one in unsettled}
    found |= {(case, REFUSED) for case in unjudged}
    excused = {case for case, _ in found & wanted}
    # Of cases with a failure that was expected, single verdicts count that were not.
    statuses = {Status(case.status) for case in cases if case.id not in excused}
    statuses |= {one.status for one in unsettled if (one.case, f"{one.check}: {one.status}") not in wanted}
    met = [one for one in expected if (one.id, one.kind) in found]
    stale = [f"{one.id}, {one.kind}: {one.reason}" for one in expected if one not in met]
    stale = [] if state.interrupted else stale
    gave_up = gave_up_on(verdicts)
    lacking = {case: lines for case, lines in too_few.items() if lines and case not in excused}
    incomplete = [line for case, lines in lacking.items() if case not in gave_up for line in lines]
    if silent := lacking.keys() & gave_up.keys():
        where = counted(len(silent), noun_of(cases))
        incomplete.append(f"nothing to compare on {where}, where the solver raised an error")
    incomplete += vacuous_lines(definition, cases, [one for one in verdicts if one.case not in excused])
    missing = planned_cases - len(cases)
    noun = "problem" if planned_problems == planned_cases else "case"
    unfinished = f"{missing} of {counted(planned_cases, noun)} not finished"
    if refused:  # These are the problems that are missing, so they are no reason of their own.
        incomplete.insert(0, f"{REFUSED}: {refused[0]}" + f" ({unfinished})" * (missing > 0))
    elif missing > len(unjudged):
        incomplete.insert(0, unfinished)  # What no verdict speaks of comes first.
    code = state.exit_code(
        failed=Status.FAIL in statuses or bool(stale),
        incomplete=Status.INCONCLUSIVE in statuses or bool(incomplete),
    )
    sentence = headline(cases, verdicts)
    if state.interrupted:
        sentence = f"interrupted: {sentence}"
    foreseen = [one for one in unsettled if (one.case, f"{one.check}: {one.status}") in wanted]
    if foreseen:
        on = len({one.case for one in foreseen})
        sentence += (
            f"; expected failures: {counted(len(foreseen), 'verdict')} on {counted(on, noun_of(cases))}"
        )
    if unjudged:
        sentence += f"; not judged, as expected: {len(unjudged)}"
    if stale:
        more = f" and {len(stale) - 1} more" if stale[1:] else ""
        sentence += f"; expected, but not met: {stale[0]}{more}"
    if incomplete:
        others = len(incomplete) - 1
        more = f" (and {counted(others, 'other reason')})" if others else ""
        sentence += f"; incomplete: {incomplete[0]}{more}"
    if count := len(state.internal):
        sentence += f"; {counted(count, 'internal error')}"
    tallied = tally(verdicts)
    return Summary(
        sentence=sentence,
        exit_code=code,
        steps_judged=steps_judged(verdicts),
        steps=steps,
        right_at={case.id: list(right_at(case, verdicts)) for case in cases},
        vacuous=tuple(case.id for case in cases if case.status == Status.VACUOUS),
        counts=tallied["counts"],
        coverage=tallied["coverage"],
        told=refused[0] if refused else "",
        expected_failures=len(foreseen) + len(unjudged),
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


def multiples_only(cases: Sequence[Case], verdicts: Sequence[Verdict]) -> dict[str, list[int]]:
    """The numbers of ranks on which every problem had a multiple of it as samples, or as features.

    What ranks make of a remainder was not looked at there. It is said of cases with something compared.
    """
    compared = {one.case for one in verdicts if one.check != CONTRACT and one.executed}
    shared = [(cast(int, case.facts.get("ranks", 1)), case) for case in cases if case.id in compared]
    by_ranks = sorted(grouped((one for one in shared if one[0] > 1), lambda one: one[0]).items())
    found = {
        name: [ranks for ranks, own in by_ranks if not any(getattr(case, name) % ranks for _, case in own)]
        for name in ("samples", "features")
    }
    return {name: ranks for name, ranks in found.items() if ranks}


def vacuous_lines(definition: Definition, cases: Sequence[Case], verdicts: Sequence[Verdict]) -> list[str]:
    """A line for the VACUOUS cases, and for the VACUOUS verdicts of each check, that are not tolerated."""
    beyond = [
        case.id
        for case in cases
        if case.status == Status.VACUOUS and not _matches(definition.tolerated_vacuous, case.id)
    ]
    tolerated = definition.tolerated_vacuous_per_check
    limited = [one for one in verdicts if tolerated is not None and one.why is not Why.NOT_KEPT]
    vacuous = [one for one in limited if one.status is Status.VACUOUS]
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
