"""Errors of ``solve`` on several ranks: one message, one exit code, and no rank left waiting."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest
from solve_runs import PROGRAM, SECONDS, mpiexec, solve, with_points

from sstep_verify.ranks.environment import launch_variables, promised_size

pytestmark = pytest.mark.skipif(promised_size() > 1, reason="starts jobs of its own")


@pytest.fixture
def folder(tmp_path):
    return with_points(tmp_path, "points", "more")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        pytest.param(
            ["points", "--task", "svm-l3", "--out", "r"], "'svm-l3' is not one of",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            ["pointz", "--task", "svm-l1", "--out", "r"], "data set 'pointz' is neither",
            marks=pytest.mark.nightly,
        ),
        (["bad", "--task", "svm-l1", "--out", "r"], "line 2"),
        pytest.param(
            ["points", "--task", "svm-l1", "--out", "there", "--resume"],
            "there.checkpoint: is not a whole checkpoint", marks=pytest.mark.nightly,
        ),
    ],
)  # fmt: skip
def test_a_mistake_ends_all_ranks_with_code_2_and_one_message(folder, options, words):
    (folder / "bad").write_text("1 1:1\n2 1:x\n", encoding="ascii")
    (folder / "there").write_bytes(b"before")
    if "--resume" in options:
        (folder / "there.checkpoint").write_bytes(b"half")
    before = sorted(path.name for path in folder.iterdir())
    done = solve(folder, *options, ranks=2)
    assert done.returncode == 2, done.stdout + done.stderr
    assert done.stderr.count(words) == 1
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in folder.iterdir()) == before
    assert (folder / "there").read_bytes() == b"before"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["solve", "--help"], 0, "Usage:"),
        pytest.param(["--help"], 0, "Usage:", marks=pytest.mark.nightly),
        pytest.param(["solve", "points"], 2, "Usage:", marks=pytest.mark.nightly),
        pytest.param(["salve"], 2, "no such command", marks=pytest.mark.nightly),
    ],
)
def test_help_and_usage_errors_of_a_job_are_printed_once(folder, words, code, said):
    done = subprocess.run(
        [*mpiexec(2), *PROGRAM, *words], cwd=folder, env=launch_variables(), stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == code, done.stderr
    assert (done.stdout + done.stderr).count(said) == 1


def test_tasks_that_no_mpi_joined_are_refused(folder):
    for place, words in (("0", "error: srun started 4 tasks"), ("3", "")):
        step = {**launch_variables(), "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": place}
        done = subprocess.run(
            [*PROGRAM, "solve", "points", "--task", "svm-l1", "--out", "r"], cwd=folder, env=step,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
        assert done.returncode == 2
        assert done.stderr.startswith(words)
        assert bool(done.stderr) == bool(words)
    assert not (folder / "r").exists()


FAULT = """
import os
import sys
from sstep_verify.cli import work
from sstep_verify.solver.training import files, pipeline
from sstep_verify.errors import InputError
from sstep_verify.solver.panels.panel import Panel
work.GRACE = 0.5
if os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK")) == "1":
    def fail(*arguments, **options):
        raise {error}
    {place} = fail
from sstep_verify.cli.main import main
main()
"""


@pytest.mark.parametrize(
    ("place", "error", "code", "words"),
    [
        pytest.param(
            "files.Problem",
            "InputError('no such thing')",
            2,
            "error: rank 1: no such thing",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "files.Problem",
            "MemoryError('no room')",
            4,
            "rank 1: MemoryError: no room",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "pipeline.Training",
            "InputError('not here')",
            2,
            "rank 1 of 2 alone: error: not here",
            marks=pytest.mark.nightly,
        ),
        pytest.param(
            "pipeline.Training",
            "RuntimeError('lost')",
            4,
            "rank 1 of 2 ends the job",
            marks=pytest.mark.nightly,
        ),
        ("Panel.partial", "RuntimeError('lost')", 4, "rank 1: RuntimeError: lost"),
    ],
)
def test_an_error_of_one_rank_ends_all_and_names_it(folder, place, error, code, words):
    program = [sys.executable, "-c", FAULT.format(place=place, error=error)]
    begin = time.monotonic()
    done = solve(
        folder, "points", "--task", "svm-l1", "--kernel", "rbf", "--out", "r", "--cache", "0", ranks=2,
        program=program,
    )  # fmt: skip
    # A job that one rank ends has the code of the rank that mpiexec hears of last: its own, or that of one
    # which mpiexec has killed meanwhile.
    aborted = "MPI_Abort" in done.stderr
    assert done.returncode in ({code, signal.SIGKILL} if aborted else {code}), done.stdout + done.stderr
    assert done.stderr.count(words) == 1
    assert time.monotonic() - begin < 60
    assert not (folder / "r").exists()


@pytest.mark.parametrize("others", [1, pytest.param(3, marks=pytest.mark.nightly)])
def test_a_file_that_one_rank_does_not_see_is_reported_once(folder, others):
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    words = [*PROGRAM, "solve", "points", "--task", "svm-l1", "--out", "r"]
    done = subprocess.run(
        [*mpiexec(others), *words, ":", "-n", "1", "-wdir", str(elsewhere), *words], cwd=folder,
        env=launch_variables(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=SECONDS,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert done.stderr.strip().splitlines() == [
        f"error: rank {others}: points: cannot be read as a LIBSVM file: No such file or directory"
    ]
    assert not (folder / "r").exists()


@pytest.mark.nightly
def test_a_job_is_resumed_on_as_many_ranks(folder):
    words = ["points", "--task", "svm-l1", "--out", "r", "--tolerance", "0", "--interval", "16"]
    assert solve(folder, *words, "--iterations", "64", ranks=2).returncode == 0
    done = solve(folder, *words, "--iterations", "128", "--resume", ranks=4)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert "was made with ranks = 2, but this run has ranks = 4" in line
