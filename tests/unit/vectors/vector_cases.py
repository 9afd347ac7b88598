"""Vectors that several tests use, made once; how they are changed, and what is said of them then."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sstep_verify.protocol import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.vectors.choose import choose
from sstep_verify.vectors.make import Proved, expected_of, nearest, prove
from sstep_verify.vectors.record import Expected, Index, VectorError, read_record
from sstep_verify.vectors.verify import verify_vector

EVERY_KIND = tuple(range(0, 240, 17))
"""Vectors of all tasks, kernels and s."""

SHORTEST = "001-svm-l2-linear-s1-b1"
RIDGE = "005-krr-polynomial-s3-b1"


@functools.cache
def made(number: int) -> tuple[RunRequest, Proved, Expected]:
    id, request = choose(number)
    proved = prove(request)
    return request, proved, expected_of(id, request, proved)


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


def entries(folder: Path):
    return read_record((folder / "vectors.json").read_bytes(), Index, "index").vectors


def entry_of(folder: Path, name: str):
    return next(entry for entry in entries(folder) if entry.id == name)


def refusal(folder: Path, name: str = SHORTEST) -> str:
    with pytest.raises(VectorError) as caught:
        verify_vector(folder / name, entry_of(folder, name))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def leaves(value: Any, path: tuple = ()) -> Iterator[tuple]:
    """One path to each kind of leaf: of a list the last one, for the first ones often are 0."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from leaves(part, (*path, key))
    elif isinstance(value, list):
        if value:
            yield from leaves(value[-1], (*path, len(value) - 1))
    else:
        yield path


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return float(np.nextafter(value, np.inf)) if value else 1e-300
    if value is None:
        return 1.0
    return value[:-1] + ("7" if value[-1] != "7" else "8")
