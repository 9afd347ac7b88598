"""A program whose runs are made elsewhere: exchange folders that a script works through, read back."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import stat
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from sstep_verify.adapters.program.file import ProgramFile
from sstep_verify.adapters.program.numbers import content_of
from sstep_verify.adapters.program.run import Ended
from sstep_verify.adapters.program.solver import ProgramSolver
from sstep_verify.errors import InputError, ProgramError, RefusedError
from sstep_verify.files import open_regular, whole_folder
from sstep_verify.protocol import Observer, RunRequest
from sstep_verify.trajectory import Trajectory

PLACE = "\x01"
"""Stands for the run's folder in the arguments of a stored run."""

EXIT, OUTPUT, ERRORS = "exit", "stdout", "stderr"
"""What the script leaves beside the results: the exit code as a shell tells it, and both outputs."""

SIGNALLED, TIMED_OUT = 128, 124
"""Exit code of a shell above which a signal ended the program, and that of a run beyond its time."""

MOST_PROBLEM, MOST_RESULT, MOST_FILES = 1 << 30, 1 << 30, 1000
"""Bytes of one file of a problem and of one result, and entries of a run's folder, that are read."""


class NotMadeError(RefusedError):
    """A run that is asked for was not made yet, so nothing can be said of it."""


class NotMadeYetError(ProgramError):
    """The same while runs are only collected: others that are asked for are collected too."""


@dataclass(frozen=True)
class StoredRun:
    """A run that is to be made: its folder, arguments, with `PLACE` for the folder, variables and ranks."""

    name: str
    words: tuple[str, ...]
    variables: dict[str, str]
    ranks: int


class StoredProgramSolver(ProgramSolver):
    """Reads runs from a folder instead of starting a program; a run that is not there is written out.

    A run is named by the digest of all that its program finds and is called with, so that it is never taken
    for another; equal runs, which a check of determinism asks for, are numbered. `folder` holds the folders
    of the runs; `collect` gets the runs that are not there, which are written out, and is None if they are
    only refused.
    """

    def __init__(
        self, described: ProgramFile, ranks: int, folder: Path, collect: list[StoredRun] | None = None
    ):
        super().__init__(described, ranks)
        self._stored, self._collect = folder, collect
        self._asked: Counter[str] = Counter()

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """The stored run, or runs, if its program leaves its final a only; all that miss are collected."""
        if self._collect is not None and self._program.writes == "final":
            asked, missing = self._asked.copy(), None
            for stop in request.stops[1:]:
                try:
                    self._started(replace(request, iterations=stop, record=(), log=False))
                except NotMadeYetError as error:
                    missing = error
                except ProgramError:
                    continue  # It is met again below.
            if missing:
                raise missing
            self._asked = asked
        return super().run(request, observe)

    def _executed(self, folder: Path, words: list[str], variables: Mapping[str, str], tail: int) -> Ended:
        named = tuple(word.replace(os.fspath(folder), PLACE) for word in words)
        variables = {name: text.replace(os.fspath(folder), PLACE) for name, text in variables.items()}
        digest = _digest(folder, named, variables)
        self._asked[digest] += 1
        name = f"{digest}-{self._asked[digest]}"
        stored = self._stored / name
        if not stored.is_dir() or stored.is_symlink():
            raise self._missing(folder, StoredRun(name, named, dict(variables), self._ranks))
        self._require_whole(folder, stored)
        if not os.path.lexists(stored / EXIT):
            if self._collect is not None:
                raise NotMadeYetError(f"the run {name} was not made yet")
            raise NotMadeError(f"the run {name} is written out, but not made: its folder has no file exit")
        ended = _ended(stored, self._program.time_limit, tail)
        _take_results(stored, folder)
        return ended

    def _missing(self, folder: Path, run: StoredRun) -> InputError:
        if self._collect is None:
            return NotMadeError(f"the run {run.name} was not exported; judge again, which exports it")
        with whole_folder(self._stored / run.name) as partial:
            shutil.copytree(folder, partial, dirs_exist_ok=True)
        self._collect.append(run)
        return NotMadeYetError(f"the run {run.name} was not made yet")

    def _require_whole(self, folder: Path, stored: Path) -> None:
        """Raise unless the stored run has the very problem that was asked for."""
        for file in sorted(folder.iterdir()):
            fault = ""
            if not os.path.lexists(stored / file.name):
                fault = " is missing: the folder was copied half, or changed"
            else:
                try:
                    if content_of(stored / file.name, MOST_PROBLEM, "a problem") != file.read_bytes():
                        fault = " is not what was exported: it was changed, or copied half"
                except ProgramError as error:
                    fault = f": {error}"
            if fault:
                kind = NotMadeError if self._collect is None else NotMadeYetError
                raise kind(f"{stored.name}/{file.name}{fault}")


def _digest(folder: Path, words: tuple[str, ...], variables: Mapping[str, str]) -> str:
    """Digest (32 hexadecimal digits) of what a program finds and is called with."""
    found = hashlib.sha256(repr((words, sorted(variables.items()))).encode())
    for file in sorted(folder.iterdir()):
        with open(file, "rb") as content:
            found.update(f"{file.name} ".encode() + hashlib.file_digest(content, "sha256").digest())
    return found.hexdigest()[:32]


def _ended(stored: Path, limit: float, tail: int) -> Ended:
    """How a run ended that a shell made."""
    told = content_of(stored / EXIT, 64, "an exit code").decode("ascii", "replace").strip()
    if not re.fullmatch(r"\d{1,3}", told):
        raise NotMadeError(f"{stored.name}/{EXIT} holds {told[:40]!r}, which is no exit code")
    output, errors = (_end_of(stored / name, tail) for name in (OUTPUT, ERRORS))
    code = int(told)
    if code == TIMED_OUT:
        return Ended(code, limit, True, output, errors)
    started = code not in (126, 127)
    return Ended(SIGNALLED - code if code > SIGNALLED else code, 0.0, False, output, errors, started)


def _end_of(path: Path, most: int) -> str:
    """The end of a file, empty if it is not there."""
    if not os.path.lexists(path):
        return ""
    with open_regular(path, "what a program said", follow=False) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - most))
        return file.read(most).decode("utf-8", "replace")


def _take_results(stored: Path, folder: Path) -> None:
    """Put what the program left where results are read, as it is: links and pipes are refused there."""
    with os.scandir(stored) as entries:
        found = [entry for _, entry in zip(range(MOST_FILES + 1), entries, strict=False)]
    if len(found) > MOST_FILES:
        raise ProgramError(f"left more than {MOST_FILES} files")
    for entry in found:
        if entry.name in (EXIT, OUTPUT, ERRORS) or os.path.lexists(folder / entry.name):
            continue
        if entry.is_dir(follow_symlinks=False):
            continue
        with contextlib.suppress(OSError):
            os.link(entry.path, folder / entry.name, follow_symlinks=False)
            continue
        found_mode = entry.stat(follow_symlinks=False)
        if not stat.S_ISREG(found_mode.st_mode) or found_mode.st_size > MOST_RESULT:
            raise ProgramError(f"{entry.name} is no regular file of at most {MOST_RESULT} bytes")
        shutil.copy(entry.path, folder / entry.name)
