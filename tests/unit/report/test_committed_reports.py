"""Committed reports: short, made by the command they state, and what the project prints of them."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from sstep_verify.errors import InputError
from sstep_verify.power import measured
from sstep_verify.report.results import Campaign, Results, Summary, dumps
from studies.committed import ANSWER, KEPT, MADE, keep
from studies.power import measured_by
from studies.report.sensitivity.corpus import CorpusDocument
from studies.report.sensitivity.false_positives import (
    CROSSED,
    AlarmsDocument,
    CoverageDocument,
    CoverageRow,
    MirrorRow,
)
from studies.report.sensitivity.limits import LimitsDocument
from studies.report.sensitivity.part import BASELINES, SensitivityDocument, drawn

ROOT = Path(__file__).parents[3]
REPORTS = ROOT / "reports"

MOST_FILES, MOST_BYTES = 60, 2_500_000
"""A clone carries answers, not whole results."""

pytestmark = pytest.mark.skipif(
    not REPORTS.is_dir(), reason="reports/ is absent: this is no clone of the repository"
)


def made(campaign):
    return json.loads((REPORTS / campaign / MADE).read_text("utf-8"))


def test_reports_are_few_and_small():
    files = [one for one in REPORTS.rglob("*") if one.is_file()]
    assert len(files) <= MOST_FILES
    assert sum(one.stat().st_size for one in files) <= MOST_BYTES


@pytest.mark.parametrize("campaign", sorted(KEPT))
def test_a_committed_report_is_what_keeping_writes_and_says_how_it_was_made(campaign):
    folder, kept, stated = REPORTS / campaign, KEPT[campaign], made(campaign)
    names = {f"figures/{one}" for one in kept.figures} | {f"tables/{one}" for one in kept.tables}
    found = {str(one.relative_to(folder)) for one in folder.rglob("*") if one.is_file()}
    assert found == names | {ANSWER, MADE}
    assert stated["campaign"] == campaign
    assert f"run {campaign}" in stated["command"]
    assert len(stated["git"]["commit"]) == 40
    assert stated["git"]["modified"] is False
    assert len(stated["results"]["sha256"]) == 64


def test_the_statement_of_every_run_is_that_of_the_committed_campaign():
    assert measured() == measured_by(made("sensitivity"), MADE), (
        "run python -m studies.power reports/sensitivity/made.json"
    )


def test_a_campaign_that_measures_no_power_is_refused():
    with pytest.raises(SystemExit, match="measures no power"):
        measured_by(made("stability"), MADE)


def test_the_statement_counts_the_solvers_of_the_committed_table():
    with (REPORTS / "sensitivity" / "tables" / "corpus.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = [
        (row["label"] == "wrong", row["found"]) for row in rows
    ]  # Else right, or equivalent to a right one.
    faulty, correct = ([status for wrong, status in found if wrong is label] for label in (True, False))
    assert measured().words == (
        f"{faulty.count('FAIL')} of {len(faulty)} faulty solvers detected, "
        f"{correct.count('FAIL')} of {len(correct)} correct solvers rejected"
    )


def test_the_table_of_the_readme_is_that_of_the_committed_campaign():
    table = (REPORTS / "sensitivity" / "tables" / BASELINES).read_text("utf-8")
    assert table in (ROOT / "README.md").read_text("utf-8")


def test_committed_tables_begin_with_the_columns_that_a_campaign_writes(tmp_path):
    empty = SensitivityDocument(
        CorpusDocument(()),
        LimitsDocument(0.95, 0.95, (), (), (), (), 0, 0, 0, 0, ()),
        AlarmsDocument(0, 0, 0, None, (), (), (), CoverageDocument(0, 0, (), (), ())),
    )
    tables = drawn(SimpleNamespace(sensitivity=empty)).tables
    for campaign in ("sensitivity", "false-alarms"):
        for name in KEPT[campaign].tables:
            if name.endswith(".csv"):
                written = tables[name.removesuffix(".csv")].write(tmp_path / name).read_text("utf-8")
                committed = (REPORTS / campaign / "tables" / name).read_text("utf-8")
                assert committed.startswith(written.rstrip()), (campaign, name)


def test_the_words_on_coverage_are_those_of_the_committed_table_and_sentences():
    tables, said = REPORTS / "false-alarms" / "tables", made("false-alarms")["sentences"]
    pairs, detected = (
        [int(one.replace(",", "")) for one in re.findall(r"[\d,]*\d", line)] for line in said[-2:]
    )
    with (tables / "coverage.csv").open(encoding="utf-8", newline="") as file:
        rows = tuple(map(coverage_row, csv.DictReader(file)))
    written = (tables / "coverage.md").read_text("utf-8")
    unplanted = re.findall(r"^- `(.*)`$", written.partition("no run was repeated with a defect")[2], re.M)
    assert pairs[0] == pairs[1], "pairs that never met are listed: read them here too"
    found = CoverageDocument(
        pairs[1], pairs[2], (), (MirrorRow("all", detected[1], detected[0]),), rows, tuple(unplanted)
    )
    assert found.sentences == tuple(said[1:])
    assert found.in_words == written


def coverage_row(row):
    """A row of the committed table; a cell that begins with no count of runs holds the reason for none."""
    counts = [re.match(r"(\d+)(?: \(|$)", row[place]) for place in CROSSED]
    return CoverageRow(
        row["check"],
        row["choice"],
        row["value"],
        tuple(int(one[1]) if one else 0 for one in counts),
        float(row["largest ratio"]),
        {place: row[place] for place, one in zip(CROSSED, counts, strict=True) if not one},
    )


def whole(folder, name):
    """A whole report of a campaign, with files of every name that is kept of any."""
    results = Results(Campaign(name, "Title", "Words.", ("A note.",)), Summary("All is well.", 0))
    for kept in KEPT.values():
        for kind, names in (("figures", kept.figures), ("tables", kept.tables)):
            (folder / kind).mkdir(parents=True, exist_ok=True)
            for one in names:
                (folder / kind / one).write_text(one, "utf-8")
    (folder / "results.json").write_text(dumps(results), "utf-8")
    return folder


def test_keeping_copies_what_is_listed_and_states_the_digest(tmp_path):
    report = whole(tmp_path / "whole", "stability")
    for _ in range(2):  # The second one replaces the first.
        keep(report, tmp_path / "short")
    found = {
        str(one.relative_to(tmp_path / "short")) for one in (tmp_path / "short").rglob("*") if one.is_file()
    }
    kept = KEPT["stability"]
    assert found == {
        ANSWER,
        MADE,
        *(f"figures/{one}" for one in kept.figures),
        *(f"tables/{one}" for one in kept.tables),
    }
    stated = json.loads((tmp_path / "short" / MADE).read_text("utf-8"))
    content = (report / "results.json").read_bytes()
    assert stated["results"] == {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    assert stated["sentences"] == ["All is well."]
    assert "All is well." in (tmp_path / "short" / ANSWER).read_text("utf-8")


def test_a_campaign_that_is_not_committed_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(InputError, match="campaign 'smoke' is not committed"):
        keep(whole(tmp_path / "whole", "smoke"), tmp_path / "short")
    assert not (tmp_path / "short").exists()
