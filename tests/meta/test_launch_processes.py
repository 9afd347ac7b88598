"""No process outlives its runner, and pools work inside other launchers."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from launched import Marked, run_marked

from sstep_verify.ranks.environment import launcher

pytestmark = pytest.mark.pool_only

RUNNER = """
import sys
import launch_faults as faults
from sstep_verify.ranks import run
print(run(3, faults.rounds), flush=True)
run(3, faults.rounds, sys.argv[1], 1, 1)
"""


@pytest.mark.parametrize("fault", ["loop", "loop with the lock", "stopped", "skipped", "raise"])
def test_a_killed_runner_leaves_no_ranks(tmp_path, fault):
    """In a loop, without the interpreter's lock, stopped, in a collective; or at rest after an error."""
    mark = Marked()
    with subprocess.Popen(
        [sys.executable, "-c", RUNNER, fault], cwd=tmp_path, stdout=subprocess.PIPE, text=True,
        env=mark.variables(TMPDIR=str(tmp_path)),
    ) as runner:  # fmt: skip
        assert runner.stdout is not None
        assert runner.stdout.readline() == "[27.0, 27.0, 27.0]\n"
        assert len(mark.alive()) >= 1 + 3
        runner.send_signal(signal.SIGKILL)
    assert mark.all_left() == []
    assert list(tmp_path.iterdir()) == [], "no socket and no output of ranks may stay"


def test_a_runner_that_ends_takes_its_ranks_along(tmp_path):
    script = "import launch_faults as f; from sstep_verify.ranks import run; print(run(2, f.rounds))"
    code, output, left = run_marked([sys.executable, "-c", script], tmp_path, 60.0, TMPDIR=str(tmp_path))
    assert (code, output, left) == (0, "[8.0, 8.0]\n", [])
    assert list(tmp_path.iterdir()) == []


def test_a_child_of_the_runner_does_not_keep_its_ranks_alive(tmp_path):
    """A forked child holds copies of the runner's sockets unless it gives them back."""
    script = """
import os, sys
import launch_faults as f
from sstep_verify.ranks import run
run(2, f.rounds)
if os.fork() == 0:
    sys.stdin.read()
    os._exit(0)
os._exit(7)
"""
    mark = Marked()
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script], cwd=tmp_path, env=mark.variables(),
        stdin=subprocess.PIPE,
    ) as runner:  # fmt: skip
        assert runner.wait(60) == 7
        left = mark.all_left(expected=1)
        assert [line for line in left if "os.fork" not in line] == []
        assert len(left) == 1, "the child itself must still be there, or this shows nothing"
    assert mark.all_left() == []


def test_a_pool_inside_a_job_of_one_process(tmp_path):
    script = "import launch_faults as f; from sstep_verify.ranks import run; print(run(3, f.rounds))"
    command = [str(launcher()), "-n", "1", sys.executable, "-c", script]
    code, output, left = run_marked(command, tmp_path, 60.0)
    assert (code, output.strip(), left) == (0, "[27.0, 27.0, 27.0]", [])
