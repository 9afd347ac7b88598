"""The command ``solve`` in processes of its own, on one rank or several, and samples to give it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sstep_verify.errors import MissingExtraError
from sstep_verify.ranks.environment import launch_variables, launcher

SAMPLES = 40
PROGRAM = [sys.executable, "-m", "sstep_verify"]
SECONDS = 120


def mpiexec(ranks: int) -> list[str]:
    pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")
    try:
        return [str(launcher()), "-n", str(ranks)]
    except MissingExtraError as error:
        pytest.skip(str(error))


def with_points(folder: Path, *names: str, labels: tuple[int, int] = (1, 2)) -> Path:
    """Write files of samples, which differ, into a folder. Returns the folder."""
    generator = np.random.default_rng(6)
    for name in names:
        rows = generator.normal(size=(SAMPLES, 3))
        lines = [
            f"{labels[int(row.sum() > 0)]} "
            + " ".join(f"{k + 1}:{value:.4f}" for k, value in enumerate(row))
            for row in rows
        ]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="ascii")
    return folder


def solve(folder: Path, *options: str, ranks: int = 0, program=PROGRAM) -> subprocess.CompletedProcess:
    words = [*(mpiexec(ranks) if ranks else []), *program, "solve", *options]
    return subprocess.run(
        words, cwd=folder, env=launch_variables(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=SECONDS, check=False,
    )  # fmt: skip


def alpha_of(path: Path) -> np.ndarray:
    with np.load(path, allow_pickle=False) as found:
        return found["alpha"]
