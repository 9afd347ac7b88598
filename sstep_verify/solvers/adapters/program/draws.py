"""Draws: how a program that does not take its coordinates from the exchange folder has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sstep_verify.errors import InputError
from sstep_verify.problems import IndexStream
from sstep_verify.problems.draws import SEEDS

LOGGED = "logged"
"""Kind of the draws that a program writes down itself."""


@dataclass(frozen=True)
class Draws:
    """How a program draws its coordinates itself, from the first on.

    Parameters
    ----------
    kind : str
        A generator of `problems.draws`; or logged: it leaves them in the exchange folder, as
        ``indices.txt`` or ``indices.bin``.
    seed : int
        Seed of the generator, from 0 to 2^32 - 1.
    replacement : bool
        Whether the coordinates of a block are drawn with replacement. What comes before the first block
        that holds one twice can be judged, and nothing else (S-2.5); otherwise a number that its block has
        already is drawn again.

    Raises
    ------
    InputError
        If the seed is out of range, or replacement is said of logged draws.
    """

    kind: Literal["glibc-rand", "numpy-mt19937", "numpy-pcg64", "mt19937", "logged"]
    seed: int = 0
    replacement: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.seed < SEEDS:
            raise InputError(f"seed = {self.seed}, but it must lie in 0..{SEEDS - 1}")
        if self.kind == LOGGED and self.replacement:
            raise InputError("replacement is for a generator; logged draws are judged as they are")

    @property
    def logged(self) -> bool:
        """Whether the program itself says what it drew."""
        return self.kind == LOGGED

    def are_of(self, stream: IndexStream) -> bool:
        """Whether a stream is what the program draws."""
        own = (self.kind, self.replacement) if self.logged else (self.kind, self.replacement, self.seed)
        named = (stream.kind, stream.replacement, stream.seed)[: len(own)]
        return named == own and stream.relabel is None

    def __str__(self) -> str:
        """For messages."""
        return self.kind if self.logged else f"{self.kind}, seed {self.seed}"
