"""The command ``run`` as its user meets it: report, last line, exit codes, messages, interruption."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from command import command

pytest.importorskip("sklearn", reason="scikit-learn is absent: install the extra [data]")


from sstep_verify.campaign import shipped
from sstep_verify.cli.campaign import VACUOUS
from sstep_verify.cli.main import main

COMMAND = [sys.executable, "-m", "sstep_verify", "run"]

CAMPAIGN = """
[campaign]
name = "small"
title = "Small"
description = "A few iterations."
tolerated_vacuous = {tolerated}

[[family]]
data = ["points.svm"]
task = ["svm-l1", "svm-l2"]
kernel = [{{ name = "linear" }}, {{ name = "rbf", sigma = {sigma} }}]
s = [1, 4, 16]
iterations = 53
tolerance = 1e-8
drift = 25
"""


@pytest.fixture
def folder(tmp_path):
    lines = [
        f"{1 if k % 3 else 2} 1:{(7 * k % 11) / 8} 2:{(5 * k % 13) / 8 - 0.5} 3:{(k % 4) / 4}"
        for k in range(30)
    ]
    (tmp_path / "points.svm").write_text("\n".join(lines) + "\n", encoding="ascii")
    _write(tmp_path)
    return tmp_path


def _write(folder: Path, sigma: float = 0.5, tolerated: str = "[]") -> None:
    (folder / "small.toml").write_text(CAMPAIGN.format(sigma=sigma, tolerated=tolerated), encoding="utf-8")


def _run(folder: Path, *options: str, name: str = "run") -> SimpleNamespace:
    with contextlib.chdir(folder):
        code, out, err = command(name, *options)
    return SimpleNamespace(returncode=code, stdout=out, stderr=err)


def test_a_green_campaign_leaves_a_whole_report(folder):
    done = _run(folder, "small.toml", "--jobs", "2", "--out", "report")
    assert done.returncode == 0, done.stdout + done.stderr
    report = folder / "report"
    assert done.stdout.splitlines()[-1] == str(report)
    assert done.stdout.startswith("small: correct wherever judged: s = 1, 4 and 16 on 4 of 4 problems each")
    summary = json.loads((report / "results.json").read_text("utf-8"))["summary"]
    judged = f"judged {summary['steps_judged']} of {summary['steps']} steps"
    assert done.stdout.splitlines()[-3] == judged
    assert done.stdout.splitlines()[-2].startswith("not looked at: ")
    assert "power" not in done.stdout, "it was measured with other problems"
    assert 0 < summary["steps_judged"] <= summary["steps"]
    assert "memory:" not in done.stderr, "it takes far less than a tenth of what it may"
    # Of correct problems only the first is said at once.
    told = [line for line in done.stderr.splitlines() if line.startswith("PASS")]
    assert [line.endswith("(the first of 4)") for line in told] == [True]
    document = json.loads((report / "results.json").read_text("utf-8"))
    assert document["schema"] == 4
    assert [case["status"] for case in document["cases"]] == ["PASS"] * 4
    checks = [verdict["check"] for verdict in document["verdicts"]]
    assert checks.count("window-replay") == 12
    assert {"kernel-entries", "trajectory", "sstep-equals-classical", "box", "determinism"} < set(checks)
    names = {series["name"] for case in document["cases"] for series in case["series"]}
    assert names == {"relative duality gap", "drift"}
    suites = ElementTree.parse(report / "junit.xml").getroot()
    assert len(list(suites.iter("testcase"))) == 1 + len(checks)
    (campaign, told, *_) = suites.iter("testsuite")
    assert (campaign.get("name"), campaign.get("tests"), campaign.get("skipped")) == ("campaign", "1", "0")
    properties = {item.get("name"): item.get("value") for item in told.find("properties")}
    assert properties == {name: str(summary[name]) for name in ("steps_judged", "steps")}
    page = (report / "index.html").read_text("utf-8")
    assert f"· {judged} ·" in page.replace("\u202f", "")
    assert document["summary"]["sentence"].split(";")[0] in page.replace("&lt;", "<")
    assert "1 to -1, 2 to +1" in page or "-1" in page
    assert not [name for name in os.listdir(folder) if "partial" in name]


def test_the_replay_command_of_a_verdict_makes_it_again(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert command("run", "small.toml", "--only", "svm-l1", "--jobs", "1", "--out", "first")[0] == 0
    first = json.loads((folder / "first/results.json").read_text("utf-8"))["verdicts"][-1]
    words = first["replay"].split()
    assert words[:2] == ["sstep-verify", "run"]
    assert command(*words[1:], "--jobs", "1", "--out", "again")[0] == 0
    verdicts = json.loads((folder / "again/results.json").read_text("utf-8"))["verdicts"]
    assert first in verdicts


def test_vacuous_problems_are_listed_and_counted(folder, monkeypatch):
    monkeypatch.chdir(folder)
    _write(folder, sigma=1e5, tolerated='["points.svm/rbf*"]')
    code, out, err = command("run", "small.toml", "--jobs", "1", "--only", "rbf")
    assert code == 0, out + err
    assert "vacuous on 1 problem (" in out
    assert "vacuous for s = 4 and 16 on 1 problem (" in out
    assert "VACUOUS points.svm/rbf,sigma=100000/svm-l1/C=1" in out
    reason = next(line for line in out.splitlines() if "VACUOUS points.svm/rbf" in line)
    assert reason.index("could not have shown") < reason.index("largest off-diagonal kernel entry")
    assert out.count(VACUOUS) == 1
    _write(folder, sigma=1e5, tolerated="[]")
    code, out, _ = command("run", "small.toml", "--jobs", "1", "--only", "svm-l1")
    assert code == 3
    assert "vacuous and not tolerated: points.svm/rbf" in out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["nothing.toml"], ["nothing.toml"]),
        (["papre"], ["papre", "embedded", "did you mean 'paper'"]),
        (["small.toml", "--only", "zzz"], ["zzz", "no case"]),
        (["small.toml", "--jobs", "0"], ["jobs", "0"]),
        (["small.toml", "--resume", "--force"], ["--resume", "--force", "name one"]),
        (["small.toml", "embedded"], ["embedded"]),
        (["small.toml", "--data", "nowhere", "--nonsense"], ["nonsense"]),
        (["small.toml", "--out", "small.toml/inside"], ["small.toml"]),
        (["paper", "--data", "empty", "--only", "duke"], ["duke", "--data", "SSTEP_VERIFY_DATA"]),
    ],
)
def test_a_mistake_ends_with_code_2_and_one_message(folder, options, words, monkeypatch, capsys):
    (folder / "empty").mkdir()
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("SSTEP_VERIFY_DATA", "")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["sstep-verify", "run", *options])
    with pytest.raises(SystemExit) as ended:
        main()
    told = capsys.readouterr().err
    assert ended.value.code == 2, told
    assert "Traceback" not in told
    for word in words:
        assert word in told
    assert sorted(os.listdir(folder)) == ["empty", "points.svm", "small.toml"]


def test_bad_data_name_file_line_and_value(folder):
    path = folder / "points.svm"
    lines = path.read_text("ascii").splitlines()
    path.write_text("\n".join([*lines[:4], "1 1:0.5 2:abc", *lines[4:]]) + "\n", encoding="ascii")
    done = _run(folder, "small.toml")
    assert done.returncode == 2
    for word in ("points.svm", "5", "abc"):
        assert word in done.stderr


ENDLESS = """
[[family]]
data = ["values.svm"]
task = ["krr"]
kernel = [{ name = "linear" }]
s = [1]
iterations = 2_000_000_000
tolerance = 1e-300
"""


INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # as it is not under nohup
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.run import run_campaign
from sstep_verify.report.write import write_report

def progress(done, planned, case):
    if done == 4:
        os.killpg(0, signal.SIGINT)  # what Ctrl-C does: every process of the group gets it

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # A job in the background may ignore it.
    results = run_campaign(Plan(read_definition("small.toml"), jobs=2), progress)
    write_report(results, "report")
    sys.exit(results.summary.exit_code)
"""


