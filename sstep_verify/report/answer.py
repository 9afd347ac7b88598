"""The answer of a campaign, as the first screen of its page gives it: from the records, and no more.

Whose solver, whether it is correct, at which s on how many of the problems that were planned for it; the
errors that would have shown; and what was not looked at.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sstep_verify.errors import counted
from sstep_verify.quantities import KERNEL
from sstep_verify.report.case import CSR, DENSE, HELD, Case, noun_of
from sstep_verify.report.expected import EXPECTED, Expected
from sstep_verify.report.plain import count, grouped, promised, rounded_up
from sstep_verify.report.results import MULTIPLES, TOO_FEW, Results, TooFew
from sstep_verify.report.telling import record_of
from sstep_verify.report.verdicts import Failure, causes_of, failures, sized_causes
from sstep_verify.report.words import lacking_together, s_in_words, s_on, together
from sstep_verify.specification import quantities_of
from sstep_verify.verdict import MESSAGES_ONLY, UNSETTLED, Hint, HintKind, NoteKind, Status, Why

MOST_CAUSES = 3
"""Known defects that a row lists."""

STEPS = "step-replay"

JUDGE_STEPS = (STEPS, "window-replay")
"""Checks that compare what a solver does inside a run."""

NAME_CAUSES = (*JUDGE_STEPS, "trajectory")
"""Checks that compare what they find with known defects."""

MOST_HINTS = 2
"""Wordings of one hint that a row lists."""

NAMES_ANOTHER = (HintKind.CONVENTION, HintKind.DRAWS)
"""Hints on something else that a run would be correct with, by its name."""

CONTRACT, MESSAGES, COHERENCE = "contract", "message-count", "rank-coherence"

INTERRUPTED = "INTERRUPTED"
"""The outcome of a campaign that was stopped before its end."""


class Row(NamedTuple):
    """One line of the answer: its name, and what is said, in parts."""

    name: str
    parts: tuple[str, ...]


@dataclass(frozen=True)
class Answer:
    """One sentence, the rows below it, and whether the sentence of the summary must stand with them."""

    headline: str
    rows: tuple[Row, ...]
    with_sentence: bool = False


@dataclass(frozen=True)
class Count:
    """Of one s: the cases planned for it, and those of them that are correct, fail, or show nothing."""

    planned: int = 0
    correct: int = 0
    faulty: int = 0
    open: int = 0
    unobserved: int = 0

    @property
    def silent(self) -> int:
        """Cases of which nothing is said at this s."""
        return self.planned - self.correct - self.faulty - self.open - self.unobserved


def answer_of(results: Results, outcome: str) -> Answer | None:
    """The answer; None where no run was judged: a vector, certificates, what studies add.

    The `outcome` is that of the page.
    """
    cases = results.cases
    if not results.verdicts or results.studies or not any(case.of_runs for case in cases):
        return None
    counts = by_s(results)
    rows = [*_correct(counts, results), *_faulty(counts, results), *_left(results)]
    rows += _shown(results), Row("Not looked at", tuple(unseen(results)))
    # A failure that was expected and not met is no solver's: the sentence names it.
    plain = outcome in (Status.PASS, Status.VACUOUS, EXPECTED, INTERRUPTED)
    plain = plain and not (outcome == Status.VACUOUS and results.summary.exit_code)
    plain = plain or (outcome == Status.FAIL and any(_fails(results)))
    headline = _headline(results, counts, outcome)
    return Answer(headline, tuple(row for row in rows if row.parts), not plain)


def solver_of(results: Results) -> str:
    """Whose solver was judged."""
    names = list(dict.fromkeys(run.solver for case in results.cases for run in case.runs if run.solver))
    if not names:
        return "The solver"
    if len(names) == 1:
        return f"The solver “{names[0]}”"
    return f"The {len(names)} solvers"


def by_s(results: Results) -> dict[int, Count]:
    """What was shown at each s, ascending."""
    right: Mapping[str, Any] = results.summary.right_at
    failed = {(one["case"], one["s"]) for one in results.verdicts if one["status"] == Status.FAIL}
    open_ = {(one["case"], one["s"]) for one in results.verdicts if one["status"] == Status.INCONCLUSIVE}
    hidden = {(one["case"], one["s"]) for one in results.verdicts if _noted(one, NoteKind.UNOBSERVED)}
    found: dict[int, Counter[str]] = {}
    for case in results.cases:
        for s in case.s:
            key = case.id, s
            place = found.setdefault(s, Counter())
            place["planned"] += 1
            if key in failed:
                place["faulty"] += 1
            elif key in open_:
                place["open"] += 1
            elif s in right.get(case.id, ()):
                place["unobserved" if key in hidden else "correct"] += 1
    return {s: Count(**found[s]) for s in sorted(found)}


def _noted(verdict: dict, kind: NoteKind) -> bool:
    return any(note["kind"] == kind for note in verdict.get("notes", ()))


def _fails(results: Results) -> Iterable[dict]:
    """The verdicts that failed and were not expected to."""
    expected = Expected.of(results)
    failed = (one for one in results.verdicts if one["status"] == Status.FAIL)
    return (one for one in failed if expected.reason(one) is None)


def _headline(results: Results, counts: Mapping[int, Count], outcome: str) -> str:
    who, noun = solver_of(results), noun_of(results.cases)
    plural = who.endswith("solvers")
    are, fails = ("are", "fail") if plural else ("is", "fails")
    cases = results.cases
    passed = sum(case.status == Status.PASS for case in cases)
    every = f"{passed} of {counted(planned(results), noun)}"
    failed = [case for case in cases if case.status == Status.FAIL]
    correct = [s for s, one in counts.items() if one.correct]
    if outcome == EXPECTED:
        return f"{who} {fails} as expected, on {_of(failed, cases, noun)}."
    if failed and outcome == Status.FAIL and not any(_fails(results)):
        met = "but a failure that was expected is not met"
        return f"{who} {fails} as expected on {_of(failed, cases, noun)}, {met}."
    if failed:
        first = next((s for s, one in counts.items() if one.faulty), None)
        where = "" if first is None else f", first at s = {first}"
        return f"{who} {are} faulty on {_of(failed, cases, noun)}{where}."
    if not correct and any(one.unobserved for one in counts.values()):
        return f"What was judged of {who[:1].lower()}{who[1:]} is correct; no windows of s were observed."
    if not correct:
        return f"Nothing shows that {who[:1].lower()}{who[1:]} {are} correct, or faulty."
    if any(case.status == Status.INCONCLUSIVE for case in cases):
        open_ = [case for case in cases if case.status == Status.INCONCLUSIVE]
        return f"{who} {are} undecided on {_of(open_, cases, noun)}, and correct wherever decided."
    if not passed:  # A case passes by an s > 1, if it has one.
        whose = f"{who[:1].lower()}{who[1:]} {are} correct, wherever judged"
        return f"At {s_in_words(correct)} {whose}; at other s nothing shows that."
    where = "at every s that was judged" if _all_correct(counts) else "wherever judged"
    so_far = " so far" * (outcome == INTERRUPTED)
    return f"{who} {are} correct{so_far} on {every}, {where}: {s_in_words(correct)}."


def _all_correct(counts: Mapping[int, Count]) -> bool:
    return all(one.correct == one.planned for one in counts.values())


def _of(some: Sequence[Case], cases: Sequence[Case], noun: str) -> str:
    return f"{len(some)} of {counted(len(cases), noun)}"


def planned(results: Results) -> int:
    """Cases that were to be judged."""
    named: Any = results.campaign.parameters.get("planned") or ()
    return max(len(named), len(results.cases))


def _correct(counts: Mapping[int, Count], results: Results) -> list[Row]:
    noun = noun_of(results.cases)
    rest = {"faulty": "FAIL", "open": "undecided", "unobserved": "windows not observed"}

    def words(one: Count) -> str:
        told = [f"{getattr(one, name)} {said}" for name, said in rest.items() if getattr(one, name)]
        told += [f"{one.silent} {'not counted' if failing else 'could show nothing'}"] * bool(one.silent)
        return f"{one.correct} of {counted(one.planned, noun)}" + f" ({', '.join(told)})" * bool(told)

    failing = any(case.status in UNSETTLED for case in results.cases)
    rows = [Row("Correct at", s_on({s: words(one) for s, one in counts.items() if one.correct}))]
    hidden = {s: one for s, one in counts.items() if one.unobserved}
    said = {s: f"{one.unobserved} of {counted(one.planned, noun)}" for s, one in hidden.items()}
    return [*rows, Row("Correct, but no windows of s were observed, at", s_on(said))]


def _faulty(counts: Mapping[int, Count], results: Results) -> list[Row]:
    noun = noun_of(results.cases)
    wrong = {s: one for s, one in counts.items() if one.faulty}
    said = {s: f"{one.faulty} of {counted(one.planned, noun)}" for s, one in wrong.items()}
    clean = {s: one for s, one in counts.items() if wrong and not one.faulty and not one.correct}
    free = {s: counted(one.planned, noun) for s, one in clean.items()}
    rows = [Row("Faulty at", s_on(said)), Row("No failure at", s_on(free)), *_causes(results, noun)]
    return [*rows, Row("Runs failed at every s on", tuple(_raised(results, noun)))]


def _raised(results: Results, noun: str) -> Iterable[str]:
    """On how many cases runs of every s failed by themselves, by kinds that the solver raised."""
    asked = (one for one in results.verdicts if one["check"] == CONTRACT)
    by_case = grouped(asked, lambda one: one["case"])
    kinds: dict[str, list[Case]] = {}
    for case in results.cases:
        own = by_case.get(case.id, [])
        errors = [error for one in own for error in one["raised"]]
        if errors and all(one["raised"] and one["status"] == Status.FAIL for one in own):
            own_kinds = dict.fromkeys(error["kind"] for error in errors if not error["quoted"])
            kinds.setdefault(" and ".join(own_kinds), []).append(case)
    for kind, cases in kinds.items():
        yield _of(cases, results.cases, noun) + f": the solver raised {kind}" * bool(kind)


def _causes(results: Results, noun: str) -> list[Row]:
    """The known defects under the name that their cards give them, and where none reproduces a failure.

    Each says on how many cases it is named, unless it is on all that fail, and at which s, unless it is at
    all at which these fail.
    """
    found = failures(results)
    failed = sum(len(one.cases) for one in found)
    named: dict[str, Counter[str]] = {}
    for one in found:
        for cause in one.causes:
            named.setdefault(one.label, Counter())[cause] += len(one.cases)
    words = sized_causes(stands.verdict for one in found for stands in one.stands)
    rows = []
    for label, causes in named.items():
        parts = [
            words[cause] + f", on {counted(on, noun)}" * (on < failed) + _named_at(results, found, cause)
            for cause, on in [*causes.items()][:MOST_CAUSES]
        ]
        more = (f"and {len(causes) - MOST_CAUSES} more",) * (len(causes) > MOST_CAUSES)
        rows.append(Row(label, (*parts, *more)))
    unknown = sum(len(one.cases) for one in found if one.tried and not one.causes and not one.readings)
    without = (f"{unknown} of {counted(failed, noun)} that fail{'s' * (failed == 1)}",) * bool(unknown)
    rows.append(Row("No known defect that was tried reproduces the failure on", without))
    return [*rows, Row("Hint", tuple(_shared_hints(found)))]


def _shared_hints(found: Sequence[Failure]) -> Iterable[str]:
    """The hints of their cards that all cases that fail have in common, in the words of all of them."""
    records = [record_of(stands.verdict) for one in found for stands in one.stands]
    own = [
        {_alike(hint): hint for hint in one.hints if hint.kind is not HintKind.READING} for one in records
    ]
    for key in own[0] if own else ():
        if all(key in hints for hints in own):
            said = together([hints[key] for hints in own])
            yield from said[:MOST_HINTS]
            if (more := len(said) - MOST_HINTS) > 0:
                yield f"and {more} more like this"


def _alike(hint: Hint) -> tuple[object, ...]:
    """What two hints have in common that say the same of two runs, whatever was counted in each."""
    return hint.kind, *(hint.detail if hint.kind in NAMES_ANOTHER else ())


def _named_at(results: Results, found: Sequence[Failure], cause: str) -> str:
    """At which s a cause is named, where the cases on which it is fail at others too."""
    own = {case.id for one in found if cause in one.causes for case in one.cases}
    failed = [one for one in _fails(results) if one["case"] in own and one["check"] in NAME_CAUSES]
    named = {one["s"] for one in failed if cause in causes_of(one)}
    return f", named at {s_in_words(named)}" if named and named != {one["s"] for one in failed} else ""


def _left(results: Results) -> list[Row]:
    """Cases that are undecided, that showed nothing or were not judged; what is incomplete and expected."""
    noun, cases = noun_of(results.cases), results.cases
    rows = [
        Row(name, tuple([f"{_of(own, cases, noun)}: {_named(own)}"] if own else ()))
        for name, status in (("Undecided", Status.INCONCLUSIVE), ("Could show nothing", Status.VACUOUS))
        for own in [[case for case in cases if case.status == status]]
    ]
    missing = planned(results) - len(cases)
    not_judged = [f"{missing} of the {counted(planned(results), noun)} planned"] if missing else []
    rows.append(Row("Not judged", tuple(not_judged)))
    listed: Any = results.campaign.parameters.get(TOO_FEW) or ()
    short = [TooFew(**{name: one[name] for name in TooFew.__dataclass_fields__}) for one in listed]
    rows.append(Row("Too little compared", tuple(lacking_together(short)[:3])))
    expected = Expected.of(results)
    known = [one for one in results.verdicts if expected.reason(one) is not None]
    on = len({one["case"] for one in known})
    foreseen = [f"{counted(len(known), 'verdict')} on {counted(on, noun)}"] if known else []
    return [*rows, Row("Expected failures", tuple(foreseen))]


def _named(cases: Sequence[Case]) -> str:
    more = f" and {len(cases) - 2} more" if cases[2:] else ""
    return ", ".join(case.id for case in cases[:2]) + more


def _judged(results: Results) -> list[dict]:
    """Verdicts on steps or windows that passed."""
    return [one for one in results.verdicts if one["check"] in JUDGE_STEPS and one["status"] == Status.PASS]


def _shown(results: Results) -> Row:
    best: dict[tuple[str, int], float] = {}
    for one in (one for one in _judged(results) if not _noted(one, NoteKind.UNOBSERVED)):
        for term in one["terms"]:
            if term["name"] == KERNEL:
                key, limit = (one["case"], one["s"]), term["detection_limit"]
                best[key] = min(best.get(key, math.inf), math.inf if limit is None else limit)
    return Row("Would have shown", tuple(_limits(sorted(best.values()))))


def _limits(found: Sequence[float]) -> Iterable[str]:
    """What would have shown in runs with these limits of the kernel correction, which ascend."""
    error = "a relative error of {} in the kernel correction"
    limited = [limit for limit in found if rounded_up(limit) is not None]
    number, several, none = len(found), len(found) > 1, len(found) - len(limited)
    if not several and limited:
        yield f"{error.format(promised(found[0]))} (one run)"
    elif number // 2 < len(limited):
        yield f"{error.format(promised(found[number // 2]))} (median of {count(number)} runs)"
    elif limited:
        yield f"{error.format(promised(limited[-1]))} in {len(limited)} of {count(number)} runs"
    if none:
        what = "no error" if limited else "no error in the kernel correction"
        yield f"in {counted(none, 'run')} {what} for certain"
    elif several:
        yield f"{promised(found[-1])} in the run that shows least"


def unseen(results: Results) -> Iterable[str]:
    """What no verdict speaks of: larger problems and s, longer runs, more ranks, messages, quantities."""
    cases, summary = results.cases, results.summary
    compared = [one for one in results.verdicts if one["check"] != CONTRACT and one["executed"]]
    failed = [one for one in results.verdicts if one["status"] == Status.FAIL]
    noun, known = noun_of(cases), {one["case"] for one in compared}
    judged = [case for case in cases if case.id in known]
    asked = {one["case"] for one in results.verdicts if one["check"] == CONTRACT and one["executed"]}
    for words, of in (("nothing but the contract", True), ("nothing", False)):
        if rest := [case for case in cases if case.id not in known and (case.id in asked) is of]:
            whose = "their" if rest[1:] else "its"
            yield f"{_of(rest, cases, noun)}: {words} of {whose} runs was checked"
    if not judged:
        return
    samples, features = (max(getattr(case, name) for case in judged) for name in ("samples", "features"))
    sizes = (f"{count(n)} {of}{'s' * (n != 1)}" for n, of in ((samples, "sample"), (features, "feature")))
    yield f"larger data than {' or '.join(sizes)}"
    made = [run.iterations for case in judged for run in case.runs if run.iterations and case.of_runs]
    if made:
        yield f"runs of more than {count(max(made))} iteration{'s' * (max(made) != 1)}"
    ranks = max(_number(case.facts.get("ranks", 1)) for case in judged)
    yield "several ranks (each run had one)" if ranks == 1 else f"more than {ranks} ranks"
    multiples: Any = results.campaign.parameters.get(MULTIPLES) or {}
    for name, of in multiples.items():
        yield f"numbers of {name} that are no multiple of {' or '.join(map(str, of))} ranks"
    parallel = {case.id for case in judged if _number(case.facts.get("ranks", 1)) > 1}
    on_ranks = [one for one in compared if one["case"] in parallel]
    if (without := _without(COHERENCE, on_ranks)) is not None:
        yield f"whether all ranks hold the same alpha{without}"
    messages = [one for one in compared if one["check"] == MESSAGES]
    if not messages:
        windows = any(one["s"] > 1 for one in compared)
        yield f"communication{' and the lengths of windows' * windows} (no messages were counted)"
    elif any(one["units"] == MESSAGES_ONLY for one in messages):
        yield "words of messages (only the number of messages was compared)"
    of_counted = {one["case"] for one in messages}
    of_counted = of_counted & parallel or of_counted  # One rank sends nothing that another misses.
    if without := _without(MESSAGES, [one for one in compared if one["case"] in of_counted]):
        yield f"the number of messages{without}"
    # A solver that did something else at an s than was asked was looked at there.
    failed = [one for one in failed if one["case"] in known]
    yield f"s above {max(one['s'] for one in (*compared, *failed))}"
    inside = {one["case"] for one in compared if one["check"] in JUDGE_STEPS}
    if ends := [case for case in judged if case.id not in inside]:
        yield f"single steps of {_of(ends, cases, noun)}: only final vectors were compared"
    stepped = {one["s"] for one in compared if one["check"] in JUDGE_STEPS}
    if stepped and (short := {one["s"] for one in compared} - stepped):
        yield f"steps and windows at {s_in_words(short)}: only final vectors were compared"
    if not ends and (left := summary.steps - summary.steps_judged):
        yield f"{count(left)} of {count(summary.steps)} steps"
    if idle := _unbounded(results.verdicts):
        yield f"{' and '.join(idle)}: no finite bound is known, so nothing was compared"
    yield from _never_met(judged, compared)
    if hidden := _not_tested(results):
        several = ", ".join(f"{name} on {counted(number, noun)}" for name, number in hidden.items())
        yield f"some parts of a step: {several}"


def _unbounded(verdicts: Sequence[dict]) -> list[str]:
    """Checks that compared nothing on any case, on some for want of a finite bound, in their order."""
    made = {one["check"] for one in verdicts if one["executed"]}
    wanting = dict.fromkeys(one["check"] for one in verdicts if one["why"] == Why.NO_BOUND)
    return [check for check in wanting if check not in made | {CONTRACT}]


def _never_met(cases: Sequence[Case], compared: Iterable[dict]) -> Iterable[str]:
    """What none of the problems has, though a solver may go wrong with it, and what no run began from."""
    svm = [case for case in cases if case.task != "krr"]
    if svm and all(has_one_label(case.dataset) for case in svm):
        yield "samples of label -1 (every label was +1)"
    powers = [case.kernel for case in cases if case.kernel.startswith("polynomial ")]
    if powers and all(kernel.endswith(" c=0") for kernel in powers):
        yield "polynomial kernels with an offset (every offset was 0)"
    blocks = [case.block for case in cases if case.task == "krr"]
    if blocks and max(blocks) == 1:
        yield "blocks of several coordinates (every b was 1)"
    forms = {case.facts.get(HELD) for case in cases}
    if forms == {DENSE}:
        yield "data held as CSR (all were dense arrays)"
    if forms == {CSR}:
        yield "data held as dense arrays (all were CSR)"
    # A case whose stream begins later has a first alpha of its own.
    later = {case.id for case in cases if "start=" in case.id}
    inside = [one for one in compared if one["check"] in JUDGE_STEPS]
    begun = any(one["case"] in later or _noted(one, NoteKind.CONTINUED) for one in inside)
    if not begun and any(case.of_runs for case in cases):
        yield "runs that begin elsewhere than at alpha = 0"


def has_one_label(dataset: str) -> bool:
    """Whether an embedded set is one of those whose labels are all +1."""
    return dataset.startswith(("edges", "middle")) and dataset.endswith("_one_label")


def _without(check: str, compared: Sequence[dict]) -> str | None:
    """At which s some case has verdicts, and none of this check that decides; None if at no s.

    Empty if no case has one at any s.
    """
    decided = (Status.PASS, Status.FAIL)
    made = {(one["case"], one["s"]) for one in compared}
    known = {
        (one["case"], one["s"]) for one in compared if one["check"] == check and one["status"] in decided
    }
    if not (left := {s for _, s in made - known}):
        return None
    return f" at {s_in_words(left)}" if known else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) else 1


def _not_tested(results: Results) -> dict[str, int]:
    """Quantities of a step that no passed verdict on some run would have shown, and on how many cases.

    Of a case whose log failed also those that no verdict on its steps or windows would have shown.
    """
    seen: dict[tuple[str, str, int], bool] = {}
    for one in _judged(results):
        for term in one["terms"]:
            key = term["name"], one["case"], one["s"]
            seen[key] = seen.get(key, False) or bool(term["seen"])
    # Where a requirement failed, the quantities of a step that it is about were looked at.
    found = {
        (name, one["case"])
        for one in results.verdicts
        if one["status"] == Status.FAIL and one["requirement"]
        for name in quantities_of(one["requirement"])
    }
    left = (key for key, shown in seen.items() if not (shown or key[:2] in found))
    never = (key for key in _never_tested(results) if key not in found)
    return Counter(name for name, _ in dict.fromkeys((*(key[:2] for key in left), *never)))


def _never_tested(results: Results) -> list[tuple[str, str]]:
    """Quantities that a failed log would not have shown, nor another verdict on its case; with that."""
    judged = [one for one in results.verdicts if one["check"] in JUDGE_STEPS]
    tested = {(term["name"], one["case"]) for one in judged for term in one["terms"] if term["seen"]}
    logs = (one for one in judged if one["check"] == STEPS and one["status"] == Status.FAIL)
    of_logs = ((term["name"], one["case"]) for one in logs if one["executed"] for term in one["terms"])
    return [key for key in dict.fromkeys(of_logs) if key not in tested]
