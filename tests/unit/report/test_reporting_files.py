"""A report as a whole: every file, put in place at once or not at all; JUnit and page content."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import replace
from html.parser import HTMLParser

import junitparser
import pytest
from test_reporting_documents import NASTY, case, document, every_status, verdict

from sstep_verify.errors import InputError
from sstep_verify.report import (
    check_destination,
    load,
    numbers,
    page,
    schema,
    verdicts,
    write,
    write_report,
)
from sstep_verify.report.results import GAP, Series
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


def test_writes_every_file_and_leaves_nothing_else(tmp_path):
    made = every_status()
    written = write_report(made, tmp_path / "new" / "report")
    assert {entry.name for entry in written.iterdir()} == write.ENTRIES
    assert [entry.name for entry in written.parent.iterdir()] == ["report"]
    assert load(written / "results.json") == made


def test_same_document_gives_the_same_bytes(tmp_path):
    folders = [write_report(every_status(), tmp_path / name) for name in "ab"]
    for path in sorted(folders[0].rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (folders[1] / path.relative_to(folders[0])).read_bytes(), path


def test_replaces_an_older_report_entirely(tmp_path):
    folder = write_report(every_status(), tmp_path / "report")
    write_report(document([case("only", series=())], []), folder)
    assert load(folder / "results.json").cases[0].id == "only"
    assert list((folder / "figures").iterdir()) == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["report"]


def test_refuses_to_remove_files_that_are_no_report(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(InputError, match=r"holds 'thesis\.tex', which is no part of a report"):
        write_report(every_status(), tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "years of work"


@pytest.mark.parametrize("place", ["file", "file/report", "\0", "x" * 300])
def test_unwritable_place_is_an_input_error_that_names_it(tmp_path, place):
    (tmp_path / "file").write_text("")
    target = f"{tmp_path}/{place}"
    with pytest.raises(InputError, match="--out "):
        check_destination(target)
    with pytest.raises(InputError, match=r"name another"):
        write_report(every_status(), target)
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_without_permission_is_an_input_error(tmp_path):
    tmp_path.chmod(0o555)
    with pytest.raises(InputError, match="Permission denied"):
        check_destination(tmp_path / "report")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_midway_keeps_the_older_report(tmp_path, monkeypatch, error):
    folder = write_report(document([case("old")], []), tmp_path / "report")

    def broken(*_arguments):
        raise error

    monkeypatch.setattr(write, "write_junit", broken)
    with pytest.raises(InputError if isinstance(error, OSError) else KeyboardInterrupt):
        write_report(every_status(), folder)
    assert load(folder / "results.json").cases[0].id == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report"]


def test_a_failing_rename_puts_the_older_report_back(tmp_path, monkeypatch):
    folder = write_report(document([case("old")], []), tmp_path / "report")
    rename = os.rename

    def broken(source, target):
        if str(source).endswith(".partial"):
            raise OSError(5, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(os, "rename", broken)
    with pytest.raises(InputError, match="Input/output error"):
        write_report(every_status(), folder)
    assert load(folder / "results.json").cases[0].id == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["report"]


def test_junit_maps_each_status(tmp_path):
    write_report(every_status(), tmp_path / "report")
    (_, suite) = junitparser.JUnitXml.fromfile(str(tmp_path / "report" / "junit.xml"))
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (4, 1, 1, 1)
    found = {test.classname.rpartition(".")[2]: test for test in suite}
    assert found["pass"].result == []
    assert isinstance(found["fail"].result[0], junitparser.Failure)
    assert isinstance(found["inconclusive"].result[0], junitparser.Error)
    assert found["vacuous"].result[0].message == "reason of VACUOUS"
    values = {item.name: item.value for item in found["pass"].child(junitparser.Properties)}
    assert values["ratio"] == "0.14"
    assert values["detection_limit.overlap"] == "3e-13"


@pytest.mark.parametrize(
    ("statuses", "exit_code", "counts"),
    [
        (["PASS"], 0, (0, 0, 0)),
        (["FAIL"], 0, (0, 0, 0)),  # expected
        (["PASS"], 1, (1, 0, 0)),  # an expected failure that was not met
        (["PASS"], 3, (0, 1, 0)),  # compared too seldom, or not finished
        ([], 3, (0, 1, 0)),
        ([], 4, (0, 1, 0)),
        ([], 0, (0, 0, 1)),
        (["VACUOUS", "VACUOUS"], 0, (0, 0, 1)),
    ],
)
def test_junit_is_green_only_where_the_campaign_is_and_something_was_judged(
    tmp_path, statuses, exit_code, counts
):
    cases = [case(str(place), Status(status)) for place, status in enumerate(statuses)]
    verdicts_of = [verdict(one.id, Status(one.status)) for one in cases]
    written = write_report(document(cases, verdicts_of, exit_code=exit_code), tmp_path / "report")
    campaign = next(iter(junitparser.JUnitXml.fromfile(str(written / "junit.xml"))))
    assert (campaign.name, campaign.tests) == ("campaign", 1)
    assert (campaign.failures, campaign.errors, campaign.skipped) == counts


def test_no_page_says_that_nothing_failed_above_a_failure_that_was_expected(tmp_path):
    known = [{"id": "a", "kind": "step-replay: FAIL", "reason": "known"}]
    made = document([case("a", Status.FAIL)], [verdict("a", Status.FAIL)], exit_code=0)
    for expected, said in ((known, False), ([], True)):
        parameters = {**made.campaign.parameters, "expected_failures": expected}
        told = replace(made, campaign=replace(made.campaign, parameters=parameters))
        text = html_of(told, tmp_path / "report")
        assert ("No FAIL" in text) == said
        assert ("No failure but those that were expected (1)" in text) != said


def test_broken_sentences_stand_in_junit_and_at_the_head_of_the_page(tmp_path):
    broken = verdict("a", Status.FAIL, sentences=("S-3.6", "S-3.5"))
    written = write_report(document([case("a", Status.FAIL)], [broken], exit_code=1), tmp_path / "report")
    (_, suite) = junitparser.JUnitXml.fromfile(str(written / "junit.xml"))
    (test,) = suite
    values = {item.name: item.value for item in test.child(junitparser.Properties)}
    assert values["sentences"] == "S-3.6, S-3.5"
    text = Page((written / "index.html").read_text(encoding="utf-8")).text
    assert f"Breaks S-3.6: {text_of('S-3.6')} S-3.5: {text_of('S-3.5')}" in text
    assert load(written / "results.json").verdicts[0]["sentences"] == ["S-3.6", "S-3.5"]


def test_a_report_of_a_version_that_named_no_sentences_is_made_anew(tmp_path):
    old = json.loads(schema.dumps(every_status()))
    for one in old["verdicts"]:
        del one["sentences"]
    written = write_report(schema.loads(json.dumps(old)), tmp_path / "report")
    assert "sentences" not in (written / "junit.xml").read_text("utf-8")
    assert "Breaks" not in (written / "index.html").read_text("utf-8")


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
        ((Status.VACUOUS,), 3, "INCONCLUSIVE"),
        ((), 4, "ERROR"),
    ],
)
def test_a_campaign_on_which_no_mistake_would_have_shown_is_no_pass(statuses, code, outcome):
    results = document([case(str(place), status) for place, status in enumerate(statuses)], [])
    results = replace(results, summary=replace(results.summary, exit_code=code))
    assert page.outcome_of(results, page.OUTCOMES)[0] == outcome


def test_each_problem_has_its_facts_runs_reasons_and_replay_commands(tmp_path):
    text = page_of(every_status(), tmp_path / "report").text
    for status in Status:
        assert f"reason of {status}" in text
        assert f"sstep-verify run --only {status.lower()} --s 2" in text
    for words in ("active set in balls", "tolerance reached", "9e-09", "K is the identity in float64"):
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
    made = document(
        [nasty], [verdict(NASTY, Status.FAIL, problem=NASTY, reason=NASTY, replay=NASTY, check=NASTY)]
    )
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
    assert row["quantities"] == "0 of 1 visible in every run; not visible in some: overlap"


def test_a_fail_over_a_bound_of_zero_has_an_infinite_ratio_and_no_smaller_one_hides_it(tmp_path):
    made = document(
        [case("a", Status.FAIL)],
        [verdict("a"), verdict("a", Status.FAIL, s=4, ratio=math.inf)],
        exit_code=1,
    )
    (row,) = verdicts.verdict_table(made).rows
    assert row["ratio"] == math.inf
    assert html_of(made, tmp_path / "report").count("∞") == 2


def test_the_worst_detection_limit_is_that_of_the_run_that_saw_least():
    sharp, dull = verdict("a").as_dict(), verdict("a", s=4).as_dict()
    dull["terms"][0]["detection_limit"] = 2e-3
    words = "1 of 1 visible in every run, worst detection limit 0.002 (overlap)"
    assert verdicts.visibility([sharp, dull]) == words
    assert verdicts.visibility([]) == "–"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(None, "–"), (0.1234, "0.123 s"), (59.9, "59.9 s"), (185, "3 min 5 s"), (7800, "2 h 10 min")],
)
def test_durations_are_words(seconds, words):
    assert numbers.duration(seconds) == words


def test_a_large_campaign_stays_a_modest_page(tmp_path):
    points = tuple(range(1, 301))  # a campaign measures geometrically, so it has no more
    series = tuple(Series(GAP, s, points, tuple(1.0 / x for x in points)) for s in (1, 2, 16, 64, 256))
    cases = [case(f"case {k}", dataset=f"data {k}", series=series) for k in range(6)]
    write_report(document(cases, [verdict(item.id) for item in cases]), tmp_path / "report")
    # 6 MB for 100 problems with two figures each
    assert (tmp_path / "report" / "index.html").stat().st_size < len(cases) * 6_000_000 / 200 + 30_000
