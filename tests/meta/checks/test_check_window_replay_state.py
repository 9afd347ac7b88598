"""window-replay of a solver that makes its steps from maintained weights: from a and these, not from a alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import judged, small_case
from stateful import StatefulSolver

from sstep_verify.checks import window_replay as check
from sstep_verify.checks.recorded import residual_gap
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, Ridge, SquaredHinge
from sstep_verify.verdict import MAINTAINED_WEIGHTS, Status, Why

CARRIED = [(Hinge(0.1), 1), (SquaredHinge(2.0), 1), (Ridge(0.5), 1), (Ridge(0.5), 3)]
FEW = (CARRIED[0], CARRIED[3])
"""Every task and block size once."""

SHAPES = {
    "float32": (np.float32, [(4, 1.0)]),
    "float64": (np.float64, [(4, 1.0)]),
    "float64, other shapes": (np.float64, [(4, 30.0), (60, 0.3)]),
}


def of_few(values, always=False):
    """Parameters of which those that carry what few others do are tried nightly alone."""
    return pytest.param(*values, marks=[] if always or values[:2] in FEW else pytest.mark.nightly)


class WrongStep(StatefulSolver):
    """Moves a by a little less than the state says."""

    def _svm(self, alpha, state, block):
        before = alpha[block].copy()
        super()._svm(alpha, state, block)
        alpha[block] += (before - alpha[block]) * self._dtype(self.WRONG)

    def _ridge(self, alpha, state, block):
        before = alpha[block].copy()
        super()._ridge(alpha, state, block)
        alpha[block] += (before - alpha[block]) * self._dtype(self.WRONG)

    WRONG = 1e-11


def _carrying(loss, block, kind=StatefulSolver, features=4, scale=1.0, **options):
    case, _ = small_case(
        loss, block=block, iterations=300, s_values=(1, 4, 16), features=features, scale=scale, windows=8
    )
    tested = kind(case.problem, "weights", **options)
    return dataclasses.replace(case, declaration=tested.declaration), tested


@pytest.mark.parametrize(
    ("loss", "block", "shape"),
    [
        of_few((*carried, shape), shape == "float64")
        if carried == CARRIED[0] or "other" not in shape
        else pytest.param(*carried, shape, marks=pytest.mark.nightly)
        for carried in CARRIED
        for shape in SHAPES
    ],
)
def test_correct_steps_from_weights_pass(loss, block, shape):
    dtype, shapes = SHAPES[shape]
    for features, scale in shapes:
        verdicts = judged(check, *_carrying(loss, block, features=features, scale=scale, dtype=dtype))
        assert sorted(verdicts) == [1, 4, 16]
        for verdict in verdicts.values():
            assert verdict.status is not Status.FAIL
            assert 2 < verdict.executed <= verdict.planned
            assert verdict.ratio <= 1
        if scale == 1.0:
            assert verdicts[16].status is Status.PASS


@pytest.mark.parametrize(
    ("ridge", "draws"),
    [(False, 4), (True, 4), *(pytest.param(one, 40, marks=pytest.mark.nightly) for one in (False, True))],
)
def test_correct_steps_from_weights_never_exceed_the_bound(ridge, draws):
    judged_windows = []

    @settings(max_examples=draws)
    @given(
        st.integers(2, 14), st.integers(1, 8), st.integers(-2, 2), st.integers(-2, 2), st.integers(1, 3),
        st.sampled_from([np.float32, np.float64]), st.booleans(),
    )  # fmt: skip
    def holds(samples, features, size, parameter, block, dtype, squared):
        value = float(np.float32(10.0**parameter))
        loss = Ridge(value) if ridge else (SquaredHinge if squared else Hinge)(value)
        case, _ = small_case(
            loss, block=min(block, samples) if ridge else 1, samples=samples, features=features,
            iterations=60, s_values=(1, 7), scale=10.0**size,
        )  # fmt: skip
        tested = StatefulSolver(case.problem, "weights", dtype=dtype)
        case = dataclasses.replace(case, declaration=tested.declaration)
        for verdict in judged(check, case, tested).values():
            assert verdict.ratio <= 1
            assert verdict.status in (Status.PASS, Status.VACUOUS)
            judged_windows.append(verdict.ratio)

    holds()
    assert len(judged_windows) >= 1.5 * draws
    # A bound that no run comes near would pass whatever is wrong.
    assert max(judged_windows) > 1e-3


@pytest.mark.parametrize(("loss", "block"), CARRIED)
def test_a_wrong_step_fails(loss, block):
    verdicts = judged(check, *_carrying(loss, block, kind=WrongStep))
    assert Status.FAIL in {verdict.status for verdict in verdicts.values()}


@pytest.mark.parametrize(("loss", "block"), map(of_few, CARRIED))
def test_drifted_weights_are_the_claim_of_residual_gap_not_of_the_window(loss, block):
    # A leak in one window shifts the truth that later ones start from: s = 1 holds one update each.
    case, tested = _carrying(loss, block, leak=1e-7)
    assert judged(check, case, tested)[1].status is Status.PASS
    gap = {
        verdict.status
        for verdict in residual_gap.CHECK.judge(
            case,
            {key: tested.run(request) for key, request in residual_gap.CHECK.runs(case).items()},
            Oracle(case.problem),
        )
    }
    assert gap == {Status.FAIL}
    # Within a window, later steps are made from what leaked: seen there too.
    assert judged(check, case, tested)[16].status is Status.FAIL


@pytest.mark.parametrize(("loss", "block"), [CARRIED[0], CARRIED[2]])
def test_a_replay_from_a_alone_would_blame_the_steps_for_the_drift(loss, block):
    case, tested = _carrying(loss, block, leak=1e-7)
    silent = dataclasses.replace(case, declaration=dataclasses.replace(case.declaration, weights=None))
    assert judged(check, silent, tested)[1].status is Status.FAIL


def test_declared_weights_that_are_not_recorded_are_inconclusive():
    case, tested = _carrying(Hinge(0.1), 1)

    def forget(trajectory):
        return dataclasses.replace(trajectory, weights=None)

    verdict = judged(check, case, tested, change=forget)[4]
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.executed == 0
    assert (verdict.why, verdict.place.item) == (Why.NOT_RECORDED, MAINTAINED_WEIGHTS)


def test_weights_that_are_not_finite_fail():
    case, tested = _carrying(Ridge(0.5), 1)

    def spoil(trajectory):
        return dataclasses.replace(trajectory, weights=trajectory.weights * np.nan)

    assert judged(check, case, tested, change=spoil)[4].status is Status.FAIL
