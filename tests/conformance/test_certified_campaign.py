"""The campaign of certified optima as its user meets it: a report whose rows are proved statements."""

from __future__ import annotations

import csv
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sstep_verify.campaign import certified
from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.partial import Partial
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.run import run_campaign
from sstep_verify.errors import InputError
from sstep_verify.oracle.certificate.certify import certify
from sstep_verify.oracle.verify.record import CertificateError
from sstep_verify.report.results import load
from sstep_verify.report.tables import Of, certified_table, of
from sstep_verify.report.write import write_report

TOML = """
[campaign]
name = "tiny"
title = "Tiny"
description = "A few optima."

[[optimum]]
data = ["{data}"]
task = ["svm-l1", "svm-l2"]
kernel = [{{ name = "linear" }}]
parameter = [0.5]
digits = 20

[[optimum]]
data = ["{data}"]
task = ["krr"]
kernel = [{{ name = "rbf", sigma = 0.5 }}]
parameter = [0.5]
digits = 20
"""


@pytest.fixture(name="plan")
def _plan(tmp_path) -> Plan:
    draw = np.random.default_rng(8)
    data = tmp_path / "few.txt"
    rows = [" ".join(f"{k}:{v}" for k, v in enumerate(row, 1)) for row in draw.integers(1, 9, (9, 2)) / 4]
    data.write_text("".join(f"{'+1' if k % 2 else '-1'} {row}\n" for k, row in enumerate(rows)))
    (tmp_path / "tiny.toml").write_text(TOML.format(data=data))
    return Plan(read_definition(str(tmp_path / "tiny.toml")))


def test_every_row_is_a_proved_statement_and_survives_the_file(plan, tmp_path):
    results = run_campaign(plan)
    assert results.summary.exit_code == 0
    assert "3 of 3 optima certified" in results.summary.sentence
    folder = write_report(results, tmp_path / "report")
    read = load(folder / "results.json")
    assert read == results
    page = (folder / "index.html").read_text("utf-8")
    table = certified_table(read)
    (objective,) = (column for column in table.shown if column.heading == "Optimal value")
    for case, row in table.rows:
        told = of(Of(case, row), objective.value).striptags()
        # What is shown lies within the radius, and the rounding of its last digit.
        unit = Decimal(told).as_tuple().exponent
        rounding = Fraction(10) ** unit / 2
        assert abs(Fraction(told) - Fraction(row.objective)) <= rounding
        assert Fraction(row.radius) < 2 * rounding
        assert 0 <= Fraction(row.gap_lower) <= Fraction(row.gap_upper)
        assert told in page
        if case.task != "krr":
            assert row.zero + row.upper + row.free + row.undecided == case.samples
    with open(folder / "tables" / "certified.csv", encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert [line["objective"] for line in lines] == [row.objective for row in read.certified.rows]


def test_too_few_digits_are_inconclusive(plan, monkeypatch):
    def fewer(problem, proposal, digits):
        return certify(problem, 5 if problem.is_svm else digits)

    monkeypatch.setattr(certified, "prove", fewer)
    results = run_campaign(plan)
    assert results.summary.exit_code == 3
    assert "2 to fewer digits" in results.summary.sentence
    assert [case.status for case in results.cases] == ["INCONCLUSIVE", "INCONCLUSIVE", "PASS"]


def test_a_certificate_that_cannot_be_proved_again_is_an_internal_error(plan, monkeypatch):
    def refuse(*_):
        raise CertificateError("radius", "is too small")

    monkeypatch.setattr(certified, "prove", refuse)
    results = run_campaign(plan)
    assert results.summary.exit_code == 4
    assert not results.cases
    assert any("radius" in note for note in results.campaign.notes)


def _interrupted_after(count: int):
    def progress(done: int, *_) -> None:
        if done == count:
            raise KeyboardInterrupt

    return progress


def test_an_interrupted_campaign_goes_on_where_it_was(plan, tmp_path, monkeypatch):
    whole = run_campaign(plan)
    partial = Partial(tmp_path / "report.partial")
    first = run_campaign(replace(plan, partial=partial), _interrupted_after(2))
    partial.close()
    assert first.summary.interrupted
    assert len(first.cases) == 2

    run: list[str] = []
    genuine = certified.execute_unit

    def counted(unit, directory):
        run.append(unit.case)
        return genuine(unit, directory)

    monkeypatch.setattr(certified, "execute_unit", counted)
    lines: list[str] = []
    partial = Partial(tmp_path / "report.partial", resume=True, say=lines.append)
    second = run_campaign(replace(plan, partial=partial))
    partial.reported()
    partial.close()
    assert any("2 of 3 problems are taken" in line for line in lines)
    assert len(run) == 1
    assert second.cases == whole.cases
    assert [_proved(row) for row in second.certified.rows] == [_proved(row) for row in whole.certified.rows]
    kept = {row.case: row for row in first.certified.rows}
    # What was read back is what was kept, times included.
    assert [row for row in second.certified.rows if row.case in kept] == [
        kept[row.case] for row in second.certified.rows if row.case in kept
    ]
    assert not (tmp_path / "report.partial").exists()


def _proved(row):
    return replace(row, seconds=None, anew=None, memory=None)


def test_memory_is_said_before_and_refused_by_its_figure(plan, tmp_path):
    said = []
    run_campaign(replace(plan, only="krr", say=said.append))
    assert not [line for line in said if "memory" in line], "it takes less than a tenth of what it may"
    path = tmp_path / "tiny.toml"
    path.write_text(path.read_text().replace("digits = 20", "digits = 20\nmemory = 2e-5"))
    run_campaign(replace(plan, definition=read_definition(str(path)), only="krr", say=said.append))
    (line,) = [line for line in said if line.startswith("memory: ")]
    assert "krr/lambda=0.5: m = 9 samples and n = 2 features take about 1.4e-05 GiB a process" in line
    path.write_text(path.read_text().replace("memory = 2e-5", "memory = 1e-6"))
    with pytest.raises(InputError, match=r"GiB, but its .* allows 1e-06 a process"):
        run_campaign(Plan(read_definition(str(path))))
