"""A few hostile tries of each kind; `tox -e hostile` makes thousands, and kills."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

PROGRAM = Path(__file__).parents[1] / "hostile" / "tries.py"


@pytest.fixture
def statements(monkeypatch):
    monkeypatch.syspath_prepend(PROGRAM.parent)
    import statements

    return statements


@pytest.mark.parametrize("task", ["svm-l1", "svm-l2", "krr"])
def test_a_wrong_optimal_value_is_distinguished_from_a_right_one(statements, task):
    generator = np.random.Generator(np.random.PCG64(1))
    data = generator.standard_normal((12, 3))
    targets = generator.standard_normal(12) if task == "krr" else np.where(data[:, 0] > 0.3, 1.0, -1.0)
    problem = (data, targets, task, 0.5, {"name": "rbf", "sigma": 0.5})
    signed = statements.kernel_matrix(data, data, problem[-1])
    if task == "krr":
        right = targets @ np.linalg.solve(signed / 0.5 + 12 * np.eye(12), targets) / 2
    else:
        right, gap = statements._descended(signed * np.outer(targets, targets), task, 0.5)
        assert gap < 1e-6
    for value, wrong in ((right, False), (right * (1 + 1e-4), True), (right * (1 - 1e-4), True)):
        said = f"  optimal value {float(value)!r} (rounded) with radius 1E-9"
        assert bool(statements.wrong_optimum(said, *problem)) is wrong


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({}, ""),
        ({"last_relative": 0.25}, "claimed"),
        ({"relative": np.float64(0)}, "stated"),
        ({"relative": 0.25, "stopped": "tolerance"}, "claimed to be reached"),
        ({"alpha": np.full(24, 2.0)}, "box"),
        ({"measured_iterations": np.array([320])}, "history"),
    ],
)
def test_a_wrong_statement_of_a_result_is_distinguished_from_a_right_one(
    statements, tmp_path, monkeypatch, changed, word
):
    import materials

    monkeypatch.chdir(tmp_path)
    Path("good").write_text(materials.data_lines(), "ascii")
    assert materials.command("solve", "good", *materials.SOLVE, "--out", "c.npz")[0] == 0
    with np.load("c.npz") as arrays:
        held = {name: arrays[name] for name in arrays} | changed
    np.savez("c.npz", **held)
    rows = [line.split() for line in Path("good").read_text("ascii").splitlines()]
    data = np.array([[float(word.split(":")[1]) for word in row[1:]] for row in rows])
    targets = np.array([float(row[0]) for row in rows])
    told = statements.wrong_result(Path("c.npz"), data, targets, "svm-l1", 1.0, {"name": "linear"}, 0.0)
    assert word in told
    assert bool(told) == bool(word)


@pytest.mark.nightly
def test_no_try_ends_in_a_traceback_a_hang_a_loss_or_an_untrue_statement(tmp_path):
    words = [sys.executable, str(PROGRAM), "--tries", "8", "--jobs", "1"]
    paths = os.pathsep.join(filter(None, sys.path))
    made = subprocess.run(
        words,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert "8 tries in" in made.stdout