@pytest.mark.nightly
def test_an_interrupt_keeps_what_is_done(folder):
    values = [f"{k / 8} 1:{(7 * k % 11) / 8} 2:{(5 * k % 13) / 8}" for k in range(20)]
    (folder / "values.svm").write_text("\n".join(values) + "\n", encoding="ascii")
    (folder / "interrupted.py").write_text(INTERRUPTED, encoding="utf-8")
    with (folder / "small.toml").open("a", encoding="utf-8") as file:
        file.write(ENDLESS)
    done = subprocess.run(
        [sys.executable, "interrupted.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
        start_new_session=True,
    )
    assert done.returncode == 130, done.stdout + done.stderr
    document = json.loads((folder / "report/results.json").read_text("utf-8"))
    assert document["summary"]["interrupted"] is True
    assert document["summary"]["sentence"].startswith(
        "interrupted: correct wherever judged: s = 1, 4 and 16 on 4 of 4 problems each"
    )
    assert [case["status"] for case in document["cases"]] == ["PASS"] * 4


WRONG = """
from dataclasses import replace
from sstep_verify.adapters.reference import ReferenceSolver

class Wrong(ReferenceSolver):
    def run(self, request, observe=None):
        made = super().run(request, observe)
        alphas = made.alphas.copy()
        alphas[1:] *= 1 + (request.s > 1) * 2.0**-20
        return replace(made, alphas=alphas, log=None)
"""


def test_a_fail_of_a_solver_of_ones_own_prints_commands_that_work_from_here(folder):
    data = folder / "my data"
    data.mkdir()
    (folder / "points.svm").rename(data / "points.svm")
    (folder / "wrong.py").write_text(WRONG, encoding="utf-8")
    (folder / "small.toml").write_text(
        CAMPAIGN.format(sigma=0.5, tolerated="[]")
        .replace('"svm-l1", "svm-l2"', '"svm-l1"')
        .replace(", 16", "")
        + 'solver = "wrong:Wrong"\nchecks = ["contract", "window-replay"]\n',
        encoding="utf-8",
    )
    options = ["--data", "my data", "--only", "linear", "--jobs", "1"]
    done = _run(folder, "small.toml", *options, "--out", "deep/report")
    assert done.returncode == 1, done.stdout + done.stderr
    (more,) = (line for line in done.stdout.splitlines() if line.startswith("more: "))
    explain = shlex.split(more.removeprefix("more: "))
    assert explain[:2] == ["sstep-verify", "explain"]
    told = _run(folder, *explain[2:], name="explain").stdout
    (again,) = (
        shlex.split(line.partition(": ")[2]) for line in told.splitlines() if "with the solver: " in line
    )
    assert again[-2:] == ["--data", "my data"]
    judge = ["sstep-verify", "explain", "--again", explain[-1]]
    for words in (judge, [*again, "--jobs", "1", "--out", "second"]):
        made = _run(folder, *words[2:], name=words[1])
        assert made.returncode == 1, made.stdout + made.stderr
    case = json.loads((folder / "second/results.json").read_text("utf-8"))["cases"]
    assert [one["id"] for one in case] == ["points.svm/linear/svm-l1/C=1/wrong:Wrong"]


def test_the_help_of_run_names_every_shipped_campaign():
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True)
    for name in shipped():
        assert f"\n    {name} " in done.stdout


def test_help_imports_nothing_heavy_and_lists_the_exit_codes():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "sstep_verify", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Exit codes" in done.stdout
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert not imported & {
        "numpy",
        "scipy",
        "numba",
        "flint",
        "sklearn",
        "hypothesis",
        "pytest",
    }
