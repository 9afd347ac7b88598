"""Outcomes of a campaign, kept beside its report as they finish, and read back by ``run --resume``.

The folder ``OUT.partial`` holds one JSON file per outcome, ``artefacts/`` with those of unsettled verdicts,
and belongs to one run at a time. An outcome that is read back is the one that was
kept, bit for bit: its numbers are written with all their digits, and NaN and Infinity as such.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sstep_verify.campaign.loop.kept import (
    SEED,
    Outcome,
    artefact_names,
    digest,
    of_another_run,
    outcome_path,
    read_outcome,
)
from sstep_verify.errors import InputError
from sstep_verify.inputs.records import convert
from sstep_verify.outputs import Output, claim, write_text
from sstep_verify.reporting.write import ARTEFACTS, copy_artefacts

COPIED = ".artefacts"
_OURS = re.compile(
    r"shard|\.?artefacts|[0-9a-f]{32}\.json|\.(?:[0-9a-f]{32}\.json|shard)\.[0-9a-f]{8}\.partial"
)


class Partial:
    """What a campaign has finished, in a folder beside its report.

    Nothing is touched before `open`. Whoever makes one ends it with `reported`, once the report is written,
    and `close`, always.

    Parameters
    ----------
    folder : Path
        ``OUT.partial``; need not exist.
    resume : bool
        Whether what it holds is read back.
    say : callable
        Called with each line that the user must read.
    force : bool
        Whether what it holds is discarded; if neither, finished problems there are a reason to refuse.
    stays : bool
        Whether the folder is itself what is made, as that of a shard is.
    keeps : bool
        Whether it is left where problems are finished and the report is not, for a run that resumes.
    """

    def __init__(
        self,
        folder: Path,
        resume: bool = False,
        say: Callable[[str], None] = lambda _: None,
        *,
        force: bool = False,
        stays: bool = False,
        keeps: bool = True,
    ):
        self.folder = self._folder = folder
        self._resume, self._say, self._force, self._stays = resume, say, force, stays
        self._keeps = keeps
        self._identities: dict[str, dict[str, object]] = {}
        self._finished: set[str] = set()
        self._named: set[str] = set()
        self._writable = True
        self._command = ""
        self._held: contextlib.ExitStack | None = None

    @property
    def artefacts(self) -> Path:
        """Where the artefacts of unsettled verdicts are collected."""
        return self._folder / ARTEFACTS

    def open(
        self,
        kind: type[Outcome],
        common: Mapping[str, object],
        data: Mapping[str, str],
        command: str = "",
    ) -> dict[str, Outcome]:
        """Take the folder over, and read back what an earlier run finished if this one resumes it.

        Parameters
        ----------
        kind : type
            Record that an outcome is, with a field `verdicts`.
        common : mapping
            From `sstep_verify.campaign.loop.kept.identity`.
        data : mapping of str to str
            Key of every problem that is asked for, to the SHA-256 of its data (empty if generated). Kept
            outcomes of other problems stay where they are.
        command : str
            The command that was given, for a later run that cannot take its outcomes.

        Returns
        -------
        dict of str to outcome
            By key; empty if there is nothing, or the run does not resume.

        Raises
        ------
        InputError
            If the folder cannot be used, holds anything else or finished problems that are neither to be
            resumed nor discarded, or nothing but problems of another campaign where it is to be resumed, or
            another run is writing there.
        """
        self._command = command
        self._identities = {key: {**common, "content of the data": sha} for key, sha in data.items()}
        there = self._refuse_foreign()
        held = contextlib.ExitStack()
        held.enter_context(claim([Output("--out", self._folder, replace=True, folder=True)]))
        self._held = held  # Not before: `close` leaves a folder alone that belongs to another run.
        self._folder.mkdir(parents=True, exist_ok=True)
        found: dict[str, Outcome] = {}
        if self._resume:
            self._refuse_another_run(there, common)
            found = self._read_all(kind)
            self._say(self._taken(len(found), len(there)))
        elif there and not self._force:
            self._let_go()
            raise InputError(
                f"{self._folder} holds {_problems(len(there))} of an earlier run; go on by "
                "--resume, or discard them by --force"
            )
        else:
            for path in there:
                path.unlink(missing_ok=True)
        self._finished = set(found)
        self._prune()
        return found

    def keep(self, key: str, outcome: Any) -> Any:
        """Keep an outcome; where that is impossible the campaign goes on, and one line says so.

        Returns
        -------
        outcome
            As it will be read back, so that the report of a run that resumes is that of one that does not.
        """
        text = json.dumps(asdict(outcome), default=lambda value: value.tolist())  # NumPy's numbers
        self._named |= artefact_names(text)
        if self._writable:
            document = {
                "identity": self._identities[key], "sha256": digest(text), "command": self._command,
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

    def seed(self) -> int | None:
        """The seed of the run whose finished problems are here; None if there is none."""
        for path in self._outcome_files():
            with contextlib.suppress(OSError, ValueError, LookupError, TypeError):
                seed = json.loads(path.read_text("utf-8"))["identity"][SEED]
                return seed if isinstance(seed, int) else None
        return None

    def artefacts_for_report(self) -> Path:
        """Folder with a copy, to be taken away, of the artefacts that finished problems name."""
        copy_artefacts(self.artefacts, self._folder / COPIED, self._named)
        return self._folder / COPIED

    def reported(self, tried: bool = False) -> None:
        """Remove the problems of a report that was written, if it has all that were asked for.

        Parameters
        ----------
        tried : bool
            Whether those that are missing were tried, and would only be refused again.
        """
        if tried or self._finished == set(self._identities):
            for key in self._finished:
                self._path(key).unlink(missing_ok=True)

    def close(self) -> None:
        """Let go of the folder, and remove it if it holds no finished problem; else say where it is."""
        if self._held is None:
            return
        shutil.rmtree(self._folder / COPIED, ignore_errors=True)
        count = len(self._outcome_files())
        if count and self._keeps and not self._stays:
            are = "is" if count == 1 else "are"
            self._say(f"{_problems(count)} {are} kept in {self._folder}: go on with --resume")
        elif not self._stays:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._let_go()

    def _let_go(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None

    def _path(self, key: str) -> Path:
        return outcome_path(self._folder, key)

    def _outcome_files(self) -> list[Path]:
        return sorted(self._folder.glob("[0-9a-f]*.json"))

    def _refuse_foreign(self) -> list[Path]:
        """The outcomes there are; raise InputError if there is anything that is not ours."""
        for entry in self._folder.iterdir() if self._folder.is_dir() else ():
            if not _OURS.fullmatch(entry.name):
                raise InputError(
                    f"{entry} is no part of an interrupted campaign, and finished problems are kept in "
                    "this folder; move it, or name another --out"
                )
        return self._outcome_files()

    def _refuse_another_run(self, there: list[Path], common: Mapping[str, object]) -> None:
        """Raise InputError if all that was finished is of another campaign, and lost by going on."""
        why = [of_another_run(path, common) for path in there]
        if why and all(why):
            self._let_go()
            raise InputError(
                f"{self._folder} holds {_problems(len(there))} that --resume cannot take: {why[0]}. Go on "
                "with the command that made them, discard them by --force, or name another --out"
            )

    def _taken(self, found: int, there: int) -> str:
        """Line on what is taken over."""
        if not there:
            return f"--resume: there is nothing to go on from in {self._folder}, so all is run"
        asked = len(self._identities)
        others = "" if found else f", which holds {_problems(there)}, but none of those asked for"
        return (
            f"{found} of {asked} problem{'s are' if asked > 1 else ' is'} taken from {self._folder}{others}"
        )

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
        found, text = read_outcome(self._folder, key, kind, self._identities[key])
        self._named |= artefact_names(text)
        return found

    def _prune(self) -> None:
        """Remove what a killed run left half done, and artefacts of problems that are run again."""
        texts = [path.read_text("utf-8", errors="replace") for path in self._outcome_files()]
        needed = {name for text in texts for name in artefact_names(text)}
        hidden = self._folder.glob(".*")
        for entry in [*hidden, *(kept for kept in self.artefacts.glob("*") if kept.name not in needed)]:
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def _problems(count: int) -> str:
    return f"{count} finished problem{'s' * (count > 1)}"
