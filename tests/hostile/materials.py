"""Make what a hostile user starts from: data, a result and its checkpoint, a certificate, an artefact, vectors, and
what a right program left.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np

SOLVE = ("--task", "svm-l1", "--iterations", "320", "--interval", "160", "--tolerance", "0", "--s", "16")

CAMPAIGN = """[campaign]
name = "tried"
title = "Tried"
description = "A few iterations."

[[family]]
data = ["good"]
task = ["svm-l1"]
kernel = [{ name = "rbf", sigma = 0.5 }]
parameter = [1.0]
s = [1, 4]
iterations = 48
tolerance = 1e-8
checks = ["contract", "step-replay", "window-replay"]
"""

PROGRAM = """[program]
name = "copies"
command = ["cp", "-a", "-T", "left", "{dir}"]
time_limit = 5.0
"""
"""A program file: its program leaves what lies in a folder."""

PROGRAM_CAMPAIGN = CAMPAIGN.replace("s = [1, 4]", "s = [4]").replace(
    '["contract", "step-replay", "window-replay"]', '["contract", "step-replay"]\nsolver = "p.toml"'
)
"""A campaign of one run, of that program."""

PROGRAM_FILE = """[program]
name = "theirs"
command = ["./theirs", "{data}", "{H}"]
writes = "final"
environment = { SEED = "{seed}", PENALTY = "{penalty}" }
time_limit = 1.0
s = [1, 4]

[final]
file = "{dir}/result.txt"
after = "alpha:"
first = 3

[stream]
kind = "mt19937"
seed = 7
replacement = false

[conventions]
scale = "1/lambda"
sign = -1
order = "given"
counts = "windows"
start = "zero"

[fixed]
kernel = ["linear", "rbf"]
offset = 0.0

[declaration]
update = "in-place"
"""

DEFECT = ("* row[places[later]] * signed", "* row[places[later]] * (signed * 1.000001)")


def command(*words: str) -> tuple[int, str]:
    """Exit code and all output of ``sstep-verify WORDS``, run in this process."""
    from sstep_verify.cli.main import main
    from sstep_verify.vectors.__main__ import command as vectors

    said = io.StringIO()
    before, sys.argv = sys.argv, ["sstep-verify", *words]
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            vectors(words[1:]) if words[0] == "vectors" else main()
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.argv = before
    return code, said.getvalue()


def data_lines(samples: int = 24, features: int = 4, real: bool = False) -> str:
    """Text of a LIBSVM file with drawn values; labels +1 and -1, or real targets."""
    generator = np.random.Generator(np.random.PCG64(7))
    values = generator.standard_normal((samples, features))
    labels = np.where(generator.random(samples) < 0.5, -1, 1)
    targets = [f"{value:.6g}" for value in generator.standard_normal(samples)] if real else map(str, labels)
    rows = (" ".join(f"{j + 1}:{value:.6g}" for j, value in enumerate(row)) for row in values)
    return "".join(f"{target} {row}\n" for target, row in zip(targets, rows, strict=True))


def make(folder: Path) -> None:
    """Fill a folder with ``good``, ``real``, ``c.npz`` and its checkpoint, ``c.json``, ``v``, ``c.toml``, ``report``, ``left``."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        Path("good").write_text(data_lines(), "ascii")
        Path("real").write_text(data_lines(real=True), "ascii")
        Path("c.toml").write_text(CAMPAIGN, "ascii")
        for words, expected in (
            (("solve", "good", *SOLVE, "--out", "c.npz"), 0),
            (("oracle", "good", "--task", "svm-l1", "--digits", "8", "--no-cache", "--out", "c.json"), 0),
            (("vectors", "v", "--count", "3"), 0),
        ):
            code, said = command(*words)
            if code != expected:
                raise RuntimeError(f"{words} ended with {code}:\n{said}")
        _make_report()
        _make_left()
    finally:
        os.chdir(before)


def _make_report() -> None:
    """Leave a report with artefacts: the campaign on a solver with a planted defect."""
    from plant import plant

    from sstep_verify.solver import svm_window

    with plant(svm_window, DEFECT):
        code, said = command("run", "c.toml", "--jobs", "1", "--out", "report", "--keep-runs")
    if code != 1 or not list(Path("report/artefacts").iterdir()):
        raise RuntimeError(f"the planted defect gave exit code {code} and no artefact:\n{said}")


def _make_left() -> None:
    """Leave what a right program leaves of the one run of `PROGRAM_CAMPAIGN`."""
    Path("p.toml").write_text(
        PROGRAM.replace('"-a", "-T", "left", "{dir}"', '"-r", "{dir}", "left"'), "ascii"
    )
    Path("d.toml").write_text(PROGRAM_CAMPAIGN, "ascii")
    command("run", "d.toml", "--jobs", "1", "--out", "seen")
    program = Path(__file__).parents[1] / "conformance" / "numpy_program.py"
    subprocess.run([sys.executable, str(program), "left"], check=True)
    for file in Path("left").iterdir():
        if file.name not in ("log.bin", "final.bin"):
            file.unlink()
    for name in ("p.toml", "d.toml"):
        Path(name).unlink()
    shutil.rmtree("seen")
