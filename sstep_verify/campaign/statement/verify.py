"""Proves a statement anew, offline: its recorded runs, in the place of its solver, are judged again."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from sstep_verify.campaign.artefact.files import EVERY, Artefact, read_artefact
from sstep_verify.campaign.loop.run import Progress, run_campaign
from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.profile import profile_of
from sstep_verify.campaign.statement.files import (
    FOLDER,
    MOST_ARRAYS,
    MOST_FOLDER,
    badge_of,
    digest_of,
    places_of,
)
from sstep_verify.campaign.statement.make import Runs, make_statement
from sstep_verify.campaign.statement.record import MOST_BYTES, Statement, digests_of, statement_from
from sstep_verify.errors import InputError, RefusedError, SstepVerifyError
from sstep_verify.inputs import read_whole
from sstep_verify.outputs import shortened
from sstep_verify.problems import IndexStream
from sstep_verify.protocol import Declaration, Observer, RunRequest
from sstep_verify.provenance import collect
from sstep_verify.report.numbers import neighbours
from sstep_verify.report.plain import plain
from sstep_verify.report.results import Results
from sstep_verify.runs.make import asked_of
from sstep_verify.specification import specification
from sstep_verify.trajectory import Asked, Trajectory

BY_FLOAT64 = ("ratio", "detection_limit", "value")
"""Fields that are evaluated in float64, which another machine or version may round otherwise."""


class StatementError(SstepVerifyError):
    """A statement that is refused: the field or file at fault, and what is wrong with it."""

    def __init__(self, where: str, fault: str):
        super().__init__(f"statement refused: {shortened(where)}: {fault}")
        self.where = where


def read_statement(path: str | Path) -> Statement:
    """Read a statement and compare its digests with its fields, its badge and its runs.

    InputError if it cannot be read, or is none of this version; StatementError if a field, the badge or a
    recorded run was changed.
    """
    place, picture, runs = places_of(path)
    statement = statement_from(read_whole(place, MOST_BYTES, "a statement"), str(place))
    values = plain(statement)
    made = digests_of(values)
    for name in sorted(made.keys() | statement.digests.keys()):
        if made.get(name) != statement.digests.get(name):
            raise StatementError(name, f"was changed: its SHA-256 is not digests.{shortened(name)}")
    if os.path.lexists(picture):
        found = read_whole(picture, 1 << 16, "a badge", follow=False)
        if found != badge_of(statement).encode():
            raise StatementError(picture.name, "is not the badge of this statement")
    _compare_runs(statement, runs)
    return statement


def _compare_runs(statement: Statement, folder: Path) -> None:
    """Refuse a folder that does not hold exactly the recorded runs that the statement names."""
    named = {problem.runs: problem.sha256 for problem in statement.problems}
    for place, problem in enumerate(statement.problems):
        if not FOLDER.fullmatch(problem.runs) or list(named).count(problem.runs) != 1:
            raise StatementError(f"problems[{place}].runs", "is no name of a folder of recorded runs")
    if len(named) != len(statement.problems):
        raise StatementError("problems", "two of them name the same recorded runs")
    try:
        with os.scandir(folder) as entries:
            found = {entry.name: entry.is_dir(follow_symlinks=False) for entry in entries}
    except OSError as error:
        raise StatementError(folder.name, f"cannot be read: {error.strerror}") from error
    for name in sorted(found.keys() | named.keys()):
        where = f"{folder.name}/{name}"
        if name not in named or not found.get(name, False):
            fault = "is no part of the statement" if name not in named else "is missing, or is no folder"
            raise StatementError(where, fault)
        try:
            size = sum(file.lstat().st_size for file in (folder / name).iterdir())
            if size > MOST_FOLDER:
                raise StatementError(where, f"has {size} bytes, but at most {MOST_FOLDER} are read")
            if digest_of(folder / name) != named[name]:
                raise StatementError(where, "was changed: it has another SHA-256 than problems.sha256 says")
            read_artefact(folder / name, MOST_ARRAYS)
        except (InputError, OSError) as error:
            raise StatementError(where, str(error)) from error


def prove_statement(
    path: str | Path, directory: str | None = None, jobs: int = 1, progress: Progress = lambda *_: None
) -> tuple[Statement, list[str]]:
    """Judge every recorded run again, and compare what follows with what is stated.

    `directory` is that of the data sets, for a statement on data that do not come with the package.
    Returned are the statement, proved, and the numbers that differ in their last digit; only where versions
    or machine are others. InputError and StatementError as of `read_statement`, or if what is stated does
    not follow from the recorded runs.
    """
    stated = read_statement(path)
    if stated.specification != specification().version:
        raise StatementError(
            "specification",
            f"is {stated.specification}, but this version judges by {specification().version}; prove it by "
            "the version of sstep-verify that made it",
        )
    made = remade(stated, judged_again(stated, path, directory, jobs, progress))
    return stated, compare(stated, made)


def judged_again(
    stated: Statement, path: str | Path, directory: str | None, jobs: int, progress: Progress
) -> Results:
    """Results of the profile that is stated, with the recorded runs in the place of the solver's."""
    runs = places_of(path)[2]
    asked, solver = stated.asked, stated.solver
    source = RecordedRuns(str(runs), tuple(one.runs for one in stated.problems), solver.declaration)
    given = solver.program or solver.name
    try:
        definition = profile_of(asked.profile, given, asked.selection, "statement", source)
        return run_campaign(Plan(definition, directory, asked.only, jobs), progress)
    except InputError as error:
        raise StatementError("asked", f"cannot be judged again: {error}") from error


