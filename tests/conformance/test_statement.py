"""Statements: what the command states of a solver, and that the recorded runs prove it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from dataclasses import replace

import pytest
from command import command
from stated import stated_in

from sstep_verify.campaign.again import neighbours
from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.partial import Partial
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.campaign.run import run_campaign
from sstep_verify.campaign.statement import files, verify
from sstep_verify.campaign.statement.files import StatementError, check_place, read_statement
from sstep_verify.errors import InputError
from sstep_verify.report import plain
from sstep_verify.report.results import dumps, loads
from sstep_verify.solver import ProductionSolver


def test_a_right_solvers_statement_says_what_was_shown_and_is_proved(right_statement, right_judged):
    stated, results, again = right_judged
    assert verify.compare(stated, results, again) == []
    assert (stated.outcome, stated.asked.selection.ranks) == ("passed", (1,))
    assert list(results.summary.right_at.values()) == [[7]]
    said = {one.number: one.outcome for one in stated.sentences}
    assert said["S-1.2"] == "passed", "labels"
    assert said["S-1.4"] == "not applicable", "K-RR was not asked for"
    assert (said["S-1.6"], said["S-1.7"]) == ("not applicable", "passed"), "the kernel is RBF"
    assert "failed" not in said.values()
    assert 0 < stated.worst_ratio.value <= 1
    assert 0 < stated.worst_detection_limit.value < 1e-9
    assert not list(right_statement.parent.glob("sstep-verify-out/*/artefacts")), (
        "the report holds none of its runs"
    )
    code, out, err = command("statement", str(right_statement))
    assert (code, err) == (0, "")
    assert (
        f"not proved yet: {shlex.join(['sstep-verify', 'statement', str(right_statement), '--verify'])}"
        in out
    )
    assert "right for s = 7 on 1 of 1 problem<" in (right_statement / "badge.svg").read_text("utf-8")


@pytest.mark.nightly
def test_a_failing_solvers_statement_says_failed_and_is_proved_without_it(tmp_path):
    path = stated_in(tmp_path, "wrong", 1)
    (tmp_path / "stated_solvers.py").unlink()
    code, out, err = command("statement", str(path), "--verify", "--jobs", "1")
    assert code == 0, err
    assert "stated_solvers:wrong: failed" in out
    assert "proved anew" in out
    assert "stated_solvers" not in sys.modules
    stated, results = read_statement(path)
    assert list(results.summary.right_at.values()) == [[]]
    assert any(one.outcome == "failed" for one in stated.sentences)
    assert "wrong" in (path / "badge.svg").read_text("utf-8")


def test_what_is_no_statement_is_refused_in_one_line(tmp_path, monkeypatch, right_statement):
    path = tmp_path / "s"
    path.mkdir()
    for content in ("[" * 100_000, "{}", "1e999", '{"schema": true}', "\0", '{"schema": 2}'):
        (path / "statement.json").write_text(content)
        code, out, err = command("statement", str(path), "--verify")
        assert (code, out) == (2, ""), err
        assert str(path) in err
    code, _, err = command("statement", str(path / "statement.json"))
    assert code == 2
    assert "a statement is a folder" in err
    (tmp_path / "mine.py").touch()
    for name, told in (
        (
            "mine.py",
            "mine.py: is a file, but a statement is a folder, as check --statement FOLDER writes it",
        ),
        ("nosuch", "nosuch: no such folder"),
    ):
        code, _, err = command("statement", str(tmp_path / name))
        assert (code, err) == (2, f"error: {tmp_path / told}\n")
    changed = shutil.copytree(right_statement, tmp_path / "changed")
    with (changed / "statement.json").open("a") as file:
        file.write("\n")
    code, _, err = command("statement", str(changed))
    assert code == 1
    assert err.startswith(f"{changed}: statement refused: statement.json: has SHA-256 ")
    assert err.count("changed/") == 0
    monkeypatch.setattr(files, "MOST_BYTES", 10)
    assert command("statement", str(right_statement))[0] == 2


def test_a_statement_takes_the_place_of_nothing_but_a_statement(tmp_path, right_statement):
    report = tmp_path / "out" / "report"
    check_place(right_statement, report)
    check_place(tmp_path / "new", report)
    for place in (report, report / "stated", report.parent):
        with pytest.raises(InputError, match="the report would hold the other"):
            check_place(place, report)
    (tmp_path / "file").touch()
    for name in ("mine.txt", "artefacts"):
        (tmp_path / name / name).mkdir(parents=True)
    for name, told in (
        ("file", "is a file"),
        ("mine.txt", "'mine.txt'"),
        ("artefacts", "holds other things"),
    ):
        with pytest.raises(InputError, match=told):
            check_place(tmp_path / name, report)


def test_the_report_of_a_statement_is_made_of_its_results(tmp_path, right_statement):
    page = tmp_path / "page"
    assert command("report", str(right_statement / "results.json"), "--out", str(page))[0] == 0
    assert "sstep-verify statement mine --verify" in (page / "results.json").read_text("utf-8")


def next_above(ratio):
    """A ratio that is shown as the next larger number of two digits."""
    return 0.999 * neighbours(plain.rounded_up(ratio))[1]


def test_numbers_differ_in_their_last_digit_on_another_machine_alone(right_judged):
    stated, results, again = right_judged
    values = results.as_dict()
    place, one = next((k, one) for k, one in enumerate(values["verdicts"]) if one["ratio"])
    one["ratio"] = next_above(one["ratio"])
    where = rf"verdicts\[{place}\]\.ratio"

    def judged() -> list[str]:
        return verify.compare(stated, loads(json.dumps(values)), again)

    with pytest.raises(StatementError, match=where):
        judged()
    values["provenance"]["python"] = "CPython 3.99"
    (told,) = judged()
    assert told.startswith(f"verdicts[{place}].ratio is")
    one["ratio"] = next_above(one["ratio"])
    with pytest.raises(StatementError, match=where):
        judged()


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, 0.0), (0.0201, 0.021), (0.02, 0.021), (1.0, 1.0), (1.01e-13, 1.1e-13), (99.1, 100.0)],
)
def test_numbers_are_rounded_up(value, shown):
    assert plain.rounded_up(value) == shown >= value
    assert plain.rounded_up(float("inf")) is None


def test_what_is_promised_is_rounded_away_from_the_better():
    assert plain.promised(1.2689e-12) == "1.3e-12"
    assert plain.promised(float("inf")) == plain.promised(None) == "none"
    assert plain.enclosed(7.69e-07, 7.61e-06) == "[7.6e-07, 7.7e-06]"
    assert plain.enclosed(0.0, float("inf")) == "[0, inf]"


def test_names_of_persons_are_left_out_of_what_a_statement_says(right_judged):
    _, results, _ = right_judged
    home = os.path.expanduser("~/solver")
    (case,), verdicts = results.cases, results.verdicts
    said = replace(
        results,
        campaign=replace(results.campaign, notes=(home,)),
        cases=(replace(case, reason=home, facts={**case.facts, "told of its runs": [home]}),),
        verdicts=({**verdicts[0], "reason": home, "evidence": {"run again": home}}, *verdicts[1:]),
    )
    text = dumps(files.nameless(said, "mine"))
    assert home not in text
    assert text.count("~/solver") >= 5
    assert loads(text).cases[0].facts["ranks"] == case.facts["ranks"]


def test_an_outcome_that_was_kept_without_its_runs_is_made_again(tmp_path):
    definition = profile_of("smoke", ProductionSolver(), Selection(s=(7,), tasks=("svm-l1",)), "again")
    found = []
    for place, runs in enumerate((False, True, True)):
        partial = Partial(tmp_path / "kept", resume=place > 0)
        run_campaign(Plan(definition, partial=partial, artefacts=partial.artefacts, runs=runs))
        found.append({path: path.stat().st_mtime_ns for path in partial.artefacts.glob("*/artefact.json")})
        partial.close()
    assert [len(one) for one in found] == [0, 1, 1]
    assert found[1] == found[2], "an outcome with its runs is not"
