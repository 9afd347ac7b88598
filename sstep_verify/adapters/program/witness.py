"""What a program shows besides its a: communication, as it and the interposer count it, and kernel rows.

Kernel rows are those that its windows used, as examples/sstep_trace.h writes them with -DSSTEP_PANEL.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from sstep_verify.adapters.program.numbers import content_of
from sstep_verify.errors import MissingExtraError, NoLogError, ProgramError, RefusedError, WitnessError
from sstep_verify.problems import Problem
from sstep_verify.protocol import RunRequest
from sstep_verify.ranks.interposer import FAULT_INJECTION, WITNESS, preloaded
from sstep_verify.trajectory import COLLECTIVES, TRAFFIC, Panel, Traffic, most_traffic

COUNTS = "counters.txt"

COUNTERS = ("collectives", "words", "windows")
"""Names of the counts that a program may write down."""

PLACE_BYTES = 64
"""Bytes of the file in which a rank says where it is."""

MOST_RECEIVED = 1 << 26
"""Bytes of the digests of one rank that are read."""


def witness_variables(wrapper: str, fault_injection: str, folder: Path) -> dict[str, str]:
    """Environment variables by which the interposer looks at a program, and leaves what it saw in a folder.

    It is built once in a process for every compiler wrapper of an MPI. What it does to the program,
    `fault_injection`, is one of `ranks.interposer.INJECTED_FAULTS`; nothing if empty. RefusedError if it
    cannot be built.
    """
    try:
        loaded = preloaded(shutil.which(wrapper) or wrapper)
    except MissingExtraError as error:
        raise RefusedError(f"witness = {wrapper!r}: {error}") from error
    return {**loaded, WITNESS: str(folder), FAULT_INJECTION: fault_injection}


def witness_names(folder: Path) -> set[str]:
    """Names of the interposer's own files in a folder, also of ranks that nobody asked for."""
    own = re.compile(r"(?:witness|place|seconds)-\d+\.txt|received-\d+\.bin")
    return {name for name in os.listdir(folder) if own.fullmatch(name)}


def read_witness(folder: Path, ranks: int) -> tuple[dict[str, Traffic], np.ndarray]:
    """What the interposer left of a run that ended.

    First what was handed over, of each kind by the rank that had most; then what was received (uint64,
    (P, c)) as in a `Trajectory`: a rank with fewer collectives than another has 0 in their place.
    RefusedError if it saw nothing, WitnessError if ranks are missing or a file is none of it.
    """
    files = sorted(folder.glob("witness-*.txt"))
    if not files:
        raise RefusedError(
            "the witness saw no MPI_Finalize: the program uses no MPI, is linked statically (then it "
            "cannot be witnessed), or has another MPI than the compiler wrapper; leave witness out, or "
            "name the mpicc of its MPI"
        )
    found = [_read(file) for file in files]
    worlds = {size for size, _ in found}
    if worlds != {ranks} or len(files) != ranks:
        raise WitnessError(
            f"{ranks} ranks were started, but {len(files)} ended in worlds of {sorted(worlds)}: a "
            "launcher of another MPI starts every rank in a world of its own"
        )
    return most_traffic([kinds for _, kinds in found]), _received(folder, ranks)


def counted_by(traffic: Mapping[str, Traffic]) -> dict[str, int]:
    """Collectives of all kinds, and words handed to them, as a program counts them.

    A word is a number of 4 or 8 bytes. Where others were handed over too no words are stated.
    """
    found = [traffic[kind] for kind in COLLECTIVES]
    counts = {"collectives": sum(one.calls for one in found)}
    elements, size = (sum(getattr(one, name) for one in found) for name in ("elements", "bytes"))
    if size in (4 * elements, 8 * elements):
        counts["words"] = elements
    return counts


def by_kind(traffic: Mapping[str, Traffic]) -> str:
    """The collectives of each kind that were counted, for messages: ``43 allreduce, 43 barrier``."""
    return ", ".join(f"{traffic[kind].calls} {kind}" for kind in COLLECTIVES if traffic[kind].calls)


def read_places(folder: Path, ranks: int) -> str:
    """Where every rank was at the end, for messages: its last collective, and whether it was in it."""
    return "; ".join(f"rank {rank} {_place(folder / f'place-{rank}.txt')}" for rank in range(ranks))


def _place(path: Path) -> str:
    if not path.exists():
        return "had not left MPI_Init"
    try:
        text = content_of(path, PLACE_BYTES, "place of a rank").decode("ascii", "replace")
    except ProgramError:
        return "left no place"
    found = re.fullmatch(r"(\d+) (in|after) (MPI_\w+)\s*", text, re.ASCII)
    if found is None:
        return "left no place"
    count, state, name = found.groups()
    where = f"was in {name}" if state == "in" else f"had left {name}"
    return f"{where} (collective {count})" if name not in ("MPI_Init", "MPI_Finalize") else where


