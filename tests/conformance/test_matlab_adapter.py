"""The MATLAB reference under GNU Octave, reached by its program file: right, and wrong where a term is left out."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from sstep_verify import judge, verify
from sstep_verify.adapters.program import ProgramSolver, read_program
from sstep_verify.problems import Hinge, IndexStream, Problem, RBFKernel, Ridge
from sstep_verify.verdict import Status

ROOT = Path(__file__).parents[2]


@pytest.fixture
def file(octave, tmp_path):
    """The example's program file on a copy of the reference, with a text of one of its files replaced."""
    reference = shutil.copytree(ROOT / "reference" / "matlab", tmp_path / "matlab")

    def make(name: str = "", old: str = "", new: str = "") -> str:
        if name:
            text = (reference / name).read_text()
            assert text.count(old) == 1
            (reference / name).write_text(text.replace(old, new))
        example = ROOT / "examples" / "adapters" / "matlab"
        told = (example / "matlab.toml").read_text().replace("octave-cli", octave)
        told = told.replace("reference/matlab", str(reference)).replace(
            "examples/adapters/matlab", str(example)
        )
        path = tmp_path / "matlab.toml"
        path.write_text(told)
        return str(path)

    return make


def test_the_reference_in_octave_is_right(file):
    report = verify(file(), "smoke", tasks=["krr"], kernels=["polynomial"], s=[7])
    assert report.passed, str(report)
    found = {one["check"]: one for one in report.results.verdicts}
    assert found["window-replay"]["executed"] == 7
    assert 0 < found["window-replay"]["ratio"] < 0.1


@pytest.mark.parametrize(
    ("name", "old", "loss", "block"),
    [
        ("sstep_bdcd_krr.m", " - W(own, :) * delta", Ridge(0.5), 2),
        pytest.param("sstep_dcd_ksvm.m", " + G(:, j)' * theta", Hinge(2.0), 1, marks=pytest.mark.nightly),
    ],
)
def test_a_correction_that_is_left_out_fails_with_its_sentence(file, name, old, loss, block):
    data = np.random.default_rng(1).standard_normal((10, 3))
    problem = Problem("small", data, np.resize([1.0, -1.0], 10), RBFKernel(0.5), loss)
    stream = IndexStream("uniform", 10, block, 15, seed=3)
    for change, status in (((), Status.PASS), ((name, old, ""), Status.FAIL)):
        solver = ProgramSolver(read_program(file(*change)))
        *_, window = judge(solver, problem, stream, s=3, checks=["window-replay"])
        assert window.status is status, window.reason
    assert "S-3.5" in window.requirements
