"""Step-replay sees what it says it could have seen: quantities left out, and errors of the size it prints."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from daily import some
from judged import judged, named, named_case
from stepped import DROPPED, stepped_solver

from sstep_verify.checks import step_replay
from sstep_verify.problems import Hinge, LinearKernel, RBFKernel, Ridge, SquaredHinge
from sstep_verify.quantities import BOUNDARY, LOWER, STREAM, TAIL, WRITE_BACK, required_quantities
from sstep_verify.verdict import Status

CASES = {
    "svm-l1": (Hinge(0.4), RBFKernel(0.3), 1),
    "svm-l2": (SquaredHinge(0.5), RBFKernel(0.3), 1),
    "linear": (SquaredHinge(0.5), LinearKernel(), 1),
    "krr": (Ridge(0.05), RBFKernel(0.3), 3),
}
S = 8


def verdict_of(name, frozen, **factors):
    loss, kernel, block = CASES[name]
    tested = stepped_solver(frozen, **factors)
    case, _ = named_case(loss, kernel, block=block, s_values=(S,), solver=tested)
    return judged(step_replay, case, tested)[S]


def quantities(verdict):
    return {term.name: term for term in verdict.terms}


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize(
    ("name", "frozen"),
    [
        pytest.param(name, frozen, marks=[pytest.mark.nightly] * ((place + 2 * frozen) % 4 != 1))
        for place, name in enumerate(CASES)
        for frozen in (False, True)
    ],
)
def test_every_quantity_that_was_seen_is_missed_when_left_out(name, frozen):
    right = verdict_of(name, frozen)
    assert right.status is Status.PASS, right.reason
    assert right.executed == right.planned == 75
    seen = [term for term in right.terms if term.status is Status.PASS]
    assert len(seen) >= 8
    for term in seen:
        if term.name in (WRITE_BACK, BOUNDARY):
            continue  # no factor of the toy solver
        wrong = verdict_of(name, frozen, **{term.name.replace("-", "_"): DROPPED.get(term.name, 0.0)})
        assert wrong.status is Status.FAIL, term
        assert wrong.ratio > 1.0


@pytest.mark.usefixtures("unexplained")
@pytest.mark.parametrize("name", some(CASES, of=2))
def test_an_error_of_the_detection_limit_size_is_seen_and_a_hundredth_of_it_is_not(name):
    right = verdict_of(name, False)
    for term in right.terms:
        if term.name in (WRITE_BACK, BOUNDARY, STREAM, TAIL, LOWER) or not term.detection_limit < math.inf:
            continue
        factor = {term.name.replace("-", "_"): 1.0 + 1.25 * term.detection_limit}
        assert verdict_of(name, False, **factor).status is Status.FAIL, term
        factor = {term.name.replace("-", "_"): 1.0 + 0.01 * term.detection_limit}
        assert verdict_of(name, False, **factor).status is not Status.FAIL, term


def test_an_upper_end_that_is_one_bit_off_is_seen():
    """What is clipped in place sits on the box to the last bit."""
    assert verdict_of("svm-l1", False, upper_end=1.0 + 2.0**-52).status is Status.FAIL
    assert quantities(verdict_of("svm-l1", False))["upper-end"].detection_limit <= 2.0**-52


def test_detection_limit_errors_are_small():
    found = {name: quantities(verdict_of(name, False)) for name in CASES}
    for terms in found.values():
        for name in ("stale-product", "curvature", "kernel-correction"):
            assert terms[name].detection_limit < 2.0**-38, (name, terms[name])


@pytest.mark.parametrize("change", ["stored", "log", "shape", "missing", "number", "undrawn"])
def test_a_log_that_is_not_that_of_the_run_fails(change):
    tested = stepped_solver()
    case, _ = named_case(Hinge(0.4), RBFKernel(0.3), s_values=(S,), solver=tested)

    def altered(run):
        log, alphas = run.log.copy(), run.alphas.copy()
        if change == "stored":
            alphas[-1, 3] = np.nextafter(alphas[-1, 3], 1.0)
        elif change == "log":
            log[40, 0] = np.nextafter(log[40, 0], 2.0)
        elif change == "shape":
            log = log[:-1]
        elif change == "missing":
            return replace(run, log=None)
        elif change == "number":
            log[7, 0] = np.nan
        else:
            drawn = set(case.stream.blocks(0, run.length).ravel().tolist())
            alphas[1:, next(i for i in range(12) if i not in drawn) if len(drawn) < 12 else 0] += 1.0
        return replace(run, log=log, alphas=alphas)

    verdict = judged(step_replay, case, tested, altered)[S]
    # "log" changes the last bit of a value at the end of the box that is not the coordinate's last.
    assert verdict.status is Status.FAIL, verdict.reason


def test_the_quantity_left_out_is_named():
    for name, quantity in (
        ("svm-l1", "kernel_correction"),
        ("krr", "kernel_correction"),
        ("svm-l2", "omega"),
    ):
        verdict = verdict_of(name, False, **{quantity: 0.0})
        assert f"{quantity.replace('_', '-')} left out" in named(verdict)


def test_a_step_that_shows_nothing_is_vacuous():
    loss = CASES["svm-l1"][0]
    tested = stepped_solver()
    case, _ = named_case(loss, RBFKernel(1e6), s_values=(S,), solver=tested)
    verdict = judged(step_replay, case, tested)[S]
    assert verdict.status is Status.VACUOUS
    assert not quantities(verdict)["kernel-correction"].seen
    assert verdict.why in {quantities(verdict)[name].why for name in required_quantities(S)}
