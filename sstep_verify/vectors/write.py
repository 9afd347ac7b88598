"""Writes vectors: a folder each, an index and a README, all of it or nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from sstep_verify.errors import InputError
from sstep_verify.outputs import Output, claim, shortened, whole_folder
from sstep_verify.vectors import layout
from sstep_verify.vectors.choose import choose
from sstep_verify.vectors.make import expected_of, prove
from sstep_verify.vectors.record import Entry

MOST_VECTORS = 999
"""Most vectors of a folder: their names begin with three digits."""


def write_vectors(
    folder: str | Path, count: int, replace: bool = False, told: Callable[[int], object] = lambda made: None
) -> list[Entry]:
    """Make the first vectors and write them.

    Parameters
    ----------
    folder : str or Path
        Where; made with its parents.
    count : int
        How many, 1 to `MOST_VECTORS`; the same ones in every call.
    replace : bool
        Whether vectors that are there may be replaced.
    told : callable
        Called with 1 after each.

    Returns
    -------
    list of Entry
        The index.

    Raises
    ------
    InputError
        If the number is out of range, or the folder cannot be written or holds anything but vectors.
    """
    if not 1 <= count <= MOST_VECTORS:
        raise InputError(f"{count} vectors asked for; there are 1 to {MOST_VECTORS}")
    if os.path.isdir(folder):  # Before --force is advised, which is refused then.
        _refuse_foreign(Path(folder))
    with claim([Output("DIR", folder, replace, folder=True)]) as (target,):
        _refuse_foreign(target)
        with whole_folder(target) as partial:
            entries = []
            for number in range(count):
                entries.append(write_vector(number, partial))
                told(1)
            (partial / layout.INDEX_NAME).write_bytes(layout.index_file(entries))
            (partial / layout.README_NAME).write_bytes(layout.readme())
    return entries


def write_vector(number: int, parent: Path) -> Entry:
    """Make one vector and write its folder; returns its line of the index."""
    chosen = choose(number)
    expected = expected_of(chosen.id, chosen.request, prove(chosen.request))
    folder = parent / chosen.id
    folder.mkdir()
    layout.write_problem(chosen.request, folder)
    for name, content in layout.expected_files(expected).items():
        (folder / name).write_bytes(content)
    files = {name: (folder / name).read_bytes() for name in layout.FILES}
    return layout.entry(chosen.request, expected, files)


def _refuse_foreign(target: Path) -> None:
    """Raise InputError if a folder, where it is there, holds anything that is not ours."""
    names = [entry.name for entry in target.iterdir()] if target.is_dir() else []
    if foreign := sorted(name for name in names if not layout.is_ours(name)):
        raise InputError(
            f"DIR {shortened(target)} holds {shortened(foreign[0])!r}, which is no part of vectors; "
            "writing them would remove it. Name another folder"
        )
