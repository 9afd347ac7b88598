"""Collects the runs that a profile asks for, and writes out those that are not made yet."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path

from sstep_verify.adapters.program import ProgramFile
from sstep_verify.adapters.program.batch import EXIT, StoredProgramSolver, StoredRun
from sstep_verify.campaign.batch.manifest import RUNS, Batch, write_batch
from sstep_verify.campaign.batch.script import SCRIPT, SLURM, shell_script, slurm_script
from sstep_verify.campaign.selection import load_data
from sstep_verify.campaign.verdicts.expand import Group, expand, make_case
from sstep_verify.campaign.verdicts.measured import SharedReferences
from sstep_verify.campaign.verdicts.memory import memory_of, out_of_range
from sstep_verify.campaign.verdicts.runs import checks_of_family, make_runs
from sstep_verify.errors import InputError, RefusedError
from sstep_verify.oracle.facade import Oracle
from sstep_verify.outputs import Output, check, write_text
from sstep_verify.solver import Solver


@dataclass(frozen=True)
class StoredRuns:
    """Runs in a folder in the place of a program's; a source of runs for a family.

    Parameters
    ----------
    folder : str
        Holds the folders of the runs.
    program : ProgramFile
        The program.
    collected : list of StoredRun or None
        See `StoredProgramSolver`.
    """

    folder: str
    program: ProgramFile
    collected: list[StoredRun] | None = None

    def solver(self, ranks: int) -> Solver:
        """What gives the runs of so many ranks."""
        return StoredProgramSolver(self.program, ranks, Path(self.folder), self.collected)


def export(batch: Batch, folder: Path) -> Batch:
    """Write every run that is asked for before any result is known.

    Parameters
    ----------
    batch : Batch
        What is exported.
    folder : Path
        Where: an empty folder, or none yet.

    Returns
    -------
    Batch
        With its runs.

    Raises
    ------
    InputError
        If the folder holds anything, nothing of the profile is left, or the program is witnessed.
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

    Parameters
    ----------
    batch : Batch
        The batch as it is.
    folder : Path
        Its folder.

    Returns
    -------
    Batch
        With the new runs behind its others; manifest and scripts are written anew.
    """
    found: list[StoredRun] = []
    source = StoredRuns(str(folder / RUNS), batch.program, found)
    for group in expand(batch.definition(source, folder), batch.only):
        _collect_group(group)
    known = {run.name for run in batch.runs}
    batch = replace(batch, runs=(*batch.runs, *(run for run in found if run.name not in known)))
    if found:
        write_text(folder / SCRIPT, shell_script(batch))
        write_text(folder / SLURM, slurm_script(batch, folder.name))
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
