"""The measured power is stated of a shipped campaign with all its problems, and of no part of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from daily import crossed

from sstep_verify import CallableSolver, Declaration, verify
from sstep_verify.adapters.program import Program, ProgramFile
from sstep_verify.adapters.program.file import Draws
from sstep_verify.campaign.profile import Selection, profile_of
from sstep_verify.campaign.verdicts import kind
from sstep_verify.campaign.verdicts.family import Family
from sstep_verify.verdict import Status, Verdict

DECIDED = [Verdict("step-replay", "a", "p", 7, 1, Status.PASS, 0.1, 0.1, 1.0, "absolute", 4, 4)]

SOLVER = CallableSolver(lambda problem, blocks, s, a0: a0, Declaration("mine"))

PROGRAM = ProgramFile(Program("p", ("./p", "{np}", "{dir}")))

SOME = {
    "tasks": [("krr",), ("svm-l2", "krr")],
    "kernels": [("polynomial",), ("linear", "rbf")],
    "s": [(7,), (1, 7)],
    "block": [3],
    "seed": [1, 2**31],
}
"""Parts of a profile that may be asked for, and other values of it."""

SAME = {"ranks": [(1,), (2,), (1, 3)], "seed": [0, None], "tasks": [("svm-l1", "svm-l2", "krr")]}
"""What leaves its problems as they are."""


@pytest.fixture(autouse=True)
def measured(monkeypatch):
    monkeypatch.setattr(kind, "power_statement", lambda name: f"measured of {name}")


def drawn(seed: int, table: dict[str, list]) -> dict[str, object]:
    """Values of one or more of the fields."""
    generator = np.random.Generator(np.random.PCG64(seed))
    names = generator.permutation(sorted(table))[: int(generator.integers(1, len(table) + 1))].tolist()
    return {name: table[name][int(generator.integers(len(table[name])))] for name in names}


@pytest.mark.parametrize(("profile", "seed"), crossed(["smoke", "ci"], range(12), of=4))
def test_power_is_reported_of_whole_profiles_only(profile, seed):
    whole = profile_of(profile, PROGRAM, Selection(**({"seed": 0} | drawn(seed, SAME))), "p")
    assert kind.power_of(whole, "", DECIDED) == f"measured of {profile}"
    part = profile_of(profile, PROGRAM, Selection(**({"seed": 0} | drawn(seed, SOME))), "p")
    assert kind.power_of(part, "", DECIDED) == ""


def test_power_is_not_reported_where_another_condition_holds():
    whole = profile_of("smoke", SOLVER, Selection(seed=0), "mine")
    assert kind.power_of(whole, "", DECIDED)
    assert kind.power_of(whole, "rbf", DECIDED) == ""
    assert kind.power_of(whole, "", [replace(DECIDED[0], check="box")]) == ""
    assert kind.power_of(whole, "", [replace(DECIDED[0], status=Status.VACUOUS)]) == ""
    families = tuple(replace(one, oracle="mpmath") for one in whole.families)
    assert Family.oracle != "mpmath"
    assert kind.power_of(replace(whole, families=families), "", DECIDED) == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"fixed": {"task": "svm-l1", "kernel": "linear"}},
        {"fixed": {"C": 2.0}},
        {"fixed": {"n": 5}},
        {"stream": Draws("glibc-rand", 3)},
    ],
)
def test_power_is_not_reported_of_problems_that_a_program_has_fixed(changes):
    other = profile_of("smoke", replace(PROGRAM, **changes), Selection(seed=0), "p")
    assert kind.power_of(other, "", DECIDED) == ""


def test_a_check_of_one_problem_tells_no_power():
    report = verify(SOLVER, "smoke", tasks=["krr"], kernels=["linear"], s=[2])
    assert report.failures
    assert report.results.summary.power == ""
