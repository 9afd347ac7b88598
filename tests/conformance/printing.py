"""A C program that prints its result, built once, in the format and with the mistake that a test wants."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from c_examples import call, needed

from sstep_verify.problems import Hinge, IndexStream, LinearKernel, PolynomialKernel, Problem, RBFKernel

SOURCE = Path(__file__).with_name("printing_solver.c")


def built(folder: Path) -> Path:
    """The program, compiled."""
    program = folder / "printing_solver"
    made = call(needed("cc"), "-O2", "-Wall", "-Werror", "-o", program, SOURCE, "-lm")
    assert made.returncode == 0, made.stderr
    return program


def described(
    folder: Path, program: Path, form="%.17e", own=0, mistake="right", ends=(-1.0, 1e300), tables=""
) -> str:
    """A program file; `ends` are the values below and above which it writes 0 and C."""
    given = ["{m}", "{n}", "{C}", "{kernel}", "{parameter}", "{s}", "{H}"]
    words = [str(program), "{dir}", "{dir}/final.txt", form, *given, str(own), mistake, *map(str, ends)]
    path = folder / f"p{len(list(folder.glob('*.toml')))}.toml"
    path.write_text(
        f'[program]\nname = "printing"\ncommand = {json.dumps(words)}\nwrites = "final"\n'
        '[conventions]\nstart = "zero"\n[fixed]\ntask = "svm-l1"\noffset = 0.0\n'
        f'[declaration]\nrbf = "difference"\n{tables}'
    )
    return str(path)


def drawn_problem(random: np.random.Generator) -> tuple[Problem, IndexStream]:
    """A K-SVM of few samples, so that coordinates act on each other, and a stream."""
    m = int(random.integers(8, 16))
    kernels = (
        LinearKernel(),
        PolynomialKernel(degree=2, offset=0.0),
        RBFKernel(float(random.uniform(0.2, 1))),
    )
    data, labels = random.standard_normal((m, 3)), random.choice([-1.0, 1.0], m)
    kernel = kernels[int(random.integers(3))]
    problem = Problem("drawn", data, labels, kernel, Hinge(float(random.uniform(1.0, 3.0))))
    return problem, IndexStream("uniform", m, 1, 64, seed=int(random.integers(1 << 30)))
