"""Campaigns of predictions: their tables, units, refusals, report, and what its statuses say."""

from __future__ import annotations

import csv
import os
from collections import Counter
from dataclasses import replace
from html import escape

import pytest
from click.testing import CliRunner
from lookalike import COUNTS

from sstep_verify.campaign.model import Finished, Plan, State
from sstep_verify.campaign.partial import Partial
from sstep_verify.campaign.read import parse_definition, read_definition, units_of
from sstep_verify.campaign.run import run_campaign
from sstep_verify.cli.main import cli
from sstep_verify.costs.prediction import read
from sstep_verify.errors import InputError
from sstep_verify.report.case import PREDICTED, Case
from sstep_verify.report.plain import grouped
from sstep_verify.report.results import load
from sstep_verify.report.write import write_report
from studies.report.scaling.part import MARKS, dashes
from studies.scaling.curve import Cell, program_error
from studies.scaling.kind import KIND, read_scaling, scaling_units

TABLE = {
    "data": ["duke", {"name": "even", "samples": 60, "features": 90, "nonzeros": 540}],
    "task": ["svm-l1"],
    "kernel": ["linear", "rbf"],
}

TOML = """
[campaign]
name = "tiny"
title = "Tiny"
description = "A few predictions."

[[scaling]]
data = [
  { name = "duke", samples = 44, features = 7_129, nonzeros = 313_676 },
  { name = "colon-cancer", samples = 60, features = 2_000, nonzeros = 6_000 },
  { name = "counted", samples = 50, counts = "columns.txt" },
]
task = ["svm-l1"]
kernel = ["linear", "rbf"]
ranks = [1, 64, 4_096]
s = [2, 64]

[[scaling]]
data = [{ name = "duke", samples = 44, features = 7_129, nonzeros = 313_676 }]
task = ["krr"]
kernel = ["linear"]
b = [2]
ranks = [1, 64, 4_096]
"""


@pytest.fixture(name="plan")
def _plan(tmp_path, monkeypatch) -> Plan:
    monkeypatch.delenv("SSTEP_VERIFY_DATA", raising=False)
    (tmp_path / "columns.txt").write_text("50\n7\n" * 40, encoding="ascii")
    return Plan(parse_definition(TOML, "tiny.toml"), directory=str(tmp_path))


def test_units_are_the_product_of_a_table():
    units = scaling_units((read_scaling(dict(TABLE), "here"),))
    assert [unit.case for unit in units] == [
        "duke/linear/svm-l1", "duke/rbf/svm-l1", "even/linear/svm-l1", "even/rbf/svm-l1",
    ]  # fmt: skip
    ridge = read_scaling(TABLE | {"task": ["krr"], "b": [1, 4]}, "here")
    (unit,) = scaling_units((ridge,), "even/rbf/krr/b=4")
    assert unit.cell == ("even", False, "rbf", 4)
    with pytest.raises(InputError, match="twice"):
        scaling_units((ridge, ridge))


def test_the_shipped_campaign_holds_the_paper():
    units = scaling_units(read_definition("scaling").families)
    counts = Counter((unit.data.name, unit.task, unit.block) for unit in units)
    sets = ("colon-cancer", "duke", "news20.binary")
    ridge = {(name, "krr", block): 3 for name in sets for block in (1, 2, 4)} | {("synthetic", "krr", 1): 3}
    assert counts == ridge | {(name, "svm-l1", 1): 3 for name in (*sets, "synthetic")}
    for unit in units:
        assert unit.family.ranks == tuple(1 << k for k in range(13))
        assert unit.data.counts == (COUNTS if unit.data.name == "news20.binary" else "")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"data": []}, "data is empty"),
        ({"data": [7]}, "data[[]0[]]: 7"),
        ({"data": [{"name": "x", "samples": 5}]}, "features = 0"),
        ({"data": [{"name": "x/y", "samples": 5, "counts": "z"}]}, "no / in it"),
        ({"data": [{"name": "x", "samples": 5, "features": 2, "nonzeros": 11}]}, "nonzeros = 11"),
        ({"data": [{"name": "x", "samples": 0, "counts": "z"}]}, "samples = 0"),
        ({"data": [{"name": "x", "samples": 9, "counts": "z", "features": 2}]}, "says features"),
        ({"task": ["svm"]}, "task 'svm'"),
        ({"kernel": ["sigmoid"]}, "sigmoid"),
        ({"b": [2]}, "K-SVM makes steps of one coordinate"),
        ({"ranks": [4, 2]}, "must ascend"),
        ({"ranks": [0]}, "ranks = 0"),
        ({"s": [1, 2]}, "s = 1"),
        ({"machine": "nowhere"}, "nowhere"),
        ({"colour": 1}, "colour"),
    ],
)
def test_a_mistake_is_named(change, named):
    with pytest.raises(InputError, match=named) as caught:
        read_scaling(TABLE | change, "here")
    assert str(caught.value).startswith("here")


