"""Verdicts as the page shows them (what failed first and why, a row for each check on each problem), and as
JUnit XML: one test case for each, so that any CI can show a campaign.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import junitparser

from sstep_verify.errors import counted, writable
from sstep_verify.report.case import Case
from sstep_verify.report.expected import EXPECTED, Expected
from sstep_verify.report.plain import count, grouped
from sstep_verify.report.results import Results, tally
from sstep_verify.report.tables import Column, Table, chip, words
from sstep_verify.report.telling import Standing, standing
from sstep_verify.report.words import defect_in_words, reading
from sstep_verify.verdict import SEVERITY, UNSETTLED, Defect, HintKind, Status

CHECKS = {
    "contract": "A run is what was asked for: length, values, log.",
    "step-replay": "Every logged step is one classical step from the run's own alpha, within rounding.",
    "window-replay": "Every window of s steps ends where exact arithmetic would, within rounding.",
    "trajectory": "A short run from zero stays on the exact trajectory, within rounding.",
    "sstep-equals-classical": "Runs with s > 1 end where the run with s = 1 does, within rounding.",
    "metamorphic-exact": "Runs of scaled problems end in the scaled alpha, bit for bit.",
    "kernel-entries": "The kernel values that were used are correct, within rounding.",
    "box": "Every alpha of a K-SVM lies in its box, but for what its update may round.",
    "determinism": "Two runs of the same request end in the same bits.",
    "optimum": "A run that claims to have converged has; a vector is the optimum, to its tolerance.",
    "claim-honesty": "What a solver reports about its result is true.",
    "residual-gap": "Maintained weights stay those of alpha.",
    "rank-coherence": "Every rank holds the same alpha, bit for bit, wherever it is recorded.",
    "message-count": "Messages are as many as the declared communication scheme implies for windows of s.",
}
"""Each check in one line."""

ORDER = (*UNSETTLED, EXPECTED, *SEVERITY[2:])
"""The statuses that are shown, those first that a reader must see."""


@dataclass(frozen=True)
class Failure:
    """Cases that fail in the same way, by the verdict that stands for each, as on the terminal.

    That verdict is of a check at an s, and `first_s` is the first faulty s, which may be smaller.
    The causes are known defects that reproduce it, with how many wrong steps where that is not all. The
    requirement is that of the verdict. The readings are of a final vector. The requirement is `possible`
    where a reading or another defect may explain the failure as well.
    The `label` says what the causes are. Other checks fail too, and `tried` says whether known defects were
    compared with what failed; `expected`, whether every verdict that failed was expected to. Where some
    were not, the failure is of these, and `known` are the checks whose failures were expected. `stands`
    are the verdicts that stand for the cases, with what else was found at their s, in the same order.
    """

    check: str
    s: int
    causes: tuple[str, ...]
    readings: tuple[str, ...]
    requirement: str
    possible: bool
    label: str
    first_s: int
    cases: list[Case] = field(default_factory=list)
    others: dict[str, None] = field(default_factory=dict)
    tried: bool = False
    expected: bool = False
    known: dict[str, None] = field(default_factory=dict)
    stands: list[Standing] = field(default_factory=list)

    @property
    def of_runs(self) -> bool:
        """Whether anything was run; a vector that was handed over has no s."""
        return any(case.of_runs for case in self.cases)

    @property
    def verdict(self) -> dict[str, Any]:
        """The verdict that stands for the first case."""
        return self.stands[0].verdict

    @property
    def before(self) -> list[dict[str, Any]]:
        """The failures of the first case at that s, of checks that come before the one that stands."""
        here = self.stands[0].here
        return here[: next(place for place, one in enumerate(here) if one is self.verdict)]


_Alike = tuple[str, int, tuple[str, ...], tuple[str, ...], str, bool, str, int, bool]
"""Check, s, causes, readings, requirement, whether that is a possibility only, what causes are called, the
first faulty s, and whether it was expected."""


def failures(results: Results) -> list[Failure]:
    """The failure that stands for each case, alike ones together: unexpected ones first, then by s."""
    known = Expected.of(results)
    alike: dict[_Alike, list[tuple[Case, Standing]]] = {}
    foreseen: dict[str, list[str]] = {}
    by_case = grouped(results.verdicts, lambda verdict: verdict["case"])
    for case in results.cases:
        own = by_case.get(case.id, [])
        stands = standing(own, Status.FAIL, known)
        if stands is not None:
            told, wrong = stands.verdict, stands.wrong
            failed = [one for one in own if one["status"] == Status.FAIL]
            foreseen[case.id] = [one["check"] for one in failed if one not in wrong]
            first, expected = min(one["s"] for one in wrong), known.together(wrong) == EXPECTED
            words = causes_of(told), readings_of(told), told.get("requirement", ""), _possible(told)
            key = told["check"], told["s"], *words, _label(told), first, expected
            alike.setdefault(key, []).append((case, stands))
    found = [
        Failure(
            *key[:8],
            [case for case, _ in members],
            dict.fromkeys(
                one["check"] for _, stands in members for one in stands.wrong if one["check"] != key[0]
            ),
            any(one.get("diagnosed") for _, stands in members for one in stands.here),
            key[8],
            dict.fromkeys(name for case, _ in members for name in foreseen[case.id]),
            [stands for _, stands in members],
        )
        for key, members in alike.items()
    ]
    return sorted(found, key=lambda failure: (failure.expected, failure.first_s, failure.s))


def _possible(verdict: dict) -> bool:
    """Whether the requirement that a failure names is a possibility only."""
    shared = (one for one in verdict.get("defects", ()) if one.get("shared"))
    named = any(verdict.get("requirement") in one["requirements"] for one in shared)
    return named or bool(readings_of(verdict))


def _label(verdict: dict) -> str:
    """What the known defects of a failure are: the cause, or some that reproduce it."""
    hints = {hint["kind"] for hint in verdict.get("hints", ())}
    if HintKind.PART_OF_RUN in hints:
        return "Known defects that reproduce it if present only in a part of the run"
    defects = verdict.get("defects", ())
    one = len(defects) == 1 and not defects[0].get("shared") and HintKind.AT_LIMITS not in hints
    return "Cause" if one else "Known defects that reproduce it"


def causes_of(verdict: dict) -> tuple[str, ...]:
    """The known defects that reproduce a failure, in words; those of a part of the faulty steps say so."""
    return tuple(_cause(Defect(tuple(one["names"])), one) for one in verdict.get("defects", ()))


def sized_causes(verdicts: Iterable[dict]) -> dict[str, str]:
    """The same of several verdicts, each with its factor where they give it one and the same."""
    sized: dict[str, set[str]] = {}
    for verdict in verdicts:
        for cause, one in zip(causes_of(verdict), verdict.get("defects", ()), strict=True):
            known = Defect(tuple(one["names"]), one.get("factor"), symbol=one.get("symbol", ""))
            sized.setdefault(cause, set()).add(_cause(known, one))
    return {cause: found.pop() if len(found) == 1 else cause for cause, found in sized.items()}


def _cause(defect: Defect, values: dict) -> str:
    return defect_in_words(defect) + ", in most faulty steps" * bool(values.get("part"))


def readings_of(verdict: dict) -> tuple[str, ...]:
    """What a final vector may be, in words."""
    readings = (hint for hint in verdict.get("hints", ()) if hint["kind"] == HintKind.READING)
    return tuple(reading(*hint["detail"]) for hint in readings)


def verdict_table(results: Results) -> Table:
    """A row for each check on each case, over all s: failures first, then as checks and cases come."""
    expected = Expected.of(results)
    members = grouped(results.verdicts, lambda verdict: (verdict["check"], verdict["case"]))
    checks = list(dict.fromkeys(check for check, _ in members))
    cases = {case.id: case for case in results.cases}
    places = {case: place for place, case in enumerate(cases)}
    rows = sorted(
        (_row(verdicts, cases[case], expected) for (_, case), verdicts in members.items()),
        key=lambda row: (ORDER.index(row["status"]), checks.index(row["check"]), places[row["case"]]),
    )
    of_runs = any(case.of_runs for case in results.cases)
    shared_out = len({(row["ranks"], row["exchange"]) for row in rows}) > 1
    return Table(
        (
            words("Problem", "problem", link="case"),
            Column("b", "block", str),
            *(Column("P", "ranks", str), words("Exchange", "exchange", str)) * shared_out,
            words("Check", "check", kind="check"),
            words("Status", "status", chip, small="tally"),
            *(words("s", lambda row: ", ".join(map(str, row["s"])), kind="s"),) * of_runs,
            Column("Worst ratio", "ratio"),
            words("Quantities", "quantities"),
            Column(
                "Made / possible", lambda row: f"{count(row['executed'])} / {count(row['planned'])}", str
            ),
        ),
        rows,
        "status",
    )


def _row(verdicts: list[dict], case: Case, expected: Expected) -> dict[str, Any]:
    """One check on one case: the worst status and the largest ratio, and what was compared and tested."""
    (cover,) = tally(verdicts)["coverage"].values()
    statuses = [expected.status(verdict) for verdict in verdicts]
    parts = [f"{statuses.count(status)} {status}" for status in (EXPECTED, *Status) if status in statuses]
    return {
        **{name: verdicts[0][name] for name in ("check", "case", "problem", "block")},
        **{name: case.facts.get(name, "") for name in ("ranks", "exchange")},
        "status": expected.together(verdicts),
        "tally": ", ".join(parts) if len(parts) > 1 else "",
        "s": sorted({verdict["s"] for verdict in verdicts}),
        "ratio": max((ratio for ratio in map(ratio_of, verdicts) if ratio is not None), default=None),
        "quantities": visibility(verdicts),
        **cover,
    }


def ratio_of(verdict: dict) -> float | None:
    """Measured / bound; infinite for a FAIL that JSON has no number for, as where the bound is 0.

    None where nothing was compared, and nothing is known to be wrong.
    """
    if not verdict["executed"] and verdict["status"] != Status.FAIL:
        return None
    infinite = verdict["ratio"] is None and verdict["status"] == Status.FAIL
    return math.inf if infinite else verdict["ratio"]


def settled_last(verdicts: list[dict]) -> tuple[list[dict], list[dict]]:
    """Verdicts that are FAIL or INCONCLUSIVE, the worst and the smallest s first, and the others."""
    first: list[dict] = []
    for status in UNSETTLED:
        first += sorted((v for v in verdicts if v["status"] == status), key=lambda verdict: verdict["s"])
    return first, [verdict for verdict in verdicts if verdict not in first]


def visibility(verdicts: list[dict]) -> str:
    """How many quantities every run tested that has them; the worst detection limit of all; the others."""
    worst: dict[str, float] = {}
    hidden: dict[str, None] = {}
    unlimited: dict[str, None] = {}
    for term in (term for verdict in verdicts for term in verdict["terms"]):
        if not term["seen"]:
            hidden[term["name"]] = None
        elif term["detection_limit"] is None:
            unlimited[term["name"]] = None
        worst[term["name"]] = max(worst.get(term["name"], 0.0), term["detection_limit"] or 0.0)
    if not worst:
        return "–"
    tested, without = len(worst) - len(hidden), sum(not verdict["terms"] for verdict in verdicts)
    words = f"{tested} of {len(worst)} tested by every run" + " that has them" * (len(verdicts) > 1)
    if without:
        words += f"; {without} of {len(verdicts)} runs {'has' if without == 1 else 'have'} none of them"
    known = {name: value for name, value in worst.items() if value}
    if known:  # checks that compare bits or counts have none
        name = max(known, key=known.__getitem__)
        words += f", worst detection limit where tested {known[name]:.3g} ({name})"
        if some := [name for name in unlimited if name in known]:
            words += f"; no detection limit in some: {', '.join(some)}"
    return words + (f"; not tested by some: {', '.join(hidden)}" if hidden else "")


def tested_by(verdicts: list[dict]) -> dict[str, str]:
    """How many of the runs that have a quantity tested it, by quantity: ``3 of 4 runs``."""
    own = grouped((term for verdict in verdicts for term in verdict["terms"]), lambda term: term["name"])
    return {
        name: f"{sum(term['seen'] > 0 for term in terms)} of {counted(len(terms), 'run')}"
        for name, terms in own.items()
    }


_PROPERTIES = (
    "status", "ratio", "measured", "bound", "units", "planned", "executed", "s", "block", "replay",
)  # fmt: skip


def write_junit(results: Results, path: Path) -> Path:
    """Write JUnit XML: FAIL is a failure, INCONCLUSIVE an error, VACUOUS skipped with the reason,
    and so is a failure that is expected.

    The first suite holds the campaign itself, as its exit code: what was never judged, or compared too
    seldom, has no verdict. Then there is one test suite for each check, with the steps judged and made by
    the whole campaign as properties. Those of a test case are ratio, measured value, bound, counts, the
    replay command, the requirement that a FAIL violates, and for each term its
    `detection_limit` and whether it was tested. The time of the document and of the campaign's test
    is that of the whole campaign. The time in which a check judged the runs of all s of a case is measured
    once, and its test cases share it equally.
    """
    outcomes = {
        Status.FAIL: junitparser.Failure,
        Status.INCONCLUSIVE: junitparser.Error,
        Status.VACUOUS: junitparser.Skipped,
    }
    expected = Expected.of(results)
    times = _times(results)
    document = junitparser.JUnitXml(writable(f"sstep-verify {results.campaign.name}"))
    document.add_testsuite(_campaign(results))
    for check, own in grouped(results.verdicts, lambda verdict: verdict["check"]).items():
        suite = junitparser.TestSuite(writable(check))
        for name in ("steps_judged", "steps"):
            suite.add_property(name, str(getattr(results.summary, name)))
        suite.add_testcases(  # One by one, the statistics would be counted again each time.
            [_test_case(outcomes, verdict, expected, times[check, verdict["case"]]) for verdict in own]
        )
        document.add_testsuite(suite)
    document.update_statistics()
    # The campaign's own test has the whole time, and the others have parts of it.
    document.time = results.summary.seconds or 0.0
    document.write(str(path), pretty=True)
    return path


def _campaign(results: Results):
    """The suite of the campaign itself: one test, as its exit code.

    It is skipped where nothing was shown, and where failures were expected, which is no success.
    """
    summary = results.summary
    suite = junitparser.TestSuite("campaign")
    test = junitparser.TestCase(writable(results.campaign.name), "campaign", summary.seconds or 0.0)
    cases = results.cases
    nothing = results.is_empty or (cases and all(case.status == Status.VACUOUS for case in cases))
    skipped = nothing or Expected.of(results).reasons
    kind = {0: junitparser.Skipped if skipped else None, 1: junitparser.Failure}
    if (outcome := kind.get(summary.exit_code, junitparser.Error)) is not None:
        test.result = [outcome(writable(summary.sentence), f"exit code {summary.exit_code}")]
    suite.add_testcase(test)
    suite.add_property("summary", writable(summary.sentence))
    return suite


def _times(results: Results) -> dict[tuple[str, str], float]:
    """The share of each verdict, by check and case, in the time in which that check judged that case."""
    measured: Any = {case.id: case.check_seconds for case in results.cases}
    counts = Counter((verdict["check"], verdict["case"]) for verdict in results.verdicts)
    return {(check, case): measured[case].get(check, 0.0) / n for (check, case), n in counts.items()}


def _test_case(outcomes, verdict: dict, expected: Expected, seconds: float):
    name = f"{verdict['problem']} / b={verdict['block']} / s={verdict['s']}"
    test = junitparser.TestCase(writable(name), writable(f"{verdict['check']}.{verdict['case']}"), seconds)
    known = expected.reason(verdict)
    if known is not None:
        test.result = [junitparser.Skipped(writable(f"expected failure: {known}"), verdict["status"])]
    elif (kind := outcomes.get(Status(verdict["status"]))) is not None:
        # An attribute keeps the ends of lines only as Python 3.13 writes it; the text below always does.
        message = (verdict["reason"] or verdict["status"]).replace("\n", " ")
        outcome = kind(writable(message), verdict["status"])
        outcome.text = writable("\n".join(filter(None, (verdict["reason"], verdict["replay"]))))
        test.result = [outcome]
    values = {name: verdict[name] for name in _PROPERTIES}
    values["requirement"] = verdict.get("requirement") or None
    for term in verdict["terms"]:
        values[f"detection_limit.{term['name']}"] = term["detection_limit"]
        values[f"tested.{term['name']}"] = "yes" if term["seen"] else "no"
    if isinstance(steps := verdict["evidence"].get("steps"), dict):
        values |= {"steps_judged": steps.get("judged"), "steps": steps.get("of")}
    properties = junitparser.Properties()
    for key, value in values.items():
        if value is not None:
            properties.add_property(junitparser.Property(writable(key), writable(str(value))))
    test.append(properties)
    return test
