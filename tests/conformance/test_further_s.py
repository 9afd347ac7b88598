"""Further s: drawn from the seed of a run, so that a solver that is right at the s of a file alone is refused."""

from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest
from command import command
from daily import some

from sstep_verify import CallableSolver, Declaration, verify
from sstep_verify.campaign import PROFILES, profile
from sstep_verify.campaign.headline import FURTHER
from sstep_verify.campaign.model import Plan
from sstep_verify.campaign.partial import Partial
from sstep_verify.campaign.profile import SHARED, further_s, seeded
from sstep_verify.campaign.read import read_definition
from sstep_verify.campaign.redrawn import ANCHORED
from sstep_verify.campaign.run import run_campaign
from sstep_verify.report.case import CSR, HELD

SMOKE, CI = read_definition("smoke").families, read_definition("ci").families
(RBF,) = (one for one in SMOKE if one.task == ("svm-l1",) and one.kernel[0].name == "rbf")
ASKED = {"tasks": ["svm-l1"], "kernels": ["rbf"]}


def _right_at(known: set[int]) -> CallableSolver:
    """A K-SVM-L1 with RBF kernel that leaves the correction out at every s that it does not know."""

    def run(problem, blocks, s, a0, log):
        A, y, C = problem.dense, problem.targets, problem.loss.C
        K = np.exp(-problem.kernel.sigma * ((A[:, None] - A[None]) ** 2).sum(axis=2))
        Q, a = K * y[:, None] * y, a0.copy()
        for begin in range(0, len(blocks), s):
            window = blocks[begin : begin + s, 0]
            stale = Q[window] @ a - 1
            for step, i in enumerate(window):
                new = min(max(a[i] - stale[step] / Q[i, i], 0.0), C)
                if s in known:
                    stale[step + 1 :] += Q[window[step + 1 :], i] * (new - a[i])
                a[i] = log[begin + step, 0] = new
        return a

    return CallableSolver(run, Declaration("some", log=True, rbf="difference"))


@pytest.mark.parametrize("seed", [pytest.param(3, marks=pytest.mark.nightly), 592_653])
def test_a_solver_that_is_right_at_the_s_of_the_profile_alone_is_refused(seed):
    some = _right_at(set(RBF.s))
    found = verify(some, "smoke", **ASKED, seed=seed)
    drawn = set(found.results.cases[0].s) - set(RBF.s)
    wrong = {one["s"] for one in found.failures}
    assert found.results.summary.exit_code == 1
    assert wrong == drawn
    assert [one.facts[FURTHER] for one in found.results.cases] == [[*drawn]]
    assert {one.facts[HELD] for one in found.results.cases} == {CSR}
    assert len(drawn) == 1
    assert f"seed={seed}" in found.failures[0]["replay"]
    # And it is the correction that is refused: with it, the same solver is right at the same s.
    alike = verify(_right_at(set(range(1, 206))), "smoke", **ASKED, seed=seed)
    (right,) = alike.results.summary.right_at.values()
    assert set(right) == {*RBF.s, *drawn}


def test_a_run_without_a_seed_has_the_values_of_the_file_and_the_same_further_s(monkeypatch):
    monkeypatch.undo()
    assert profile.SEED == profile.USUAL
    for name in ("smoke", "ci"):
        given = read_definition(name)
        usual = seeded(given, profile.SEED)
        assert tuple(replace(one, further=()) for one in usual.families) == given.families
        assert all(one.further for one in usual.families)


@pytest.mark.parametrize("name", some(sorted({*PROFILES.values(), "varied", "parallel"}), of=2))
def test_every_family_gets_one_or_two_that_it_can_have(name):
    met = dict.fromkeys(SHARED, 0)
    known = {kind: set(values(700)) for kind, values in SHARED.items()}
    given = read_definition(name)
    for seed in range(12):
        drawn = seeded(given, seed)
        assert drawn.seed == seed
        assert seed > 2 or seeded(given, seed) == drawn
        for before, after in zip(given.families, drawn.families, strict=True):
            values = {**vars(before), "further": after.further}
            if name in ANCHORED and seed != profile.USUAL:
                moved = ("data", "kernel", "parameter", "iterations", "seed")
                values |= {field: getattr(after, field) for field in moved}
            assert vars(after) == values, "what the file says stays as it is"
            assert len(after.further) == (0 if before.interval else 1 + (len(before.s) > 2))
            assert not set(after.further) & set(before.s)
            most = max(before.s) if before.cache else after.iterations
            assert all(2 <= s <= most for s in after.further)
            for kind, values in known.items():
                met[kind] += any(s in values for s in after.further)
    assert all(count > 2 for count in met.values()), met


