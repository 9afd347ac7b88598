"""A campaign that was killed goes on with --resume, and its report is that of an uninterrupted one."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command import command

pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")

from sstep_verify.campaign.loop.partial import Partial

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

TIMES = ("seconds", "peak_memory_bytes", "provenance")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{k / 8} 1:{(7 * k % 11) / 8} 2:{(5 * k % 13) / 8 - 0.5} 3:{(k % 4) / 4}" for k in range(30)]
    (tmp_path / "values.svm").write_text("\n".join(lines) + "\n", encoding="ascii")
    return tmp_path


def _killed(folder: Path) -> list[Path]:
    """Kill a run, with no chance to clean up, as soon as a problem is kept; what it kept."""
    run = subprocess.Popen(
        [sys.executable, "-m", "sstep_verify", *WORDS, "--out", "report"],
        cwd=folder,
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


@pytest.mark.parametrize(
    ("campaign", "problems"), [(CAMPAIGN, 4), (SCENARIOS, 6)], ids=["problems", "scenarios"]
)
def test_a_killed_campaign_goes_on_and_ends_as_if_it_had_not_been(folder, campaign, problems):
    (folder / "small.toml").write_text(campaign, encoding="utf-8")
    code, whole, _ = command(*WORDS, "--out", "whole")
    kept = _killed(folder)
    assert len(kept) < problems, "nothing is left to go on with"
    refused, _, err = command(*WORDS, "--out", "report")
    assert refused == 2
    for word in (f"{len(kept)} finished problem", "--resume", "--force"):
        assert word in err.splitlines()[-1]
    assert _kept(folder) == kept
    done, out, err = command(*WORDS, "--out", "report", "--resume")
    assert done == code, out + err
    assert f"{len(kept)} of {problems} problems are taken from" in err
    assert out.replace("/report", "/whole") == whole
    assert _document(folder, "report") == _document(folder, "whole")
    assert sorted(path.name for path in folder.iterdir()) == ["report", "small.toml", "values.svm", "whole"]


def test_what_was_kept_is_thrown_away_where_this_is_asked_for(folder, monkeypatch):
    (folder / "small.toml").write_text(CAMPAIGN, encoding="utf-8")
    keep = Partial.keep

    def interrupted(self, key, outcome):
        keep(self, key, outcome)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Partial, "keep", interrupted)
        command(*WORDS, "--out", "report")
    assert _kept(folder)
    assert command(*WORDS, "--out", "report", "--force")[0] == 0
    assert not (folder / "report.partial").exists()
