"""What a program finds in its folder, and how often it is started, for drawn descriptions of programs.

The program is a correct one, made in this process: nothing is started.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from daily import some
from small_solvers import descend

from sstep_verify import Hinge, IndexStream, LinearKernel, Problem, RBFKernel, Ridge, verify
from sstep_verify.adapters.program import ProgramSolver, read_program
from sstep_verify.adapters.program import solver as adapter
from sstep_verify.adapters.program.run import Ended
from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.run import run_campaign
from sstep_verify.campaign.verdicts import kind
from sstep_verify.campaign.verdicts.execute import CaseOutcome
from sstep_verify.protocol import RunRequest

ALWAYS = {
    "problem.json", "problem.txt", "data.svm", "data.bin", "targets.bin", "row_starts.bin", "columns.bin",
    "values.bin", "initial.bin", "initial.txt", "points.bin", "points.txt",
}  # fmt: skip
"""Files of the folder of docs/run-folder.md, without the coordinates."""

COORDINATES = {"indices.bin", "indices.txt"}


@dataclass
class Made:
    """Runs of a program that are made in this process, and what each found in its folder."""

    found: list[set[str]] = field(default_factory=list)

    def execute(self, words, *_args, **_named) -> Ended:
        folder = Path(words[1])
        self.found.append({one.name for one in folder.iterdir()})
        given = dict(line.split(" ", 1) for line in (folder / "problem.txt").read_text().splitlines())
        m, n, b, H, s = (int(given[name]) for name in ("samples", "features", "block", "iterations", "s"))
        data = np.fromfile(folder / "data.bin").reshape(m, n)
        kernel = LinearKernel() if given["kernel"] == "linear" else RBFKernel(float(given["sigma"]))
        loss = Hinge(float(given["C"])) if "C" in given else Ridge(float(given["lambda"]))
        problem = Problem("given", data, np.fromfile(folder / "targets.bin"), kernel, loss)
        log = np.empty((H, b))
        if (folder / "indices.bin").exists():
            blocks = np.fromfile(folder / "indices.bin", "<i8").reshape(H, b)
        else:
            blocks = np.array([np.random.default_rng(H).permutation(m)[:b] for _ in range(H)])
            blocks.astype("<i8").tofile(folder / "indices.bin")
        descend(problem, blocks, s, np.fromfile(folder / "initial.bin"), log).tofile(folder / "final.bin")
        log.tofile(folder / "log.bin")
        return Ended(0, 0.001)


@pytest.fixture
def made(monkeypatch) -> Made:
    program = Made()
    monkeypatch.setattr(adapter, "execute", program.execute)
    return program


def described(folder: Path, writes: str, stream: str = "", seed: int = 0) -> Path:
    """A program file, whose program draws coordinates itself if a stream is named."""
    text = f"""
        [program]
        name = "made"
        command = ["true", "{{dir}}"]
        writes = "{writes}"
        [declaration]
        update = "added"
        rbf = "difference"
        factorisation = "lu"
    """
    drawn = f"[stream]\nkind = '{stream}'\nseed = {seed}\n" if stream else ""
    path = folder / "made.toml"
    path.write_text(text + drawn)
    return path


@pytest.mark.parametrize("seed", range(40))
def test_a_program_finds_the_coordinates_unless_it_logs_its_own(made, seed, tmp_path):
    generator = np.random.Generator(np.random.PCG64([26, seed]))
    stream = ("", "logged", "glibc-rand", "numpy-mt19937")[seed % 4]
    writes = "log" if stream == "logged" else ("log", "final")[seed // 4 % 2]
    m, n, s = (int(generator.integers(low, 9)) for low in (4, 1, 1))
    kernel = (LinearKernel(), RBFKernel(0.5))[int(generator.integers(2))]
    labels = np.where(generator.random(m) < 0.5, -1.0, 1.0)
    problem = Problem("drawn", generator.standard_normal((m, n)), labels, kernel, Hinge(1.0))
    length = int(generator.integers(1, 30))
    asked = IndexStream(stream or "uniform", m, 1, length, seed=seed)
    solver = ProgramSolver(read_program(described(tmp_path, writes, stream, seed)))
    trajectory = solver.run(RunRequest(problem, asked, s, length))
    assert np.isfinite(trajectory.final).all()
    assert made.found
    for names in made.found:
        assert names == (ALWAYS if stream == "logged" else ALWAYS | COORDINATES)


@pytest.mark.parametrize("seed", some(range(4), of=3))
def test_no_more_starts_are_announced_than_are_made(made, monkeypatch, seed, tmp_path):
    generator = np.random.Generator(np.random.PCG64([18, seed]))
    told: list[tuple[int, int]] = []
    announce: Callable = kind.announce_starts

    def announced(plan, starts, programs):
        announce(plan, starts, programs)
        told.append((starts, len(made.found)))  # Tries before the runs are none of these.

    monkeypatch.setattr(kind, "announce_starts", announced)
    task, kernel = (("svm-l1", "krr")[seed % 2], ("linear", "rbf")[int(generator.integers(2))])
    several = generator.choice(np.arange(1, 30), 2, replace=False).tolist()
    report = verify(
        str(described(tmp_path, ("log", "final")[seed // 2 % 2])), "smoke", tasks=[task], kernels=[kernel],
        s=sorted(several), seed=int(generator.integers(100)),
    )  # fmt: skip
    assert report.passed, report
    ((starts, before),) = told
    assert 0 < starts <= len(made.found) - before


@dataclass
class Kept:
    """What an interrupted run has left, in memory: some of the outcomes of a whole one."""

    found: dict[str, CaseOutcome]

    def open(self, *_args) -> dict[str, CaseOutcome]:
        return self.found

    def keep(self, _key, outcome) -> CaseOutcome:
        return outcome


@pytest.mark.parametrize(
    "seed", [pytest.param(0, marks=pytest.mark.nightly), 1, pytest.param(2, marks=pytest.mark.nightly)]
)
def test_starts_are_announced_of_the_problems_that_are_run(made, monkeypatch, seed, tmp_path):
    generator = np.random.Generator(np.random.PCG64([71, seed]))
    program = described(tmp_path, ("log", "final")[seed % 2])
    definition = read_definition(_written(tmp_path / "drawn.toml", program, seed))
    told: list[int] = []
    monkeypatch.setattr(kind, "announce_starts", lambda _plan, starts, _programs: told.append(starts))

    def announced(kept: dict[str, CaseOutcome]) -> int:
        told.clear()
        run_campaign(Plan(definition, partial=Kept(kept)))
        return sum(told)

    outcomes: dict[str, CaseOutcome] = {}
    monkeypatch.setattr(Kept, "keep", lambda _self, key, one: outcomes.setdefault(key, one))
    whole = announced({})
    keys = sorted(outcomes)
    size = int(generator.integers(1, len(keys)))
    some = {keys[i] for i in generator.choice(len(keys), size, replace=False).tolist()}
    rest = {key: outcomes[key] for key in keys if key not in some}
    first, second = announced(rest), announced({key: outcomes[key] for key in some})
    assert min(first, second) > 0
    assert first + second == whole
    count = len(made.found)
    assert announced(outcomes) == 0
    assert len(made.found) == count


def _written(path: Path, program: Path, seed: int) -> str:
    path.write_text(f"""
        [campaign]
        name = "drawn"
        title = "Drawn"
        description = "Problems of a program."
        [[family]]
        solver = "{program}"
        data = ["small"]
        task = ["svm-l1"]
        kernel = [{{ name = "linear" }}, {{ name = "rbf", sigma = 0.5 }}]
        parameter = [1.0, 0.25]
        s = [{2 + seed}, {9 - seed}]
        iterations = {40 + seed}
        checks = ["step-replay", "window-replay"]
        """)
    return str(path)
