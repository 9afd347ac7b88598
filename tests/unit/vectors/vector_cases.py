"""Vectors that several tests use, made once."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from sstep_verify.trajectory import Trajectory
from sstep_verify.vectors.choose import Chosen, choose
from sstep_verify.vectors.make import Proved, expected_of, nearest, prove
from sstep_verify.vectors.record import Expected

EVERY_KIND = tuple(range(0, 240, 17))
"""Vectors of all tasks, kernels and s."""


@functools.cache
def made(number: int) -> tuple[Chosen, Proved, Expected]:
    chosen = choose(number)
    proved = prove(chosen.request)
    return chosen, proved, expected_of(chosen.id, chosen.request, proved)


def outside(expected: Expected, states: dict[int, np.ndarray], precision: str = "float64") -> int:
    """How many numbers of a run are further from what is expected than the bound, as a C program counts them."""
    count = 0
    for point in expected.points:
        bounds = np.array(getattr(point, precision).entries)
        count += int((~(np.abs(states[point.iteration] - nearest(point.middles)) <= bounds)).sum())
    return count


def states_of(trajectory: Trajectory) -> dict[int, np.ndarray]:
    return {
        int(iteration): np.asarray(state, dtype=np.float64)
        for iteration, state in zip(trajectory.iterations, trajectory.alphas, strict=True)
    }


def files_of(folder: Path) -> dict[str, bytes]:
    """All files of a folder and those in it, by path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
