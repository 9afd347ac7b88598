"""The commands ``explain`` and ``replay`` as their user meets them, on what a defective solver left."""

from __future__ import annotations

import dataclasses
import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command import command

from sstep_verify.bounds.window.split import CORRECTIONS, KERNEL, REST_SVM, STALE
from sstep_verify.checks.explanations import explain, known_checks
from sstep_verify.checks.registry import CHECKS
from sstep_verify.cli.main import main

flint = pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")

CAMPAIGN = """
[campaign]
name = "small"
title = "Small"
description = "A few iterations."

[[family]]
data = ["points.svm"]
task = ["svm-l2"]
kernel = [{ name = "rbf", sigma = 0.5 }]
s = [1, 4, 16]
iterations = 203
tolerance = 1e-8
checks = ["window-replay", "trajectory", "sstep-equals-classical"]
"""
CASE = "points.svm/rbf,sigma=0.5/svm-l2/C=1"


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    """Report of a campaign in this process, on a solver whose kernel correction is off by 1e-6."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(Path(__file__).parents[1] / "meta")
        from plant import plant

        from sstep_verify.solvers.production import svm_window

        folder = tmp_path_factory.mktemp("planted")
        lines = [
            f"{1 if k % 3 else 2} 1:{(7 * k % 11) / 8} 2:{(5 * k % 13) / 8 - 0.5} 3:{(k % 4) / 4}"
            for k in range(30)
        ]
        (folder / "points.svm").write_text("\n".join(lines) + "\n", encoding="ascii")
        (folder / "small.toml").write_text(CAMPAIGN, encoding="utf-8")
        patch.chdir(folder)
        words = ["run", "small.toml", "--jobs", "1", "--out", "report"]
        patch.setattr(sys, "argv", ["sstep-verify", *words])
        with (
            plant(
                svm_window, ("* row[draws[later]] * signed", "* row[draws[later]] * (signed * 1.000001)")
            ),
            pytest.raises(SystemExit) as ended,
        ):
            main()
        assert ended.value.code == 1
        # Neither data set nor campaign is there any more.
        (folder / "points.svm").unlink()
        (folder / "small.toml").unlink()
        assert [entry.name for entry in folder.iterdir()] == ["report"]
        return folder / "report"


def _verdicts(report: Path, *statuses: str) -> list[dict]:
    document = json.loads((report / "results.json").read_text("utf-8"))
    return [verdict for verdict in document["verdicts"] if verdict["status"] in statuses]


def test_every_failure_leaves_an_artefact_and_no_other_verdict_does(report):
    failed = _verdicts(report, "FAIL", "INCONCLUSIVE")
    assert {(verdict["check"], verdict["s"]) for verdict in failed} == {
        (check, s) for check in ("window-replay", "trajectory", "sstep-equals-classical") for s in (4, 16)
    }
    named = [verdict["replay"].removeprefix("sstep-verify replay artefacts/") for verdict in failed]
    assert sorted(named) == sorted(entry.name for entry in (report / "artefacts").iterdir())
    assert "points.svm-rbf-sigma=0.5-svm-l2-C=1-window-replay-s16" in named
    for verdict in _verdicts(report, "PASS", "VACUOUS"):
        assert verdict["replay"].startswith("sstep-verify run")


def test_the_replay_says_again_what_the_run_said(report, monkeypatch):
    monkeypatch.chdir(report)
    for verdict in _verdicts(report, "FAIL"):
        code, output, errors = command(*verdict["replay"].split()[1:])
        assert (code, errors) == (1, "")
        assert output.startswith(f"FAIL {verdict['check']} on {CASE}, s = {verdict['s']}, b = 1\n")
        assert verdict["reason"] in output
        assert f"ratio {verdict['ratio']:.6g} = measured {verdict['measured']:.6g}" in output
        for term in verdict["terms"]:
            seen = "visible" if term["seen"] else "not visible"
            assert f"  {term['name']}: {seen}, detectable" in output
        assert "stored verdict" in output
        assert "agrees in every number" in output
        assert f"with the solver: sstep-verify run small.toml --only {CASE}" in output


def test_a_replay_that_finds_otherwise_ends_with_code_4(report, tmp_path):
    from sstep_verify.campaign.artefact import read_artefact, write_artefact

    kept = read_artefact(report / "artefacts/points.svm-rbf-sigma=0.5-svm-l2-C=1-window-replay-s4")
    sound = kept.trajectories["s=4"]
    longer = dataclasses.replace(sound, alphas=sound.alphas * (1 + 2.0**-20))
    path = write_artefact(
        dataclasses.replace(kept, verdicts=({**kept.verdicts[0], "status": "PASS"},)), tmp_path
    )
    code, output, _ = command("replay", str(path))
    assert code == 4
    assert "DISAGREES" in output
    assert "status was PASS, is FAIL" in output
    path = write_artefact(dataclasses.replace(kept, trajectories={"s=4": longer}), tmp_path)
    code, output, _ = command("replay", str(path))
    assert code == 1
    assert "agrees, with other numbers" in output
    assert "ratio was" in output


@pytest.mark.parametrize("name", ["artefact.json", "problem.npz", "trajectories.npz"])
@pytest.mark.parametrize("words", [["replay"], ["explain", "window-replay"]])
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
    assert "nowhere: is no artefact" in errors


def test_every_check_is_explained():
    code, listed, _ = command("explain")
    assert code == 0
    assert known_checks() == tuple(CHECKS)
    for check in CHECKS:
        assert f"{check}\n  " in listed
        found = explain(check)
        assert found.claim.endswith(".")
        assert "Check " not in found.claim
        assert all([found.needs, found.planted, found.vacuous])
        code, output, _ = command("explain", check, "--long")
        assert code == 0
        assert output.startswith(f"{check}\n\nClaim\n")
        for title in ("Needs", "Planted defect", "VACUOUS"):
            assert f"\n{title}\n  " in output
        assert found.sentences
        assert all(f"\n  {number}: {text[:40]}" in output for number, text in found.sentences.items())
        for path, text in found.derivations.items():
            assert f"\nBound: {path}\n" in output
            assert len(text) > 100
        assert found.derivations or "\nBound\n  0:" in output


@pytest.mark.parametrize(
    ("check", "bounds"),
    [
        ("window-replay", {"bounds/window/svm.py", "bounds/window/ridge.py"}),
        ("trajectory", {"bounds/trajectory/svm.py", "bounds/trajectory/ridge.py"}),
        ("sstep-equals-classical", {"bounds/trajectory/svm.py", "bounds/trajectory/ridge.py"}),
        ("metamorphic-exact", set()),
    ],
)
def test_a_check_names_its_bounds(check, bounds):
    assert set(explain(check).derivations) >= bounds
    assert bounds or not explain(check).derivations


def test_explain_fills_in_the_numbers_of_an_artefact(report, monkeypatch):
    monkeypatch.chdir(report)
    for verdict in _verdicts(report, "FAIL"):
        path = verdict["replay"].split()[-1]
        code, output, errors = command("explain", verdict["check"], path, "--long")
        assert (code, errors) == (0, "")
        _, _, numbers = output.partition("In this artefact: FAIL")
        for words in (
            f"measured {verdict['measured']:.6g}, bound {verdict['bound']:.6g}",
            f"ratio = measured / bound = {verdict['ratio']:.6g}",
            f"problem: {verdict['problem']}, m = 30, n = 3",
            "precision: float64, u = 1.11e-16",
            *(
                f"{term['name']}: {'seen' if term['seen'] else 'not seen'}, detectable"
                for term in verdict["terms"]
            ),
            f"offline: sstep-verify replay {path}",
            f"with the solver: sstep-verify run small.toml --only {CASE}",
        ):
            assert words in numbers
        assert ("begin 0, end" in numbers) == (verdict["check"] == "window-replay")


def test_an_artefact_alone_is_explained_in_plain_words(report, monkeypatch):
    monkeypatch.chdir(report.parent)
    verdict = next(one for one in _verdicts(report, "FAIL") if one["check"] == "window-replay")
    path = f"{report.name}/{verdict['replay'].split()[-1]}"
    code, output, errors = command("explain", path)
    assert (code, errors) == (0, "")
    assert output.startswith(f"FAIL: window-replay on {CASE}, s = {verdict['s']}\n")
    assert " ".join(verdict["reason"].split()) in " ".join(output.split())
    for word in ("overlap", "omega", "clip", "detectable"):
        assert f"\n    {word}: " in output
    assert "Bound: bounds/" not in output
    assert len(output.splitlines()) < 60
    assert command(*shlex.split(_after(output, "All numbers and derivations: ")))[0] == 0
    assert command(*shlex.split(_after(output, "offline: ")))[0] == 1


def _after(output: str, words: str) -> str:
    """The command that a line gives, without the program's name."""
    return output.partition(words)[2].partition("\n")[0].removeprefix("sstep-verify ")


