"""Faults of one rank under ``mpiexec -n P python -m pytest --sstep-verify-ranks``: the run ends, says who, and leaves nothing."""

from __future__ import annotations

import sys
import time

import pytest
from launched import SERVED, WITH_HYPOTHESIS, run_marked

from sstep_verify.ranks.environment import launcher

pytestmark = pytest.mark.pool_only

MINUTE = 60.0

SUITE = """
import launch_faults as faults
from sstep_verify.ranks import run

P, FAULT, GUILTY, WHERE = {ranks}, {fault!r}, {guilty}, {where}

def test_right():
    assert run(P, faults.rounds) == [float(P**3)] * P

def test_faulty():
    run(P, faults.rounds, FAULT, GUILTY, WHERE, limit=1.0)
"""

SHRUNK = """
from hypothesis import given, settings, strategies as st

@settings(database=None, derandomize=True, deadline=None)
@given(st.integers(0, 5000))
def test_shrunk(value):
    answers = run(P, faults.wrong_above, value, 1000, "wrong value", P - 1)
    assert answers == answers[:1] * P
"""


def suite_in_place(folder, ranks: int, fault: str = "", guilty: int = -1, where: int = 1, drawn: str = ""):
    """Run the little suite under mpiexec, with tests of drawn values or without."""
    suite = SUITE.format(ranks=ranks, fault=fault, guilty=guilty, where=where) + drawn
    (folder / "test_suite.py").write_text(suite)
    options = WITH_HYPOTHESIS if drawn else []
    command = [str(launcher()), "-n", str(ranks), *SERVED, *options, "test_suite.py"]
    return run_marked(command, folder, MINUTE)


def test_errors_are_ordinary_failures_where_all_ranks_end(tmp_path):
    size = 3
    code, output, left = suite_in_place(tmp_path, size, "raise", size - 1, 3, SHRUNK)
    assert code == 1, output
    assert f"rank {size - 1} raised ValueError: planted" in output
    assert "value=1001" in output
    assert "2 failed, 1 passed" in output
    assert left == []


def test_without_a_fault_the_job_ends_well(tmp_path):
    code, output, left = suite_in_place(tmp_path, 2)
    assert (code, left) == (0, []), output
    assert "2 passed" in output


def test_a_run_that_collects_nothing_lets_the_followers_go(tmp_path):
    command = [str(launcher()), "-n", "2", *SERVED, "--help"]
    code, output, left = run_marked(command, tmp_path, MINUTE)
    assert (code, left) == (0, []), output


@pytest.mark.parametrize(
    ("size", "fault", "guilty", "said"),
    [
        pytest.param(2, "raise", 1, "rank 1 raised ValueError: planted", marks=pytest.mark.nightly),
        pytest.param(2, "raise", 0, "rank 0 raised ValueError: planted", marks=pytest.mark.nightly),
        pytest.param(3, "loop", 2, "suspect: rank 2\n", marks=pytest.mark.nightly),
        pytest.param(2, "loop with the lock", 0, "suspect: rank 0\n", marks=pytest.mark.nightly),
        pytest.param(3, "stopped", 1, "suspect: rank 1\n", marks=pytest.mark.nightly),
        (2, "skipped", 1, "suspect: rank 0, 1\n"),
        pytest.param(4, "reordered", 3, "suspect: rank 3\n", marks=pytest.mark.nightly),
        (3, "killed", 2, "lost rank 2 "),
        pytest.param(2, "killed", 0, "lost rank 0 ", marks=pytest.mark.nightly),
        pytest.param(2, "segfault", 1, "lost rank 1 ", marks=pytest.mark.nightly),
        (2, "abort", 1, "rank 1 in comm"),
    ],
)
def test_what_ends_the_job_names_the_guilty_rank(tmp_path, size, fault, guilty, said):
    code, output, left = suite_in_place(tmp_path, size, fault, guilty)
    assert code != 0, output
    assert said in output, output
    assert left == []


STOPPED = """
import os, signal
import launch_faults as faults
from sstep_verify.ranks import join, run
if not join():
    raise SystemExit
os.kill(run(2, faults.process_of)[1], signal.SIGSTOP)
run(2, faults.size_of, bytes({size}), limit=1.0)
"""


@pytest.mark.nightly
@pytest.mark.parametrize("size", [1, 1 << 23])
def test_a_call_that_a_rank_does_not_take_ends_within_its_limit(tmp_path, size):
    """A large message is sent as it is received."""
    words = [str(launcher()), "-n", "2", sys.executable, "-c", STOPPED.format(size=size)]
    begin = time.monotonic()
    code, output, left = run_marked(words, tmp_path, MINUTE)
    assert (code != 0, left) == (True, []), output
    assert "size_of: no end within 1 s; suspect: rank 1\n" in output, output
    assert time.monotonic() - begin < 20


def test_a_launcher_of_another_mpi_is_refused(tmp_path):
    """Two worlds of size 1 would pass every test without testing anything."""
    (tmp_path / "test_nothing.py").write_text("def test_nothing(): pass\n")
    code, output, left = run_marked(
        [*SERVED, "test_nothing.py"], tmp_path, MINUTE, OMPI_COMM_WORLD_SIZE="2"
    )
    assert code != 0
    assert "the launcher that started 2 processes is Open MPI's, but mpi4py uses MPICH" in output
    assert left == []


def test_a_script_without_followers_is_asked_to_join(tmp_path):
    script = "import launch_faults as f; from sstep_verify.ranks import run; run(2, f.rounds)"
    code, output, left = run_marked(
        [str(launcher()), "-n", "2", sys.executable, "-c", script], tmp_path, MINUTE
    )
    assert code != 0
    assert "call sstep_verify.ranks.join() on every rank first" in output
    assert left == []
