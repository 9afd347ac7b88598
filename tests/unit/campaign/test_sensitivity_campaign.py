"""Campaigns that measure power: their tables, pieces, report, exit codes, and the statement of every run."""

from __future__ import annotations

import re

import pytest

from sstep_verify import ReferenceSolver, power, verify
from sstep_verify.campaign.model import Finished, Plan, State
from sstep_verify.campaign.partial import Partial
from sstep_verify.campaign.read import parse_definition, read_definition
from sstep_verify.campaign.run import run_campaign
from sstep_verify.errors import InputError
from sstep_verify.power import measured, power_statement
from sstep_verify.report.results import load
from sstep_verify.report.write import write_report
from studies import power as studied
from studies.corpus.listing import corpus
from studies.power import KIND, STUDIES, sentence
from studies.report.sensitivity.false_positives import AlarmsDocument, WorstCaseDocument
from studies.report.sensitivity.part import SensitivityDocument

TOML = """
[campaign]
name = "tiny"
title = "Tiny"
description = "A few solvers."

[[sensitivity]]
study = "corpus"
"""


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('study = "corps"', "corpus"),
        ('study = "corpus"\nruns = 5', "runs"),
        ('study = "corpus"\nevery = 0', "every = 0"),
        ('study = "alarms"\nruns = "many"', "runs"),
        ("every = 3", "missing field `study`"),
    ],
)
def test_a_table_that_cannot_be_used_is_refused_by_name(line, words):
    with pytest.raises(InputError, match=words):
        parse_definition(TOML.replace('study = "corpus"', line), "tiny.toml")


def test_a_study_twice_is_refused():
    definition = parse_definition(f'{TOML}\n[[sensitivity]]\nstudy = "corpus"\n', "tiny.toml")
    with pytest.raises(InputError, match="two"):
        KIND.units(definition)


def test_every_solver_of_the_corpus_is_in_one_piece_and_edits_of_a_case_stand_together():
    units = KIND.units(parse_definition(TOML, "tiny.toml"))
    keys = [key for unit in units for key in unit.keys]
    assert len(keys) == len(set(keys))
    wrong = {f"corpus/{entry.id}" for entry in corpus().values() if not entry.right}
    assert wrong < set(keys) < {f"corpus/{name}" for name in corpus()}
    assert len(units) < len(keys) / 1.5


def test_two_solvers_judged_reported_and_read_back(tmp_path):
    definition = parse_definition(TOML, "tiny.toml")
    partial = Partial(tmp_path / "kept")
    results = run_campaign(Plan(definition, only="corpus/SigmaHalved", partial=partial))
    (one,) = results.sensitivity.corpus.solvers
    assert (one.found, one.class_right, one.place_right) == ("FAIL", True, True)
    assert one.rivals["allclose 1e-5"] == "refuses"
    assert results.summary.exit_code == 0
    assert "1 of 1 faulty solvers detected" in results.summary.sentence
    written = write_report(results, tmp_path / "report")
    assert load(written / "results.json") == results
    page = (written / "index.html").read_text("utf-8")
    assert "SigmaHalved" in page
    assert "No defect counted above was missed" in page
    assert "Every defect" not in page
    assert "Next to what people use instead" in page
    assert {*re.findall(r'href="#([^"]+)"', page)} <= {*re.findall(r' id="([^"]+)"', page)}
    assert "SigmaHalved" in (written / "tables" / "corpus.csv").read_text("utf-8")
    partial.close()
    again = Partial(tmp_path / "kept", resume=True)
    resumed = run_campaign(Plan(definition, only="corpus/SigmaHalved", partial=again))
    assert resumed.sensitivity == results.sensitivity
    again.close()


def test_exit_codes():
    state = State()
    assert state.exit_code(bool(SensitivityDocument().broken), len(state.outcomes) < 1) == 3
    state.add(Finished(outcome="one"))
    assert state.exit_code(bool(SensitivityDocument().broken), len(state.outcomes) < 1) == 0
    state.add(Finished(error="something broke"))
    assert state.exit_code(bool(SensitivityDocument().broken), len(state.outcomes) < 1) == 4


