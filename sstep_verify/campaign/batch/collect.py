"""A folder of runs and its manifest: what a profile asks for, of which what is not made is written."""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from sstep_verify.adapters.program import ProgramFile
from sstep_verify.adapters.program.batch import EXIT, StoredProgramSolver, StoredRun
from sstep_verify.campaign.batch.script import SCRIPT, SLURM, shell_script, slurm_script
from sstep_verify.campaign.model import Definition
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.campaign.selection import load_data
from sstep_verify.campaign.verdicts.expand import Group, expand, make_case
from sstep_verify.campaign.verdicts.family import Source
from sstep_verify.campaign.verdicts.measured import SharedReferences
from sstep_verify.campaign.verdicts.memory import memory_of, out_of_range
from sstep_verify.campaign.verdicts.runs import checks_of_family, make_runs
from sstep_verify.errors import InputError, RefusedError
from sstep_verify.inputs import read_whole
from sstep_verify.inputs.records import build, decode
from sstep_verify.oracle.facade import Oracle
from sstep_verify.outputs import Output, check, write_text
from sstep_verify.report.plain import plain
from sstep_verify.solver import Solver

NAME, RUNS = "batch.json", "runs"

MOST_BYTES = 32 << 20
"""Largest manifest: of some hundred thousand runs."""


@dataclass(frozen=True)
class Batch:
    """What a folder of runs is for: of a profile what, of which program, and its runs in order."""

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
    """Read the manifest of a folder; InputError if there is none, or it cannot be used."""
    if not (folder / NAME).exists():
        raise InputError(f"{folder}: holds no {NAME}; name a folder that sstep-verify check --runs wrote")
    where = str(folder / NAME)
    values = decode(read_whole(folder / NAME, MOST_BYTES, "a manifest", follow=False), where)
    return build(values, Batch, where)


@dataclass(frozen=True)
class StoredRuns:
    """Runs in a folder in the place of a program's; a source of runs for a family.

    Those that are not there are refused or, where there is a list for them, `collected`.
    """

    folder: str
    program: ProgramFile
    collected: list[StoredRun] | None = None

    def solver(self, ranks: int) -> Solver:
        """What gives the runs of so many ranks."""
        return StoredProgramSolver(self.program, ranks, Path(self.folder), self.collected)


def export(batch: Batch, folder: Path) -> Batch:
    """Write every run that is asked for before any result is known, into an empty folder or none yet.

    InputError if the folder holds anything, nothing of the profile is left, or the program is witnessed.
    """
    target = check(Output("--runs", folder, replace=True, folder=True))
    if target.is_dir() and any(target.iterdir()):
        raise InputError(f"{folder} is not empty, and holds no runs; name another folder, which is made")
    if batch.program.program.witness:
        raise InputError(
            "witness counts in processes that are started here; leave it out with --runs (--set witness=''"
            " where a program file has it)"
        )
    return collect(batch, target)


def collect(batch: Batch, folder: Path) -> Batch:
    """Write out the runs that are asked for, by what is known so far, and are not there.

    They stand behind the others of the batch that is returned; manifest and scripts are written anew.
    """
    found: list[StoredRun] = []
    source = StoredRuns(str(folder / RUNS), batch.program, found)
    for group in expand(batch.definition(source, folder), batch.only):
        _collect_group(group)
    known = {run.name for run in batch.runs}
    batch = replace(batch, runs=(*batch.runs, *(run for run in found if run.name not in known)))
    if found:
        program, ranks = batch.program.program, max(batch.selection.ranks)
        write_text(folder / SCRIPT, shell_script(program, batch.runs))
        write_text(folder / SLURM, slurm_script(program.name, ranks, folder.name))
        write_batch(batch, folder)
    return batch


def _collect_group(group: Group) -> None:
    """Ask for all runs of the cases of a group, as a campaign does; one that is refused asks for none."""
    family, solvers = group.family, group.family.solvers()
    data = load_data(group.data, None)
    for spec in group.specs:
        case = make_case(spec, data, {"": solvers[""].declaration}, "", "")
        if out_of_range(case.problem):
            continue
        shared = SharedReferences(case.problem, Oracle(case.problem), whole=memory_of(spec, case).whole)
        reference = shared.reference(case.problem)
        try:
            make_runs(case, checks_of_family(family), solvers, reference, family.tolerance)
        except RefusedError:
            continue


def unmade(batch: Batch, folder: Path) -> list[str]:
    """Names of the runs of a batch that have not ended."""
    return [run.name for run in batch.runs if not os.path.lexists(folder / RUNS / run.name / EXIT)]
