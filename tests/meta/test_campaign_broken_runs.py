"""A campaign goes on where a solver returns nonsense, where it raises, and where a check raises."""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest

from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.run import run_campaign
from sstep_verify.campaign.verdicts import family
from sstep_verify.checks.registry import CHECKS
from sstep_verify.solver import ProductionSolver

CAMPAIGN = """
[campaign]
name = "small"
title = "Small"
description = "A few iterations."

[[family]]
data = ["{folder}/points.svm"]
task = ["svm-l1", "svm-l2"]
kernel = [{{ name = "linear" }}]
s = [1, 4]
iterations = 40
"""


class Spoiled(ProductionSolver):
    """Returns nonsense for some runs."""

    change = staticmethod(lambda request, run: run)

    def run(self, request, observe=None):
        return type(self).change(request, super().run(request, observe))


@pytest.fixture
def results(tmp_path, monkeypatch):
    points = [f"{1 if k % 3 else 2} 1:{(7 * k % 11) / 8} 2:{(5 * k % 13) / 8}" for k in range(12)]
    (tmp_path / "points.svm").write_text("\n".join(points) + "\n", encoding="ascii")
    path = tmp_path / "small.toml"
    path.write_text(CAMPAIGN.format(folder=tmp_path), encoding="utf-8")

    def run(change=lambda request, run: run):
        monkeypatch.setattr(Spoiled, "change", staticmethod(change))
        monkeypatch.setattr(family, "make_solvers", lambda *a, **k: {"": Spoiled()})
        return run_campaign(Plan(read_definition(str(path))))

    return run


def not_a_number(request, run):
    alphas = run.alphas.copy()
    alphas[1:, 0] = np.nan
    return replace(run, alphas=alphas)


def shorter(request, run):
    return replace(run, iterations=run.iterations[:2], alphas=run.alphas[:2])


def other_shape(request, run):
    return replace(run, alphas=run.alphas[:, :3])


def nothing(request, run):
    return replace(run, iterations=run.iterations[:0], alphas=run.alphas[:0])


def by_s(results, case, check):
    return {v["s"]: v["status"] for v in results.verdicts_of(case) if v["check"] == check}


@pytest.mark.parametrize("change", [not_a_number, shorter, other_shape, nothing])
def test_nonsense_is_a_fail_of_the_contract_and_of_no_other_check(results, change):
    found = results(change)
    assert found.summary.exit_code == 1, found.summary.sentence
    assert {case.status for case in found.cases} == {"FAIL"}
    for case in found.cases:
        assert by_s(found, case.id, "contract") == {1: "FAIL", 4: "FAIL"}
        others = {v["status"] for v in found.verdicts_of(case.id) if v["check"] != "contract"}
        assert others == {"VACUOUS"}
        assert case.reason.startswith("contract, s = 1")


def test_an_s_whose_runs_are_sound_is_judged_next_to_one_whose_are_not(results):
    found = results(lambda request, run: not_a_number(request, run) if request.s == 4 else run)
    for case in found.cases:
        assert by_s(found, case.id, "contract") == {1: "PASS", 4: "FAIL"}
        for check in ("window-replay", "metamorphic-exact", "trajectory"):
            assert by_s(found, case.id, check) == {1: "PASS", 4: "VACUOUS"}, check


def test_a_plain_run_is_judged_though_the_run_that_continues_it_is_broken(results):
    def change(request, run):
        return not_a_number(request, run) if request.initial is not None and request.s == 4 else run

    found = results(change)
    for case in found.cases:
        assert by_s(found, case.id, "contract") == {1: "PASS", 4: "FAIL"}
        assert by_s(found, case.id, "window-replay")[4] == "PASS"


CRASHES = """
import os, signal
from sstep_verify.solver import ProductionSolver

class Crashing(ProductionSolver):
    def run(self, request, observe=None):
        if request.s == 4 and request.variant == "" and request.initial is None:
            os.kill(os.getpid(), signal.{by})
        return super().run(request, observe)

solver = Crashing()
"""


ABORTING = """
import multiprocessing, os, signal
from sstep_verify.campaign.verdicts.measured import Monitor
from sstep_verify.solver import ProductionSolver

if multiprocessing.parent_process():
    Monitor.__call__ = lambda *given: os.kill(os.getpid(), signal.SIGABRT)
solver = ProductionSolver()
"""

RAISING = """
from sstep_verify.solver import ProductionSolver

class Raising(ProductionSolver):
    def run(self, request, observe=None):
        return self.deeper()

    def deeper(self):
        raise ValueError("planted")

solver = Raising()
"""


