"""Drawn lists of expected failures: each test of a check passes, fails or is an xfail as its own entries say."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from daily import some
from small_solvers import callable_of, descend

from sstep_verify import parametrize_with_checks, verify
from sstep_verify.campaign.model import REFUSED
from sstep_verify.campaign.summary import expected_text
from sstep_verify.errors import FailedError
from sstep_verify.report.results import TOO_FEW
from sstep_verify.verdict import UNSETTLED, Status

PART = {"tasks": ["svm-l1"], "kernels": ["linear"]}


def raises(problem, blocks, s, a0):
    if s > 1:
        raise ValueError("only s = 1")
    return descend(problem, blocks, s, a0)


SOLVERS = {
    "right": callable_of(log=True),
    "corrected": callable_of(log=True, correction=1.001),
    "beyond": callable_of(log=True, upper=False),
    "raises": callable_of(function=raises),
}


@cache
def judged(name: str):
    return verify(SOLVERS[name], "smoke", **PART).results


def each_test(name: str, path=None) -> dict[str, object]:
    """The tests of one problem, by check."""
    given = parametrize_with_checks([SOLVERS[name]], **PART, xfails=path).mark.args[1]
    return {one.id.rpartition("::")[2]: one.values[1] for one in given}


def outcome(test, solver) -> str:
    try:
        test(solver)
    except FailedError:
        return "failed"
    except pytest.xfail.Exception:
        return "xfailed"
    except pytest.skip.Exception:
        return "skipped"
    return "passed"


def wanted(name: str, checks: list[str], listed: set[str]) -> dict[str, str]:
    """What the test of each check has to say where these kinds of failures are listed."""
    results = judged(name)
    own = {check: [one["status"] for one in results.verdicts if one["check"] == check] for check in checks}
    found = {
        f"{check}: {status}" for check, those in own.items() for status in those if status in UNSETTLED
    }
    short = {one["check"] for one in results.campaign.parameters[TOO_FEW]} if not found & listed else set()
    said = {}
    for place, (check, statuses) in enumerate(own.items()):
        mine = {kind for kind in listed if kind.startswith(f"{check}: ")}
        mine |= {REFUSED} & listed if place == 0 else set()
        open_ = {f"{check}: {status}" for status in statuses if status in UNSETTLED}
        if open_ - listed or mine - found or check in short:
            said[check] = "failed"
        elif mine:
            said[check] = "xfailed"
        else:
            said[check] = "skipped" if {*statuses} <= {Status.VACUOUS} else "passed"
    return said


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize("name", some(SOLVERS, of=2, first=1))
def test_each_check_says_what_its_own_entries_ask_for(name, tmp_path):
    checks = [*each_test(name)]
    (case,) = (one.id for one in judged(name).cases)
    generator = np.random.Generator(np.random.PCG64(14))
    failing = {
        f"{one['check']}: {one['status']}" for one in judged(name).verdicts if one["status"] in UNSETTLED
    }
    assert bool(failing) == (name != "right")
    kinds = sorted({f"{check}: {status}" for check in checks for status in UNSETTLED} | {REFUSED})
    seen: set[str] = set()
    for draw in range(4):
        met = {kind for kind in sorted(failing) if draw and generator.random() < 0.7}
        vain = set(generator.choice(kinds, int(generator.integers(0, 3)), replace=False).tolist())
        listed = failing if draw == 1 else met | vain
        path = tmp_path / f"{draw}.toml"
        path.write_text(
            "\n".join(f"[[expected]]\nid = '{case}'\nkind = '{one}'\nreason = 'known'\n" for one in listed)
        )
        told = {check: outcome(test, SOLVERS[name]) for check, test in each_test(name, path).items()}
        assert told == wanted(name, checks, listed)
        seen |= {*told.values()}
        if draw == 1:
            assert "failed" not in told.values()
    assert {"failed", "skipped"} <= seen
    assert ("xfailed" in seen) == bool(failing)


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize("name", some(SOLVERS, of=2, first=1))
def test_the_list_that_a_report_writes_leaves_no_test_that_fails(name, tmp_path):
    path = tmp_path / "known.toml"
    path.write_text(expected_text(judged(name)), "utf-8")
    assert "failed" not in {outcome(test, SOLVERS[name]) for test in each_test(name, path).values()}
