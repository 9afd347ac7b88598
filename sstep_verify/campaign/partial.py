"""Outcomes of a campaign, kept next to its report as they finish, and read back by ``run --resume``.

The folder ``OUT.partial`` holds one JSON file per outcome, ``artefacts/`` with those of unsettled verdicts,
``runs/`` with runs that are kept for the report, and belongs to one run at a time. An outcome that is read
back is the one that was kept, bit for bit: its numbers are written with all their digits, and NaN and
Infinity as such.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from sstep_verify.campaign.artefact import runs
from sstep_verify.campaign.artefact.files import NEEDED, STREAM, hold_digests
from sstep_verify.campaign.artefact.verdicts import REPLAY
from sstep_verify.campaign.run import SEED, asked_for, difference, digest
from sstep_verify.errors import InputError, counted
from sstep_verify.files import Output, claim, open_regular, write_text
from sstep_verify.files.records import convert
from sstep_verify.files.writing import remove
from sstep_verify.report.write import ARTEFACTS, RUNS

Outcome = TypeVar("Outcome")

NAMING, NAME = f'"(?:replay|runs)": "{re.escape(REPLAY)}', r"[A-Za-z0-9_=+][A-Za-z0-9._=+-]*"
"""Fields that name an artefact, up to its name; names that `campaign.artefact.files` gives."""

UNREADABLE = (
    InputError, OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError,
)  # fmt: skip
"""Errors of a kept outcome that is none, or was changed."""

_OURS = re.compile(r"artefacts|runs|[0-9a-f]{32}\.json|\.[0-9a-f]{32}\.json\.[0-9a-f]{8}\.partial")


class Partial:
    """What a campaign has finished, in a folder next to its report, ``OUT.partial``, which need not exist.

    Nothing is touched before `open`. Whoever makes one ends it with `reported`, once the report is written,
    and `close`, always. What it holds is read back (`resume`) or discarded (`force`); if neither, finished
    problems there are a reason to refuse. Each line that the user must read is given to `say`. If it
    `keeps`, the folder is left where problems are finished and the report is not, for a run that resumes.
    `named` are the artefacts that finished problems name.
    """

    def __init__(
        self,
        folder: Path,
        resume: bool = False,
        say: Callable[[str], None] = lambda _: None,
        *,
        force: bool = False,
        keeps: bool = True,
    ):
        self.folder = folder
        self._resume, self._say, self._force, self._keeps = resume, say, force, keeps
        self._identities: dict[str, dict[str, object]] = {}
        self._finished: set[str] = set()
        self.named: set[str] = set()
        self._writable = True
        self._command = self._again = ""
        self._held: contextlib.ExitStack | None = None

    @property
    def artefacts(self) -> Path:
        """Where the artefacts of unsettled verdicts are collected."""
        return self.folder / ARTEFACTS

    @property
    def runs(self) -> Path:
        """Where runs are kept for a report that can be made again."""
        return self.folder / RUNS

    def open(
        self,
        kind: type[Outcome],
        common: Mapping[str, object],
        data: Mapping[str, str],
        command: str = "",
        again: str = "",
    ) -> dict[str, Outcome]:
        """Take the folder over, and read back what an earlier run finished if this one resumes it.

        `kind` is the record that an outcome is, `common` from `run.identity`, `command` the one that was
        given, for a later run that cannot take its outcomes. Commands that run a problem again begin with
        `again`, in outcomes that are read back too, whatever they began with. `data` has the key of every
        problem that is asked for, with the SHA-256 of its data (empty if generated); kept outcomes of other
        problems stay where they are. What is returned is by key; empty if there is nothing, or the run does
        not resume.
        InputError if the folder cannot be used, holds anything else or finished problems that are neither
        to be resumed nor discarded, or another run is writing there; if one that is to be resumed holds
        nothing but problems of another campaign.
        """
        self._command, self._again = command, again
        self._identities = {key: {**common, "content of the data": sha} for key, sha in data.items()}
        there = _finished(self.folder)
        with contextlib.ExitStack() as held:
            held.enter_context(claim([Output("--out", self.folder, replace=True, folder=True)]))
            if self._resume:
                _refuse_another_run(self.folder, there, common)
            elif there and not self._force:
                raise InputError(
                    f"{self.folder} holds {counted(len(there), 'finished problem')} of an "
                    "earlier run; continue with --resume, or discard them with --force"
                )
            self.folder.mkdir(parents=True, exist_ok=True)
            self._held = held.pop_all()
        found: dict[str, Outcome] = {}
        if self._resume:
            found = self._read_all(kind)
            self._say(self._taken(len(found), len(there)))
        else:
            for path in there:
                remove(path)
        self._finished = set(found)
        self._prune()
        return found

    def keep(self, key: str, outcome: Any) -> Any:
        """Keep an outcome; where that is impossible the campaign continues, and one line says so.

        It is given back as it will be read back, so that the report of a run that resumes is that of one
        that does not.
        """
        text = json.dumps(asdict(outcome), default=lambda value: value.tolist())  # NumPy's numbers
        self.named |= _names(text)
        if self._writable:
            document = {
                "identity": self._identities[key], "sha256": digest(text), "command": self._command,
                "again": self._again,
            }  # fmt: skip
            try:
                write_text(self._path(key), json.dumps({**document, "outcome": json.loads(text)}) + "\n")
            except InputError as error:
                self._writable = False
                self._say(f"finished problems are no longer kept for --resume: {error}")
        self._finished.add(key)
        try:
            return convert(json.loads(text), type(outcome), "outcome")
        except InputError as error:
            self._say(f"{key} will not be read back by --resume: {error}")
            return outcome

    def reported(self, tried: bool = False) -> None:
        """Remove the problems of a report that was written, if it has all that were asked for.

        If `tried`, those that are missing would only be refused again.
        """
        if tried or self._finished == set(self._identities):
            for key in self._finished:
                self._path(key).unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the folder, and remove it if it holds no finished problem; else say where it is."""
        if self._held is None:  # It may belong to another run.
            return
        count = len(_files(self.folder))
        if count and self._keeps:
            are = "is" if count == 1 else "are"
            self._say(
                f"{counted(count, 'finished problem')} {are} kept in {self.folder}: continue with --resume"
            )
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
        self._held.close()

    def _path(self, key: str) -> Path:
        """File of the outcome of a key."""
        return self.folder / f"{digest(key)[:32]}.json"

    def _taken(self, found: int, count: int) -> str:
        """Line on what is taken over: so many are `found` of those that are there."""
        if not count:
            return f"--resume: there is nothing to continue from in {self.folder}, so all is run"
        asked = len(self._identities)
        others = (
            ""
            if found
            else f", which held {counted(count, 'finished problem')}, but none that this run can take"
        )
        are = "s are" if asked > 1 else " is"
        return f"{found} of {asked} problem{are} taken from {self.folder}{others}"

    def _read_all(self, kind: type[Outcome]) -> dict[str, Outcome]:
        """What is finished of all that is asked for."""
        found: dict[str, Outcome] = {}
        for key in self._identities:
            path = self._path(key)
            if not path.exists():
                continue
            try:
                found[key] = self._read(path, key, kind)
            except UNREADABLE as error:
                self._say(f"{path} ({key}) is ignored, and the problem run again: {error}")
                remove(path)
        return found

    def _read(self, path: Path, key: str, kind: type[Outcome]) -> Outcome:
        """Read an outcome; InputError if it is of another identity, was changed, or lacks an artefact."""
        document = json.loads(_content(path))
        if other := difference(document["identity"], self._identities[key]):
            raise InputError(other)
        text = json.dumps(document["outcome"])
        if digest(text) != document["sha256"]:
            raise InputError("it was changed after it was written: its SHA-256 differs")
        if re.search(f'{NAMING}(?!{NAME}")', text):
            raise InputError("it names an artefact by what is no name of one")
        for name in (names := _names(text)):
            if not (self.artefacts / name).is_dir():
                raise InputError(f"its artefact {name} is not there")
            hold_digests(self.artefacts / name, NEEDED, STREAM)
        for name in _kept(text):
            hold_digests(self.runs / name, runs.FILES)
        then = document.get("again", "")
        outcome = _begun_otherwise(document["outcome"], then, self._again) if then else document["outcome"]
        found = convert(outcome, kind, "outcome")
        self.named |= names
        return found

    def _prune(self) -> None:
        """Remove what a killed run left half done, and artefacts of problems that are run again."""
        needed: dict[Path, set[str]] = {self.artefacts: set(), self.runs: set()}
        for path in _files(self.folder):
            with contextlib.suppress(*UNREADABLE):
                text = _content(path)
                needed[self.artefacts] |= _names(text)
                needed[self.runs] |= _kept(text)
        for entry in self.folder.glob(".*"):
            remove(entry)
        for folder, names in needed.items():
            for entry in folder.glob("*"):
                if entry.name not in names:
                    remove(entry)


