"""A report as a whole: every file, put in place at once or not at all; JUnit and page content."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import jinja2
import junitparser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_reporting_documents import case, document, every_status, verdict

from sstep_verify.errors import InputError, writable
from sstep_verify.report import write
from sstep_verify.report.results import load
from sstep_verify.report.write import check_destination, write_report
from sstep_verify.verdict import Status


def test_writes_every_file_and_leaves_nothing_else(tmp_path):
    made = every_status()
    written = write_report(made, tmp_path / "new" / "report")
    assert {entry.name for entry in written.iterdir()} == write.ENTRIES - {write.ARTEFACTS, write.RUNS}
    assert [entry.name for entry in written.parent.iterdir()] == ["report"]
    assert load(written / "results.json") == made


def test_same_document_gives_the_same_bytes(tmp_path):
    folders = [write_report(every_status(), tmp_path / name) for name in "ab"]
    for path in sorted(folders[0].rglob("*")):
        if path.is_file():
            assert path.read_bytes() == (folders[1] / path.relative_to(folders[0])).read_bytes(), path


def test_templates_are_compiled_once_and_again_when_their_text_changes(tmp_path, monkeypatch):
    """To compile them takes most of the time of a small page; what was compiled is that of the same text only."""
    kept = write_report(every_status(), tmp_path / "kept")
    shutil.copytree(write.TEMPLATES, tmp_path / "templates")
    compiled: list[str] = []
    usual = jinja2.Environment.compile

    def noted(environment, source, name=None, *more, **options):
        compiled.append(name)
        return usual(environment, source, name, *more, **options)

    monkeypatch.setattr(jinja2.Environment, "compile", noted)
    again = write_report(every_status(), tmp_path / "again")
    assert compiled == []
    assert (again / "index.html").read_bytes() == (kept / "index.html").read_bytes()
    monkeypatch.setattr(write, "TEMPLATES", tmp_path / "templates")
    write_report(every_status(), tmp_path / "moved")
    assert "index.html" in compiled
    compiled.clear()
    template = tmp_path / "templates" / "index.html"
    template.write_text(template.read_text("utf-8").replace("</body>", "<i>changed</i></body>"), "utf-8")
    changed = write_report(every_status(), tmp_path / "changed")
    assert compiled == ["index.html"]
    assert "<i>changed</i>" in (changed / "index.html").read_text("utf-8")


def test_replaces_an_older_report_entirely(tmp_path):
    folder = write_report(every_status(), tmp_path / "report")
    write_report(document([case("only", series=())], []), folder)
    assert load(folder / "results.json").cases[0].id == "only"
    assert list((folder / "figures").iterdir()) == []
    assert [entry.name for entry in tmp_path.iterdir()] == ["report"]


def test_refuses_to_remove_files_that_are_no_report(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(
        InputError, match=r"holds 'thesis\.tex', which is none of artefacts, .* would be lost"
    ):
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
    assert found["vacuous"].result[0].message == " ".join(
        verdict("vacuous", Status.VACUOUS).reason.split("\n")
    )
    values = {item.name: item.value for item in found["pass"].child(junitparser.Properties)}
    assert values["ratio"] == "0.14"
    assert values["detection_limit.overlap"] == "3e-13"


def test_the_time_of_a_check_is_shared_by_its_test_cases_and_that_of_the_campaign_is_its_own(tmp_path):
    checked = case("a", check_seconds={"window-replay": 3.0, "box": 0.5})
    verdicts = [verdict("a", s=s) for s in (1, 2)] + [
        verdict("a", check="box"),
        verdict("a", check="optimum"),
    ]
    made = document([checked], verdicts)
    made = replace(made, summary=replace(made.summary, seconds=7.5))
    campaign, *suites = junitparser.JUnitXml.fromfile(
        str(write_report(made, tmp_path / "report") / "junit.xml")
    )
    assert [test.time for test in campaign] == [7.5]
    assert [[test.time for test in suite] for suite in suites] == [[1.5, 1.5], [0.5], [0.0]]


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


@given(st.text(st.characters(codec=None)))
def test_a_text_for_files_holds_no_control_character_and_keeps_all_others(text):
    made = writable(text)
    assert not [sign for sign in made if sign < " " and sign not in "\t\n\r"]
    assert writable(made) == made == made.encode().decode()
    if text.isprintable():
        assert made == text


def test_whatever_a_solver_says_every_file_of_a_report_is_a_text(tmp_path):
    """A page, a table and XML hold no control character: a NUL ends them for many readers."""
    said = "begin \0\x1b[31m end"
    told = replace(verdict("one", Status.FAIL), replay=said)
    made = document([case("one", Status.FAIL, reason=said)], [told], exit_code=1)
    folder = write_report(made, tmp_path / "report")
    for path in (one for one in folder.rglob("*") if one.is_file()):
        text = path.read_bytes().decode()
        assert not [sign for sign in text if sign < " " and sign not in "\t\n\r"], path
    assert "\\x00\\x1b[31m end" in (folder / "index.html").read_text(encoding="utf-8")
