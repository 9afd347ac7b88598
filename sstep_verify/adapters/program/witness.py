"""Counts of a program's collectives: as it writes them down, and as the interposer sees them."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import numpy as np

from sstep_verify.adapters.program.numbers import content_of
from sstep_verify.errors import MissingExtraError, ProgramError, RefusedError
from sstep_verify.ranks.interposer import KINDS, NEMESIS, WITNESS, preloaded

COUNTS = "counters.txt"

COUNTERS = ("collectives", "words", "windows")
"""Names of the counts that a program may write down."""

PLACE_BYTES = 64
"""Bytes of the file in which a rank says where it is."""

MOST_RECEIVED = 1 << 26
"""Bytes of the digests of one rank that are read."""


class Witness:
    """The interposer, built once in a process for every compiler wrapper of an MPI.

    What it does to the program, `nemesis`, is one of `launch.interposer.NEMESES`; nothing if empty.
    RefusedError if it cannot be built.
    """

    def __init__(self, wrapper: str, nemesis: str = ""):
        self._nemesis = nemesis
        try:
            self._preloaded = preloaded(shutil.which(wrapper) or wrapper)
        except MissingExtraError as error:
            raise RefusedError(f"witness = {wrapper!r}: {error}") from error

    def variables(self, folder: Path) -> dict[str, str]:
        """Environment variables that let it look, and leave what it saw in a folder."""
        return {**self._preloaded, WITNESS: str(folder), NEMESIS: self._nemesis}

    @staticmethod
    def seen(folder: Path, ranks: int) -> tuple[dict[str, int], np.ndarray]:
        """What it left of a run that ended.

        Returns
        -------
        counters : dict of str to int
            Collectives, and words handed to them, of the rank that had most; 8 bytes a word.
        received : ndarray of uint64, shape (P, c)
            As in a `Trajectory`; a rank with fewer collectives than another has 0 in their place.

        Raises
        ------
        RefusedError
            If it saw nothing: no MPI, or one that is linked statically.
        ProgramError
            If there were not as many ranks as were started.
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
            raise ProgramError(
                f"{ranks} ranks were started, but {len(files)} ended in worlds of {sorted(worlds)}: a "
                "launcher of another MPI starts every rank in a world of its own"
            )
        counters = {
            "collectives": max(sum(calls for calls, _ in kinds) for _, kinds in found),
            "words": max(sum(size for _, size in kinds) // 8 for _, kinds in found),
        }
        return counters, _received(folder, ranks)

    @staticmethod
    def places(folder: Path, ranks: int) -> str:
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


def _read(path: Path) -> tuple[int, list[tuple[int, int]]]:
    """Ranks, and calls and bytes by kind, of one rank's file."""
    lines = content_of(path, 4096, "counts of the witness").decode("ascii", "replace").splitlines()
    rows = [re.fullmatch(r"(?:ranks )?(\d+)(?: (\d+))?", line) for line in lines]
    if len(rows) != 1 + len(KINDS) or None in rows:
        raise ProgramError(f"{path.name} is no file of the witness: the program wrote over it")
    ranks, *kinds = [row.groups(default="0") for row in rows if row]
    return int(ranks[0]), [(int(calls), int(size)) for calls, size in kinds]


def _received(folder: Path, ranks: int) -> np.ndarray:
    """Digests of what each rank received."""
    found = []
    for rank in range(ranks):
        path = folder / f"received-{rank}.bin"
        content = content_of(path, MOST_RECEIVED, "digests of the witness")
        if len(content) % 8:
            raise ProgramError(f"{path.name} is no file of the witness: the program wrote over it")
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
    for line in content_of(path, 1 << 12, "counts").decode("ascii", "replace").splitlines():
        name, _, count = line.strip().partition(" ")
        if not name:
            continue
        if name not in COUNTERS or not re.fullmatch(r"\d{1,18}", count.strip(), re.ASCII) or name in counts:
            raise ProgramError(
                f"{COUNTS}: {line.strip()[:60]!r} is not one of {', '.join(COUNTERS)} and a count, each "
                "once"
            )
        counts[name] = int(count)
    return counts
