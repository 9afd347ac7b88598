"""A solver that forks is judged once: a child that comes back from the solver's code ends there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from daily import some

HERE = str(Path(__file__).parent)

WAYS = {
    "both return": "os.fork()",
    "the child returns": "wait(os.fork())",
    "the child raises": "if not (child := os.fork()):\n        raise ValueError('of the child')\n    wait(child)",
    "the child exits": "if not (child := os.fork()):\n        sys.exit(3)\n    wait(child)",
    "a process of multiprocessing": "child = multiprocessing.get_context('fork').Process(target=print)\n"
    "    child.start()\n    child.join()",
}

PROGRAM = """
import multiprocessing, os, sys
import numpy as np
from small_solvers import callable_of, descend, drawn
from sstep_verify import judge

def wait(child):
    if child:
        os.waitpid(child, 0)

def forks(problem, blocks, s, a0, log):
    global forked
    if forked:  # At most this many processes, whatever becomes of them.
        return descend(problem, blocks, s, a0, log)
    forked += 1
    {way}
    return descend(problem, blocks, s, a0, log)

forked, seed = 0, {seed}
problem, stream = drawn(seed, ("svm-l1", "krr")[seed % 2])
verdicts = judge(callable_of(True, forks), problem, stream, s=4)
os.write(1, f"judged: {{[one.status.value for one in verdicts]}}\\n".encode())
"""


@pytest.mark.parametrize("way", some(WAYS, of=3))
@pytest.mark.parametrize("seed", range(int(os.environ.get("SSTEP_VERIFY_DRAWS", "1"))))
def test_a_solver_that_forks_is_judged_once(way, seed):
    text = PROGRAM.format(way=WAYS[way], seed=seed)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([HERE, *sys.path])}
    ended = subprocess.run(
        [sys.executable, "-c", text],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    (line,) = [one for one in ended.stdout.splitlines() if one.startswith("judged: ")]
    assert "FAIL" not in line
    assert "PASS" in line
