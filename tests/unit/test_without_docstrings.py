"""A Python that drops assertions and docstrings (``-OO``) runs and says the same."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sstep_verify.checks.registry import CHECKS
from sstep_verify.cli.main import COMMANDS

PROGRAM = """
import numpy as np
from sstep_verify import *
from sstep_verify.adapters import ReferenceSolver
assert False
data = np.random.Generator(np.random.PCG64(5)).standard_normal((12, 3))
labels = np.resize([1.0, -1.0], 12)
found = []
for loss, block in ((Hinge(0.5), 1), (SquaredHinge(2.0), 1), (Ridge(0.1), 2)):
    for solver in (ReferenceSolver("float64"), ProductionSolver()):
        problem = Problem("small", data, labels, RBFKernel(0.5), loss)
        stream = IndexStream("uniform", 12, block, 40, seed=4)
        checks = ["step-replay", "window-replay", "determinism", "sstep-equals-classical"]
        found += [(one.check, str(one.status), one.ratio) for one in judge(solver, problem, stream, 4, checks=checks)]
print(found)
"""


def said(*words: str, **variables: str) -> str:
    """What a Python prints."""
    environment = os.environ | variables
    command = [sys.executable, *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.mark.nightly
@pytest.mark.parametrize("disabled", ["1", "0"])
def test_a_judgement_is_the_same(disabled):
    """Interpreted: this Python finds no compiled loop in the cache, and compiles them for half a minute."""
    text = said("-OO", "-c", PROGRAM, NUMBA_DISABLE_JIT=disabled)
    assert "PASS" in text
    assert text == said("-c", PROGRAM.replace("assert False\n", ""), NUMBA_DISABLE_JIT=disabled)


@pytest.mark.nightly
def test_what_is_compiled_is_the_same():
    program = "from sstep_verify.compiled import _add_one, compiled; print(compiled(_add_one)(1))"
    assert said("-OO", "-c", program) == "2\n"


@pytest.mark.parametrize("name", CHECKS)
def test_a_check_finds_its_docstring(name):
    """Where it is dropped it is read from the source of the module of `judge`."""
    check = CHECKS[name]
    assert sys.modules[check.judge.__module__].__doc__ == check.text


LINES = ["explain", "explain window-replay", "--help", *(f"{one} --help" for one in sorted(COMMANDS))]


@pytest.mark.nightly
def test_commands_say_the_same():
    program = "\n".join(
        [
            "import contextlib, sys",
            "from sstep_verify.cli.main import main",
            f"for line in {LINES!r}:",
            "    sys.argv = ['sstep-verify', *line.split()]",
            "    with contextlib.suppress(SystemExit):",
            "        main()",
        ]
    )
    assert said("-OO", "-c", program) == said("-c", program)
