"""Problems, verdicts, runs, steps, failures and reasons are counted each as what it is, wherever counts are shown.

One campaign in which no two of these counts are equal: several checks, s and statuses a problem, failures that
were expected, problems that were not judged, errors of our own.
"""

from __future__ import annotations

import csv
import html
import re
from pathlib import Path
from typing import Any, NamedTuple

import junitparser
import pytest

from sstep_verify.campaign.model import INTERNAL, REFUSED, Definition, Finished, State
from sstep_verify.campaign.summary import ExpectedFailure, summarise
from sstep_verify.cli.campaign import finish
from sstep_verify.quantities import KERNEL, UPPER
from sstep_verify.report.case import Case
from sstep_verify.report.results import ERRORS, Campaign, Results, tally
from sstep_verify.report.write import write_report
from sstep_verify.verdict import Sensitivity, Status, Verdict, Why

PASS, FAIL, VACUOUS, OPEN = Status.PASS, Status.FAIL, Status.VACUOUS, Status.INCONCLUSIVE
STEPS, WINDOWS, BOX, ENDS = "step-replay", "window-replay", "box", "trajectory"

RIGHT, BLIND, WRONG, UNDECIDED, KNOWN = 4, 5, 3, 2, 7
"""Problems of each kind: 21 together, and another 3 that were not judged, 2 of these as expected."""

PLANNED, EXECUTED = 5, 4
"""Comparisons of each verdict."""

MADE = 2000
"""Steps of all runs."""


def _verdict(case: str, check: str, s: int, status: Status, judged: int = 0, *, hidden=False) -> Verdict:
    terms: tuple[Sensitivity, ...] = ()
    if judged:
        limit = 10.0 ** -(int(case[-1]) + 8)
        terms = (Sensitivity(KERNEL, PASS, limit, 6, 3, 2),)
        unseen = Sensitivity(UPPER, VACUOUS, float("inf"), 7, 7, 0, Why.NO_EFFECT)
        terms += (unseen,) * hidden
    evidence = {"steps": {"judged": judged, "of": 64}} if judged else {}
    return Verdict(
        check, case, case, s, 1, status, 0.1, 0.1, 1.0, "absolute", PLANNED, EXECUTED, terms,
        evidence=evidence,
    )  # fmt: skip


def _verdicts() -> list[Verdict]:
    found = []
    for k in range(RIGHT):
        for s in (1, 4):
            found += [_verdict(f"right{k}", STEPS, s, PASS, 40, hidden=k < 3)]
            found += [_verdict(f"right{k}", WINDOWS, s, PASS, 16, hidden=k < 3)]
            found += [_verdict(f"right{k}", BOX, s, PASS)]
    for k in range(BLIND):
        for check in (STEPS, WINDOWS):
            found += [_verdict(f"blind{k}", check, 1, PASS)]
            found += [_verdict(f"blind{k}", check, s, VACUOUS) for s in (4, 16)]
    del found[-1]
    for k in range(WRONG):
        found += [_verdict(f"wrong{k}", STEPS, 1, PASS)]
        found += [_verdict(f"wrong{k}", STEPS, 4, PASS if k == 2 else FAIL)]
        found += [
            _verdict(f"wrong{k}", check, 16, FAIL) for check in (STEPS, BOX, ENDS)[: 3 if k == 1 else 2]
        ]
    for k in range(UNDECIDED):
        found += [
            _verdict(f"open{k}", STEPS, s, status) for s, status in ((1, PASS), (4, OPEN), (16, OPEN))
        ]
        found += [_verdict(f"open{k}", BOX, 16, OPEN)]
    for k in range(KNOWN):
        found += [_verdict(f"known{k}", STEPS, s, PASS if s == 1 else FAIL) for s in (1, 4, 16)]
    return found


def _cases() -> list[Case]:
    kinds = (("right", RIGHT, PASS), ("blind", BLIND, VACUOUS), ("wrong", WRONG, FAIL))
    kinds += (("open", UNDECIDED, OPEN), ("known", KNOWN, FAIL))
    return [
        Case(
            id=f"{kind}{k}", problem=f"{kind}{k}", dataset="d", kernel="k", loss="l", task="svm-l1", samples=2,
            features=1, block=1, status=status, s=(1, 4) if kind == "right" else (1, 4, 16),
        )
        for kind, count, status in kinds
        for k in range(count)
    ]  # fmt: skip


def _expected() -> list[ExpectedFailure]:
    found = [ExpectedFailure(f"known{k}", f"{STEPS}: FAIL", "known") for k in range(KNOWN)]
    return found + [ExpectedFailure(f"unjudged{k}", REFUSED, "known") for k in range(2)]


