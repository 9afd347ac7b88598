"""``pytest --sstep-solver``: a test for each problem, in a project that has tests of its own."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")

PROGRAM = Path(__file__).with_name("plain_program.py")
ROOT = Path(__file__).parents[2]
CASE = "small/rbf,sigma=0.5/svm-l1/C=2/plain_program"
PLUGINS = [
    "-p",
    "sstep_verify.pytest_plugin",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-p",
    "no:randomly",
]
SMOKE = ["--sstep-profile", "smoke"]


def run_pytest(folder: Path, *words: str) -> subprocess.CompletedProcess:
    (folder / "test_own.py").write_text("def test_own():\n    pass\n")
    path = os.pathsep.join(
        [str(folder), str(ROOT), str(ROOT / "reference"), os.environ.get("PYTHONPATH", "")]
    )
    installed = subprocess.run(
        [sys.executable, "-c", "import importlib.metadata as m; m.distribution('sstep-verify')"],
        capture_output=True, check=False,
    ).returncode == 0  # fmt: skip
    plugins = PLUGINS[2:] if installed else PLUGINS
    return subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *words],
        cwd=folder, capture_output=True, text=True, timeout=200, check=False,
        env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip


def program(mistake: str) -> list[str]:
    return [
        "--sstep-exec",
        shlex.join([sys.executable, "-I", "-S", str(PROGRAM), "{dir}", mistake]),
        *SMOKE,
    ]


def properties(path: Path) -> dict[str, str]:
    return {one.get("name"): one.get("value") for one in ElementTree.parse(path).iter("property")}


def test_a_right_solver_passes_behind_the_projects_own_tests(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from sstep_verify.solvers.production import ProductionSolver\nsolver = ProductionSolver\n"
    )
    done = run_pytest(
        tmp_path, "--sstep-solver", "mine:solver", *SMOKE, "--junitxml", "j.xml", "-v", "-k", "own or svm"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sstep-verify: --sstep-solver mine:solver --sstep-profile smoke" in done.stdout
    assert "2 passed, 1 deselected" in done.stdout
    assert "sstep::small/rbf,sigma=0.5/svm-l1/C=2/mine:solver PASSED" in done.stdout
    found = properties(tmp_path / "j.xml")
    assert 0 < float(found["ratio.step-replay.s=7"]) <= 1
    assert found["status.window-replay.s=1"] == "PASS"


def test_a_wrong_solver_fails_with_its_reasons_and_is_expected_to_by_a_list(tmp_path):
    done = run_pytest(tmp_path, *program("labels"), "-k", "svm", "--junitxml", "j.xml")
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"FAIL {CASE}, step-replay, s = 7:" in done.stdout
    assert "Traceback" not in done.stdout
    failed = {
        name.split(".")[1] for name, value in properties(tmp_path / "j.xml").items() if value == "FAIL"
    }
    tables = (
        f'[[expected]]\nid = "{CASE}"\nkind = "{check}: FAIL"\nreason = "issue 7"\n' for check in failed
    )
    (tmp_path / "known.toml").write_text("\n".join(tables))
    done = run_pytest(tmp_path, *program("labels"), "-k", "svm", "--sstep-xfails", "known.toml", "-rx")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 xfailed" in done.stdout
    assert "step-replay: FAIL: issue 7" in done.stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--sstep-solver", "a:b", "--sstep-exec", "./x {dir}"], "name one solver"),
        (["--sstep-profile", "ci"], "name one solver"),
        (["--sstep-exec", "./x {dir}", "--sstep-profile", "smok"], "did you mean 'smoke'"),
        (["--sstep-exec", "./x '{dir}"], "No closing quotation"),
        (["--sstep-exec", "./x {dir}", "--sstep-xfails", "none.toml"], "none.toml: cannot be read"),
    ],
)
def test_what_cannot_be_asked_is_a_usage_error_in_one_line(tmp_path, words, told):
    done = run_pytest(tmp_path, *words)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR, done.stdout + done.stderr
    assert told in done.stderr
    assert "Traceback" not in done.stderr