def test_json_is_one_object_that_says_what_the_lines_say(report, monkeypatch):
    monkeypatch.chdir(report)
    verdict = next(one for one in _verdicts(report, "FAIL") if one["check"] == "sstep-equals-classical")
    path = verdict["replay"].split()[-1]
    code, output, _ = command("replay", path, "--json")
    replayed = json.loads(output)
    assert (code, replayed["exit_code"]) == (1, 1)
    assert replayed["verdicts"][0]["ratio"] == replayed["stored"][0]["ratio"] == verdict["ratio"]
    assert replayed["disagreements"] == replayed["differences"] == []
    code, output, _ = command("explain", path, "--json")
    explained = json.loads(output)
    assert code == 0
    assert explained["verdicts"] == replayed["stored"]
    assert explained["again"]["replay"] == f"sstep-verify replay {path}"
    assert explained["explanation"]["check"] == "sstep-equals-classical"
    _, output, _ = command("explain", "--json")
    assert set(json.loads(output)) == set(CHECKS)
    _, output, _ = command("explain", "box", "--json")
    assert json.loads(output)["check"] == "box"


def test_explain_shares_out_the_bound_of_the_worst_window(report, monkeypatch):
    monkeypatch.chdir(report)
    failed = [verdict for verdict in _verdicts(report, "FAIL") if verdict["check"] == "window-replay"]
    assert len(failed) == 2
    for verdict in failed:
        path = verdict["replay"].split()[-1]
        _, output, _ = command("explain", path, "--long")
        table = output.partition("\nWhere the bound comes from\n")[2].partition("\n\n")[0]
        # The decisive comparison may be the one from the panel; the table is of the one from the data.
        compared = max((window["from data"] for window in verdict["evidence"]["windows"]), key=_ratio)
        for name in ("measured", "bound", "ratio"):
            assert f"{name} {compared[name]:.6g}" in table
        rows = [line.rsplit(maxsplit=2) for line in table.splitlines() if line.endswith("%")]
        contributions = [float(value) for _, value, _ in rows]
        assert contributions == sorted(contributions, reverse=True)
        assert {name.strip() for name, *_ in rows} == {KERNEL, STALE, CORRECTIONS, REST_SVM}
        # Every share is printed in tenths of a per cent, to half a tenth.
        tenths = [int(share.rstrip("%").replace(".", "")) for *_, share in rows]
        assert 2 * abs(sum(tenths) - 1000) <= len(rows)
        for term in compared["detectable"]:
            assert f"\n    {term} " in table