class Made(NamedTuple):
    """The campaign: its results, and what its report says."""

    results: Results
    page: str
    junit: Any
    folder: Path


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Made:
    state = State()
    for k in range(3):
        state.add(Finished(error=f"unjudged{k}: too large", kind=REFUSED))
    for k in range(11):
        state.add(Finished(error=f"broken {k}", kind=INTERNAL))
    expected = _expected()
    definition = Definition(
        "counts", "Counts", "d", (), tolerated_vacuous=("blind*",), expected=tuple(expected)
    )
    cases, verdicts = _cases(), _verdicts()
    summary = summarise(
        definition, cases, verdicts, planned_cases=24, planned_problems=24, steps=MADE,
        too_few={"": [f"few {k}" for k in range(8)]}, state=state,
    )  # fmt: skip
    errors = {kind: list(lines) for kind, lines in state.errors.items()}
    listed = [{"id": one.id, "kind": one.kind, "reason": one.reason} for one in expected]
    campaign = Campaign("counts", "Counts", parameters={"expected_failures": listed, ERRORS: errors})
    results = Results(campaign, summary, cases=tuple(cases), verdicts=tuple(verdicts))
    folder = write_report(results, tmp_path_factory.mktemp("counts") / "report")
    page = html.unescape(re.sub(r"\s+", " ", (folder / "index.html").read_text("utf-8")))
    return Made(results, page, junitparser.JUnitXml.fromfile(str(folder / "junit.xml")), folder)


