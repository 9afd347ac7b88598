"""Probes: the kernel rows that a program used, as examples/sstep_trace.h writes them with -DSSTEP_PROBE."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.inputs import read_whole
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.adapters.program.results import ProgramError
from sstep_verify.trajectory import Panel

FILE = "probe.bin"

QUANTITIES = ("panel", "gradient", "eta", "theta")
"""Names of records; kernel rows are read, the others are for who looks for a mistake."""

HEAD = struct.Struct("<8sqq")
"""Name, iteration from 0, and how many float64 follow."""


def read_panels(folder: Path, request: RunRequest) -> dict[int, Panel]:
    """Kernel rows of every window that begins where a is recorded, by the iteration at which it begins.

    Parameters
    ----------
    folder : Path
        The exchange folder.
    request : RunRequest
        The run.

    Raises
    ------
    ProgramError
        If the file is not there or not whole, or a window is missing, twice there, or of another size.
    """
    windows = range(0, request.iterations, request.s)
    rows = request.iterations * request.stream.block
    # Of each step the kernel rows, b residuals or a gradient, a system, b increments, and four heads.
    most = 8 * rows * (request.problem.samples + request.stream.block + 2) + 4 * HEAD.size * (rows + 1)
    try:
        content = read_whole(folder / FILE, most, "probes", follow=False)
    except InputError as error:
        raise ProgramError(f"{FILE}: {str(error).removeprefix(f'{folder / FILE}: ')}") from error
    found: dict[int, Panel] = {}
    for name, iteration, numbers in _records(content):
        if name != "panel":
            continue
        if iteration not in windows or iteration in found:
            raise ProgramError(
                f"{FILE}: a panel of iteration {iteration}, where no window begins, or twice"
            )
        found[iteration] = _panel(request, iteration, numbers)
    if missing := [begin for begin in windows if begin not in found]:
        raise ProgramError(f"{FILE}: holds no panel of the window that begins at iteration {missing[0]}")
    return {begin: panel for begin, panel in found.items() if begin in request.stops}


def _records(content: bytes) -> list[tuple[str, int, np.ndarray]]:
    found, place = [], 0
    while place < len(content):
        if len(content) - place < HEAD.size:
            raise ProgramError(f"{FILE} ends within a record, after {len(content)} bytes")
        padded, iteration, count = HEAD.unpack_from(content, place)
        name, place = padded.rstrip(b"\0").decode("ascii", "replace"), place + HEAD.size
        if name not in QUANTITIES:
            raise ProgramError(f"{FILE}: {name!r} is none of {', '.join(QUANTITIES)}")
        if not 0 <= 8 * count <= len(content) - place:
            raise ProgramError(
                f"{FILE}: {name} of iteration {iteration} says {count} numbers; the file ends"
            )
        found.append((name, iteration, np.frombuffer(content, "<f8", count, place)))
        place += 8 * count
    return found


def _panel(request: RunRequest, begin: int, numbers: np.ndarray) -> Panel:
    """The distinct rows of a window; a coordinate that is drawn twice has one row."""
    end = min(begin + request.s, request.iterations)
    drawn = request.stream.blocks(request.start + begin, request.start + end).ravel()
    if numbers.size != drawn.size * request.problem.samples:
        raise ProgramError(
            f"{FILE}: the panel of iteration {begin} has {numbers.size} numbers, but {drawn.size} rows of "
            f"{request.problem.samples} are due"
        )
    columns, first, own = np.unique(drawn, return_index=True, return_inverse=True)
    rows = numbers.reshape(drawn.size, -1).astype(np.float64)
    if not np.array_equal(rows, rows[first][own], equal_nan=True):
        raise ProgramError(f"{FILE}: the panel of iteration {begin} has two rows for one coordinate")
    return Panel(columns, rows[first])
