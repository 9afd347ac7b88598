"""Programs that tests run as solvers, and what they are asked for."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from sstep_verify.adapters.program import (
    Program,
    ProgramFile,
    ProgramSolver,
    read_program,
)
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem
from sstep_verify.protocol import RunRequest

ENDS = str(Path(__file__).with_name("programs") / "ends.py")
DATA = np.random.default_rng(5).standard_normal((6, 3))
LABELS = np.resize([1.0, -1.0], 6)

GOOD = '[program]\nname = "mine"\ncommand = ["./x", "{dir}"]\n'
RESULT = '[final]\nfile = "a.txt"\n'


def request(**options) -> RunRequest:
    problem = Problem("small", DATA, LABELS, LinearKernel(), Hinge(0.5))
    stream = IndexStream("uniform", 6, 1, 20, seed=4)
    return RunRequest(problem, stream, 4, 14, start=3, **options)


def ending(mode: str, *more: str, limit: float = 20.0, memory: float = 0.0) -> ProgramSolver:
    command = (sys.executable, "-S", ENDS, "{dir}", mode, *more)
    return ProgramSolver(ProgramFile(Program("ends", command, time_limit=limit, memory=memory)))


def leaving(text: str, tables: str, tmp_path: Path, writes: str = "final", more: str = "") -> ProgramSolver:
    """A program that runs some lines of Python in its run folder."""
    lines = f"import os, sys; os.chdir(sys.argv[1])\n{text}"
    command = json.dumps([sys.executable, "-S", "-c", lines.replace("{", "{{").replace("}", "}}"), "{dir}"])
    path = tmp_path / "p.toml"
    path.write_text(f'[program]\nname = "p"\ncommand = {command}\nwrites = "{writes}"\n{more}{tables}')
    return ProgramSolver(read_program(path))
