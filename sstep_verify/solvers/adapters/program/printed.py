"""Printed results: a in a text that a program writes for people, on standard output or into a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from sstep_verify.errors import InputError, ProgramError
from sstep_verify.inputs import read_whole
from sstep_verify.solvers.adapters.decimals import shown_numbers
from sstep_verify.solvers.adapters.program.places import require_places

OTHER_BYTES = 1 << 20
"""Bytes that a file with a result may hold beside its numbers."""

NUMBER_BYTES = 64
"""Most bytes that a number and the white space beside it take in such a text."""


@dataclass(frozen=True)
class Printed:
    """Where a program that knows nothing of the exchange folder prints its final a.

    Parameters
    ----------
    after : str
        Text after which the numbers follow, between white space; where it stands several times, the last
        one counts. It may be empty for a file, which then holds the numbers and nothing else.
    file : str
        The file, relative to the exchange folder, with places; standard output if empty.
    first : int
        How many entries of a are printed, from the first on; 0 for all m.

    Raises
    ------
    InputError
        If a text is needed and is not there, the file is none of text or leaves the exchange folder, or
        `first` is negative.
    """

    after: str = ""
    file: str = ""
    first: int = 0

    def __post_init__(self) -> None:
        if not self.after and not self.file:
            raise InputError("[final] after is empty: on standard output the numbers follow some text")
        if self.file.endswith(".bin"):
            raise InputError(
                f"[final] file = {self.file!r:.80}: [final] reads text; leave it out, and final.bin of the "
                "exchange folder is read as float64"
            )
        if self.first < 0:
            raise InputError(f"[final] first = {self.first}, but it must be >= 1, or 0 for all of a")
        if self.file:
            require_places(self.file, "[final] file =")
            inside = self.file.removeprefix("{dir}/")
            if ".." in PurePosixPath(inside).parts or inside.startswith("/") or "{dir}" in inside:
                raise InputError(
                    f"[final] file = {self.file!r:.80} leaves the exchange folder; name a file in it, such "
                    "as '{dir}/result.txt'"
                )

    def count(self, samples: int) -> int:
        """How many numbers are printed of an a of m entries; InputError if there are fewer entries."""
        if self.first > samples:
            raise InputError(f"[final] first = {self.first}, but a has only m = {samples} entries")
        return self.first or samples

    def read(self, output: str, folder: Path, count: int, places: dict[str, object]) -> tuple:
        """The numbers and how far each may be from what was printed so; see `printed_numbers`.

        Parameters
        ----------
        output : str
            What the program printed, or the end of it.
        folder : Path
            The exchange folder.
        count : int
            How many numbers there are.
        places : dict
            What stands for the places of the file's name.
        """
        if not self.file:
            return printed_numbers(output, self.after, count)
        text = _content(folder, self.file.removeprefix("{dir}/").format(**places), count)
        if not self.after and (found := len(text.split())) != count:
            raise ProgramError(f"{self.file}: has {found} words, but it must hold {count} numbers alone")
        return printed_numbers(text, self.after, count)


def _content(folder: Path, name: str, count: int) -> str:
    """A file of the exchange folder, which no link may lead out of."""
    path = folder / name
    parent = os.path.realpath(path.parent)
    if not Path(parent).is_relative_to(os.path.realpath(folder)):
        raise ProgramError(f"{name}: lies outside the exchange folder, where a link leads")
    try:
        content = read_whole(path, OTHER_BYTES + NUMBER_BYTES * count, "a result", follow=False)
    except InputError as error:
        raise ProgramError(f"[final] {name}: {str(error).removeprefix(f'{path}: ')}") from error
    return content.decode("utf-8", "replace")


def printed_numbers(output: str, after: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers that follow a text, and how far each may be from what was printed so.

    Parameters
    ----------
    output : str
        What the program printed, or the end of it.
    after : str
        The text; where it stands several times, the last one counts. All of the output if empty.
    count : int
        How many numbers follow, at least.

    Returns
    -------
    values, rounding : ndarray, shape (count,)
        See `rounding_shown`.

    Raises
    ------
    ProgramError
        If the text is not there, or too few numbers follow.
    """
    _, found, rest = output.rpartition(after) if after else ("", "all", output)
    if not found:
        raise ProgramError(f"printed nothing after {after!r}: that text is not in its output")
    words = rest.split()[:count]
    if len(words) < count:
        raise ProgramError(f"printed {len(words)} words after {after!r}, but there must be {count} numbers")
    numbers = shown_numbers([word.encode() for word in words], f"numbers after {after!r}", (count,))
    return numbers.values, numbers.rounding
