"""Makes a statement of a campaign's results; proving one anew makes it a second time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, cast

from sstep_verify.adapters.program import ProgramFile
from sstep_verify.campaign.messages import DISAGREEMENT, INTERNAL, REFUSED
from sstep_verify.campaign.model import Definition
from sstep_verify.campaign.profile import Chosen
from sstep_verify.campaign.statement.record import (
    SCHEMA,
    Extreme,
    Judged,
    ProblemSaid,
    SentenceSaid,
    Statement,
    VerdictSaid,
    digests_of,
    statement_from,
    statement_text,
)
from sstep_verify.checks.registry import PRIMARY
from sstep_verify.errors import InputError
from sstep_verify.provenance import without_names
from sstep_verify.quantities import KERNEL
from sstep_verify.report.numbers import rounded_up
from sstep_verify.report.plain import plain
from sstep_verify.report.results import TOO_FEW, Case, Results
from sstep_verify.specification import Sentence, specification
from sstep_verify.verdict import Status


def _on_several_ranks(case: Case) -> bool:
    ranks = case.facts.get("ranks")
    return isinstance(ranks, int) and ranks > 1


ABOUT: dict[str, Callable[[Case], bool]] = {
    "S-1.6": lambda case: case.kernel.split()[0] in ("linear", "polynomial"),
    "S-1.7": lambda case: case.kernel.split()[0] == "rbf",
    "S-2.5": lambda case: case.block > 1,
    "S-4.3": _on_several_ranks,
}
"""Problems on which a sentence says something, where that is not told by its tasks."""

NOT_TOLD = ("S-3.10",)
"""Sentences on steps of a kind of which no verdict says whether one was met: they fail, but never pass."""


def sentences_of(verdicts: Sequence[dict], cases: Sequence[Case], level: int) -> tuple[SentenceSaid, ...]:
    """The outcome of each sentence, from verdicts as plain values, their cases, and the solver's level."""
    known = {case.id: case for case in cases}
    return tuple(_said(sentence, verdicts, known, level) for sentence in specification().sentences)


def _said(
    sentence: Sentence, verdicts: Sequence[dict], cases: Mapping[str, Case], level: int
) -> SentenceSaid:
    number = sentence.number
    failed = [one for one in verdicts if one["status"] == Status.FAIL and number in one["sentences"]]
    if failed:
        return SentenceSaid(number, "failed", _checks(failed))
    deciding = _deciding(sentence, verdicts, cases, level)
    by = {status: [one for one in deciding if one["status"] == status] for status in Status}
    if by[Status.INCONCLUSIVE]:
        return SentenceSaid(number, "inconclusive", _checks(by[Status.INCONCLUSIVE]))
    if shown := _showing(sentence, by[Status.PASS]):
        return SentenceSaid(number, "passed", _checks(shown))
    return SentenceSaid(number, "vacuous" if deciding else "not applicable", _checks(deciding))


def _deciding(
    sentence: Sentence, verdicts: Sequence[dict], cases: Mapping[str, Case], level: int
) -> list[dict]:
    """The verdicts that decide a sentence; none where its sharpest check has none, for a level too low."""
    about = ABOUT.get(sentence.number, lambda case: True)
    found = [
        one
        for one in verdicts
        if one["check"] in sentence.checks
        and cases[one["case"]].task in sentence.tasks
        and about(cases[one["case"]])
    ]
    sharpest = any(one["check"] == sentence.checks[0] for one in found)
    return found if level >= sentence.level or sharpest else []


def _showing(sentence: Sentence, passed: Sequence[dict]) -> list[dict]:
    """The passed verdicts that show a sentence; none unless together they saw all that it prescribes."""
    if sentence.number in NOT_TOLD:
        return []
    if not sentence.quantities:
        return list(passed)
    seen = {
        term["name"]: one
        for one in passed
        for term in one["terms"]
        if term["name"] in sentence.quantities and term["status"] == Status.PASS
    }
    return list(seen.values()) if seen.keys() == set(sentence.quantities) else []


def _checks(verdicts: Iterable[dict]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(one["check"] for one in verdicts))


OUTCOMES: dict[int, Literal["passed", "failed", "inconclusive"]] = {
    0: "passed",
    1: "failed",
    3: "inconclusive",
}
"""Outcome of a statement by the exit code of the check."""

Runs = Mapping[str, tuple[str, str]]
"""Of each case the folder of its recorded runs, and the digest of that folder's list of digests."""