def _read(path: Path) -> tuple[int, dict[str, Traffic]]:
    """Ranks, and what was handed over by kind, of one rank's file."""
    lines = (
        content_of(path, 4096, "counts of the witness", WitnessError)
        .decode("ascii", "replace")
        .splitlines()
    )
    first = re.fullmatch(r"ranks (\d+)", lines[0] if lines else "", re.ASCII)
    rows = [re.fullmatch(r"(\d+) (\d+) (\d+)", line, re.ASCII) for line in lines[1:]]
    if first is None or len(rows) != len(TRAFFIC) or None in rows:
        raise WitnessError(f"{path.name} is no file of the witness: the program wrote over it")
    counts = [Traffic(*map(int, row.groups())) for row in rows if row]
    return int(first[1]), dict(zip(TRAFFIC, counts, strict=True))


def _received(folder: Path, ranks: int) -> np.ndarray:
    """Digests of what each rank received."""
    found = []
    for rank in range(ranks):
        path = folder / f"received-{rank}.bin"
        content = content_of(path, MOST_RECEIVED, "digests of the witness", WitnessError)
        if len(content) % 8:
            raise WitnessError(f"{path.name} is no file of the witness: the program wrote over it")
        found.append(np.frombuffer(content, "<u8"))
    received = np.zeros((ranks, max(map(len, found))), dtype=np.uint64)
    for row, digests in zip(received, found, strict=True):
        row[: len(digests)] = digests
    return received


def read_counters(folder: Path) -> dict[str, int]:
    """Counts in ``counters.txt``; empty if it is not there, ProgramError if a line is no name and count."""
    path = folder / COUNTS
    if not os.path.lexists(path):
        return {}
    counts: dict[str, int] = {}
    for line in content_of(path, 1 << 12, "counts", NoLogError).decode("ascii", "replace").splitlines():
        name, _, count = line.strip().partition(" ")
        if not name:
            continue
        if name not in COUNTERS or not re.fullmatch(r"\d{1,18}", count.strip(), re.ASCII) or name in counts:
            raise NoLogError(
                f"{COUNTS}: {line.strip()[:60]!r} is not one of {', '.join(COUNTERS)} and a count, each "
                "once"
            )
        counts[name] = int(count)
    return counts


PANEL = "panel.bin"

HEAD = struct.Struct("<qq")
"""Iteration from 0 at which a window begins, and how many float64 follow."""


def read_panels(folder: Path, request: RunRequest, drawn: np.ndarray, rows: str = "K") -> dict[int, Panel]:
    """Read the file of kernel rows of a run that drew `drawn` (H, b), and whose rows hold K or Q.

    Kernel rows of every window that begins where a is recorded, by the iteration at which it begins.
    ProgramError if the file is not there or not whole, or a window is missing, twice there, or of another
    size.
    """
    windows, samples = range(0, request.iterations, request.s), request.problem.samples
    most = 8 * drawn.size * samples + HEAD.size * (len(windows) + 1)
    found: dict[int, np.ndarray] = {}
    for iteration, numbers in _records(content_of(folder / PANEL, most, "kernel rows", NoLogError)):
        if iteration not in windows or iteration in found:
            raise NoLogError(f"{PANEL}: record of iteration {iteration}, where no window begins, or twice")
        found[iteration] = numbers
    if missing := [begin for begin in windows if begin not in found]:
        raise NoLogError(f"{PANEL}: holds no rows of the window that begins at iteration {missing[0]}")
    panels, recorded = {}, set(request.stops)
    for begin in windows:
        own, numbers = drawn[begin : begin + request.s], found[begin]
        if numbers.size != own.size * samples:
            raise NoLogError(
                f"{PANEL}: the record of iteration {begin} has {numbers.size} numbers, but "
                f"{own.size} rows of {samples} are due"
            )
        panel = _panel(begin, own.ravel(), numbers.reshape(own.size, samples), rows, request.problem)
        if begin in recorded:
            panels[begin] = panel
    return panels


def _records(content: bytes) -> Iterator[tuple[int, np.ndarray]]:
    place = 0
    while place < len(content):
        if len(content) - place < HEAD.size:
            raise NoLogError(f"{PANEL} ends within a record, after {len(content)} bytes")
        iteration, count = HEAD.unpack_from(content, place)
        place += HEAD.size
        if not 0 <= 8 * count <= len(content) - place:
            raise NoLogError(f"{PANEL}: iteration {iteration} says {count} numbers; the file ends")
        yield iteration, np.frombuffer(content, "<f8", count, place)
        place += 8 * count


def _panel(begin: int, drawn: np.ndarray, rows: np.ndarray, hold: str, problem: Problem) -> Panel:
    """The distinct rows of a window, as K; a coordinate that is drawn twice has one row."""
    columns, first, own = np.unique(drawn, return_index=True, return_inverse=True)
    if not np.array_equal(rows, rows[first][own], equal_nan=True):
        raise NoLogError(f"{PANEL}: the record of iteration {begin} has two rows for one coordinate")
    entries = rows[first]
    if hold == "Q":  # Labels are signs, so nothing is rounded.
        entries = entries * problem.targets[columns][:, None] * problem.targets
    return Panel(columns, entries)
