"""A kernel of one's own in a campaign, and in the kept runs of a report: refused, with the way out."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from command import command
from kept import copied, kept_report, mended
from sstep_reference import kernels as reference

from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.run import run_campaign
from sstep_verify.errors import InputError
from sstep_verify.problems import kernels

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_kernel" / "laplacian.py"

FILE = """
[campaign]
name = "own"
title = "A kernel of one's own"
description = "One small problem."

[[family]]
data = ["small"]
task = ["svm-l1"]
kernel = [{ name = "laplacian", sigma = 0.25 }]
parameter = [1.0]
s = [4]
iterations = 24
checks = ["contract", "step-replay"]
"""


@pytest.fixture
def laplacian():
    yield runpy.run_path(str(EXAMPLE))["LaplacianKernel"]
    del kernels.KERNELS["laplacian"], reference.FORMULAS["laplacian"]


@pytest.mark.usefixtures("laplacian")
def test_a_campaign_refuses_a_kernel_whose_optima_it_cannot_certify(tmp_path):
    (tmp_path / "own.toml").write_text(FILE, "utf-8")
    with pytest.raises(InputError, match=r"laplacian.*linear, polynomial, rbf.*judge\(\)"):
        run_campaign(Plan(read_definition(str(tmp_path / "own.toml"))))


def test_kept_runs_on_a_kernel_that_is_not_known_here_are_refused(tmp_path):
    report = copied(kept_report(tmp_path, "right", 0), tmp_path)
    kept = report / "runs" / "campaign.json"
    text = kept.read_text("utf-8")
    assert '"RBFKernel"' in text
    kept.write_text(text.replace('"RBFKernel"', '"LaplacianKernel"'), "utf-8")
    mended(report)
    code, _, err = command("explain", "--again", str(report), "--jobs", "1")
    assert code == 2
    assert "LaplacianKernel" in err
