"""``solve`` whose rank is killed leaves no process, and goes on from its checkpoint to the same bits."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from command import command
from solve_runs import PROGRAM, SECONDS, alpha_of, mpiexec, solve, with_points

from sstep_verify.ranks.environment import launch_variables, promised_size
from sstep_verify.solver.training.checkpoint import read_checkpoint

pytestmark = pytest.mark.skipif(promised_size() > 1, reason="starts jobs of its own")

LONG = [
    "points", "--task", "svm-l2", "--kernel", "rbf,sigma=0.5", "--s", "2", "--exchange", "allreduce",
    "--cache", "1200", "--iterations", "8000", "--interval", "1000", "--tolerance", "0",
]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    return with_points(tmp_path, "points", "more")


@pytest.mark.nightly
@pytest.mark.parametrize("ranks", [2])
def test_a_killed_run_goes_on_to_the_same_bits(folder, ranks, monkeypatch):
    whole = solve(folder, *LONG, "--out", "whole.npz", ranks=ranks)
    assert whole.returncode == 0, whole.stderr
    words = [*mpiexec(ranks), *PROGRAM, "solve", *LONG, "--out", "killed.npz"]
    checkpoint = folder / "killed.npz.checkpoint"
    with open(folder / "log", "w", encoding="utf-8") as log:
        job = subprocess.Popen(words, cwd=folder, env=launch_variables(), stdin=subprocess.DEVNULL,
                               stdout=log, stderr=log)  # fmt: skip
        try:
            end = time.monotonic() + SECONDS
            while not checkpoint.exists() and time.monotonic() < end:
                time.sleep(0.001)
            os.kill(_rank_of(folder, ranks - 1), signal.SIGKILL)
            assert job.wait(60) != 0
            assert f"lost rank {ranks - 1} " in (folder / "log").read_text("utf-8")
        finally:
            job.kill()
    assert not (folder / "killed.npz").exists()
    assert _rank_of(folder, 0) is None, "no process may be left"
    monkeypatch.chdir(folder)
    code, _, err = command("solve", *LONG, "--out", "killed.npz")
    assert code == 2
    assert "checkpoint: is there already; pass --resume to continue from it" in err
    done = solve(folder, *LONG, "--out", "killed.npz", "--resume", ranks=ranks)
    assert done.returncode == 0, done.stderr
    begun = int(done.stderr.split("continues from iteration ")[1].split()[0])
    assert 1000 <= begun < 8000
    assert alpha_of(folder / "killed.npz").tobytes() == alpha_of(folder / "whole.npz").tobytes()
    code, _, err = command("solve", *LONG, "--out", "killed.npz", "--resume")
    assert code == 2
    assert f"made with ranks = {ranks}, but this run has ranks = 1" in err


@pytest.mark.usefixtures("signals_as_usual")
@pytest.mark.parametrize(
    ("number", "ranks"),
    [
        (signal.SIGINT, 0),
        (signal.SIGTERM, 2),
        pytest.param(signal.SIGTERM, 0, marks=pytest.mark.nightly),
        pytest.param(signal.SIGINT, 2, marks=pytest.mark.nightly),
    ],
    ids=str,
)
def test_what_was_reached_is_kept_when_the_job_is_asked_to_end(folder, number, ranks):
    """The first checkpoint is written at once; the next would be due in ten minutes."""
    endless = [word if word != "8000" else "100000000" for word in LONG]
    words = [*(mpiexec(ranks) if ranks else []), *PROGRAM, "solve", *endless, "--out", "killed.npz"]
    checkpoint = folder / "killed.npz.checkpoint"
    with open(folder / "log", "w", encoding="utf-8") as log:
        job = subprocess.Popen(words, cwd=folder, env=launch_variables(), stdin=subprocess.DEVNULL,
                               stdout=log, stderr=log)  # fmt: skip
        try:
            end = time.monotonic() + SECONDS
            while not checkpoint.exists() and time.monotonic() < end:
                time.sleep(0.001)
            process = _rank_of(folder, 0) if ranks else job.pid
            enough = _processor_seconds(process) + 0.4
            while _processor_seconds(process) < enough and time.monotonic() < end:
                time.sleep(0.01)
            job.send_signal(number)
            assert job.wait(SECONDS) == 130, (folder / "log").read_text("utf-8")
        finally:
            job.kill()
    assert read_checkpoint(checkpoint).place.iteration > 1000
    said = (folder / "log").read_text("utf-8")
    assert "interrupted: --resume continues from iteration " in said
    assert len([line for line in said.splitlines() if line.startswith("interrupted")]) == 1, said
    assert _rank_of(folder, 0) is None, "no process may be left"


def _processor_seconds(process: int) -> float:
    """What a process has computed, which a busy machine gives it later."""
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _rank_of(folder: Path, rank: int) -> int | None:
    """Process of a rank of the job that writes killed.npz in this folder."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            variables = (entry / "environ").read_bytes().split(b"\0")
            here = (entry / "cwd").resolve() == folder.resolve()
        except OSError:
            continue
        if here and b"killed.npz" in words and f"PMI_RANK={rank}".encode() in variables:
            return int(entry.name)
    return None
