"""The runner refuses a green report where a check compared nothing, and says which."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.run import run_campaign
from sstep_verify.checks.registry import CHECKS
from sstep_verify.verdict import Status

CAMPAIGN = """
[campaign]
name = "small"
title = "Small"
description = "A few iterations."
[campaign.tolerated_vacuous_per_check]
box = ["*points*"]

[[family]]
data = [{data}]
task = ["svm-l1"]
kernel = [{{ name = "linear" }}]
s = {sizes}
iterations = {iterations}
replay_limit = {limit}
checks = ["window-replay", "trajectory", "box", "kernel-entries"]
"""


@pytest.fixture
def results(tmp_path):
    points = [f"{1 if k % 3 else 2} 1:{(7 * k % 11) / 8} 2:{(5 * k % 13) / 8}" for k in range(12)]
    (tmp_path / "points.svm").write_text("\n".join(points) + "\n", encoding="ascii")

    def run(limit=1 << 20, data=None, directory=None, sizes=(1, 4), iterations=40):
        path = tmp_path / "small.toml"
        data = data or f'"{tmp_path}/points.svm"'
        path.write_text(
            CAMPAIGN.format(data=data, limit=limit, sizes=[*sizes], iterations=iterations), encoding="utf-8"
        )
        return run_campaign(Plan(read_definition(str(path)), directory))

    return run


def _plant(monkeypatch, check, judge):
    """Let a check judge otherwise."""
    monkeypatch.setitem(CHECKS, check, replace(CHECKS[check], judge=judge))


def _emptied(check):
    """The check's judge, but nothing of s = 4 was executed."""
    judge = CHECKS[check].judge

    def emptied(case, trajectories, oracle):
        return [
            replace(verdict, executed=0) if verdict.s == 4 else verdict
            for verdict in judge(case, trajectories, oracle)
        ]

    return emptied


def test_enough_executed_is_green_and_the_minimums_are_reported(results):
    found = results()
    assert found.summary.exit_code == 0, found.summary.sentence
    assert found.campaign.parameters["minimum_executed"]["window-replay"] == 2
    assert found.campaign.parameters["minimum_executed"]["trajectory"] == 1
    assert found.campaign.parameters["tolerated_vacuous_per_check"] == {"box": ["*points*"]}


def test_a_check_that_compared_nothing_is_no_green_run(results, monkeypatch):
    _plant(monkeypatch, "trajectory", _emptied("trajectory"))
    found = results()
    assert found.summary.exit_code == 3
    (note,) = [note for note in found.campaign.notes if note.startswith("too few")]
    for word in ("trajectory", "points", "s = 4", "0 of"):
        assert word in note
        assert word in found.summary.sentence


def test_more_vacuous_verdicts_of_a_check_than_tolerated_are_no_green_run(results, monkeypatch):
    judge = CHECKS["trajectory"].judge

    def vacuous(*arguments):
        return [replace(verdict, status=Status.VACUOUS) for verdict in judge(*arguments)]

    _plant(monkeypatch, "trajectory", vacuous)
    found = results()
    assert found.summary.exit_code == 3
    assert "vacuous verdicts of trajectory that are not tolerated: " in found.summary.sentence


def test_as_many_vacuous_verdicts_as_tolerated_are(results, monkeypatch):
    judge = CHECKS["box"].judge

    def vacuous(*arguments):
        return [replace(verdict, status=Status.VACUOUS) for verdict in judge(*arguments)]

    _plant(monkeypatch, "box", vacuous)
    assert results().summary.exit_code == 0


def test_the_headline_names_no_s_that_the_replay_limit_left_out(results):
    found = results(
        limit=60, sizes=(1, 2, 16, 64), iterations=200
    )  # m = 12: a window of 16 has up to 144 entries
    passed = {(v["check"], v["s"]) for v in found.verdicts if v["status"] == "PASS"}
    assert {s for check, s in passed if check == "window-replay"} == {1, 2}
    assert {1, 2, 16, 64} <= {s for _, s in passed}, "other checks passed there"
    assert found.summary.sentence.startswith("correct wherever judged: s <= 2 on 1 of 1 problem each")


def test_what_is_left_out_for_its_cost_has_verdicts(results):
    found = results(limit=12)
    left_out = [verdict for verdict in found.verdicts if verdict["executed"] == 0]
    assert {(verdict["check"], verdict["s"]) for verdict in left_out} == {
        ("window-replay", 4), ("kernel-entries", 4)
    }  # fmt: skip
    assert {verdict["why"] for verdict in left_out} == {"too_large"}
    assert found.summary.exit_code == 3


@pytest.mark.parametrize(("scale", "refused"), [(1e200, True), (1e153, True), (1e20, False)])
def test_data_beyond_float64_have_one_line_and_the_others_go_on(results, tmp_path, scale, refused):
    huge = [f"{1 if k % 3 else 2} 1:{(k % 5 + 1) * scale!r} 2:{(k % 3 + 1) * scale!r}" for k in range(12)]
    (tmp_path / "huge.svm").write_text("\n".join(huge) + "\n", encoding="ascii")
    found = results(data='"huge.svm", "points.svm"', directory=str(tmp_path))
    lines = [note for note in found.campaign.notes if note.startswith("not judged: huge.svm")]
    assert len(lines) == refused
    assert all("beyond the range of float64" in line for line in lines)
    assert "points.svm/linear/svm-l1/C=1" in {case.id for case in found.cases}
