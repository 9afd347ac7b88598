"""Recorded runs judged again, in the place of those of a solver, and what then follows compared."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from decimal import Context, Decimal
from pathlib import Path
from typing import Any, cast

import numpy as np

from sstep_verify.adapters.program import ProgramFile
from sstep_verify.campaign.artefact.files import Artefact, read_artefact
from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.profile import Chosen, profile_of
from sstep_verify.campaign.run import Progress, run_campaign
from sstep_verify.errors import InputError, RefusedError
from sstep_verify.problems import IndexStream
from sstep_verify.protocol import Declaration, Observer, RunRequest
from sstep_verify.provenance import collect
from sstep_verify.report.plain import plain
from sstep_verify.report.results import Results
from sstep_verify.report.write import ARTEFACTS
from sstep_verify.runs import asked_of
from sstep_verify.trajectory import Asked, Trajectory

MOST_ARRAYS = 256 << 20
"""Bytes of the arrays of one file: a thousand times what profile ci has."""

MOST_FOLDER = 256 << 20
"""Bytes of all recorded runs together, as they are stored."""


def judged_again(
    asked: Chosen,
    given: ProgramFile | str,
    declaration: Declaration,
    path: str | Path,
    directory: str | None,
    jobs: int,
    progress: Progress,
) -> Results:
    """Results of a part of a profile, with the runs recorded in a folder in the place of a solver's.

    InputError if they cannot be judged.
    """
    source = functools.partial(RecordedRuns, str(path), declaration)
    definition = profile_of(asked.profile, given, asked.selection, "", source)
    return run_campaign(Plan(definition, directory, asked.only, jobs), progress)


def recorded_runs(folder: Path) -> tuple[Artefact, ...]:
    """The recorded runs in a folder, in the order of their names; InputError if they are too large."""
    places = sorted((folder / ARTEFACTS).iterdir())
    size = sum(file.lstat().st_size for place in places for file in place.iterdir())
    if size > MOST_FOLDER:
        raise InputError(f"the recorded runs have {size} bytes, but at most {MOST_FOLDER} are read")
    return tuple(read_artefact(place, MOST_ARRAYS) for place in places)


@functools.lru_cache(maxsize=1)
def _read(folder: str) -> tuple[Artefact, ...]:
    """All that is kept, read once in a process."""
    return recorded_runs(Path(folder))


class RecordedRuns:
    """Runs of so many ranks recorded in a folder, in the place of a solver's.

    Nothing is read before the first. Each is given for an equal request, in the order in which they were
    made. A run is never bent to a request: problem, stream, s, start, a0, iterations and recorded points
    must be those that it was asked for. What the run had changed of its inputs is changed again.
    """

    foreign = True

    def __init__(self, folder: str, declaration: Declaration, ranks: int):
        self.declaration, self._folder = replace(declaration, ranks=ranks), folder
        self._left: dict[tuple[object, ...], list[Trajectory]] = {}

    @property
    def scaled(self) -> bool:
        """What the solver said of its numbers, as of `Case`."""
        return any(one.case.scaled for one in _read(self._folder))

    @property
    def as_given(self) -> bool:
        """What the solver said of its data, as of `Case`."""
        return any(one.case.as_given for one in _read(self._folder))

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """The recorded run; RefusedError if none is left that was asked for this."""
        mine = (one for one in _read(self._folder) if one.case.declaration == self.declaration)
        for artefact in mine if not self._left else ():
            for run in artefact.trajectories.values():
                if run.asked is not None:
                    self._left.setdefault(_key(artefact.case.stream, run.asked), []).append(run)
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
        )


def _observed(run: Trajectory, ended: int, observe: Observer | None) -> None:
    """Show the observer what it saw; whether it ends the run there is for it to say."""
    for iteration, alpha in zip(run.iterations.tolist(), run.alphas, strict=False):
        if observe is None or observe(iteration, alpha) or iteration >= ended:
            return


def _key(stream: IndexStream, asked: Asked) -> tuple[object, ...]:
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


def unequal(where: str, stated: Any, made: Any) -> Iterator[tuple[str, Any, Any]]:
    """Places at which two plain values differ, and what stands there."""
    if isinstance(stated, dict) and isinstance(made, dict):
        for name in dict.fromkeys((*stated, *made)):
            yield from unequal(f"{where}.{name}".lstrip("."), stated.get(name), made.get(name))
    elif isinstance(stated, list) and isinstance(made, list) and len(stated) == len(made):
        for place, (one, other) in enumerate(zip(stated, made, strict=True)):
            yield from unequal(f"{where}[{place}]", one, other)
    elif stated != made or type(stated) is not type(made):
        yield where, stated, made


def elsewhere(there: dict[str, Any]) -> bool:
    """Whether versions or machine are others than those of some results."""
    known: list[dict[str, Any]] = [cast("dict[str, Any]", plain(collect())), there]
    here, there = ({**one, "machine": (one.get("machine") or {}).get("cpu")} for one in known)
    return any(here.get(name) != there.get(name) for name in ("package", "python", "packages", "machine"))


def neighbours(value: float) -> tuple[float, float]:
    """The numbers of two significant digits beside one."""
    context, number = Context(prec=2), Decimal(repr(value))
    return float(number.next_minus(context)), float(number.next_plus(context))