def remade(stated: Statement, results: Results) -> Statement:
    """The statement that the recorded runs make."""
    runs: Runs = {one.id: (one.runs, one.sha256) for one in stated.problems}
    try:
        return make_statement(results, stated.solver, stated.asked, runs, stated.environment)
    except InputError as error:
        raise StatementError(
            "problems", f"the recorded runs are not those of the problems asked for: {error}"
        ) from error


def compare(stated: Statement, made: Statement) -> list[str]:
    """Numbers that differ as on another machine they may; StatementError if anything else does."""
    differences = []
    values = plain(stated), plain(made)
    for item in fields(Statement):
        if item.name == "digests":
            continue  # Compared with the fields themselves; those of numbers may differ as the numbers do.
        for where, said, found in _unequal(item.name, *(one[item.name] for one in values)):
            fault = f"is {said!r:.80}, but the recorded runs give {found!r:.80}"
            beside = isinstance(said, float) and isinstance(found, float) and found > 0
            beside = beside and said in neighbours(found)
            if not (where.rpartition(".")[2] in BY_FLOAT64 and beside and _elsewhere(stated)):
                raise StatementError(where, fault)
            differences.append(f"{where} {fault}")
    return differences


def _unequal(where: str, stated: Any, made: Any) -> Iterator[tuple[str, Any, Any]]:
    """Places at which two plain values differ, and what stands there."""
    if isinstance(stated, dict) and isinstance(made, dict):
        for name in dict.fromkeys((*stated, *made)):
            yield from _unequal(f"{where}.{name}", stated.get(name), made.get(name))
    elif isinstance(stated, list) and isinstance(made, list) and len(stated) == len(made):
        for place, (one, other) in enumerate(zip(stated, made, strict=True)):
            yield from _unequal(f"{where}[{place}]", one, other)
    elif stated != made or type(stated) is not type(made):
        yield where, stated, made


def _elsewhere(stated: Statement) -> bool:
    """Whether versions or machine are others than those of the statement."""
    here, there = plain(collect()), stated.environment
    names = ("package", "python", "packages")
    return any(here[name] != there.get(name) for name in names) or _cpu(here) != _cpu(there)


def _cpu(environment: dict[str, Any]) -> Any:
    machine = environment.get("machine")
    return machine.get("cpu") if isinstance(machine, dict) else machine


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
    found = tuple(read_artefact(Path(folder, name), MOST_ARRAYS) for name in names)
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