def test_s_beyond_the_samples_and_whole_runs_are_among_those_of_profile_ci():
    drawn = [(family, set(further_s(family, seed))) for family in CI for seed in range(50)]
    assert sum(any(s > 32 for s in one) for _, one in drawn) > 20, "few sets have more than 30 samples"
    assert sum(family.iterations in one for family, one in drawn) > 10, "whole runs"


def test_runs_of_whole_windows_get_s_that_divide_them():
    family = replace(CI[0], counts="windows")
    assert family.s == (1, 7, 133)
    drawn = {s for seed in range(50) for s in further_s(family, seed)}
    assert drawn
    assert all(133 % s == 0 for s in drawn), "133 = lcm(1, 7, 133)"


MODULE = "from sstep_verify.solver import ProductionSolver as right\n"


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{':'.join(sys.path)}")
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_the_seed_is_printed_and_stands_in_report_and_commands(module, monkeypatch):
    monkeypatch.setattr(profile, "SEED", 271_828)
    small = (
        "check",
        "mine:right",
        "--profile",
        "smoke",
        "--task",
        "svm-l1",
        "--kernel",
        "rbf",
        "--jobs",
        "1",
    )
    code, out, err = command(*small, "--out", "first")
    assert code == 0, out + err
    assert "seed 271828 of all that is drawn" in err
    first = json.loads((module / "first/results.json").read_text("utf-8"))
    assert first["provenance"]["seeds"]["values and further s"] == 271_828
    assert "--seed 271828" in first["provenance"]["command"]
    assert all("--seed 271828" in one["replay"] for one in first["verdicts"])
    # Who asks for some s gets these.
    code, out, err = command(*small, "--s", "3", "--out", "asked")
    assert (code, "seed" in err) == (0, False)
    asked = json.loads((module / "asked/results.json").read_text("utf-8"))["cases"][0]
    assert (asked["s"], asked["dataset"]) == ([3], RBF.data[0])


@pytest.mark.nightly
def test_a_run_that_is_resumed_keeps_its_seed(module, monkeypatch):
    monkeypatch.setattr(profile, "SEED", 31)
    keep = Partial.keep

    def interrupted(self, key, outcome):
        keep(self, key, outcome)
        raise KeyboardInterrupt

    small = (
        "check",
        "mine:right",
        "--profile",
        "smoke",
        "--kernel",
        "rbf",
        "--jobs",
        "1",
        "--out",
        "report",
    )
    with monkeypatch.context() as patch:
        patch.setattr(Partial, "keep", interrupted)
        command(*small)
    monkeypatch.setattr(profile, "SEED", 32)
    code, out, err = command(*small, "--resume")
    assert code == 0, out + err
    assert "seed 31" in err
    found = json.loads((module / "report/results.json").read_text("utf-8"))
    assert found["provenance"]["seeds"]["values and further s"] == 31
    families = seeded(read_definition("smoke"), 31).families
    expected = [one for one in families if one.kernel[0].name == "rbf"]
    assert [one["s"] for one in found["cases"]] == [sorted({*one.s, *one.further}) for one in expected]


def test_only_what_decides_an_s_is_asked_of_further_ones():
    definition = seeded(read_definition("smoke"), 8)
    definition = replace(definition, families=definition.families[2::3])
    results = run_campaign(Plan(definition))
    for case, family in zip(results.cases, definition.families, strict=True):
        (s,) = family.further
        checks = {one["check"] for one in results.verdicts_of(case.id) if one["s"] == s}
        assert checks == {"contract", "step-replay"}
    assert results.summary.exit_code == 0