def judged_apart(tmp_path, monkeypatch, module):
    """The results of a solver that runs in a process of its own."""
    (tmp_path / "apart.py").write_text(module, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    points = [f"{1 if k % 3 else 2} 1:{(7 * k % 11) / 8} 2:{(5 * k % 13) / 8}" for k in range(12)]
    (tmp_path / "points.svm").write_text("\n".join(points) + "\n", encoding="ascii")
    table = CAMPAIGN.format(folder=tmp_path).replace('"svm-l1", "svm-l2"', '"svm-l1"')
    table += 'solver = "apart:solver"\nchecks = ["contract", "step-replay"]\n'
    (tmp_path / "small.toml").write_text(table, encoding="utf-8")
    return run_campaign(Plan(read_definition(str(tmp_path / "small.toml"))))


@pytest.mark.nightly
def test_a_process_that_ends_while_we_measure_is_no_verdict_on_the_solver(tmp_path, monkeypatch):
    found = judged_apart(tmp_path, monkeypatch, ABORTING)
    assert (found.summary.exit_code, len(found.cases)) == (3, 0)
    assert any("signal 6" in note for note in found.campaign.notes)


def test_a_solver_that_raises_in_a_process_of_its_own_keeps_its_frames(tmp_path, monkeypatch):
    found = judged_apart(tmp_path, monkeypatch, RAISING)
    assert found.summary.exit_code == 1
    (case,) = found.cases
    raised = [one for v in found.verdicts_of(case.id) for one in v["raised"]]
    assert {one["kind"] for one in raised} == {"ValueError"}
    assert all(one["frames"][-1].endswith("in deeper") for one in raised)


@pytest.mark.parametrize("by", ["SIGSEGV", pytest.param("SIGKILL", marks=pytest.mark.nightly)])
def test_a_run_that_ends_its_process_by_its_own_fault_fails_the_contract_alone(tmp_path, monkeypatch, by):
    """Whoever is killed from outside, for its memory or by a person, has shown nothing."""
    (tmp_path / "crashing.py").write_text(CRASHES.format(by=by), encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    points = [f"{1 if k % 3 else 2} 1:{(7 * k % 11) / 8} 2:{(5 * k % 13) / 8}" for k in range(12)]
    (tmp_path / "points.svm").write_text("\n".join(points) + "\n", encoding="ascii")
    table = CAMPAIGN.format(folder=tmp_path).replace('"svm-l1", "svm-l2"', '"svm-l1"')
    table += 'solver = "crashing:solver"\nchecks = ["contract", "step-replay"]\n'
    (tmp_path / "small.toml").write_text(table, encoding="utf-8")
    found = run_campaign(Plan(read_definition(str(tmp_path / "small.toml"))))
    if by == "SIGKILL":
        assert (found.summary.exit_code, len(found.cases)) == (3, 0)
        return
    assert (found.summary.exit_code, len(found.cases)) == (1, 1)
    for case in found.cases:
        assert by_s(found, case.id, "contract") == {1: "PASS", 4: "FAIL"}
        assert by_s(found, case.id, "step-replay")[1] == "PASS"
        assert "it ended the process that made it (signal 11)" in case.reason


def test_a_check_that_raises_is_named_with_its_case_and_loses_no_other(results, monkeypatch):
    box = CHECKS["box"]

    def judge(case, trajectories, oracle):
        if case.id.endswith("svm-l1/C=1"):
            raise ZeroDivisionError("planted")
        return box.judge(case, trajectories, oracle)

    monkeypatch.setitem(CHECKS, "box", replace(box, judge=judge))
    found = results()
    assert found.summary.exit_code == 4
    assert len(found.cases) == 2
    (error,) = [note for note in found.campaign.notes if note.startswith("internal error")]
    for word in ("svm-l1/C=1, check box", "planted"):
        assert word in error
    assert {case.id: len(by_s(found, case.id, "box")) for case in found.cases}.popitem()[1] in (0, 2)
    assert all(by_s(found, case.id, "window-replay") == {1: "PASS", 4: "PASS"} for case in found.cases)


def test_a_solver_that_raises_loses_its_case_alone(results):
    def change(request, run):
        if request.problem.hinge.shift:
            raise ZeroDivisionError("planted")
        return run

    found = results(change)
    assert found.summary.exit_code == 4
    (case,) = found.cases
    assert case.task == "svm-l1"
    (error,) = [note for note in found.campaign.notes if note.startswith("internal error")]
    assert "svm-l2/C=1" in error