def make_statement(
    results: Results,
    solver: Judged,
    asked: Chosen,
    runs: Runs,
    environment: dict[str, object] | None = None,
) -> Statement:
    """What the results of a whole check say of the solver, in their environment if no other is given.

    InputError if the check was interrupted, met errors of its own, or did not judge every problem: of those
    that were not judged nothing can be said.
    """
    summary, cases = results.summary, results.cases
    refuse_partial(results)
    if missing := next((case.id for case in cases if case.id not in runs), ""):
        raise InputError(f"the runs of {missing} were not recorded, so no statement rests on them")
    right = cast("dict[str, list[int]]", summary.right_at)
    made = Statement(
        schema=SCHEMA,
        specification=specification().version,
        outcome=OUTCOMES[summary.exit_code],
        solver=solver,
        asked=asked,
        worst_ratio=_worst((one["ratio"], one) for one in results.verdicts if one["executed"]),
        worst_detection_limit=_worst_detection_limit(results),
        sentences=sentences_of(results.verdicts, cases, solver.declaration.level),
        problems=tuple(
            ProblemSaid(
                case.id, case.status, tuple(right[case.id]), case.s, case.samples,
                case.features, *runs[case.id],
            )
            for case in cases
        ),
        verdicts=tuple(_verdict(one) for one in results.verdicts),
        shortfalls=tuple(cast("list[str]", results.campaign.parameters.get(TOO_FEW, []))),
        data=_data(results),
        environment=_environment(results) if environment is None else environment,
        digests={},
    )  # fmt: skip
    # As it will be read again: what was left out of a program file has its default then.
    made = statement_from(statement_text(made).encode(), "the statement")
    return replace(made, digests=digests_of(plain(made)))


def judged_of(definition: Definition) -> Judged:
    """The solver of a profile, as its author describes it; names of persons are left out of its command."""
    family = definition.families[0]
    declaration = replace(family.solvers()[""].declaration, ranks=1)
    if not isinstance(family.given, ProgramFile):
        return Judged(family.solver, None, declaration)
    program = family.given.program
    command, setup = (tuple(map(without_names, words)) for words in (program.command, program.setup))
    nameless = replace(program, command=command, setup=setup)
    return Judged(program.name, replace(family.given, program=nameless), declaration)


def refuse_partial(results: Results) -> None:
    """Raise InputError if the results do not speak of every problem."""
    if results.summary.interrupted:
        raise InputError("no statement is made of an interrupted check; go on with --resume")
    told = results.campaign.errors(INTERNAL, DISAGREEMENT, REFUSED)
    if told or results.summary.exit_code not in OUTCOMES:
        first = told[0].splitlines()[0] if told else f"exit code {results.summary.exit_code}"
        raise InputError(
            f"no statement is made, for it would not speak of every problem ({first}); ask only for what "
            "the solver is for, by --task, --kernel or --only"
        )


def _verdict(one: dict[str, Any]) -> VerdictSaid:
    same = {name: one[name] for name in ("check", "case", "s", "status", "planned", "executed")}
    ratio, limit = rounded_up(one["ratio"]), rounded_up(_detection_limit(one))
    return VerdictSaid(**same, ratio=ratio, detection_limit=limit, sentences=tuple(one["sentences"]))


def _detection_limit(one: dict[str, Any]) -> float | None:
    return next((term["detection_limit"] for term in one["terms"] if term["name"] == KERNEL), None)


def _worst(found: Iterable[tuple[float | None, dict[str, Any]]]) -> Extreme | None:
    """The largest, where None is infinite; the first of several that are equal as they are shown."""
    worst: Extreme | None = None
    for value, one in found:
        shown = rounded_up(value)
        if worst is None or (worst.value is not None and (shown is None or shown > worst.value)):
            worst = Extreme(shown, one["check"], one["case"], one["s"])
    return worst


def _worst_detection_limit(results: Results) -> Extreme | None:
    """The largest over the runs of what the sharpest primary check that passed would have seen."""
    best: dict[tuple[str, int], tuple[float | None, dict[str, Any]]] = {}
    for one in results.verdicts:
        shown = any(term["name"] == KERNEL for term in one["terms"])
        if one["check"] not in PRIMARY or one["status"] != Status.PASS or not shown:
            continue
        key, value = (one["case"], one["s"]), _detection_limit(one)
        known = best[key][0] if key in best else None
        if key not in best or (value is not None and (known is None or value < known)):
            best[key] = value, one
    return _worst(best.values())


def _data(results: Results) -> dict[str, str]:
    known = cast("dict[str, str]", results.provenance["data"])
    return {name: known[name] for name in dict.fromkeys(case.dataset for case in results.cases)}


def _environment(results: Results) -> dict[str, object]:
    """Versions, machine, command, date; of data those digests that are no data set's: of programs."""
    known, data = dict(results.provenance), _data(results)
    digests = cast("dict[str, str]", known.pop("data"))
    return {**known, "programs": {name: one for name, one in digests.items() if name not in data}}
