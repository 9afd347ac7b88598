"""The program files for the paper authors' programs read what these print: tried on a stand-in of ours, correct and not."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from daily import crossed

from sstep_verify import judge
from sstep_verify.adapters.program import ProgramSolver, read_program
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, Ridge
from sstep_verify.verdict import Status

pytestmark = pytest.mark.pool_only

FILES = Path(__file__).parents[2] / "examples" / "adapters" / "paper"
PROGRAM = Path(__file__).with_name("paper_program.py")


@pytest.mark.parametrize(
    ("kind", "defect"),
    crossed(["ksvm-classical", "ksvm-s-step", "krr-classical", "krr-s-step"], ["", "last"], of=2),
)
def test_a_stand_in_of_the_authors_programs_is_judged(tmp_path, kind, defect):
    named = shlex.join([sys.executable, str(PROGRAM), kind + defect])
    text = (FILES / f"{kind}.toml").read_text("utf-8")
    started = r"mpiexec -n {np} \"$PAPER_PROGRAM\""
    assert text.count(started) == 1
    (tmp_path / "p.toml").write_text(text.replace(started, named), "utf-8")
    random = np.random.Generator(np.random.PCG64(11))
    data, svm = random.standard_normal((32, 8)), kind.startswith("ksvm")
    targets = np.where(random.random(32) < 0.5, -1.0, 1.0) if svm else random.standard_normal(32)
    problem = Problem("drawn", data, targets, LinearKernel(), Hinge(C=1.0) if svm else Ridge(penalty=1e-5))
    stream = IndexStream("glibc-rand", 32, 1 if svm else 3, 24, seed=42, replacement=not svm)
    s = 4 if kind.endswith("s-step") else 1
    solver = ProgramSolver(read_program(tmp_path / "p.toml"))
    verdicts = judge(solver, problem, stream, s, checks=("trajectory",))
    assert {one.check for one in verdicts} == {"contract", "trajectory"}
    assert {one.status for one in verdicts if one.check == "trajectory"} == {
        Status.FAIL if defect else Status.PASS
    }
