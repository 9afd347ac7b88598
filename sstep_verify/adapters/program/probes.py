"""Probes: what a program used in its steps, as examples/sstep_trace.h writes it with -DSSTEP_PROBE."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from sstep_verify.adapters.program.numbers import content_of
from sstep_verify.errors import ProgramError
from sstep_verify.problems import Problem
from sstep_verify.solver import RunRequest
from sstep_verify.trajectory import Panel, Probes

FILE = "probe.bin"

STEPPED = ("gradient", "eta", "theta")
"""Names of records of a step."""

QUANTITIES = ("panel", *STEPPED)
"""Names of records."""

HEAD = struct.Struct("<8sqq")
"""Name, iteration from 0, and how many float64 follow."""


def read_probes(
    folder: Path, request: RunRequest, drawn: np.ndarray, panel: str = "K"
) -> tuple[dict[int, Panel], Probes | None]:
    """Read the file of probes of a run that drew `drawn` (H, b), and whose rows hold K or Q.

    Kernel rows of every window that begins where a is recorded, by the iteration at which it begins, none
    where they were not asked for; and what every step used, None where that was not asked for. ProgramError
    if the file is not there or not whole, a window is missing, twice there, or of another size, or a
    quantity is there for some steps and not for others.
    """
    windows, samples = range(0, request.iterations, request.s), request.problem.samples
    steps, block = drawn.shape
    # Of each step the kernel rows, b residuals or a gradient, a system, b increments, and four heads.
    most = 8 * drawn.size * (samples + block + 2) + 4 * HEAD.size * (drawn.size + 1)
    found: dict[str, dict[int, np.ndarray]] = {name: {} for name in QUANTITIES}
    for name, iteration, numbers in _records(content_of(folder / FILE, most, "probes")):
        allowed = windows if name == "panel" else range(steps)
        if iteration not in allowed or iteration in found[name]:
            where = "where no window begins" if name == "panel" else f"of {steps}"
            raise ProgramError(f"{FILE}: record {name} of iteration {iteration}, {where}, or twice")
        found[name][iteration] = numbers
    if missing := [begin for begin in windows if begin not in found["panel"]]:
        raise ProgramError(f"{FILE}: holds no panel of the window that begins at iteration {missing[0]}")
    rows = np.zeros((steps, block, samples))
    panels = {}
    for begin in windows:
        window = slice(begin, begin + request.s)
        own, numbers = rows[window], found["panel"][begin]
        if numbers.size != own.size:
            raise ProgramError(
                f"{FILE}: the panel of iteration {begin} has {numbers.size} numbers, but "
                f"{own.shape[0] * block} rows of {samples} are due"
            )
        own[:] = labelled(numbers.reshape(own.shape), drawn[window], panel, request.problem)
        panels[begin] = _panel(begin, drawn[window], own)
    shown = set(request.stops) if request.expose_panels else set()
    panels = {begin: panel for begin, panel in panels.items() if begin in shown}
    if not request.probes:
        return panels, None
    shapes = ((steps, block), (steps, block, block), (steps, block))
    of_steps = [_of_steps(name, found[name], shape) for name, shape in zip(STEPPED, shapes, strict=True)]
    return panels, Probes(rows, *of_steps)


def labelled(rows: np.ndarray, drawn: np.ndarray, panel: str, problem: Problem) -> np.ndarray:
    """Rows K, shape (..., m), from rows in a convention, K or Q, or the other way round; (...) coordinates.

    Labels are signs, so exactly.
    """
    if panel == "K":
        return rows
    return rows * problem.targets[drawn][..., None] * problem.targets


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


def _of_steps(name: str, found: dict[int, np.ndarray], shape: tuple[int, ...]) -> np.ndarray | None:
    """A quantity of all steps; None where no step has it."""
    if not found:
        return None
    if missing := [step for step in range(shape[0]) if step not in found]:
        raise ProgramError(f"{FILE}: holds no {name} of iteration {missing[0]}, but of others")
    due = int(np.prod(shape[1:]))
    for step, numbers in found.items():
        if numbers.size != due:
            raise ProgramError(
                f"{FILE}: the {name} of iteration {step} has {numbers.size} numbers, but {due} are due"
            )
    return np.array([found[step] for step in range(shape[0])], dtype=np.float64).reshape(shape)


def _panel(begin: int, drawn: np.ndarray, rows: np.ndarray) -> Panel:
    """The distinct rows of a window; a coordinate that is drawn twice has one row."""
    columns, first, own = np.unique(drawn.ravel(), return_index=True, return_inverse=True)
    rows = rows.reshape(drawn.size, -1)
    if not np.array_equal(rows, rows[first][own], equal_nan=True):
        raise ProgramError(f"{FILE}: the panel of iteration {begin} has two rows for one coordinate")
    return Panel(columns, rows[first])