def _ratio(comparison: dict) -> float:
    return comparison["ratio"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["explain", "window_replay"],
            "check 'window_replay' is unknown (did you mean 'window-replay'?); known: ",
        ),
        (
            ["explain", "trajectory", "artefacts/{}-window-replay-s4"],
            "use: sstep-verify explain artefacts/",
        ),
        (["replay"], "Missing argument"),
        (["replay", "."], "name a folder that a report holds under artefacts/"),
    ],
)
def test_a_mistake_ends_with_code_2_and_the_way_out(report, monkeypatch, words, message):
    monkeypatch.chdir(report)
    words = [word.format("points.svm-rbf-sigma=0.5-svm-l2-C=1") for word in words]
    code, _, errors = command(*words)
    assert code == 2
    assert message in errors
    if "unknown" in message:
        assert all(check in errors for check in CHECKS)


def test_a_report_with_artefacts_can_be_replaced(report, tmp_path):
    from sstep_verify.reporting import load, write_report

    copied = shutil.copytree(report, tmp_path / "report")
    collected = shutil.copytree(report / "artefacts", tmp_path / "collected")
    (collected / ".begun.partial").mkdir()
    results = load(copied / "results.json")
    names = {entry.name for entry in (report / "artefacts").iterdir()}
    write_report(results, copied, collected)
    assert {entry.name for entry in (copied / "artefacts").iterdir()} == names
    # What was being written when a campaign ended is left behind.
    assert [entry.name for entry in collected.iterdir()] == [".begun.partial"]
    write_report(results, copied, tmp_path / "absent")
    assert not (copied / "artefacts").exists()


def test_the_help_of_both_commands_imports_nothing_heavy():
    for words in (["--help"], ["explain", "--help"], ["replay", "--help"]):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "sstep_verify", *words],
            capture_output=True,
            text=True,
            check=True,
        )
        assert "Usage" in done.stdout
        imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
        assert not imported & {"numpy", "scipy", "numba", "flint", "sklearn"}
