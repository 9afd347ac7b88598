"""Statements of a solver that is right and of one that is wrong, and what their tests share."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from command import command, spread_here

from sstep_verify.campaign.artefact.files import write_digests
from sstep_verify.campaign.statement.files import files_of

MODULE = """
from dataclasses import replace
from sstep_verify.solver import ProductionSolver

class Defective(ProductionSolver):
    '''Its last a is moved by a relative 1e-9.'''
    def run(self, request, observe=None):
        made = super().run(request, observe)
        made.alphas[-1] *= 1 + 1e-9
        return made

right, wrong = ProductionSolver, Defective
"""


def stated_in(folder: Path, solver: str, code: int, *more: str) -> Path:
    """The statement that ``check`` makes in a folder, where it ends with this exit code."""
    (folder / "stated_solvers.py").write_text(MODULE)
    words = ["check", f"stated_solvers:{solver}", "--profile", "smoke", "--task", "svm-l1", "--s", "7"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PYTHONPATH", f"{folder}:{':'.join(sys.path)}")
        patch.syspath_prepend(folder)
        patch.setattr("sstep_verify.campaign.run.spread", spread_here)
        assert command(*words, *more, "--statement", "mine")[0] == code
    sys.modules.pop("stated_solvers", None)  # Nothing is to be proved by a solver that is still at hand.
    return folder / "mine"


def rewritten(folder: Path, name: str, values: object) -> None:
    """Change a file of a statement, and the digests with it."""
    (folder / name).write_text(json.dumps(values), "utf-8")
    write_digests(folder, files_of(folder))