def test_the_sentence_says_what_was_measured_what_must_not_be_and_what_is_missing():
    state = State()
    assert (
        sentence(SensitivityDocument(), 2, 0, state) == "nothing was measured; 2 of 2 pieces not finished"
    )
    assert sentence(SensitivityDocument(), 2, 2, state) == "too few runs for a limit"
    failed = SensitivityDocument(worst_case=WorstCaseDocument((), 1, 1.5, 2.0))
    assert sentence(failed, 1, 1, state).endswith("; does not hold: worst cases failed: 1 of 0")
    both = SensitivityDocument(
        alarms=AlarmsDocument(9, 9, 2, 0.5, (), (), ()), worst_case=failed.worst_case
    )
    assert sentence(both, 1, 1, state).endswith("; does not hold: correct runs failed: 2 of 9, and 1 more")


def test_the_shipped_campaigns_have_every_study():
    for name in ("sensitivity", "sensitivity-ci"):
        assert {one.study for one in read_definition(name).families} == set(STUDIES)


def test_what_is_said_of_every_run_names_the_campaigns_judged():
    assert set(measured().campaigns) == set(studied.campaigns_judged())


def test_a_figure_is_reported_of_what_it_was_measured_with_alone(monkeypatch):
    told = f"measured power of these checks: {measured().words} (commit "
    for module in (power, studied):
        monkeypatch.setattr(module, "deciding_digest", lambda: measured().digest)
    assert power_statement("ci").startswith(told)
    assert studied.main() is None
    for name in ("deep", "paper", "small.toml", ""):
        assert power_statement(name) == "", name
    for module in (power, studied):
        monkeypatch.setattr(module, "deciding_digest", lambda: "0" * 64)
    assert power_statement("ci") == (
        "power of these checks (what they detect: docs/power.md) not measured for this version"
    )
    assert power_statement("deep") == ""
    with pytest.raises(SystemExit, match="not measured for this version"):
        studied.main()


def test_the_digest_is_of_all_that_decides(monkeypatch, tmp_path):
    root = tmp_path / "package"
    for name in (*power.DECIDE, "report"):
        place = root / name
        if not place.suffix:
            place.mkdir(parents=True)
            place = place / "part.py"
        place.write_text("1")
    monkeypatch.setattr(power, "__file__", str(root / "power" / "__init__.py"))
    digest = power.deciding_digest.__wrapped__
    before = digest()
    for name in power.DECIDE:
        place = root / name if (root / name).suffix else root / name / "part.py"
        place.write_text("2")
        assert digest() != before, name
        place.write_text("1")
    assert digest() == before
    (root / "report" / "part.py").write_text("2")
    assert digest() == before


@pytest.mark.parametrize(
    ("name", "first", "second", "same"),
    [
        ("a.py", "def f(x):\n    return x + 1\n", 'def f(x):\n    """More."""\n\n    return x + 1  # why\n', True),
        ("a.py", "DETECTION_FACTOR = 2.0\n", 'DETECTION_FACTOR = 2.0\n"""Twice\nthe bound."""\n', True),
        ("a.py", "DETECTION_FACTOR = 2.0\n", "DETECTION_FACTOR = 2.1\n", False),
        ("a.py", 'x = "a # b"\n', 'x = "a # c"\n', False),
        ("a.py", "if x:\n    y = 1\n", "if x: y = 1\n", False),
        ("a.toml", "[campaign]\nname = 'a'\n", "[campaign]  # b\ndescription = 'c'\nname = 'a'\n", True),
        ("a.toml", "[[family]]\ns = [4]\n", "[[family]]\ns = [8]\n", False),
        ("a.toml", "[[family]]\ntitle = 'a'\n", "[[family]]\ntitle = 'b'\n", False),
    ],
)  # fmt: skip
def test_words_about_what_decides_are_not_in_the_digest(monkeypatch, tmp_path, name, first, second, same):
    monkeypatch.setattr(power, "__file__", str(tmp_path / "power" / "__init__.py"))
    monkeypatch.setattr(power, "DECIDE", (name,))
    found = []
    for text in (first, second):
        (tmp_path / name).write_text(text)
        found.append(power.deciding_digest.__wrapped__())
    assert (found[0] == found[1]) is same


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({}, True),
        pytest.param({"s": [7]}, False, marks=pytest.mark.nightly),
        pytest.param({"only": "krr"}, False, marks=pytest.mark.nightly),
        ({"tasks": ["krr"]}, False),
    ],
)
def test_a_run_tells_measured_power_where_it_is_the_profile_that_was_measured(asked, told):
    report = verify(ReferenceSolver("float64"), "smoke", **asked)
    assert bool(report.results.summary.power) == told
