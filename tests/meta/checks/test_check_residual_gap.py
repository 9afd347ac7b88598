"""The check residual-gap, on a small solver that maintains weights: kept well it passes, leaking it fails."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from judged import assert_teaches, judged, small_case
from stateful import StatefulSolver

from sstep_verify.checks.recorded import residual_gap as check
from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, RBFKernel, Ridge, SquaredHinge
from sstep_verify.verdict import Status, Why

CARRIED = [(Hinge(0.1), 1), (SquaredHinge(2.0), 1), (Ridge(0.5), 1), (Ridge(0.5), 3)]


def _carrying(loss, block, iterations=300, **options):
    case, _ = small_case(loss, block=block, iterations=iterations, s_values=(1, 4))
    tested = StatefulSolver(case.problem, "weights", **options)
    return dataclasses.replace(case, declaration=tested.declaration), tested


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("loss", "block"), CARRIED)
def test_a_state_kept_well_passes(loss, block, dtype):
    verdicts = judged(check, *_carrying(loss, block, dtype=dtype))
    assert sorted(verdicts) == [1, 4]
    for verdict in verdicts.values():
        assert verdict.status is Status.PASS
        assert verdict.executed == verdict.planned > 2
        assert verdict.terms[0].status is Status.PASS


@pytest.mark.parametrize(("loss", "block"), CARRIED)
def test_a_leak_of_one_part_in_ten_million_fails(loss, block):
    for verdict in judged(check, *_carrying(loss, block, leak=1e-7)).values():
        assert verdict.status is Status.FAIL
        assert_teaches(verdict)


@pytest.mark.parametrize(("loss", "block"), CARRIED)
def test_a_state_that_goes_wrong_late_in_a_long_run_fails(loss, block):
    """A disturbance after the short run has ended, by a thousandth of the state, in the plain run alone."""
    case, tested = _carrying(loss, block, iterations=3000)

    def late(run):
        weights = run.weights.copy()
        weights[run.iterations > 2000] += np.abs(weights).max() / 1000
        return dataclasses.replace(run, weights=weights)

    for verdict in judged(check, case, tested, late).values():
        assert verdict.status is Status.FAIL
        assert verdict.place.end > 2000


def test_a_clipped_step_counted_twice_fails():
    verdicts = judged(check, *_carrying(Hinge(0.1), 1, repeat=True))
    assert {verdict.status for verdict in verdicts.values()} == {Status.FAIL}


def test_a_state_off_from_the_start_fails_there():
    case, tested = _carrying(Ridge(0.5), 1)

    def shifted(run):
        return dataclasses.replace(run, weights=run.weights + 1e-9)

    for verdict in judged(check, case, tested, change=shifted).values():
        assert verdict.status is Status.FAIL
        assert (verdict.place.item, verdict.place.end) == ("weights", 0)


def test_a_run_that_never_moves_is_vacuous():
    case, tested = _carrying(Hinge(0.1), 1)

    def still(run):
        return dataclasses.replace(
            run, alphas=np.zeros_like(run.alphas), weights=np.zeros_like(run.weights)
        )

    for verdict in judged(check, case, tested, change=still).values():
        assert verdict.status is Status.VACUOUS
        assert verdict.why is Why.NO_EFFECT


def test_a_declared_state_that_is_missing_is_inconclusive_and_none_is_no_verdict():
    case, tested = _carrying(Hinge(0.1), 1)
    lost = lambda run: dataclasses.replace(run, weights=None)  # noqa: E731
    assert {v.status for v in judged(check, case, tested, change=lost).values()} == {Status.INCONCLUSIVE}
    stateless, production = small_case(Hinge(0.1))
    assert check.CHECK.runs(stateless) == {}
    assert judged(check, stateless, production, of=()) == {}


def test_a_state_that_the_problem_does_not_have_is_refused():
    case, tested = _carrying(Hinge(0.1), 1)
    curved = dataclasses.replace(case.problem, kernel=RBFKernel(1.0))
    with pytest.raises(InputError, match="only a linear kernel"):
        judged(check, dataclasses.replace(case, problem=curved), tested)


def test_frozen_updates_of_a_k_svm_have_no_bound():
    case, tested = _carrying(Hinge(0.1), 1)
    frozen = dataclasses.replace(case.declaration, update="frozen")
    found = judged(check, dataclasses.replace(case, declaration=frozen), tested)
    assert {verdict.status for verdict in found.values()} == {Status.VACUOUS}


def test_a_value_that_is_not_finite_fails():
    case, tested = _carrying(Ridge(0.5), 1)
    spoil = lambda run: dataclasses.replace(run, weights=run.weights * np.nan)  # noqa: E731
    assert {v.status for v in judged(check, case, tested, change=spoil).values()} == {Status.FAIL}


def test_of_a_state_that_overflows_as_that_of_a_correct_run_may_nothing_is_promised():
    case, tested = _carrying(Ridge(1e-300), 1)
    spoil = lambda run: dataclasses.replace(run, weights=run.weights * np.inf)  # noqa: E731
    found = judged(check, case, tested, change=spoil)
    assert {v.status for v in found.values()} <= {Status.VACUOUS, Status.INCONCLUSIVE}
    assert {v.why for v in found.values()} == {Why.OVERFLOW}


def test_a_run_that_moves_by_less_than_its_bound_is_not_said_to_stand_still():
    """In float32, a run that all but stands still: its updates are smaller than what may be lost."""
    case, tested = _carrying(Hinge(0.1), 1)
    declared = dataclasses.replace(case.declaration, precision="float32")

    def nearly_still(run):
        alphas = np.linspace(0.0, 1e-9, run.iterations.size)[:, None] * np.ones_like(run.alphas[0])
        weights = (alphas * case.problem.targets) @ case.problem.dense
        return dataclasses.replace(run, alphas=alphas, weights=weights)

    case = dataclasses.replace(case, declaration=declared)
    for verdict in judged(check, case, tested, change=nearly_still).values():
        assert verdict.status is Status.VACUOUS, verdict.reason
        assert verdict.why is Why.WITHIN_BOUND
