"""Statements: what the command states of a solver, and that the recorded runs prove it."""

from __future__ import annotations

import json
import sys

import pytest
from command import command
from stated import mended, stated_in

from sstep_verify.campaign.loop.partial import Partial
from sstep_verify.campaign.loop.run import run_campaign
from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.campaign.statement import verify
from sstep_verify.campaign.statement.record import statement_from
from sstep_verify.campaign.statement.verify import StatementError, read_statement
from sstep_verify.report import numbers
from sstep_verify.report.plain import plain
from sstep_verify.solver import ProductionSolver


def test_a_right_solvers_statement_says_what_was_shown_and_is_proved(right_statement, right_judged):
    stated, results = right_judged
    assert verify.compare(stated, verify.remade(stated, results)) == []
    assert (stated.outcome, stated.problems[0].right_at, stated.asked.selection.ranks) == (
        "passed",
        (7,),
        (1,),
    )
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
    assert "not proved yet" in out
    assert "right for s = 7 on 1 of 1 problem<" in right_statement.with_suffix(".svg").read_text("utf-8")


@pytest.mark.nightly
def test_a_failing_solvers_statement_says_failed_and_is_proved_without_it(tmp_path):
    path = stated_in(tmp_path, "wrong", 1)
    (tmp_path / "stated_solvers.py").unlink()
    code, out, err = command("statement", str(path), "--verify", "--jobs", "1")
    assert code == 0, err
    assert "stated_solvers:wrong: failed" in out
    assert "proved anew" in out
    assert "stated_solvers" not in sys.modules
    stated = read_statement(path)
    assert stated.problems[0].right_at == ()
    assert any(one.outcome == "failed" for one in stated.sentences)
    assert "wrong" in path.with_suffix(".svg").read_text("utf-8")


def test_what_is_no_statement_is_refused_in_one_line(tmp_path, monkeypatch, right_statement):
    path = tmp_path / "s.json"
    for content in ("[" * 100_000, "{}", "1e999", '{"schema": true}', "\0", '{"schema": 1}'):
        path.write_text(content)
        code, out, err = command("statement", str(path), "--verify")
        assert (code, out) == (2, ""), err
        assert str(path) in err
    monkeypatch.setattr(verify, "MOST_BYTES", 10)
    assert command("statement", str(right_statement))[0] == 2
    code, _, err = command("check", "a:b", "--statement", "mine.txt", "--profile", "smoke")
    assert code == 2
    assert "NAME.json" in err or "a:b" in err


def test_numbers_differ_in_their_last_digit_on_another_machine_alone(right_judged):
    stated, results = right_judged
    values = plain(stated)
    place, one = next((k, one) for k, one in enumerate(values["verdicts"]) if one["ratio"])
    one["ratio"] = numbers.neighbours(one["ratio"])[1]
    where = rf"verdicts\[{place}\]\.ratio"

    def judged() -> list[str]:
        altered = statement_from(json.dumps(mended(values)).encode(), "altered")
        return verify.compare(altered, verify.remade(altered, results))

    with pytest.raises(StatementError, match=where):
        judged()
    values["environment"]["python"] = "CPython 3.99"
    (told,) = judged()
    assert told.startswith(f"verdicts[{place}].ratio is")
    one["ratio"] = numbers.neighbours(one["ratio"])[1]
    with pytest.raises(StatementError, match=where):
        judged()


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, 0.0), (0.0201, 0.021), (0.02, 0.021), (1.0, 1.0), (1.01e-13, 1.1e-13), (99.1, 100.0)],
)
def test_numbers_are_rounded_up(value, shown):
    assert numbers.rounded_up(value) == shown >= value
    assert numbers.rounded_up(float("inf")) is None


def test_what_is_promised_is_rounded_away_from_the_better():
    assert numbers.promised(1.2689e-12) == "1.3e-12"
    assert numbers.promised(float("inf")) == numbers.promised(None) == "none"
    assert numbers.enclosed(7.69e-07, 7.61e-06) == "[7.6e-07, 7.7e-06]"
    assert numbers.enclosed(0.0, float("inf")) == "[0, inf]"


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
