"""Exchange folders for the C examples, and the cases of which they are made."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from octave_bound import BLOCK, ITERATIONS, KERNELS, PARAMETER, SAMPLES, Case, cases

from sstep_verify import exchange
from sstep_verify.problems import IndexStream, Problem, kernel_from, loss_from
from sstep_verify.protocol import RunRequest

SEED = 11
CASES = {(case.loss, case.kernel, case.s): case for case in cases() if case.s}
SHORT_LAST_WINDOW = [
    pytest.param(case, id=f"{case.loss}-{case.kernel}") for case in CASES.values() if case.s == 4
]


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
    """Write what a program finds. Returns the folder."""
    folder.mkdir()
    drawn = folder.with_name(f"{folder.name}.npy")
    blocks = blocks_of(case)
    np.save(drawn, blocks)
    kernel = kernel_from(case.kernel, **KERNELS[case.kernel])
    loss = loss_from(case.loss, PARAMETER)
    problem = Problem("case", case.data, case.y, kernel, loss)
    stream = IndexStream("file", SAMPLES, blocks.shape[1], ITERATIONS, path=str(drawn))
    asked = RunRequest(problem, stream, case.s, ITERATIONS, 0, case.start, tuple(points_of(case)))
    exchange.write_folder(asked, folder, log)
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
