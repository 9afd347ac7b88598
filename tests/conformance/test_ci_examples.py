"""Workflow files to be copied: well formed, and their commands are ours."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sstep_verify.cli.main import cli, main

FOLDER = Path(__file__).parents[2] / "examples" / "ci"
FILES = sorted(FOLDER.glob("*.yml"))
PYTHON = FOLDER / "github-actions-python.yml"
"""The one that judges a Python solver, under pytest."""

TESTS = """
from sstep_verify import CallableSolver, Declaration, parametrize_with_checks

still = CallableSolver(lambda problem, blocks, s, a0: a0.copy(), Declaration("still"))


@parametrize_with_checks([still], "smoke", tasks=["svm-l1"], kernels=["linear"])
def test_still(solver, check):
    check(solver)
"""


def lines(path: Path) -> list[str]:
    """Shell lines of a workflow, by their places in both systems' files."""
    text = path.read_text("utf-8")
    return [found[1] for found in re.finditer(r"^\s+(?:run:|-) (\S.*)$", text, re.MULTILINE)]


def commands(path: Path) -> list[list[str]]:
    """The commands of sstep-verify, with the variables filled in."""
    filled = (line.replace("$SOLVER", "./my_solver {dir}") for line in lines(path))
    return [shlex.split(line)[1:] for line in filled if line.startswith("sstep-verify ")]


def test_both_systems_have_a_file():
    assert [path.name for path in FILES] == [PYTHON.name, "github-actions.yml", "gitlab-ci.yml"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_file_is_yaml_with_a_job_that_judges(path):
    text = path.read_text("utf-8")
    assert "\t" not in text
    assert all(len(line) - len(line.lstrip()) in (0, 2, 4, 6, 8, 10, 12) for line in text.splitlines())
    yaml = pytest.importorskip("yaml", reason="PyYAML is absent: install the dependency group lint")
    found = yaml.safe_load(text)
    if path.stem == "gitlab-ci":
        script = found["sstep-verify"]["script"]
        assert found["sstep-verify"]["artifacts"]["reports"]["junit"] == "sstep-report/junit.xml"
        variables = found["variables"]
    else:
        script = [step["run"] for step in found["jobs"]["judge"]["steps"] if "run" in step]
        assert found[True] == ["push", "pull_request"]  # YAML 1.1 reads the key `on` so.
        variables = found["env"]
    solver = {"TESTS"} if path == PYTHON else {"BUILD", "SOLVER"}
    assert {"SSTEP_VERIFY"} | solver == set(variables) - {"GIT_SUBMODULE_STRATEGY"}
    # The name is on no package index: whoever takes it there could put anything into the job.
    assert variables["SSTEP_VERIFY"].startswith("./")
    assert set(script) <= set(lines(path))
    ours = len([line for line in script if line.startswith("sstep-verify")])
    assert ours == len(commands(path)) == (path != PYTHON)


@pytest.mark.nightly
def test_the_python_workflow_fails_with_a_solver_and_keeps_the_verdicts(tmp_path):
    """Its command on a test file as docs/ci.md shows it; the solver never moves."""
    (line,) = (line for line in lines(PYTHON) if "pytest" in line)
    (tmp_path / "test_solver.py").write_text(TESTS)
    words = shlex.split(line.replace("$TESTS", "test_solver.py"))
    assert words[0] == "python"
    made = subprocess.run(
        [sys.executable, *words[1:]], cwd=tmp_path, timeout=200, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 1, made.stdout
    (kept,) = re.findall(r"^ +path: (\S+)$", PYTHON.read_text("utf-8"), re.MULTILINE)
    assert "window-replay" in (tmp_path / kept).read_text("utf-8")


@pytest.mark.parametrize("path", [path for path in FILES if path != PYTHON], ids=lambda path: path.stem)
def test_the_commands_are_taken_as_they_stand(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, *words in commands(path):
        parsed = cli.get_command(None, name).make_context(name, list(words))
        assert parsed.params["out"] == "sstep-report"
        monkeypatch.setattr(sys, "argv", ["sstep-verify", name, *words, "--list"])
        main()
        listed = capsys.readouterr().out.split()
        assert len(listed) == 24
        assert "sized-28x5/linear/svm-l1/C=0.3/my_solver" in listed
    assert list(tmp_path.iterdir()) == []
