"""What a program left in its exchange folder, read strictly."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from sstep_verify.errors import InputError, ProgramError
from sstep_verify.inputs import read_whole
from sstep_verify.problems.streams import require_blocks
from sstep_verify.solvers.adapters.decimals import Numbers, shown_numbers

TEXT_BYTES = 32
"""Most bytes that a number and the white space beside it take in a text file."""

COUNTS = "counters.txt"

COUNTERS = ("collectives", "words", "windows")
"""Names of the counts that a program may write down."""


def read_numbers(folder: Path, name: str, shape: tuple[int, ...]) -> Numbers | None:
    """The numbers of ``NAME.bin`` or ``NAME.txt``; None if there is neither.

    Parameters
    ----------
    folder : Path
        The exchange folder.
    name : str
        log, trace or final.
    shape : tuple of int
        How many there must be.

    Raises
    ------
    ProgramError
        If both are there, there are too few or too many numbers, or something is no number.
    """
    count = int(np.prod(shape))
    path, content = _whole(folder, name, count, "numbers")
    if path is None:
        return None
    if path.suffix == ".bin":
        values = np.frombuffer(content, dtype="<f8").astype(np.float64).reshape(shape)
        return Numbers(values, np.zeros(shape))
    words = content.split()
    if len(words) != count:
        raise ProgramError(f"{name}.txt has {len(words)} numbers, but there must be {count}")
    return shown_numbers(words, f"{name}.txt", shape)


def _whole(folder: Path, name: str, count: int, what: str) -> tuple[Path | None, bytes]:
    """The one of ``NAME.bin`` and ``NAME.txt`` that is there, and what it holds; None if neither is."""
    binary, text = folder / f"{name}.bin", folder / f"{name}.txt"
    found = [path for path in (binary, text) if path.exists() or path.is_symlink()]
    if not found:
        return None, b""
    if len(found) > 1:
        raise ProgramError(f"left both {name}.bin and {name}.txt; one of them is wanted")
    most = 8 * (count + 1) if found[0] is binary else TEXT_BYTES * (count + 1)
    try:
        content = read_whole(found[0], most, f"{count} {what}", follow=False)
    except InputError as error:
        raise ProgramError(f"{name}: {str(error).removeprefix(f'{found[0]}: ')}") from error
    if found[0] is binary and len(content) != 8 * count:
        kind = "float64" if what == "numbers" else "int64"
        raise ProgramError(f"{name}.bin has {len(content)} bytes, but {count} {kind} have {8 * count}")
    return found[0], content


def read_draws(folder: Path, shape: tuple[int, int], samples: int) -> np.ndarray:
    """The coordinates that a program says it drew, from ``indices.bin`` or ``indices.txt``; int64.

    Parameters
    ----------
    folder : Path
        The exchange folder.
    shape : (int, int)
        Iterations and coordinates of each (H, b).
    samples : int
        Number of samples (m).

    Raises
    ------
    ProgramError
        If neither or both are there, there are too few or too many, something is no integer in 0..m-1, or
        a block holds one twice.
    """
    path, content = _whole(folder, "indices", int(np.prod(shape)), "integers")
    if path is None:
        raise ProgramError("left no indices.bin or indices.txt, the coordinates that it drew")
    if path.suffix == ".bin":
        drawn = np.frombuffer(content, dtype="<i8").astype(np.int64)
    else:
        words = content.split()
        wrong = next((word for word in words if not re.fullmatch(rb"\d{1,18}", word)), None)
        if wrong is not None:
            raise ProgramError(f"indices.txt: {wrong.decode('ascii', 'replace')[:40]!r} is no index")
        drawn = np.array([int(word) for word in words], dtype=np.int64)
    if drawn.size != shape[0] * shape[1]:
        raise ProgramError(
            f"{path.name} has {drawn.size} coordinates, but there must be {shape[0]} x {shape[1]}"
        )
    try:
        require_blocks(drawn.reshape(shape), samples, path.name)
    except InputError as error:
        raise ProgramError(f"{error} (S-2.5)") from error
    return drawn.reshape(shape)


def read_ranks(folder: Path, ranks: int, samples: int) -> list[np.ndarray]:
    """What every rank says its a is at the end, ``rank-R.bin``; none if no rank does.

    Raises
    ------
    ProgramError
        If some ranks do and others do not, one does not leave m float64, or there is a file of a rank that
        was not started.
    """
    left = {path.name for path in folder.glob("rank-*")}
    if not left:
        return []
    due = {f"rank-{rank}{end}" for rank in range(ranks) for end in (".bin", ".txt")}
    if others := sorted(left - due):
        raise ProgramError(
            f"left {others[0]}, but it was started on {ranks} rank{'s' * (ranks > 1)}: rank-R.bin holds "
            f"the a of rank R, with R from 0 to {ranks - 1}"
        )
    found = [read_numbers(folder, f"rank-{rank}", (samples,)) for rank in range(ranks)]
    if missing := [rank for rank, numbers in enumerate(found) if numbers is None]:
        raise ProgramError(
            f"rank-{missing[0]}.bin is not there, but others are: all {ranks} ranks leave their a, or none"
        )
    return [numbers.values for numbers in found if numbers is not None]


def read_counters(folder: Path) -> dict[str, int]:
    """Counts in ``counters.txt``; empty if it is not there.

    Raises
    ------
    ProgramError
        If a line is not a known name and a count.
    """
    path = folder / COUNTS
    if not path.exists() and not path.is_symlink():
        return {}
    try:
        lines = read_whole(path, 1 << 12, "counts", follow=False).decode("ascii", "replace").splitlines()
    except InputError as error:
        raise ProgramError(f"counters.txt: {str(error).removeprefix(f'{path}: ')}") from error
    counts: dict[str, int] = {}
    for line in filter(None, map(str.strip, lines)):
        name, _, count = line.partition(" ")
        if name not in COUNTERS or not re.fullmatch(r"\d{1,18}", count.strip(), re.ASCII) or name in counts:
            raise ProgramError(
                f"counters.txt: {line[:60]!r} is not one of {', '.join(COUNTERS)} and a count, each once"
            )
        counts[name] = int(count)
    return counts
