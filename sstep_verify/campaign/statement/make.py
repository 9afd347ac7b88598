"""What is stated of a solver, and how the results of a check make it; proving makes it a second time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, Literal, cast

from sstep_verify.adapters.program import ProgramFile
from sstep_verify.campaign.headline import right_in_words
from sstep_verify.campaign.model import DISAGREEMENT, INTERNAL, REFUSED, Definition
from sstep_verify.campaign.profile import Chosen
from sstep_verify.checks.registry import PRIMARY
from sstep_verify.checks.shared.outcome import RESTART
from sstep_verify.checks.steps.probed import CURVATURE, GRADIENT, INCREMENT, STORED
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.protocol import is_foreign
from sstep_verify.provenance import without_names
from sstep_verify.quantities import KERNEL, LOWER, OMEGA, QUANTITIES, UPPER
from sstep_verify.report.case import Case
from sstep_verify.report.plain import grouped, rounded_up
from sstep_verify.report.results import Results
from sstep_verify.specification import Sentence, specification
from sstep_verify.verdict import Status

SCHEMA: Literal[3] = 3

OUTCOMES: dict[int, Literal["passed", "failed", "inconclusive"]] = {
    0: "passed",
    1: "failed",
    3: "inconclusive",
}
"""Outcome of a statement by the exit code of the check."""


@dataclass(frozen=True)
class Judged:
    """The solver, as its author describes it.

    `name` is ``module:object``, or the name of a program; `program` how that was started, what it leaves,
    how it draws, None of a Python object; `declaration` what it says it is, on one rank: the bounds are for
    exactly this. Anything else is an InputError.
    """

    name: str
    program: ProgramFile | None
    declaration: Declaration

    def __post_init__(self) -> None:
        if self.program is None and not is_foreign(self.name):
            raise InputError(f"name {self.name!r:.60} is no module:object, and no program is described")
        if self.declaration.ranks != 1:
            raise InputError(
                f"declaration.ranks is {self.declaration.ranks}, but it stands for one rank here"
            )


@dataclass(frozen=True)
class Extreme:
    """The largest of some numbers, and where it was met.

    `value` is rounded up to two digits, and None if it is infinite.
    """

    value: float | None
    check: str
    case: str
    s: int


Outcome = Literal["passed", "failed", "vacuous", "inconclusive", "not applicable"]


@dataclass(frozen=True)
class SentenceSaid:
    """What the verdicts of some checks say of one sentence of the specification.

    failed: a FAIL names it among those that it may break. inconclusive: a check that decides it could not.
    passed: a check that decides it passed, and saw the quantities that it prescribes for the declared
    update. vacuous: it was judged, and nothing showed it. not applicable: no check that decides it judged
    such a problem.
    """

    number: str
    outcome: Outcome
    checks: tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """What a solver was found to be, of the problems and verdicts in the results beside it.

    `schema` is the version of this form, `specification` that of the specification, `outcome` that of the
    whole, `right` for which s it is right on how many problems, in words. `solver` is what was judged, on
    the problems `asked` for. `worst_ratio` is the largest measured / bound, `worst_detection_limit` the
    largest of the relative errors in the kernel correction that each run would have shown.
    """

    schema: Literal[3]
    specification: str
    outcome: Literal["passed", "failed", "inconclusive"]
    right: tuple[str, ...]
    solver: Judged
    asked: Chosen
    worst_ratio: Extreme | None
    worst_detection_limit: Extreme | None
    sentences: tuple[SentenceSaid, ...]


def make_statement(results: Results, solver: Judged, asked: Chosen) -> Statement:
    """What the results of a whole check say of the solver.

    InputError if the check was interrupted, met errors of its own, or did not judge every problem: of those
    that were not judged nothing can be said.
    """
    summary = results.summary
    if summary.interrupted:
        raise InputError("no statement is made of an interrupted check; go on with --resume")
    told = results.campaign.errors(INTERNAL, DISAGREEMENT, REFUSED)
    if told or summary.exit_code not in OUTCOMES:
        first = told[0].splitlines()[0] if told else f"exit code {summary.exit_code}"
        raise InputError(
            f"no statement is made, for it would not speak of every problem ({first}); ask only for what "
            "the solver is for, by --task, --kernel or --only"
        )
    return Statement(
        schema=SCHEMA,
        specification=specification().version,
        outcome=OUTCOMES[summary.exit_code],
        right=tuple(right_in_words(cast("dict[str, list[int]]", summary.right_at))),
        solver=solver,
        asked=asked,
        worst_ratio=_worst((one for one in results.verdicts if one["executed"]), itemgetter("ratio")),
        worst_detection_limit=_worst(_sharpest(results.verdicts), detection_limit),
        sentences=sentences_of(
            results.verdicts, results.cases, solver.declaration.level, solver.declaration.update
        ),
    )


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


def detection_limit(one: Mapping[str, Any]) -> float | None:
    """The smallest relative error in the kernel correction that a verdict would have shown."""
    return next((term["detection_limit"] for term in one["terms"] if term["name"] == KERNEL), None)


def _worst(verdicts: Iterable[dict], number: Callable[[dict], float | None]) -> Extreme | None:
    """The largest number of some verdicts; the first of several that are equal as they are shown."""
    shown = (Extreme(rounded_up(number(one)), one["check"], one["case"], one["s"]) for one in verdicts)
    return max(shown, key=lambda one: _size(one.value), default=None)


def _size(value: float | None) -> float:
    return math.inf if value is None else value


def _sharpest(verdicts: Sequence[dict]) -> list[dict]:
    """Of every run what the sharpest primary check that passed says, where it looked at the correction."""
    passed = (one for one in verdicts if one["check"] in PRIMARY and one["status"] == Status.PASS)
    looked = (one for one in passed if any(term["name"] == KERNEL for term in one["terms"]))
    runs = grouped(looked, lambda one: (one["case"], one["s"]))
    return [min(those, key=lambda one: _size(detection_limit(one))) for those in runs.values()]


ABOUT: dict[str, Callable[[Case], bool]] = {
    "S-1.6": lambda case: case.kernel.split()[0] in ("linear", "polynomial"),
    "S-1.7": lambda case: case.kernel.split()[0] == "rbf",
    "S-2.5": lambda case: case.block > 1,
    "S-4.3": lambda case: int(cast(int, case.facts.get("ranks", 1))) > 1,
}
"""Problems on which a sentence says something, where that is not told by its tasks."""

ALSO_SEEN = {"S-1.3": (OMEGA, LOWER, UPPER)}
"""Quantities of which a sentence says something beside those that it alone prescribes."""


def _scales_a(verdict: dict, case: Case) -> bool:
    """Whether a verdict compared a run with one in which every a is times a power of two.

    With the targets (K-RR) it is; with the data of a K-SVM too, but not where sigma takes up their scale:
    there every number from the kernel on is the same in both runs, and so is what a threshold leaves out.
    """
    way = "targets-" if case.task == "krr" else "data-"
    grows = case.task == "krr" or case.kernel.split()[0] != "rbf"
    return grows and any(name.startswith(way) for name in _seen(verdict))


def _seen(verdict: dict) -> list[str]:
    """The quantities and relations in which a verdict would have shown a mistake."""
    return [term["name"] for term in verdict["terms"] if term["status"] == Status.PASS]


def _phases(verdict: dict) -> set[str]:
    """The quantities of a step that a verdict judged one by one, as far as they were written down."""
    return {name for name, one in verdict["evidence"].get("values", {}).items() if one["judged"]}


SHOWN: dict[str, Callable[[dict, Case], bool]] = {
    "S-2.1": lambda verdict, case: RESTART in _seen(verdict),
    "S-2.4": lambda verdict, case: "communication in every iteration" in _seen(verdict),
    "S-2.8": lambda verdict, case: RESTART in _seen(verdict),
    "S-3.10": lambda verdict, case: False,  # Whether such a step was met, no verdict says.
    "S-3.11": _scales_a,
    "S-3.14": lambda verdict, case: {GRADIENT, CURVATURE, INCREMENT, STORED} <= _phases(verdict),
    "S-4.5": _scales_a,
    "S-5.5": lambda verdict, case: False,  # Whether a gap was reported, no verdict says.
    "S-6.2": lambda verdict, case: {"panel columns", "words"} <= {*verdict["evidence"].get("counted", ())},
}
"""Which of the PASS of its checks show a sentence, where not all do: a check is of more than one."""


def sentences_of(
    verdicts: Sequence[dict], cases: Sequence[Case], level: int, update: str
) -> tuple[SentenceSaid, ...]:
    """The outcome of each sentence, from verdicts as plain values, and their cases.

    Level and update are those that the solver declares.
    """
    known = {case.id: case for case in cases}
    made = [one for one in QUANTITIES if update == "frozen" or not one.frozen]
    had = frozenset(one.name for one in made if any(case.task in one.tasks for case in cases))
    return tuple(_said(sentence, verdicts, known, level, had) for sentence in specification().sentences)


def _said(
    sentence: Sentence, verdicts: Sequence[dict], cases: Mapping[str, Case], level: int, had: frozenset[str]
) -> SentenceSaid:
    number, about = sentence.number, ABOUT.get(sentence.number, lambda case: True)
    deciding = [
        one
        for one in verdicts
        if one["check"] in sentence.checks
        and cases[one["case"]].task in sentence.tasks
        and about(cases[one["case"]])
    ]
    # Of a level that is too low, only what its sharpest check says.
    if level < sentence.level and not any(one["check"] == sentence.checks[0] for one in deciding):
        deciding = []
    passed = [one for one in deciding if one["status"] == Status.PASS]
    if shows := SHOWN.get(number):
        passed = [one for one in passed if shows(one, cases[one["case"]])]
    if prescribed := had.intersection((*sentence.quantities, *ALSO_SEEN.get(number, ()))):
        # None shows it unless together they saw all that it prescribes.
        seen = {
            term["name"]: one
            for one in passed
            for term in one["terms"]
            if term["name"] in prescribed and term["status"] == Status.PASS
        }
        passed = list(seen.values()) if seen.keys() == prescribed else []
    found: dict[Outcome, list[dict]] = {
        "failed": [one for one in verdicts if one["status"] == Status.FAIL and number in one["sentences"]],
        "inconclusive": [one for one in deciding if one["status"] == Status.INCONCLUSIVE],
        "passed": passed,
        "vacuous": deciding,
    }
    outcome: Outcome = next((name for name, those in found.items() if those), "not applicable")
    return SentenceSaid(
        number, outcome, tuple(dict.fromkeys(one["check"] for one in found.get(outcome, ())))
    )
