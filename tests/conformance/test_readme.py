"""What the README states of the default campaign."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command import command

from sstep_verify.report.plain import promised

README = Path(__file__).parents[2] / "README.md"
WIDEST = "breast_cancer_scale/rbf,sigma=1/svm-l2/C=1"
"""The problem of campaign `embedded` on which an error in the kernel correction must be largest to show."""


@pytest.mark.nightly
def test_the_limit_that_the_readme_states_is_that_of_the_default_campaign(tmp_path):
    code, _, err = command("run", "embedded", "--only", WIDEST, "--out", str(tmp_path / "out"))
    assert code == 0, err
    verdicts = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))["verdicts"]
    limits = [
        term["detection_limit"]
        for one in verdicts
        if one["check"] == "step-replay" and one["s"] > 1
        for term in one["terms"]
        if term["name"] == "kernel-correction"
    ]
    assert f"a relative error of {promised(max(limits))} in the kernel" in " ".join(
        README.read_text("utf-8").split()
    )
