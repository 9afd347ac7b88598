"""Faults of one rank in the middle of ``mpiexec -n P sstep-verify solve``: the job ends, says who, leaves nothing."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from launched import run_marked

from sstep_verify.ranks.environment import launcher, promised_size

pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")
pytestmark = [
    pytest.mark.pool_only,
    pytest.mark.skipif(promised_size() > 1, reason="starts jobs of its own"),
]

PROGRAM = str(Path(__file__).with_name("solve_faults.py"))
MINUTE = 60.0
SAMPLES = 24
LIMIT = 2.0
"""Seconds without progress that are allowed here: more than a rank needs for anything on a busy machine."""

OPTIONS = [
    "points", "--task", "svm-l2", "--kernel", "rbf", "--cache", "0", "--exchange", "allreduce",
    "--iterations", "600", "--interval", "600", "--s", "2", "--tolerance", "0", "--out", "r",
]  # fmt: skip


def with_points(folder: Path) -> Path:
    """Write samples into a folder."""
    rows = np.random.default_rng(2).normal(size=(SAMPLES, 3))
    lines = [
        f"{'+1' if row.sum() > 0 else '-1'} "
        + " ".join(f"{k + 1}:{value:.3f}" for k, value in enumerate(row))
        for row in rows
    ]
    (folder / "points").write_text("\n".join(lines) + "\n", encoding="ascii")
    return folder


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A run without a fault, which compiles: a rank that compiles for longer than the limit would be suspected."""
    folder = with_points(tmp_path_factory.mktemp("right"))
    code, output, left = solve(folder, 2, "none", -1, "--hang-limit", str(MINUTE), seconds=4 * MINUTE)
    assert (code, left) == (0, []), output
    assert (folder / "r").exists()


@pytest.fixture
def folder(tmp_path, compiled):
    return with_points(tmp_path)


def solve(folder, ranks, fault, guilty, *options, seconds=MINUTE):
    """Exit code, output and what is left of a run with a fault; it ended within these seconds."""
    words = [str(launcher()), "-n", str(ranks), sys.executable, PROGRAM, fault, str(guilty), "200", "solve"]
    limit = ["--hang-limit", str(LIMIT)]
    return run_marked([*words, *OPTIONS, *limit, *options], folder, seconds)


@pytest.mark.nightly
@pytest.mark.parametrize(("ranks", "fault", "guilty"), [(2, "stopped", 0), (2, "loop", 1)])
def test_a_rank_that_stands_still_ends_the_job_and_is_named(folder, ranks, fault, guilty):
    code, output, left = solve(folder, ranks, fault, guilty)
    assert code == 4, output
    assert f"suspect: rank {guilty}\n" in output
    assert "waits in allreduce" in output
    assert "pass a larger --hang-limit" in output
    assert "lost rank" not in output
    assert left == []
    assert not (folder / "r").exists()


@pytest.mark.nightly
def test_a_collective_left_out_ends_the_job(folder):
    code, output, left = solve(folder, 3, "skipped", 1)
    assert (code, left) == (4, []), output
    assert "suspect: rank 1" in output
