"""Files of the working folder that have the names of Python's own modules."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sstep_verify import standard_library
from sstep_verify.adapters.python import load_solver
from sstep_verify.errors import InputError
from sstep_verify.standard_library import SAFE_PATH, hiding

NAMES = ("types", "select", "random", "numbers", "queue", "json", "struct", "string")

MINE = """
import os
from types import SimpleNamespace
from neighbour import ANSWER
from sstep_verify.campaign.model import Finished

def work(unit, plan):
    yield Finished(f"{ANSWER} {os.environ.get('PYTHONSAFEPATH')}")

KIND = SimpleNamespace(run=work, key=str)
"""

SPREAD = """
import os, sys
sys.path.append(os.getcwd())
from mine import KIND
from sstep_verify.campaign.model import Definition, Plan, Unit
from sstep_verify.campaign.pool import spread
made = spread(KIND, [Unit(("one",), None, external=True)], Plan(Definition("mine", "mine", ""), jobs=1))
print(*((one.outcome, one.error) for one in made))
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with files that have the names of Python's own modules."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("X = 1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    return tmp_path


def called(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], env=os.environ | variables, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("variables", [pytest.param({}, marks=pytest.mark.nightly), {SAFE_PATH: "yes"}])
def test_a_worker_starts_and_finds_the_neighbours_of_the_solver(folder, variables):
    (folder / "mine.py").write_text(MINE)
    (folder / "neighbour.py").write_text("ANSWER = 42\n")
    ended = called("-P", "-c", SPREAD, **variables)
    assert ended.stderr == ""
    assert ended.stdout.strip() == f"('42 {variables.get(SAFE_PATH)}', '')"


@pytest.mark.nightly
def test_a_module_that_is_started_looks_into_the_working_folder_last(folder):
    (folder / "types.py").unlink()  # Python itself needs it before the module begins.
    ended = called("-m", "sstep_verify", "explain", "exit-codes")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_clone_without_installation_is_found_by_what_it_starts(monkeypatch):
    monkeypatch.chdir(os.path.dirname(standard_library.PACKAGE))
    assert standard_library.without_working_folder() == []
    monkeypatch.setattr(sys, "path", [os.getcwd(), "elsewhere"])
    standard_library.put_working_folder_last()
    assert sys.path == [os.getcwd(), "elsewhere"]


@pytest.mark.parametrize("name", ["string", "logging"])
def test_a_file_that_hides_a_module_all_the_same_is_named_as_the_cause(folder, name):
    for one in NAMES:
        (folder / f"{one}.py").unlink()
    (folder / f"{name}.py").write_text("X = 1\n")
    ended = called(
        "-m", "sstep_verify", "doctor", PYTHONPATH=f"{folder}{os.pathsep}{os.environ['PYTHONPATH']}"
    )
    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert str(folder / f"{name}.py") in line
    assert hiding(AttributeError("module 'numpy' has no attribute 'x'")) == ""


@pytest.mark.parametrize("name", ["this_is_mine", "code", "time"])
def test_a_solver_in_a_file_that_a_module_of_python_hides(folder, name):
    (folder / f"{name}.py").write_text("SOLVER = 1\n")
    with pytest.raises(InputError) as caught:
        load_solver(f"{name}:SOLVER")
    assert (f"rename {name}.py" in str(caught.value)) == (name != "this_is_mine")
