"""The artefacts of a report, and ``explain --again`` as its user meets it."""

from __future__ import annotations

import dataclasses
import shutil
from textwrap import indent

import pytest
from command import command
from planted_report import CASE, verdicts_of

from sstep_verify.campaign.artefact.files import read_artefact, write_artefact
from sstep_verify.report.results import load
from sstep_verify.report.write import write_report


def test_every_failure_leaves_an_artefact_and_no_other_verdict_does(report):
    failed = verdicts_of(report, "FAIL", "INCONCLUSIVE")
    assert {(verdict["check"], verdict["s"]) for verdict in failed} == {
        (check, s) for check in ("window-replay", "trajectory") for s in (4, 16)
    }
    undecided = verdicts_of(report, "VACUOUS")
    assert {(one["check"], one["s"], one["why"]) for one in undecided} == {
        ("sstep-equals-classical", s, "wrong_by_itself") for s in (4, 16)
    }
    named = [
        verdict["replay"].removeprefix("sstep-verify explain --again artefacts/") for verdict in failed
    ]
    assert sorted(named) == sorted(entry.name for entry in (report / "artefacts").iterdir())
    assert "points.svm-rbf-sigma=0.5-svm-l2-C=1-window-replay-s16" in named
    for verdict in verdicts_of(report, "PASS", "VACUOUS"):
        assert verdict["replay"].startswith("sstep-verify run")


def test_the_replay_says_again_what_the_run_said(report, monkeypatch):
    monkeypatch.chdir(report)
    for verdict in verdicts_of(report, "FAIL"):
        code, output, errors = command(*verdict["replay"].split()[1:])
        assert (code, errors) == (1, "")
        assert output.startswith(f"FAIL {verdict['check']} on {CASE}, s = {verdict['s']}, b = 1\n")
        assert indent(verdict["reason"], "  ") in output
        assert f"ratio {verdict['ratio']:.6g} = measured {verdict['measured']:.6g}" in output
        for term in verdict["terms"]:
            seen = "tested" if term["seen"] else "not tested"
            limit = ", detection limit" * (term["detection_limit"] is not None)
            assert f"  {term['name']}: {seen}{limit}" in output
        assert "stored verdict" in output
        assert "agrees in every number" in output
        assert f"with the solver: sstep-verify run small.toml --only {CASE}" in output


def test_a_replay_that_finds_otherwise_ends_with_code_4(report, tmp_path):
    kept = read_artefact(report / "artefacts/points.svm-rbf-sigma=0.5-svm-l2-C=1-window-replay-s4")
    sound = kept.trajectories["s=4"]
    longer = dataclasses.replace(sound, alphas=sound.alphas * (1 + 2.0**-20))
    path = write_artefact(
        dataclasses.replace(kept, verdicts=({**kept.verdicts[0], "status": "PASS"},)), tmp_path
    )
    code, output, _ = command("explain", "--again", str(path))
    assert code == 4
    assert "DISAGREES" in output
    assert "status was PASS, is FAIL" in output
    path = write_artefact(dataclasses.replace(kept, trajectories={"s=4": longer}), tmp_path)
    code, output, _ = command("explain", "--again", str(path))
    assert code == 1
    assert "agrees, with other numbers" in output
    assert "ratio was" in output


@pytest.mark.parametrize("name", ["artefact.json", "problem.npz", "trajectories.npz"])
@pytest.mark.parametrize("words", [["explain", "--again"], ["explain", "window-replay"]])
def test_a_cut_artefact_ends_with_code_2(report, tmp_path, name, words):
    path = tmp_path / "cut"
    shutil.copytree(report / "artefacts/points.svm-rbf-sigma=0.5-svm-l2-C=1-window-replay-s4", path)
    (path / name).write_bytes((path / name).read_bytes()[:-1])
    code, output, errors = command(*words, str(path))
    assert (code, output) == (2, "")
    assert errors.startswith("error: ")
    assert name in errors
    assert errors.count("SHA-256") == 1
    code, output, errors = command(*words, str(tmp_path / "nowhere"))
    assert (code, output) == (2, "")
    assert errors == f"error: {tmp_path / 'nowhere'}: no such folder\n"


def test_a_report_with_artefacts_can_be_replaced(report, tmp_path):
    copied = shutil.copytree(report, tmp_path / "report")
    collected = shutil.copytree(report / "artefacts", tmp_path / "collected")
    (collected / ".begun.partial").mkdir()
    results = load(copied / "results.json")
    names = {entry.name for entry in (report / "artefacts").iterdir()}
    write_report(results, copied, collected)
    assert {entry.name for entry in (copied / "artefacts").iterdir()} == names
    write_report(results, copied, tmp_path / "absent")
    assert not (copied / "artefacts").exists()
