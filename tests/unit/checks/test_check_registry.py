"""Every check declares itself, and whatever lists checks is made from that."""

from __future__ import annotations

import importlib
import pkgutil
import re
from dataclasses import replace
from pathlib import Path

import make_checks
import numpy as np
import pytest

from sstep_verify import checks
from sstep_verify.campaign.verdicts.runs import nothing_compared
from sstep_verify.checks.registry import CHECKS, IN_ORDER, PRIMARY, case_of, checks_of, gates_of
from sstep_verify.checks.shared.case import Case, Check
from sstep_verify.checks.trajectory import ROUNDED
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem
from sstep_verify.verdict import Why

PROBLEM = Problem("p", np.eye(2), [1.0, -1.0], LinearKernel(), Hinge(1.0))
PAGE = Path(__file__).parents[3] / "docs" / "checks.md"


def test_the_page_on_checks_holds_what_they_declare():
    page = make_checks.page()
    assert PAGE.read_text("utf-8") == page
    named = re.findall(r"^\| `([\w-]+)`(?: \||: )", page, re.MULTILINE)
    assert sorted(named) == sorted([*CHECKS, *CHECKS]), "once in either table"


def test_every_module_that_declares_a_check_is_registered():
    within = f"{checks.__name__}."
    declaring = {
        item.name.removeprefix(within)
        for item in pkgutil.walk_packages(checks.__path__, within)
        if hasattr(importlib.import_module(item.name), "CHECK")
    }
    assert len(declaring) == len(CHECKS) == len(IN_ORDER)


@pytest.mark.parametrize("check", CHECKS.values(), ids=lambda check: check.id)
def test_a_check_says_all_of_itself(check):
    assert isinstance(check, Check)
    assert check.text.startswith(f"Check {check.id}: ")
    assert check.claim.endswith(".")
    assert all((check.method, check.needs, check.planted, check.vacuous))
    assert check.level in (None, 0, 1, 2, 3)
    folder = Path(checks.__file__).parents[1]
    assert all((folder / f"{name}.py").is_file() for name in check.bounds)


def test_the_contract_comes_first_and_the_primary_gate_is_declared():
    assert next(iter(CHECKS)) == "contract"
    assert "window-replay" in PRIMARY


def test_checks_come_in_the_order_asked_for_and_an_unknown_one_is_named():
    assert [check.id for check in checks_of(("box", "trajectory"))] == ["box", "trajectory"]
    with pytest.raises(
        InputError, match=r"'bix' is unknown \(did you mean 'box'\?\); known: box, .*window-replay"
    ):
        checks_of(("bix",))


@pytest.mark.parametrize(
    ("evidence", "gates"),
    [({ROUNDED: 0.0}, ("trajectory",)), ({ROUNDED: 1e-7}, ("trajectory",)), ({}, PRIMARY)],
)
def test_what_is_printed_to_the_last_bit_is_judged_by_its_ends_all_the_same(evidence, gates):
    verdict = replace(
        nothing_compared(
            "trajectory",
            Case("c", PROBLEM, IndexStream("cyclic", 2, 1, 4), (1,), 4, Declaration("d")),
            1,
            1,
            Why.NO_STEPS,
        ),
        evidence=evidence,
    )
    assert gates_of([verdict]) == gates


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("log", [False, True])
def test_on_several_ranks_the_further_s_are_asked_for_ranks_and_messages(ranks, log):
    stream = IndexStream("uniform", 2, 1, 8, seed=0)
    declared = Declaration("some", log=log, ranks=ranks)
    case = Case("some", PROBLEM, stream, (1, 5), 8, declared, further=(5,))
    asked = {check.id for check in IN_ORDER if 5 in case_of(check, case).s_values}
    assert {"rank-coherence", "message-count"} <= asked if ranks > 1 else "rank-coherence" not in asked
    assert {"contract", "step-replay" if log else "window-replay"} <= asked
    assert "optimum" not in asked
