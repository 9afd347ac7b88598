"""A new kind is one file and one campaign file: the loop runs it in processes, and again."""

from __future__ import annotations

from dataclasses import replace

import pytest
from campaign import worked_kind

from sstep_verify.campaign.model import Plan, Unit, say
from sstep_verify.campaign.partial import Partial
from sstep_verify.campaign.read import KINDS, read_definition
from sstep_verify.campaign.run import begun_apart, run_campaign

CAMPAIGN = """
[campaign]
name = "norms"
title = "Norms"
description = "Largest norm of a sample."

[[norm]]
data = ["one.svm", "two.svm", "three.svm", "four.svm"]
"""


@pytest.fixture(name="plan")
def _plan(tmp_path, monkeypatch) -> Plan:
    monkeypatch.setitem(KINDS, "norm", worked_kind.__name__)
    for place, name in enumerate(("one", "two", "three", "four"), 1):
        (tmp_path / f"{name}.svm").write_text(f"1 1:{place}\n-1 1:0.5\n", encoding="ascii")
    (tmp_path / "norms.toml").write_text(CAMPAIGN, encoding="utf-8")
    return Plan(read_definition(str(tmp_path / "norms.toml")), directory=str(tmp_path))


def test_the_loop_runs_a_kind_it_did_not_know(plan):
    results = run_campaign(plan)
    assert results.summary.sentence == "norms of 4 of 4 data sets"
    assert [case.reason for case in results.cases] == [f"largest norm {k}" for k in (1, 2, 3, 4)]


def test_failures_are_said_as_they_are_found(plan, monkeypatch):
    """And of other outcomes the first; of the last nobody waits for more."""

    def told(_self, outcome, _plan):
        return outcome.case.id, outcome.case.id == "three.svm"

    monkeypatch.setattr(worked_kind.NormKind, "told", told)
    said = []
    run_campaign(replace(plan, say=said.append), lambda _done, _planned, case: said.append(f"done {case}"))
    names = ("one", "two", "three", "four")
    lines = ["one.svm (the first of 4)", *(f"done {name}.svm" for name in names)]
    lines.insert(3, "three.svm")
    assert [line for line in said if "compil" not in line] == lines


def test_the_largest_begin_first_after_one_of_each_that_compiles_something_else():
    sizes = {"a": ("svm", 5.0), "b": ("svm", 9.0), "c": ("krr", 1.0), "d": ("svm", 2.0), "e": ("krr", 7.0)}
    units = [Unit((key,), None, cost=cost, compiles=name) for key, (name, cost) in sizes.items()]
    assert "".join(unit.keys[0] for unit in begun_apart(units)) == "beadc"
    assert begun_apart([]) == []


def test_of_lines_about_the_same_the_first_is_said(plan, monkeypatch):
    run = worked_kind.NormKind.run

    def talking(self, unit, its_plan):
        say(f"first of {unit.keys[0]}", "the first")
        say("always the same")
        yield from run(self, unit, its_plan)

    monkeypatch.setattr(worked_kind.NormKind, "run", talking)
    said = []
    run_campaign(replace(plan, say=said.append, jobs=1))
    assert [line for line in said if line.startswith("first of")] == ["first of one.svm"]
    assert said.count("always the same") == 1


def test_it_goes_on_after_an_interruption(plan, tmp_path):
    def after_two(done, planned, _case):
        assert planned == 4
        if done == 2:
            raise KeyboardInterrupt

    partial = Partial(tmp_path / "out.partial")
    first = run_campaign(replace(plan, partial=partial), after_two)
    partial.close()
    assert (len(first.cases), first.summary.interrupted, first.summary.exit_code) == (2, True, 130)
    said = []
    partial = Partial(tmp_path / "out.partial", resume=True, say=said.append)
    second = run_campaign(replace(plan, partial=partial))
    partial.close()
    assert said[0].startswith("2 of 4 problems are taken from")
    assert second.cases == run_campaign(plan).cases


def test_the_first_of_a_resumed_run_is_counted_among_those_it_judges(plan, tmp_path, monkeypatch):
    def after_one(done, _planned, _case):
        if done == 1:
            raise KeyboardInterrupt

    partial = Partial(tmp_path / "out.partial")
    run_campaign(replace(plan, partial=partial), after_one)
    partial.close()
    monkeypatch.setattr(worked_kind.NormKind, "told", lambda _self, one, _plan: (one.case.id, False))
    said = []
    partial = Partial(tmp_path / "out.partial", resume=True)
    run_campaign(replace(plan, partial=partial, say=said.append))
    partial.close()
    assert [line for line in said if "first of" in line] == ["two.svm (the first of 3)"]


@pytest.mark.parametrize("before", [True, False])
def test_what_had_come_when_the_interrupt_fell_is_kept_and_reported_alike(
    plan, tmp_path, monkeypatch, before
):
    """The interrupt falls just before, or just after, the second outcome is written."""
    keep, calls = Partial.keep, []

    def interrupted(self, key, outcome):
        calls.append(key)
        if len(calls) == 2 and before:
            raise KeyboardInterrupt
        kept = keep(self, key, outcome)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return kept

    monkeypatch.setattr(Partial, "keep", interrupted)
    said = []
    partial = Partial(tmp_path / "out.partial", say=said.append)
    results = run_campaign(replace(plan, partial=partial))
    partial.close()
    assert results.summary.interrupted
    assert len(results.cases) == 2
    assert said[-1].startswith("2 finished problems are kept in")


def test_a_problem_that_cannot_be_run_has_one_line_and_the_others_go_on(plan, tmp_path):
    (tmp_path / "two.svm").write_text("1 1:abc\n", encoding="ascii")
    results = run_campaign(plan)
    assert len(results.cases) == 3
    (note,) = results.campaign.notes
    assert note.startswith("not judged: two.svm: ")
    assert "abc" in note
    assert "\n" not in note


def test_what_was_changed_is_run_again(plan, tmp_path):
    said = []
    partial = Partial(tmp_path / "out.partial")
    whole = run_campaign(replace(plan, partial=partial))
    partial.close()
    damaged = next((tmp_path / "out.partial").glob("[0-9a-f]*.json"))
    text = damaged.read_text("utf-8").replace("largest norm", "smallest norm")
    damaged.write_text(text, encoding="utf-8")
    partial = Partial(tmp_path / "out.partial", resume=True, say=said.append)
    again = run_campaign(replace(plan, partial=partial))
    partial.reported()
    partial.close()
    assert again.cases == whole.cases
    assert "it was changed" in said[0]
    assert said[1].startswith("3 of 4 problems are taken from")
    assert not (tmp_path / "out.partial").exists()