def test_everything_predicted_is_exit_code_0_whatever_comes_of_a_claim(plan):
    results = run_campaign(plan)
    assert results.summary.exit_code == 0
    marks = Counter(claim.mark for claim in results.scaling.claims)
    assert marks["not supported"]
    told = ", ".join(f"{marks[mark]} {mark}" for mark in MARKS)
    assert results.summary.sentence == f"7 of 7 problems predicted; the paper's 5 claims on them: {told}"
    assert {case.status for case in results.cases} == {PREDICTED}
    assert not results.verdicts
    # Named as one of the paper's, but of another shape: nothing that the paper says is about it.
    assert {claim.case.split("/")[0] for claim in results.scaling.claims} == {"duke"}


def test_every_prediction_has_its_error_and_its_dashes(plan):
    curves = grouped(run_campaign(plan).scaling.points, lambda point: point.case)
    errors = [point.classical_error for point in curves["duke/rbf/svm-l1"]]
    assert errors == ["14 %", "14 %", "not known"]
    assert [point.classical_error for point in curves["counted/rbf/svm-l1"]][:2] == ["20 to 50 %"] * 2
    assert [dashes(point, "classical") for point in curves["duke/rbf/svm-l1"]] == ["none", "none", "1.5 3"]
    assert dashes(curves["counted/rbf/svm-l1"][1], "classical") == "5 3"
    machine, cell = read("perlmutter"), Cell("duke", True, "rbf")
    for point in curves["duke/rbf/svm-l1"]:
        assert point.s_step_error == program_error(machine, cell, point.ranks, point.s)
    assert {point.s_step_error for point in curves["duke/rbf/svm-l1"][:2]} == {"20 %"}
    assert all(dashes(point, "ours") == "1.5 3" for points in curves.values() for point in points)


