"""The page of a report: its words, tables and links, from nothing outside; and what its tables sum up."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import junitparser
import pytest
from click.testing import CliRunner
from test_reporting_documents import NASTY, case, document, every_status, verdict

from sstep_verify.cli.commands.report import report
from sstep_verify.report import plain, verdicts, write
from sstep_verify.report.answer import answer_of
from sstep_verify.report.case import GAP, Series
from sstep_verify.report.expected import Expected
from sstep_verify.report.results import load
from sstep_verify.report.words import compared_in_words
from sstep_verify.report.write import write_report
from sstep_verify.specification import text_of
from sstep_verify.verdict import Status


class Page(HTMLParser):
    """Collects tags, addresses, ids and visible text of a page."""

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.addresses, self.ids, self.text, self.depth = [], [], [], "", []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        values = dict(attrs)
        self.addresses += [values[name] for name in ("href", "src", "xlink:href") if name in values]
        self.ids += [values["id"]] if "id" in values else []

    def handle_data(self, data):
        self.text += data


def page_of(results, folder) -> Page:
    write_report(results, folder)
    return Page((folder / "index.html").read_text(encoding="utf-8"))


def html_of(results, folder) -> str:
    return (write_report(results, folder) / "index.html").read_text(encoding="utf-8")


def test_no_page_says_that_nothing_failed_above_a_failure_that_was_expected(tmp_path):
    known = [{"id": "a", "kind": "step-replay: FAIL", "reason": "known"}]
    made = document([case("a", Status.FAIL)], [verdict("a", Status.FAIL)], exit_code=0)
    for expected, said in ((known, False), ([], True)):
        parameters = {**made.campaign.parameters, "expected_failures": expected}
        told = replace(made, campaign=replace(made.campaign, parameters=parameters))
        text = html_of(told, tmp_path / "report")
        assert ("No FAIL" in text) == said
        assert ("No failure but those that were expected" in text) != said


def test_an_expected_failure_is_shown_as_such_and_never_as_a_pass(tmp_path):
    known = [{"id": "a", "kind": "window-replay: FAIL", "reason": "known since May"}]
    cases = [case("a", Status.FAIL), case("b", Status.PASS)]
    told = [verdict("a", Status.FAIL), verdict("a", Status.PASS, s=4), verdict("b")]
    made = document(cases, told, exit_code=0)
    parameters = {**made.campaign.parameters, "expected_failures": known}
    made = replace(made, campaign=replace(made.campaign, parameters=parameters))
    written = write_report(made, tmp_path / "report")
    html = (written / "index.html").read_text("utf-8")
    assert "<title>EXPECTED FAILURE" in html
    assert '<h1><span class="chip expected-failure">' in html
    assert 'class="chip fail"' not in html
    assert "Expected failure: known since May" in html
    assert [row["status"] for row in verdicts.verdict_table(made).rows] == ["EXPECTED FAILURE", "PASS"]
    campaign, suite = junitparser.JUnitXml.fromfile(str(written / "junit.xml"))
    assert (campaign.skipped, suite.tests, suite.skipped, suite.failures) == (1, 3, 1, 0)
    with open(written / "tables" / "verdicts.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["status"], row["expected_failure"]) for row in rows] == [
        ("FAIL", "known since May"), ("PASS", ""), ("PASS", "")
    ]  # fmt: skip


def test_a_case_that_also_fails_unexpectedly_is_a_failure(tmp_path):
    known = [{"id": "a", "kind": "window-replay: FAIL", "reason": "known"}]
    told = [verdict("a", Status.FAIL), verdict("a", Status.FAIL, check="box")]
    made = document([case("a", Status.FAIL)], told, exit_code=1)
    parameters = {**made.campaign.parameters, "expected_failures": known}
    made = replace(made, campaign=replace(made.campaign, parameters=parameters))
    html = html_of(made, tmp_path / "report")
    assert "<title>FAIL" in html
    assert html.count('class="chip expected-failure"') == 2  # the verdict, and its row of the table
    (failure,) = verdicts.failures(made)
    assert (failure.check, list(failure.others), list(failure.known)) == ("box", [], ["window-replay"])
    assert "<dt>Fail as expected</dt><dd>window-replay</dd>" in html
    assert Expected.of(made).unforeseen(made.verdicts) == ["box, s = 2"]


@pytest.mark.parametrize("status", [Status.PASS, Status.FAIL])
def test_where_an_expected_failure_is_not_met_and_nothing_else_fails_no_check_is_said_to(status):
    known = [{"id": "a", "kind": "box: FAIL", "reason": "known"}]
    made = document([case("a", status)], [verdict("a", status)], exit_code=1)
    parameters = {**made.campaign.parameters, "expected_failures": known}
    made = replace(made, campaign=replace(made.campaign, parameters=parameters))
    assert write.outcome_of(made, write.OUTCOMES) == (
        write.NOT_MET if status is Status.PASS else write.OUTCOMES[1]
    )


def test_the_violated_requirement_is_in_junit_and_at_the_head_of_the_page(tmp_path):
    broken = verdict("a", Status.FAIL, requirement="S-3.6")
    written = write_report(document([case("a", Status.FAIL)], [broken], exit_code=1), tmp_path / "report")
    (_, suite) = junitparser.JUnitXml.fromfile(str(written / "junit.xml"))
    (test,) = suite
    values = {item.name: item.value for item in test.child(junitparser.Properties)}
    assert values["requirement"] == "S-3.6"
    text = Page((written / "index.html").read_text(encoding="utf-8")).text
    assert f"ViolatesS-3.6: {text_of('S-3.6')}" in text
    assert "on 1 of 1 problem" in text
    assert "· 1 problem, 1 verdict ·" in text
    assert load(written / "results.json").verdicts[0]["requirement"] == "S-3.6"
    words = [str(written / "results.json"), "--xfails", str(tmp_path / "known.toml")]
    said = CliRunner().invoke(report, words).output
    assert said.endswith("known.toml: 1 failure; 1 without a reason: write it there\n")


def test_page_needs_nothing_from_outside_and_every_link_leads_somewhere(tmp_path):
    found = page_of(every_status(), tmp_path / "report")
    assert len(found.ids) == len(set(found.ids))
    for address in found.addresses:
        if address.startswith("#"):
            assert address[1:] in found.ids
        else:
            assert (tmp_path / "report" / address).is_file(), address
    text = (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"url\(\s*['\"]?(?!#)|@import|<link|<iframe|<img", text)


def test_first_screen_says_outcome_sentence_and_what_is_missing(tmp_path):
    results = every_status()
    results = replace(results, summary=replace(results.summary, interrupted=True))
    text = page_of(results, tmp_path / "report").text
    head = text[: text.index("Environment")]
    for words in ("FAIL", results.summary.sentence, "Interrupted.", "C is not stated", "exit code 1"):
        assert words in head


@pytest.mark.parametrize(
    ("statuses", "code", "outcome"),
    [
        ((Status.VACUOUS,), 0, "VACUOUS"),
        ((Status.VACUOUS, Status.PASS), 0, "PASS"),
        ((Status.VACUOUS,), 3, "VACUOUS"),
        ((Status.VACUOUS, Status.VACUOUS), 3, "VACUOUS"),
        ((Status.VACUOUS, Status.PASS), 3, "INCONCLUSIVE"),
        ((), 3, "INCONCLUSIVE"),
        ((), 4, "ERROR"),
    ],
)
def test_a_campaign_on_which_no_mistake_would_have_shown_is_no_pass(statuses, code, outcome):
    results = document([case(str(place), status) for place, status in enumerate(statuses)], [])
    results = replace(results, summary=replace(results.summary, exit_code=code))
    assert write.outcome_of(results, write.OUTCOMES)[0] == outcome
    if statuses:
        answer = answer_of(replace(results, verdicts=(verdict("0").as_dict(),)), outcome)
        assert answer is None or answer.with_sentence == bool(code)


def test_where_a_problem_is_missing_too_the_page_does_not_call_all_vacuous():
    results = document([case("0", Status.VACUOUS)], [], exit_code=3)
    parameters = {**results.campaign.parameters, "planned": ["0", "1"]}
    results = replace(results, campaign=replace(results.campaign, parameters=parameters))
    assert write.outcome_of(results, write.OUTCOMES) == write.OUTCOMES[3]


def test_each_problem_has_its_facts_runs_reasons_and_replay_commands(tmp_path):
    text = page_of(every_status(), tmp_path / "report").text
    for status in Status:
        assert verdict(status.lower(), status).reason.splitlines()[0] in text
        assert f"sstep-verify run --only {status.lower()} --s 2" in text
    for words in ("active set in balls", "tolerance reached", "9e-09", "overlap: not tested"):
        assert words in text
    for word in ("ratio", "detection limit", "VACUOUS", "attainable gap", "drift", "window"):
        assert word in text[text.rindex("Glossary") :]


def test_hostile_names_stay_text_everywhere(tmp_path):
    nasty = case(
        NASTY,
        Status.FAIL,
        problem=NASTY,
        dataset=NASTY,
        kernel=NASTY,
        reason=NASTY,
        facts={NASTY: {NASTY: [NASTY]}},
    )
    made = document([nasty], [verdict(NASTY, Status.FAIL, problem=NASTY, replay=NASTY, check=NASTY)])
    made = replace(made, provenance={NASTY: NASTY})
    found = page_of(made, tmp_path / "report")
    assert found.tags.count("script") == 1
    assert "<script>alert('x')</script>" in found.text
    junitparser.JUnitXml.fromfile(str(tmp_path / "report" / "junit.xml"))
    assert load(tmp_path / "report" / "results.json") == made


def test_empty_campaign_and_case_without_figures_make_a_page(tmp_path):
    found = page_of(document([], [], exit_code=3), tmp_path / "empty")
    assert "INCONCLUSIVE" in found.text
    assert "No check was executed." in found.text
    found = page_of(document([case("a", series=(), runs=(), facts={})], []), tmp_path / "bare")
    assert "No check was executed on this problem." in found.text
    assert "svg" not in found.tags


def test_a_row_sums_up_all_s_by_the_worst():
    made = document(
        [case("a")], [verdict("a"), verdict("a", Status.VACUOUS, s=16), verdict("a", s=4, ratio=0.5)]
    )
    (row,) = verdicts.verdict_table(made).rows
    assert [row[name] for name in ("status", "tally", "s", "ratio")] == [
        "VACUOUS",
        "2 PASS, 1 VACUOUS",
        [2, 4, 16],
        0.5,
    ]
    assert [row[name] for name in ("planned", "executed", "vacuous")] == [36, 36, 1]
    assert row["quantities"] == (
        "0 of 1 tested by every run that has them, worst detection limit where tested 3e-13 (overlap); "
        "not tested by some: overlap"
    )


def test_a_fail_over_a_bound_of_zero_has_an_infinite_ratio_and_no_smaller_one_hides_it(tmp_path):
    made = document(
        [case("a", Status.FAIL)],
        [verdict("a"), verdict("a", Status.FAIL, s=4, ratio=math.inf)],
        exit_code=1,
    )
    (row,) = verdicts.verdict_table(made).rows
    assert row["ratio"] == math.inf
    assert html_of(made, tmp_path / "report").count("∞") == 2


def test_a_page_says_tested_and_what_a_cap_is(tmp_path):
    text = page_of(every_status(), tmp_path / "report").text
    page = text[text.index("· campaign") : text.index("results.json holds")]
    assert "visible" not in page
    assert "a FAIL may test quantities too" in text
    assert "their gaps and errors are relative, and measured in float64 without proof" in text
    assert "all iterations madeThe run reached its cap" in text
    assert "Of a solver that does not state how many it made, that is taken from the request" in text


def test_windows_are_counted_as_windows_and_not_as_comparisons_of_a_quantity(tmp_path):
    """A window counts once, however often what is in it is compared."""
    text = page_of(
        document([case("a")], [verdict("a"), verdict("a", check="box")]), tmp_path / "report"
    ).text
    said = [compared_in_words(verdict("a", check=check).as_dict()) for check in ("window-replay", "box")]
    assert all(words in text for words in said)
    assert len({words.rpartition(" of ")[2] for words in said}) == 2


def test_the_worst_detection_limit_is_that_of_the_run_that_saw_least():
    sharp, dull = verdict("a").as_dict(), verdict("a", s=4).as_dict()
    dull["terms"][0]["detection_limit"] = 2e-3
    words = "1 of 1 tested by every run that has them, worst detection limit where tested 0.002 (overlap)"
    assert verdicts.visibility([sharp, dull]) == words
    assert verdicts.visibility([dull]) == words.replace(" that has them", "")
    none = verdict("a", s=16).as_dict() | {"terms": []}
    assert "; 1 of 3 runs has none of them," in verdicts.visibility([sharp, dull, none])
    assert verdicts.visibility([]) == "–"


def test_the_worst_limit_is_also_of_what_some_run_did_not_test_and_runs_are_counted():
    told = [verdict("a").as_dict(), verdict("a", Status.VACUOUS, s=4).as_dict()]
    assert "worst detection limit where tested 3e-13 (overlap)" in verdicts.visibility(told)
    assert verdicts.tested_by(told) == {"overlap": "1 of 2 runs"}
    assert verdicts.tested_by([]) == {}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, "–"), (0.1234, "0.123 s"), (59.9, "59.9 s"), (185, "3 min 5 s"), (7800, "2 h 10 min")],
)
def test_durations_are_words(seconds, words):
    assert plain.duration(seconds) == words


def test_a_large_campaign_stays_a_modest_page(tmp_path):
    points = tuple(range(1, 301))  # a campaign measures geometrically, so it has no more
    series = tuple(Series(GAP, s, points, tuple(1.0 / x for x in points)) for s in (1, 2, 16, 64, 256))
    cases = [case(f"case {k}", dataset=f"data {k}", series=series) for k in range(6)]
    write_report(document(cases, [verdict(item.id) for item in cases]), tmp_path / "report")
    # 6 MB for 100 problems with two figures each
    assert (tmp_path / "report" / "index.html").stat().st_size < len(cases) * 6_000_000 / 200 + 30_000
