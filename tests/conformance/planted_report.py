"""The report of a campaign on a solver whose kernel correction is off by 1e-6."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import command
from plant import plant

from sstep_verify.solver import svm_window

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
iterations = 107
tolerance = 1e-8
checks = ["window-replay", "trajectory", "sstep-equals-classical"]
"""
CASE = "points.svm/rbf,sigma=0.5/svm-l2/C=1"


def planted_report(folder: Path) -> Path:
    """Report of the campaign, run in this process in an empty folder."""
    lines = [
        f"{1 if k % 3 else 2} 1:{(7 * k % 11) / 8} 2:{(5 * k % 13) / 8 - 0.5} 3:{(k % 4) / 4}"
        for k in range(30)
    ]
    (folder / "points.svm").write_text("\n".join(lines) + "\n", encoding="ascii")
    (folder / "small.toml").write_text(CAMPAIGN, encoding="utf-8")
    mistake = "* row[places[later]] * signed", "* row[places[later]] * (signed * 1.000001)"
    with pytest.MonkeyPatch.context() as patch, plant(svm_window, mistake):
        patch.chdir(folder)
        assert command("run", "small.toml", "--jobs", "1", "--out", "report")[0] == 1
    # Neither data set nor campaign is there any more.
    (folder / "points.svm").unlink()
    (folder / "small.toml").unlink()
    assert [entry.name for entry in folder.iterdir()] == ["report"]
    return folder / "report"


def verdicts_of(report: Path, *statuses: str) -> list[dict]:
    """The verdicts of a report that have one of these statuses."""
    document = json.loads((report / "results.json").read_text("utf-8"))
    return [verdict for verdict in document["verdicts"] if verdict["status"] in statuses]