def kept_seed(folder: Path) -> int | None:
    """The seed of the run whose finished problems a folder holds; None if there is none."""
    for path in _files(folder):
        with contextlib.suppress(*UNREADABLE):
            seed = json.loads(_content(path))["identity"][SEED]
            return seed if isinstance(seed, int) and seed >= 0 else None
    return None


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9a-f]*.json"))


def _content(path: Path) -> str:
    """What a file of a kept outcome holds; a pipe is refused, not waited for."""
    with open_regular(path, "a finished problem") as file:
        return file.read().decode()


def _finished(folder: Path) -> list[Path]:
    """The outcomes in a folder, which need not exist; InputError if it holds anything that is not ours."""
    for entry in folder.iterdir() if folder.is_dir() else ():
        if not _OURS.fullmatch(entry.name):
            raise InputError(
                f"{entry} is no part of an interrupted campaign, and finished problems are kept in "
                "this folder; move it, or name another --out"
            )
    return _files(folder)


def _refuse_another_run(folder: Path, there: list[Path], common: Mapping[str, object]) -> None:
    """Raise InputError, with a way out, if all that a folder holds is of another campaign, and whole."""
    why = ""
    for path in there:
        other = command = ""
        with contextlib.suppress(*UNREADABLE):
            document = json.loads(_content(path))
            other, command = difference(document["identity"], common), document.get("command")
        if not other:
            return
        why = why or (f"{other}; they were made by: {command}" if command else other)
    if why:
        # No command brings other versions, or another state of a checkout, back.
        way = "continue with the command that made them, " if why.startswith(asked_for()) else ""
        way += "discard them by --force, or name another --out"
        raise InputError(
            f"{folder} holds {counted(len(there), 'finished problem')} that --resume cannot take: {why}. "
            f"{way[:1].upper()}{way[1:]}"
        )


def _begun_otherwise(value: Any, then: str, now: str) -> Any:
    """A part of an outcome whose commands begin otherwise; texts that only quote one stay."""
    if isinstance(value, str):
        return now + value.removeprefix(then) if value == then or value.startswith(f"{then} ") else value
    if isinstance(value, list):
        return [_begun_otherwise(one, then, now) for one in value]
    if isinstance(value, dict):
        return {name: _begun_otherwise(one, then, now) for name, one in value.items()}
    return value


def _kept(text: str) -> set[str]:
    """Names of the folders of kept runs, in JSON as `json` writes it."""
    return set(re.findall(f'"kept": "({runs.NAME})"', text))


def _names(text: str) -> set[str]:
    """Names of the artefacts that replay commands and recorded runs name, in JSON as `json` writes it."""
    return set(re.findall(f'{NAMING}({NAME})"', text))
