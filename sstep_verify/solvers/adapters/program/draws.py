"""Draws: how a program that does not take its coordinates from the exchange folder has them."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from sstep_verify.errors import InputError, ProgramError, RefusedError, closest
from sstep_verify.problems import IndexStream
from sstep_verify.problems.draws import GENERATORS, SEEDS
from sstep_verify.solver import RunRequest, Solver

LOGGED = "logged"
"""Kind of the draws that a program writes down itself."""

KINDS = (*GENERATORS, LOGGED)

WAYS = (
    'Three ways: it reads {dir}/indices.txt; it logs values and coordinates (writes = "log", [stream] kind '
    '= "logged"); its result alone is judged (check --final). The lines of C: docs/adapters.md, "A program '
    'with draws of its own"'
)
"""What can be done about a program with draws of its own."""

TRIES = 4
"""Other indices that are tried on a program before it is said not to read them."""


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
        If the kind is unknown, the seed is out of range, or replacement is said of logged draws.
    """

    kind: str
    seed: int = 0
    replacement: bool = False

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(
                f"kind = {self.kind!r:.40}{closest(self.kind, KINDS)}; known: {', '.join(KINDS)}. If it "
                f"draws otherwise: {WAYS}"
            )
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


def seconds_of_a_start(solver: Solver, request: RunRequest) -> float:
    """Start a program that leaves its result a few times, with other indices each time; seconds of a start.

    Parameters
    ----------
    solver : Solver
        A program that is to take its coordinates from the exchange folder.
    request : RunRequest
        A short run from zero.

    Returns
    -------
    float
        0 if a run fails, of which nothing is said here.

    Raises
    ------
    InputError
        If it ends in the same a, which is not 0, whatever the indices.
    """
    own = set(request.stream.blocks(0, 1)[0].tolist())
    others = (replace(request.stream, relabel=seed) for seed in range(1, 64))
    streams = [one for one in others if set(one.blocks(0, 1)[0].tolist()) != own]
    found: list[np.ndarray] = []
    begin = time.perf_counter()
    try:
        for stream in [request.stream, *streams[: TRIES - 1]]:
            found.append(solver.run(replace(request, stream=stream)).final)
            if not np.array_equal(found[0], found[-1]) or not found[0].any():
                break
    except (ProgramError, RefusedError):
        return 0.0
    seconds = (time.perf_counter() - begin) / len(found)
    if found[0].any() and len(found) > 1 and np.array_equal(found[0], found[-1]):
        raise InputError(
            f"program {solver.declaration.name!r}: it does not read the indices: {len(found)} runs of "
            f"{request.iterations} iterations on other coordinates ended in the same a. {WAYS}"
        )
    return seconds
