"""Recorded runs in the place of a solver: each request gets the run that was made for it, or is refused."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sstep_verify.campaign.artefact.files import EVERY, Artefact, read_artefact
from sstep_verify.errors import InputError, RefusedError
from sstep_verify.problems import IndexStream
from sstep_verify.protocol import Declaration, Observer, RunRequest
from sstep_verify.runs.make import asked_of
from sstep_verify.trajectory import Asked, Trajectory

MOST_BYTES = 256 << 20
"""Bytes of the arrays of one file: a thousand times what profile ci has."""

Key = tuple[object, ...]


@dataclass(frozen=True)
class RecordedRuns:
    """Runs of a statement, one artefact for each case; a source of runs for a family.

    `names` are the artefacts' folders in `folder`, `declaration` is what the solver says it is, on one
    rank.
    """

    folder: str
    names: tuple[str, ...]
    declaration: Declaration

    def solver(self, ranks: int) -> RecordedSolver:
        """What gives the runs of so many ranks; nothing is read before the first."""
        return RecordedSolver(self, replace(self.declaration, ranks=ranks))

    def artefacts(self) -> tuple[Artefact, ...]:
        """All that is kept, read once in a process; InputError if anything of it cannot be used."""
        return _read(self.folder, self.names)


@functools.lru_cache(maxsize=1)
def _read(folder: str, names: tuple[str, ...]) -> tuple[Artefact, ...]:
    found = tuple(read_artefact(Path(folder, name), MOST_BYTES) for name in names)
    for name, artefact in zip(names, found, strict=True):
        if artefact.check != EVERY:
            raise InputError(
                f"{Path(folder, name)}: holds the runs of {artefact.check} alone, not of a case"
            )
    return found


class RecordedSolver:
    """Gives each run that was recorded for an equal request, in the order in which they were made.

    A run is never bent to a request: problem, stream, s, start, a0, iterations and recorded points must be
    those that it was asked for. What the run had changed of its inputs is changed again.
    """

    foreign = True

    def __init__(self, source: RecordedRuns, declaration: Declaration):
        self.declaration, self._source = declaration, source
        self._left: dict[Key, list[Trajectory]] | None = None

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """The recorded run; RefusedError if none is left that was asked for this."""
        if self._left is None:
            mine = (one for one in self._source.artefacts() if one.case.declaration == self.declaration)
            self._left = _by_request(mine)
        found = self._left.get(_key(request.stream, asked_of(request)), [])
        if not found:
            raise RefusedError(
                f"no such run is recorded: {request.problem.label}, s = {request.s}, {request.iterations} "
                f"iterations from position {request.start} of the stream"
            )
        run = found.pop(0)
        asked = run.asked
        if asked is not None and asked.ended is not None:
            _observed(run, asked.ended, observe)
        for name in asked.changed if asked else ():
            _change(request, name)
        return replace(
            run,
            asked=None,
            log=run.log if request.log else None,
            probes=run.probes if request.probes else None,
        )


def _observed(run: Trajectory, ended: int, observe: Observer | None) -> None:
    """Show the observer what it saw; whether it ends the run there is for it to say."""
    for iteration, alpha in zip(run.iterations.tolist(), run.alphas, strict=False):
        if observe is None or observe(iteration, alpha) or iteration >= ended:
            return


def _by_request(artefacts: Iterable[Artefact]) -> dict[Key, list[Trajectory]]:
    found: dict[Key, list[Trajectory]] = {}
    for artefact in artefacts:
        for run in artefact.trajectories.values():
            if run.asked is not None:
                found.setdefault(_key(artefact.case.stream, run.asked), []).append(run)
    return found


def _key(stream: IndexStream, asked: Asked) -> Key:
    """What a run was asked for; of the stream what all runs of a case share, relabelled ones too."""
    return (
        stream.kind, stream.seed, stream.block, asked.s, asked.start, asked.iterations, asked.points,
        np.asarray(asked.initial, dtype=np.float64).tobytes(), asked.problem, asked.features, asked.panels,
        asked.variant,
    )  # fmt: skip


def _change(request: RunRequest, name: str) -> None:
    """Change a bit of an input, a copy, as the recorded run did; RefusedError where no copy is at hand."""
    first, _, part = name.partition(".")
    array = request.initial if first == "a0" else getattr(request.problem, first, None)
    array = getattr(array, part, None) if part else array
    if not isinstance(array, np.ndarray) or not array.size:
        raise RefusedError(f"the recorded run changed its {name}, which cannot be done again")
    array.setflags(write=True)
    array.reshape(-1).view(np.uint8)[0] ^= 1
