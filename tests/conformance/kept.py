"""Reports with kept runs, of solvers of several kinds, for the tests that make them again."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest
from command import command, spread_here

from sstep_verify.campaign.artefact.files import SUMS, write_digests
from sstep_verify.campaign.artefact.runs import FILES
from sstep_verify.campaign.kept import CAMPAIGN

MODULE = """
import os, signal
from sstep_verify.solver import ProductionSolver

right = ProductionSolver

class Defective(ProductionSolver):
    '''Its last alpha is moved by a relative 1e-9.'''
    def run(self, request, observe=None):
        made = super().run(request, observe)
        made.alphas[-1] *= 1 + 1e-9
        return made

class Raising(ProductionSolver):
    '''Knows no window of seven steps.'''
    def run(self, request, observe=None):
        if request.s == 7:
            raise ValueError("seven steps are too many")
        return super().run(request, observe)

class Crashing(ProductionSolver):
    '''Ends its process in windows of seven steps.'''
    def run(self, request, observe=None):
        if request.s == 7:
            os.kill(os.getpid(), signal.SIGSEGV)
        return super().run(request, observe)
"""

SMALL = ("--profile", "smoke", "--task", "svm-l1", "--kernel", "rbf", "--s", "1,7", "--jobs", "1")


def kept_report(folder: Path, solver: str, code: int, *, alone: bool = True) -> Path:
    """The report of a solver of the module, with its runs, where ``check`` ends with this exit code.

    If `alone`, this process makes the runs. The module is gone afterwards.
    """
    (folder / "kept_solvers.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PYTHONPATH", f"{folder}:{':'.join(sys.path)}")
        patch.syspath_prepend(folder)
        if alone:
            patch.setattr("sstep_verify.campaign.run.spread", spread_here)
        words = ("check", f"kept_solvers:{solver}", *SMALL, "--keep-runs", "--out", "report")
        found, out, err = command(*words)
    assert found == code, out + err
    sys.modules.pop("kept_solvers", None)  # Nothing is to be made again by a solver that is still at hand.
    (folder / "kept_solvers.py").unlink()
    return folder / "report"


def copied(report: Path, folder: Path) -> Path:
    """A copy of a report, whose files may be changed: no name of a file is shared with another report."""
    return Path(shutil.copytree(report, folder / "copy", copy_function=shutil.copyfile))


def mended(report: Path) -> None:
    """Make the digests of all kept runs again, as whoever changed a file would."""
    runs = report / "runs"
    folders = [path for path in runs.iterdir() if path.is_dir()]
    for folder in folders:
        write_digests(folder, FILES)
    write_digests(runs, [CAMPAIGN, *(f"{folder.name}/{SUMS}" for folder in folders)])
