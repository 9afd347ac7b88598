"""The run folder, version 1: a run as files for a program in any language; see docs/run-folder.md."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from sstep_verify.problems import Problem
from sstep_verify.protocol import RunRequest

DENSE_WORDS = 1 << 22
"""Most entries of data that are written as a dense array too."""


@dataclass(frozen=True, kw_only=True)
class Exchanged:
    """What ``problem.json`` and ``problem.txt`` say, in this order.

    Shape of the data (m, n), and how many entries are stored; the kernel (linear, polynomial or rbf) with
    its parameters; the penalty of a K-SVM, C, or the regularisation of a K-RR, written as ``lambda``;
    iterations per window (s), iterations (H), coordinates a step (b); how many iterations a trace holds;
    1 if a log is wanted, else 0.
    """

    format: Literal["sstep-exchange"] = "sstep-exchange"
    version: Literal[1] = 1
    task: Literal["svm-l1", "svm-l2", "krr"]
    samples: int
    features: int
    entries: int
    kernel: str
    degree: int | None = None
    offset: float | None = None
    sigma: float | None = None
    C: float | None = None
    penalty: float | None = None
    s: int
    iterations: int
    block: int
    points: int
    log: int

    def items(self) -> dict[str, object]:
        """Names and values as they are written; parameters that do not exist here are left out."""
        named = {"lambda" if name == "penalty" else name: value for name, value in asdict(self).items()}
        return {name: value for name, value in named.items() if value is not None}


def described(request: RunRequest, log: bool) -> Exchanged:
    """What a run's files say of it."""
    problem = request.problem
    matrix = sp.csr_array(problem.data)
    given: dict[str, Any] = dict(vars(problem.kernel))
    given["C" if problem.is_svm else "penalty"] = problem.loss.parameter
    return Exchanged(
        task=problem.loss.task,  # type: ignore[arg-type]
        samples=problem.samples,
        features=problem.features,
        entries=int(matrix.nnz),
        kernel=problem.kernel.name,
        s=request.s,
        iterations=request.iterations,
        block=request.stream.block,
        points=len(request.stops),
        log=int(log),
        **given,
    )


def write_folder(
    request: RunRequest,
    folder: Path,
    log: bool,
    *,
    blocks: np.ndarray | None = None,
    initial: np.ndarray | None = None,
) -> None:
    """Write the files of a run into an existing, empty folder; `log` says whether a log is wanted.

    `blocks` and `initial` are coordinates and a0 as the program has them, where that is not how we have
    them. Coordinates that nobody knows yet are not written.
    """
    items = described(request, log).items()
    (folder / "problem.json").write_text(json.dumps(items, indent=1) + "\n", "ascii")
    _write_lines(folder / "problem.txt", (f"{key} {_text(value)}" for key, value in items.items()))
    _write_data(request.problem, folder)
    if blocks is None and request.stream.known:
        blocks = request.blocks()
    if blocks is not None:
        _write_array(folder / "indices.bin", blocks, "<i8")
        _write_lines(folder / "indices.txt", (" ".join(map(str, row)) for row in blocks.tolist()))
    initial = request.first if initial is None else initial
    _write_array(folder / "initial.bin", initial, "<f8")
    _write_lines(folder / "initial.txt", map(repr, np.asarray(initial, dtype=np.float64).tolist()))
    _write_array(folder / "points.bin", request.stops, "<i8")
    _write_lines(folder / "points.txt", map(str, request.stops))


def _write_data(problem: Problem, folder: Path) -> None:
    matrix = sp.csr_array(problem.data, copy=True)
    matrix.sum_duplicates()
    _write_array(folder / "row_starts.bin", matrix.indptr, "<i8")
    _write_array(folder / "columns.bin", matrix.indices, "<i8")
    _write_array(folder / "values.bin", matrix.data, "<f8")
    _write_array(folder / "targets.bin", problem.targets, "<f8")
    if problem.samples * problem.features <= DENSE_WORDS:
        _write_array(folder / "data.bin", problem.dense, "<f8")
    write_samples(folder / "data.svm", matrix, problem.targets)


def write_samples(path: Path, matrix: sp.csr_array, targets: np.ndarray) -> None:
    """Write samples (m, n) and their targets (m,) in LIBSVM format, every number with all its digits."""
    starts, columns = matrix.indptr.tolist(), (matrix.indices + 1).tolist()
    pairs = [f"{j}:{_text(x)}" for j, x in zip(columns, matrix.data.tolist(), strict=True)]
    rows = zip(targets.tolist(), starts[:-1], starts[1:], strict=True)
    _write_lines(path, (" ".join([_text(y), *pairs[a:b]]) for y, a, b in rows))


def _write_array(path: Path, values: Any, kind: str) -> None:
    # NumPy's `tofile` does not say why a disk took less than all.
    path.write_bytes(np.ascontiguousarray(values, dtype=kind).data)


def _text(value: object) -> str:
    """A value as a C program reads it: whole numbers without a point, others with all their digits."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value)


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="ascii") as file:
        file.writelines(f"{line}\n" for line in lines)