def test_the_report_survives_the_file(plan, tmp_path):
    results = run_campaign(plan)
    folder = write_report(results, tmp_path / "report")
    assert load(folder / "results.json") == results
    page = (folder / "index.html").read_text("utf-8")
    again = write_report(load(folder / "results.json"), tmp_path / "again")
    assert _sections((again / "index.html").read_text("utf-8")) == _sections(page)
    for chip in ("PASS", "FAIL", "INCONCLUSIVE"):
        assert f">{chip}</span>" not in page
    assert page.count('<figure class="wide">') == 3
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    for claim in results.scaling.claims:
        assert escape(claim.reason) in page
    for name in ("duke", "colon-cancer", "counted"):
        assert (folder / "figures" / f"scaling-{name}.svg").read_text("utf-8").count(
            "us per iteration"
        ) >= 1
    with open(folder / "tables" / "scaling.csv", encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    points = results.scaling.points
    assert [float(line["ours"]) for line in lines] == [point.ours for point in points]
    with open(folder / "tables" / "claims.csv", encoding="utf-8", newline="") as stream:
        assert [row["mark"] for row in csv.DictReader(stream)] == [
            one.mark for one in results.scaling.claims
        ]


def _sections(page):
    """The sections of predictions."""
    return page[page.index('<section id="claims"') : page.index('<section id="cases"')]


def test_a_changed_document_is_refused(plan, tmp_path):
    path = write_report(run_campaign(plan), tmp_path / "report") / "results.json"
    for old, new in (('"mark": "supported"', '"mark": "PASS"'), ('"case": "duke/', '"case": "nuke/')):
        text = path.read_text("utf-8")
        assert old in text
        changed = tmp_path / "changed.json"
        changed.write_text(text.replace(old, new, 1), encoding="utf-8")
        with pytest.raises(InputError):
            load(changed)


def test_curves_and_cases_are_checked():
    fields = {"id": "x", "problem": "x", "dataset": "x", "kernel": "rbf", "loss": "", "task": "krr"}
    with pytest.raises(InputError, match="is unknown"):
        Case(**fields, samples=1, features=1, block=1, status="predicted")


def test_what_has_no_data_is_refused_alone(plan, tmp_path):
    (tmp_path / "columns.txt").unlink()
    results = run_campaign(plan)
    assert results.summary.exit_code == 3
    assert results.summary.sentence.startswith("5 of 7 problems predicted; 2 refused; the paper's 5 claims")
    (first, second) = [note for note in results.campaign.notes if note.startswith("not judged: counted/")]
    for words in ("--data", "SSTEP_VERIFY_DATA", "columns.txt"):
        assert words in first
    assert second == "not judged: counted/rbf/svm-l1: for the same reason as counted/linear/svm-l1"
    assert "counted" not in results.provenance["data"]
    assert ">INCOMPLETE</span>" in (write_report(results, tmp_path / "out") / "index.html").read_text()


def test_counts_that_are_none_are_refused(plan, tmp_path):
    (tmp_path / "columns.txt").write_text("51\n", encoding="ascii")  # More than there are samples.
    note = run_campaign(plan).campaign.notes[0]
    assert "counts must be 0 to 50" in note


def test_an_interrupted_campaign_goes_on_where_it_was(plan, tmp_path):
    def after_two(done, *_):
        if done == 2:
            raise KeyboardInterrupt

    partial = Partial(tmp_path / "report.partial")
    first = run_campaign(replace(plan, partial=partial), after_two)
    partial.close()
    assert (first.summary.exit_code, len(first.cases)) == (130, 2)
    assert first.summary.sentence.startswith("interrupted: 2 of 7")
    said = []
    partial = Partial(tmp_path / "report.partial", resume=True, say=said.append)
    second = run_campaign(replace(plan, partial=partial))
    partial.close()
    assert said[0].startswith("2 of 7 problems are taken")
    assert second.scaling == run_campaign(plan).scaling


def test_the_command_names_no_problem_that_is_as_it_should_be(plan, tmp_path):
    (tmp_path / "tiny.toml").write_text(TOML, encoding="utf-8")
    given = ["run", str(tmp_path / "tiny.toml"), "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(cli, [*given, "--jobs", "1"])
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[0].startswith("tiny: 7 of 7 problems predicted")
    assert result.stdout.splitlines()[1:] == [str(tmp_path / "out")]


def test_an_internal_error_is_exit_code_4(plan):
    state = State()
    state.add(Finished(error="boom"))
    assert KIND.assemble(plan, units_of(plan.definition), state).summary.exit_code == 4


def test_the_paper_with_its_data():
    folder = os.environ.get("SSTEP_VERIFY_DATA", "")
    if not folder or not os.path.exists(os.path.join(folder, COUNTS)):
        pytest.skip(f"no {COUNTS} in SSTEP_VERIFY_DATA: the column counts are not copied into the project")
    plan = Plan(read_definition("scaling"), directory=folder, only="/rbf/svm-l1")
    results = run_campaign(plan)
    assert results.summary.exit_code == 0
    found = {(claim.case, claim.text): claim for claim in results.scaling.claims}
    headline = found["duke/rbf/svm-l1", "speed-up"]
    assert (headline.stated, headline.timed, headline.mark) == ("9.8", "2.95", "not supported")
    assert found["news20.binary/rbf/svm-l1", "speed-up at P = 4,096"].mark == "not reproducible"
    last = {point.case.split("/")[0]: point for point in results.scaling.points}
    assert last["news20.binary"].exchange == "reduce-scatter"
    assert 2 < last["news20.binary"].s_step / last["news20.binary"].ours < 4
    assert set(results.provenance["data"]) == set(last)