def _text(page: str) -> str:
    """A page without its marks."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", "", page))


def test_no_two_counts_of_this_campaign_are_equal(made):
    statuses = [one["status"] for one in made.results.verdicts]
    counts = [statuses.count(status) for status in (PASS, FAIL, VACUOUS, OPEN)]
    assert counts == [47, 23, 19, 6]
    several = [
        *counts,
        len(statuses),
        len(made.results.cases),
        9,
        14,
        10,
        RIGHT,
        BLIND,
        WRONG,
        UNDECIDED,
        KNOWN,
    ]
    assert len({*several}) == len(several)


def test_the_sentence_counts_problems_where_it_says_problems(made):
    sentence = made.results.summary.sentence
    assert "faulty on 10 of 21 problems (first at s = 4)" in sentence
    # At s = 1 nothing fails; at s = 4 the 4 that are right, and one that fails at s = 16 only, are counted.
    assert "correct: s = 1 on 21 of 21 problems; s = 4 on 5 of 21" in sentence
    assert "inconclusive on 2 problems" in sentence
    assert "vacuous for s = 4 and 16 on 5 problems" in sentence
    assert "passed without testing: upper-end on 3 problems" in sentence
    # Eight runs, of which two each could see errors from 1e-8, 1e-9, 1e-10 and 1e-11 on.
    assert "1.1e-09 (median over the runs), 1.1e-08 (worst)" in sentence


def test_the_sentence_counts_what_was_expected_not_judged_and_left_out(made):
    sentence = made.results.summary.sentence
    assert "expected failures: 14 verdicts on 7 problems" in sentence
    assert "not judged, as expected: 2;" in sentence
    assert "unjudged2: too large (3 of 24 problems not finished) (and 8 other reasons)" in sentence
    assert "11 internal errors" in sentence


def test_the_summary_counts_steps_verdicts_and_comparisons(made):
    summary = made.results.summary
    # On each of eight runs what the check that judged most has judged.
    assert (summary.steps_judged, summary.steps) == (8 * 40, MADE)
    assert (summary.expected_failures, len(summary.vacuous), summary.exit_code) == (14 + 2, BLIND, 4)
    right = {case: s for case, s in summary.right_at.items() if s}
    assert sorted(map(len, right.values())) == [1] * (BLIND + WRONG - 1 + UNDECIDED + KNOWN) + [2] * (
        RIGHT + 1
    )
    assert summary.counts[STEPS] == {"FAIL": 5 + 14, "INCONCLUSIVE": 4, "VACUOUS": 10, "PASS": 26}
    assert summary.counts[BOX] == {"FAIL": 3, "INCONCLUSIVE": 2, "VACUOUS": 0, "PASS": 8}
    cover = summary.coverage[STEPS]
    assert (cover["planned"], cover["executed"], cover["vacuous"]) == (59 * PLANNED, 59 * EXECUTED, 10)
    kernel, upper = cover["terms"][KERNEL], cover["terms"][UPPER]
    assert [kernel[name] for name in ("planned", "decided", "seen")] == [8 * 6, 8 * 3, 8 * 2]
    assert [upper[name] for name in ("planned", "decided", "seen")] == [6 * 7, 6 * 7, 0]
    assert tally(made.results.verdicts) == {"counts": summary.counts, "coverage": summary.coverage}


def test_the_head_of_the_page_counts_problems_verdicts_and_steps(made):
    text = _text(made.page)
    assert "21 problems, 95 verdicts · judged 320 of 2 000 steps" in text
    # Alike failures together: two that fail from s = 4 on, one from s = 16 on, and those that were expected.
    assert re.findall(r"first at s = (\d+), on (\d+) of (\d+) problems", text) == [
        ("4", "2", "21"), ("16", "1", "21"), ("4", "7", "21"),
    ]  # fmt: skip


def test_the_table_of_checks_counts_verdicts_and_comparisons(made):
    table = made.page.partition('id="overview-caption"')[2].partition("</table>")[0]
    statuses = re.findall(r'<th scope="col" class="number">([A-Z ]+)</th>', table)
    found = {}
    for row in re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", table):
        check = re.match(r"<code>(.*?)</code>", row)
        cells = [_text(cell) for cell in re.findall(r'<td class="number"[^>]*>(.*?)</td>', row)]
        found[check[1]] = {**dict(zip(statuses, cells, strict=False)), "made": cells[-1]}
    known = ("EXPECTED FAILURE", "FAIL", "INCONCLUSIVE", "VACUOUS", "PASS", "made")
    assert {check: [cells[name] for name in known] for check, cells in found.items()} == {
        STEPS: ["14", "5", "4", "10", "26", "236 / 295"],
        WINDOWS: ["0", "0", "0", "9", "13", "88 / 110"],
        BOX: ["0", "3", "2", "0", "8", "52 / 65"],
        ENDS: ["0", "1", "0", "0", "0", "4 / 5"],
    }
    assert "1 of 2 tested by every run that has them; 51 of 59 runs have none of them" in _text(table)


def test_a_row_counts_the_verdicts_of_its_check_on_its_problem(made):
    rows = made.page.partition('id="verdict-table"')[2].partition("</table>")[0]
    of_wrong = next(row for row in rows.split("<tr")[1:] if "#case-wrong0" in row and f">{STEPS}<" in row)
    assert "1 PASS, 2 FAIL" in _text(of_wrong)
    assert f"{3 * EXECUTED} / {3 * PLANNED}" in _text(of_wrong)
    # Besides two verdicts of step-replay and one of box there is one that passed.
    case = made.page.partition('<details id="case-wrong0"')[2].partition('<details id="case-')[0]
    assert "1 other verdict on this problem" in _text(case)


def test_junit_counts_each_verdict_once(made):
    junit = made.junit
    # The campaign is a test of its own, which errs.
    assert (junit.tests, junit.failures, junit.errors, junit.skipped) == (96, 9, 6 + 1, 19 + 14)
    assert junit.time == (made.results.summary.seconds or 0.0)
    suites = {suite.name: suite for suite in junit}
    assert {name: suite.tests for name, suite in suites.items()} == {
        "campaign": 1, STEPS: 59, WINDOWS: 22, BOX: 13, ENDS: 1,
    }  # fmt: skip
    assert (suites[STEPS].failures, suites[STEPS].errors, suites[STEPS].skipped) == (5, 4, 24)
    of_campaign = {one.name: one.value for one in suites[BOX].properties()}
    assert of_campaign == {"steps_judged": "320", "steps": str(MADE)}
    first = next(iter(suites[STEPS]))
    of_verdict = {one.get("name"): one.get("value") for one in first._elem.iter("property")}
    steps = [of_verdict[name] for name in ("steps_judged", "steps", "planned", "executed")]
    assert steps == ["40", "64", str(PLANNED), str(EXECUTED)]


def test_tables_have_a_row_for_each_verdict_and_each_term(made):
    rows = {}
    for name in ("verdicts", "terms"):
        with open(made.folder / "tables" / f"{name}.csv", encoding="utf-8", newline="") as file:
            rows[name] = list(csv.DictReader(file))
    assert (len(rows["verdicts"]), len(rows["terms"])) == (95, 16 + 12)
    assert sum(row["expected_failure"] == "known" for row in rows["verdicts"]) == 14


def test_the_command_ends_with_the_steps_of_the_campaign(made, capsys):
    with pytest.raises(SystemExit) as ended:
        finish(made.results, made.folder, made.folder)
    out, err = capsys.readouterr()
    assert ended.value.code == 4
    assert re.search(r"^judged (\d+) of (\d+) steps$", out, re.MULTILINE).groups() == ("320", "2000")
    assert re.search(r"^not looked at: .*1680 of 2000 steps", out, re.MULTILINE)
    shown = re.findall(r"^  ([A-Z ]+) (right|blind|wrong|open|known)\d: ", out, re.MULTILINE)
    assert [shown.count(one) for one in dict.fromkeys(shown)] == [BLIND, WRONG, UNDECIDED, KNOWN]
    assert (err.count("not judged: "), err.count("internal error: ")) == (2, 11)
