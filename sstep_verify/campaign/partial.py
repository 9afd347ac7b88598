"""Outcomes of a campaign, kept beside its report as they finish, and read back by ``run --resume``.

The folder ``OUT.partial`` holds one JSON file per outcome, ``artefacts/`` with those of unsettled verdicts,
and ``lock``, which the run that writes there holds. An outcome that is read back is the one that was
kept, bit for bit: its numbers are written with all their digits, and NaN and Infinity as such.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, TypeVar

from sstep_verify.campaign.artefact_keep import REPLAY
from sstep_verify.campaign.definition import Definition
from sstep_verify.errors import InputError
from sstep_verify.oracle.certificate.file import write_whole
from sstep_verify.provenance import collect
from sstep_verify.reporting.schema import record
from sstep_verify.reporting.write import ARTEFACTS

LOCK = "lock"
COPIED = ".artefacts"
_OURS = re.compile(r"lock|\.?artefacts|[0-9a-f]{32}\.json|\.[0-9a-f]{32}\.json\.\d+\.[0-9a-f]+")

Outcome = TypeVar("Outcome")


def identity(definition: Definition, directory: str | None) -> dict[str, object]:
    """What must be the same for an outcome to be read back, besides the data of its own problem.

    Parameters
    ----------
    definition : Definition
        The campaign, solver options included; its source is named by replay commands.
    directory : str or None
        Folder of the data sets, named by replay commands too.

    Returns
    -------
    dict
        Plain values by the words a message uses for them.
    """
    made = collect()
    return {
        "content or path of the campaign file": _digest(repr(definition)),
        "folder of data (--data)": str(directory) if directory else None,
        "version of sstep-verify": made["package"],
        "commit of the checkout": made["git"],
        "version of Python": made["python"],
        "version of a package": made["packages"],
    }


class Partial:
    """What a campaign has finished, in a folder beside its report.

    Nothing is touched before `open`. Whoever makes one ends it with `reported`, once the report is written,
    and `close`, always.

    Parameters
    ----------
    folder : Path
        ``OUT.partial``; need not exist.
    resume : bool
        Whether what it holds is read back; else it is discarded.
    say : callable
        Called with each line that the user must read.
    """

    def __init__(self, folder: Path, resume: bool = False, say: Callable[[str], None] = lambda _: None):
        self._folder, self._resume, self._say = folder, resume, say
        self._identities: dict[str, dict[str, object]] = {}
        self._finished: set[str] = set()
        self._named: set[str] = set()
        self._writable = True
        self._lock: IO[str] | None = None

    @property
    def artefacts(self) -> Path:
        """Where the artefacts of unsettled verdicts are collected."""
        return self._folder / ARTEFACTS

    def open(
        self, kind: type[Outcome], common: Mapping[str, object], data: Mapping[str, str]
    ) -> dict[str, Outcome]:
        """Take the folder over, and read back what an earlier run finished if this one resumes it.

        Parameters
        ----------
        kind : type
            Record that an outcome is, with a field `verdicts`.
        common : mapping
            From `identity`.
        data : mapping of str to str
            Key of every problem that is asked for, to the SHA-256 of its data (empty if generated). Kept
            outcomes of other problems stay where they are.

        Returns
        -------
        dict of str to outcome
            By key; empty if there is nothing, or the run does not resume.

        Raises
        ------
        InputError
            If the folder cannot be used, holds anything else, or another run is writing there.
        """
        self._identities = {key: {**common, "content of the data": sha} for key, sha in data.items()}
        there = self._refuse_foreign()
        self._take_lock()
        found: dict[str, Outcome] = {}
        if self._resume:
            found = self._read_all(kind)
            self._say(f"{len(found)} of {len(self._identities)} problems are taken from {self._folder}")
        elif there:
            self._say(
                f"{len(there)} finished problems of an interrupted run in {self._folder} are discarded; "
                "--resume would have kept them"
            )
            for path in there:
                path.unlink(missing_ok=True)
        self._finished = set(found)
        self._prune()
        return found

    def keep(self, key: str, outcome: Any) -> None:
        """Keep an outcome; where that is impossible the campaign goes on, and one line says so."""
        text = json.dumps(asdict(outcome), default=lambda value: value.tolist())  # NumPy's numbers
        self._named |= _artefacts(text)
        if self._writable:
            document = {"identity": self._identities[key], "sha256": _digest(text)}
            try:
                write_whole(self._path(key), json.dumps({**document, "outcome": json.loads(text)}) + "\n")
            except InputError as error:
                self._writable = False
                self._say(f"finished problems are no longer kept for --resume: {error}")
        self._finished.add(key)

    def artefacts_for_report(self) -> Path:
        """Folder with a copy, to be taken away, of the artefacts that finished problems name."""
        for name in self._named:
            shutil.copytree(self.artefacts / name, self._folder / COPIED / name, dirs_exist_ok=True)
        return self._folder / COPIED

    def reported(self) -> None:
        """Remove the problems of a report that was written, if it has all that were asked for."""
        if self._finished == set(self._identities):
            for key in self._finished:
                self._path(key).unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the folder, and remove it if it holds no finished problem; else say where it is."""
        if self._lock is None:
            return
        shutil.rmtree(self._folder / COPIED, ignore_errors=True)
        if count := len(self._outcome_files()):
            self._say(f"{count} finished problems are kept in {self._folder}: go on with --resume")
        else:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._lock.close()
        self._lock = None

    def _path(self, key: str) -> Path:
        return self._folder / f"{_digest(key)[:32]}.json"

    def _outcome_files(self) -> list[Path]:
        return sorted(self._folder.glob("[!.]*.json"))

    def _refuse_foreign(self) -> list[Path]:
        """The outcomes there are; raise InputError if there is anything that is not ours."""
        for entry in self._folder.iterdir() if self._folder.is_dir() else ():
            if not _OURS.fullmatch(entry.name):
                raise InputError(
                    f"{entry} is no part of an interrupted campaign, and finished problems are kept in "
                    "this folder; move it, or name another --out"
                )
        return self._outcome_files()

    def _take_lock(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = open(self._folder / LOCK, "a", encoding="ascii")  # noqa: SIM115 - held until `close`
        except OSError as error:
            raise InputError(
                f"{self._folder} cannot be written: {error.strerror or error}; name another --out"
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.close()
            raise InputError(
                f"another run is writing to {self._folder}; wait for its end, or name another --out"
            ) from error
        except OSError:
            pass  # A file system without locks is no reason not to run.
        self._lock = lock

    def _read_all(self, kind: type[Outcome]) -> dict[str, Outcome]:
        found = {}
        for key in self._identities:
            path = self._path(key)
            if path.exists():
                try:
                    found[key] = self._read(key, kind)
                except (InputError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
                    self._say(f"{path} ({key}) is ignored, and the problem run again: {error}")
                    path.unlink(missing_ok=True)
        return found

    def _read(self, key: str, kind: type[Outcome]) -> Outcome:
        document = json.loads(self._path(key).read_text("utf-8"))
        wanted, found = json.loads(json.dumps(self._identities[key])), document["identity"]
        for name in wanted:
            if found.get(name) != wanted[name]:
                raise InputError(f"other {name}: {found.get(name)!r:.80}, now {wanted[name]!r:.80}")
        text = json.dumps(document["outcome"])
        if _digest(text) != document["sha256"]:
            raise InputError("it was changed after it was written: its SHA-256 differs")
        named = _artefacts(text)
        for name in named:
            if not (self.artefacts / name).is_dir():
                raise InputError(f"its artefact {name} is not there")
        self._named |= named
        return record(document["outcome"], kind, "outcome")

    def _prune(self) -> None:
        """Remove what a killed run left half done, and artefacts of problems that are run again."""
        texts = [path.read_text("utf-8", errors="replace") for path in self._outcome_files()]
        needed = {name for text in texts for name in _artefacts(text)}
        hidden = self._folder.glob(".*")
        for entry in [*hidden, *(kept for kept in self.artefacts.glob("*") if kept.name not in needed)]:
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def _artefacts(text: str) -> set[str]:
    """Names of the artefacts that verdicts name in their replay commands; the text is JSON."""
    return set(re.findall(f'"{REPLAY}([^"]+)"', text))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
