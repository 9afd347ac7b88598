"""``batch.json``: which program and problems the runs of a folder are of."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sstep_verify.adapters.program import ProgramFile
from sstep_verify.adapters.program.batch import StoredRun
from sstep_verify.campaign.model import Definition
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.campaign.verdicts.family import Source
from sstep_verify.errors import InputError
from sstep_verify.inputs import read_whole
from sstep_verify.inputs.records import build, decode
from sstep_verify.outputs import write_text
from sstep_verify.reporting.plain import plain

NAME, RUNS = "batch.json", "runs"

MOST_BYTES = 32 << 20
"""Largest manifest: of some hundred thousand runs."""


@dataclass(frozen=True)
class Batch:
    """What a folder of runs is for.

    Parameters
    ----------
    format, version : str, int
        ``sstep-batch`` and 1.
    profile : str
        Name of the profile.
    selection : Selection
        What of it.
    only : str
        Part of the ids of the cases; all if empty.
    program : ProgramFile
        The program.
    runs : tuple of StoredRun
        The runs, in the order in which they were asked for.
    """

    profile: str
    selection: Selection
    only: str
    program: ProgramFile
    runs: tuple[StoredRun, ...] = ()
    format: Literal["sstep-batch"] = "sstep-batch"
    version: Literal[1] = 1

    def definition(self, source: Source, folder: Path) -> Definition:
        """The campaign that judges the runs; InputError if nothing of the profile is left."""
        again = shlex.join(["sstep-verify", "check", "--runs", str(folder)])
        return profile_of(self.profile, self.program, self.selection, again, source)


def write_batch(batch: Batch, folder: Path) -> None:
    """Write the manifest."""
    write_text(folder / NAME, json.dumps(plain(batch), indent=1, allow_nan=False) + "\n")


def read_batch(folder: Path) -> Batch:
    """Read the manifest of a folder.

    Raises
    ------
    InputError
        If there is none, or it cannot be used.
    """
    if not (folder / NAME).exists():
        raise InputError(f"{folder}: holds no {NAME}; name a folder that sstep-verify check --runs wrote")
    where = str(folder / NAME)
    values = decode(read_whole(folder / NAME, MOST_BYTES, "a manifest", follow=False), where)
    return build(values, Batch, where)
