"""Changes after which a run folder is not what its program may take."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from octave_bound import ITERATIONS

REFUSED, FAILED = 65, 74
"""Exit codes of the header: what the program does not take, and what is not as it has to be."""


def line(name: str, value: str):
    """A change of a line of problem.txt; of no value, the line goes."""

    def change(folder: Path) -> None:
        lines = (folder / "problem.txt").read_text().splitlines()
        kept = [f"{name} {value}" if text.split()[0] == name else text for text in lines]
        (folder / "problem.txt").write_text("".join(text + "\n" for text in kept if text != f"{name} "))

    return change


def shorter(name: str, by: int):
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size - by)


def longer(name: str):
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes() + bytes(8))


def number(name: str, place: int, value: int):
    def change(folder: Path) -> None:
        numbers = np.fromfile(folder / name, "<i8")
        numbers[place] = value
        numbers.tofile(folder / name)

    return change


def block_of_two(folder: Path) -> None:
    """Half the iterations, of two coordinates each."""
    line("block", "2")(folder)
    line("iterations", str(ITERATIONS // 2))(folder)
    points = np.minimum(np.fromfile(folder / "points.bin", "<i8"), ITERATIONS // 2)
    points.tofile(folder / "points.bin")
