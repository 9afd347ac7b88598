"""The stability campaign as its user meets it: a whole report, the same from any number of processes."""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from command import command

from sstep_verify.adapters import ReferenceSolver
from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.run import run_campaign
from sstep_verify.measures import relative_error
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import RBFKernel
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.solver import ProductionSolver
from studies import search_path
from studies.stability import units as stability_units

CAMPAIGN = """
[campaign]
name = "tiny"
title = "Tiny"
description = "A few scenarios."

[[scenario]]
precision = "float64"
form = ["in-place", "frozen"]
task = ["svm-l1"]
kernel = [{ name = "rbf", sigma = 1.0 }]
condition = [1.0, 1e8]
seed = [0, 1]
s = [2, 8]
samples = 12
features = 4
iterations = 40
replay = [1, 2, 8, 40]

[[scenario]]
precision = "float32"
form = ["frozen"]
task = ["krr"]
kernel = [{ name = "linear" }]
parameter = 0.25
block = [2]
condition = [1.0, 1e8]
seed = [0, 1]
s = [2, 8]
samples = 12
features = 4
iterations = 40
replay = [1, 2, 8]
"""

COMMAND = [sys.executable, "-m", "sstep_verify", "run"]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(CAMPAIGN, encoding="utf-8")
    return tmp_path


def _document(report: Path) -> dict:
    return json.loads((report / "results.json").read_text("utf-8"))


@pytest.mark.nightly
def test_the_command_writes_the_same_data_from_one_process_and_from_two(folder):
    documents = []
    for jobs in ("1", "2"):
        code, out, err = command("run", "tiny.toml", "--jobs", jobs, "--out", f"report-{jobs}")
        assert code == 0, out + err
        assert out.startswith("tiny: correct wherever judged: s = 1, 2 and 8 on 3 of 3 problems each; ")
        documents.append(_document(folder / f"report-{jobs}"))
    one, two = documents
    for part in ("stability", "cases", "verdicts"):
        assert one[part] == two[part]
    assert len(one["stability"]["runs"]) == (2 + 1) * 2 * 2 * 4
    noises = [run["noise"] for run in one["stability"]["runs"]]
    assert min(noises) >= 1
    assert max(noises) > 1
    # contract and step-replay judge every s, window-replay those listed.
    assert len(one["verdicts"]) == 12 + 12 + 4 + 4 + 3
    # A run that is a single window from zero has no stale product that could be seen.
    beside = {
        (v["check"], v["case"].split("/")[0], v["s"], v["status"])
        for v in one["verdicts"]
        if v["status"] != "PASS"
    }
    assert beside == {
        ("step-replay", "float32", 40, "VACUOUS"),
        ("step-replay", "float64", 40, "VACUOUS"),
        ("window-replay", "float64", 40, "VACUOUS"),
    }
    text = (folder / "report-2" / "index.html").read_text("utf-8") + json.dumps(two)
    assert str(folder) not in text
    # Heat maps, curves, the overview and the frontier, the error over s.
    assert len(list((folder / "report-2" / "figures").iterdir())) == 3 + 2 + 2 + 1
    with open(folder / "report-2" / "tables" / "stability.csv", encoding="utf-8", newline="") as stream:
        lines = list(csv.DictReader(stream))
    assert len(lines) == 12 * 4
    errors = {line["case"].split("/")[0]: float(line["error"]) for line in lines if line["s"] == "40"}
    # Each on its own side of the middle between the two unit roundoffs.
    middle = math.sqrt(unit_roundoff("float64") * unit_roundoff("float32"))
    assert 0 < errors["float64"] < middle < errors["float32"] < 1


@pytest.mark.nightly
def test_ids_are_listed_and_chosen_by_part(folder):
    words = [sys.executable, "-X", "importtime", *COMMAND[1:], "tiny.toml", "--list"]
    done = subprocess.run(
        words,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"PYTHONPATH": search_path()},
    )
    imported = {line.rsplit("|", 1)[-1].strip() for line in done.stderr.splitlines()}
    assert "sstep_verify.campaign.read" in imported
    assert not imported & {"scipy.stats", "scipy.special", "scipy.optimize", "hypothesis", "sklearn"}, (
        "every start of a campaign would wait for it"
    )
    listed = done.stdout.split()
    assert listed == [
        "float64/in-place/svm-l1/rbf,sigma=1", "float64/frozen/svm-l1/rbf,sigma=1", "float32/frozen/krr/b=2/linear",
    ]  # fmt: skip
    definition = read_definition(str(folder / "tiny.toml"))
    results = run_campaign(Plan(definition, only="float64/frozen"))
    assert [case.id for case in results.cases] == listed[1:2]
    assert {run.case for run in results.stability.runs} == set(listed[1:2])


class Wrong(ProductionSolver):
    """A solver whose s-step runs end a little off, as a wrong correction would make them."""

    def run(self, request, observe=None):
        trajectory = super().run(request, observe)
        if request.s == 1:
            return trajectory
        return replace(trajectory, alphas=trajectory.alphas * (1 + 2.0**-20))


@pytest.mark.usefixtures("unexplained")
def test_a_wrong_solver_fails_and_shows_its_loss(folder, monkeypatch):
    monkeypatch.setattr(stability_units, "ProductionSolver", Wrong)
    definition = read_definition(str(folder / "tiny.toml"))
    results = run_campaign(Plan(definition, only="float64/frozen", artefacts=folder / "kept"))
    assert results.summary.exit_code == 1
    statuses = {verdict["s"]: verdict["status"] for verdict in results.verdicts}
    assert statuses == {1: "PASS", 2: "FAIL", 8: "FAIL", 40: "FAIL"}
    losses = [run.loss for run in results.stability.runs if run.s > 1]
    assert min(losses) > 2.0**20
    # Made again in other orders of the data, it is as wrong.
    (answer,) = results.stability.answers
    assert len(answer.held) == len(losses) == answer.runs
    assert {run.orders for run in answer.worse} == {stability_units.SECOND_LOOK}
    assert {band.within_ten for band in answer.safe} == {1}
    assert any((folder / "kept").iterdir())


def test_corrections_summed_one_by_one_lose_what_sums_by_coordinate_keep():
    """What docs/stability.md says of Algorithm 4 as printed: the loss is of its sums, not of the precision.

    A single window of 2,048 draws of 48 coordinates, from zero. The reference adds its corrections one
    increment at a time, the production solver one coordinate at a time.
    """
    steps = 128
    scenario = Scenario(
        task="krr", kernel=RBFKernel(1.0), samples=48, features=16, block=16, iterations=steps,
        parameter=2.0**-6, condition=1.0,
    )  # fmt: skip
    problem, stream = scenario.problem(), scenario.stream()
    exact = Oracle(problem).trajectory(problem, stream, steps, (steps,)).alphas[-1]

    def units(solver, s: int) -> float:
        final = solver.run(RunRequest(problem, stream, s, steps)).final
        return relative_error(final, exact) / unit_roundoff("float64")

    classical = units(ReferenceSolver("float64", "classical"), 1)
    assert units(ReferenceSolver("float64"), steps) > 4 * classical
    assert units(ProductionSolver(update="frozen"), steps) < 2 * classical
