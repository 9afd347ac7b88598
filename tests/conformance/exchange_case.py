"""Exchange folders written by hand for the C examples, and the exact trajectory they are compared with."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path

import numpy as np
from octave_bound import BLOCK, FEATURES, ITERATIONS, KERNELS, PARAMETER, SAMPLES, Case

SEED = 11


def blocks_of(case: Case) -> np.ndarray:
    """The coordinates that a program draws: blocks for K-RR, their first coordinates for K-SVM."""
    return case.blocks if case.loss == "krr" else case.blocks[:, :1]


def points_of(case: Case) -> list[int]:
    """The start, the ends of windows, H."""
    return [0, *(window[-1] + 1 for window in case.windows())]


def drawn_by_rand(case: Case) -> Case:
    """The case from zero with coordinates by the C library's ``srand(SEED); rand() % m``."""
    library = ctypes.CDLL(None)
    library.srand(SEED)
    blocks = np.zeros((ITERATIONS, BLOCK), dtype=np.int64)
    width = blocks_of(case).shape[1]
    for block in blocks:
        found: list[int] = []
        while len(found) < width:
            i = library.rand() % SAMPLES
            if i not in found:
                found.append(i)
        block[:width] = found
    return replace(case, blocks=blocks, start=np.zeros(SAMPLES))


def write_folder(folder: Path, case: Case, log: bool = True) -> Path:
    """Write what a program finds; entries are all stored but zeros. Returns the folder."""
    folder.mkdir()
    stored = [np.flatnonzero(row) for row in case.data]
    columns, blocks, points = np.concatenate(stored), blocks_of(case), points_of(case)
    names = {
        "format": "sstep-exchange", "version": 1, "task": case.loss, "samples": SAMPLES, "features": FEATURES,
        "entries": columns.size, "kernel": case.kernel, **KERNELS[case.kernel],
        "lambda" if case.loss == "krr" else "C": PARAMETER, "s": case.s, "iterations": ITERATIONS,
        "block": blocks.shape[1], "points": len(points), "log": int(log),
    }  # fmt: skip
    (folder / "problem.txt").write_text("".join(f"{name} {value}\n" for name, value in names.items()))
    for name, numbers, kind in (
        ("targets", case.y, "<f8"),
        ("row_starts", np.cumsum([0, *map(len, stored)]), "<i8"),
        ("columns", columns, "<i8"),
        ("values", case.data[case.data != 0], "<f8"),
        ("data", case.data, "<f8"),
        ("indices", blocks, "<i8"),
        ("initial", case.start, "<f8"),
        ("points", points, "<i8"),
    ):
        np.asarray(numbers).astype(kind).tofile(folder / f"{name}.bin")
    return folder


def write_samples(path: Path, case: Case) -> Path:
    """Write the samples as LIBSVM text. Returns the path."""
    rows = zip(case.y.tolist(), case.data.tolist(), strict=True)
    path.write_text(
        "".join(
            f"{target!r} {' '.join(f'{k}:{x!r}' for k, x in enumerate(row, 1) if x)}\n"
            for target, row in rows
        )
    )
    return path
