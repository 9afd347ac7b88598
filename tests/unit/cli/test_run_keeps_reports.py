"""A run puts nothing less instead of a whole report."""

from __future__ import annotations

import json

import pytest

from sstep_verify.cli.campaign import write_carefully
from sstep_verify.report.case import Case
from sstep_verify.report.results import Campaign, Results, Summary
from studies.report.sensitivity.false_positives import AlarmsDocument
from studies.report.sensitivity.part import SensitivityDocument


def _results(cases=1, code=0, interrupted=False, sensitivity=None):
    made = tuple(
        Case(
            id=str(place), problem="p", dataset="d", kernel="k", loss="l", task="svm-l1", samples=2, features=1,
            block=1, status="PASS",
        )
        for place in range(cases)
    )  # fmt: skip
    summary = Summary("s", code, interrupted=interrupted)
    return Results(Campaign("small"), summary, cases=made, sensitivity=sensitivity)


@pytest.fixture
def write(tmp_path):
    def write(**changes):
        return write_carefully(_results(**changes), tmp_path / "report", tmp_path / "none")

    return write


def _number(tmp_path, name="report"):
    document = json.loads((tmp_path / name / "results.json").read_text("utf-8"))
    return len(document["cases"])


def test_after_an_interruption_a_fragment_takes_the_place_of_a_fragment_only(write, tmp_path):
    assert write(cases=0, interrupted=True, code=3) is None
    assert not (tmp_path / "report").exists()
    assert write(cases=1, interrupted=True, code=3)
    assert write(cases=2, interrupted=True, code=3)
    assert _number(tmp_path) == 2
    assert write(cases=3)
    assert write(cases=1, interrupted=True, code=3) is None
    assert _number(tmp_path) == 3
    assert write(cases=2, code=1)
    assert _number(tmp_path) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["report"]


def test_a_run_with_internal_errors_moves_a_whole_report_aside(write, tmp_path, capsys):
    assert write(cases=3)
    assert write(cases=1, code=4)
    assert write(cases=0, code=3)
    assert _number(tmp_path) == 0
    assert _number(tmp_path, "report.previous-1") == 3
    assert _number(tmp_path, "report.previous-2") == 1
    assert "report.previous-1" in capsys.readouterr().err


def test_a_study_of_power_is_no_empty_run_though_it_has_no_case(write, tmp_path):
    made = SensitivityDocument(alarms=AlarmsDocument(10, 9, 0, 0.28, (), (), ()))
    assert write(cases=0, code=3, interrupted=True, sensitivity=SensitivityDocument()) is None
    for interrupted in (True, False, False):
        assert write(cases=0, sensitivity=made, interrupted=interrupted)
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
    assert write(cases=0, code=3, sensitivity=SensitivityDocument())
    assert sorted(path.name for path in tmp_path.iterdir()) == ["report", "report.previous-1"]


def test_a_report_that_cannot_be_read_is_moved_aside_too(write, tmp_path):
    assert write(cases=1)
    (tmp_path / "report/results.json").write_text("{", encoding="utf-8")
    assert write(cases=1, interrupted=True, code=3) is None
    assert (tmp_path / "report/results.json").read_text("utf-8") == "{"
