"""A campaign that was killed goes on with --resume, and its report is that of an uninterrupted one."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from command import command

from sstep_verify.report.results import BEFORE
from studies import search_path

WORDS = ["run", "small.toml", "--jobs", "1"]

CAMPAIGN = """
[campaign]
name = "small"
title = "Small"
description = "Problems that share kernels and optima."

[[family]]
data = ["values.svm"]
task = ["krr"]
kernel = [{ name = "linear" }, { name = "rbf", sigma = 0.5 }]
parameter = [1.0, 0.25]
s = [1, 4, 16]
iterations = 75
tolerance = 1e-8
drift = 50
"""

SCENARIOS = """
[campaign]
name = "small"
title = "Small"
description = "A few scenarios."

[[scenario]]
precision = "float64"
form = ["in-place", "frozen"]
task = ["svm-l1"]
kernel = [{ name = "rbf", sigma = 1.0 }]
condition = [1.0, 1e4, 1e8]
seed = [0, 1]
s = [2, 8]
samples = 24
features = 4
iterations = 80
replay = [1, 2, 8, 40]
"""

TIMES = ("seconds", "check_seconds", "peak_memory_bytes", "provenance", BEFORE)


@pytest.fixture
def folder(tmp_path):
    lines = [f"{k / 8} 1:{(7 * k % 11) / 8} 2:{(5 * k % 13) / 8 - 0.5} 3:{(k % 4) / 4}" for k in range(30)]
    (tmp_path / "values.svm").write_text("\n".join(lines) + "\n", encoding="ascii")
    return tmp_path


def _run(folder: Path, *options: str) -> SimpleNamespace:
    with contextlib.chdir(folder):
        code, out, err = command(*WORDS, *options)
    return SimpleNamespace(returncode=code, stdout=out, stderr=err)


def _killed(folder: Path) -> list[Path]:
    """Kill a run, with no chance to clean up, as soon as a problem is kept; what it kept."""
    run = subprocess.Popen(
        [sys.executable, "-m", "sstep_verify", *WORDS, "--out", "report"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": search_path()},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        end = time.monotonic() + 120
        while not (found := _kept(folder)) and run.poll() is None and time.monotonic() < end:
            time.sleep(0.002)
    finally:
        run.kill()
        run.communicate(timeout=30)
    assert found
    assert not (folder / "report").exists(), "the run ended before it could be killed"
    return _kept(folder)


def _kept(folder: Path) -> list[Path]:
    return sorted((folder / "report.partial").glob("[!.]*.json"))


def _document(folder: Path, report: str) -> str:
    """The results but for times and memory, digit by digit: 0 is not 0.0."""
    return json.dumps(
        _without_times(json.loads((folder / report / "results.json").read_text("utf-8"))), indent=1
    )


def _without_times(value):
    if isinstance(value, dict):
        return {key: _without_times(item) for key, item in value.items() if key not in TIMES}
    return [_without_times(item) for item in value] if isinstance(value, list) else value


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("campaign", "problems"),
    [pytest.param(CAMPAIGN, 4, id="problems"), pytest.param(SCENARIOS, 6, id="scenarios")],
)
def test_a_killed_campaign_goes_on_and_ends_as_if_it_had_not_been(folder, campaign, problems):
    (folder / "small.toml").write_text(campaign, encoding="utf-8")
    whole = _run(folder, "--out", "whole")
    kept = _killed(folder)
    assert len(kept) < problems, "nothing is left to go on with"
    done = _run(folder, "--out", "report", "--resume")
    assert done.returncode == whole.returncode, done.stdout + done.stderr
    assert f"{len(kept)} of {problems} problems are taken from" in done.stderr
    assert done.stdout.replace("/report", "/whole") == whole.stdout
    assert _document(folder, "report") == _document(folder, "whole")
    results = json.loads((folder / "report" / "results.json").read_text("utf-8"))
    assert results["campaign"]["parameters"].get(BEFORE, 0) == len(kept)
    assert sorted(path.name for path in folder.iterdir()) == ["report", "small.toml", "values.svm", "whole"]


@pytest.mark.nightly
def test_without_an_option_what_was_kept_is_refused_with_both_ways_out(folder):
    (folder / "small.toml").write_text(SCENARIOS, encoding="utf-8")
    kept = _killed(folder)
    done = _run(folder, "--out", "report")
    assert done.returncode == 2
    line = done.stderr.splitlines()[-1]
    for word in (f"{len(kept)} finished problem", "--resume", "--force"):
        assert word in line
    assert _kept(folder) == kept
    assert _run(folder, "--out", "report", "--force").returncode == 0
    assert not (folder / "report.partial").exists()
