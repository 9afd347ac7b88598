"""window-replay of a solver that makes its steps from a carried state: from a and the state, not from a alone."""

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
from sstep_verify.problems import Hinge, Ridge, SquaredHinge
from sstep_verify.verdict import Status

CARRIED = [
    (Hinge(0.1), "gradient", 1),
    (Hinge(0.1), "weights", 1),
    (SquaredHinge(2.0), "gradient", 1),
    (SquaredHinge(2.0), "weights", 1),
    (Ridge(0.5), "residual", 1),
    (Ridge(0.5), "residual", 3),
    (Ridge(0.5), "weights", 3),
]
FEW = (CARRIED[1], CARRIED[2], CARRIED[5])
"""Every task, state and block size once."""

SHAPES = {
    "float32": (np.float32, [(4, 1.0)]),
    "float64": (np.float64, [(4, 1.0)]),
    "float64, other shapes": (np.float64, [(4, 30.0), (60, 0.3)]),
}


def of_few(values, always=False):
    """Parameters of which those that carry what few others do are tried nightly alone."""
    return pytest.param(*values, marks=[] if always or values[:3] in FEW else pytest.mark.nightly)


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


def _carrying(loss, name, block, kind=StatefulSolver, features=4, scale=1.0, **options):
    case, _ = small_case(
        loss, block=block, iterations=300, s_values=(1, 4, 16), features=features, scale=scale, windows=8
    )
    tested = kind(case.problem, name, **options)
    return dataclasses.replace(case, declaration=tested.declaration), tested


@pytest.mark.parametrize(
    ("loss", "name", "block", "shape"),
    [of_few((*carried, shape), shape == "float64") for carried in CARRIED for shape in SHAPES],
)
def test_correct_steps_from_a_state_pass(loss, name, block, shape):
    dtype, shapes = SHAPES[shape]
    for features, scale in shapes:
        verdicts = judged(check, *_carrying(loss, name, block, features=features, scale=scale, dtype=dtype))
        assert sorted(verdicts) == [1, 4, 16]
        for verdict in verdicts.values():
            assert verdict.status is not Status.FAIL
            assert 2 < verdict.executed <= verdict.planned
            assert verdict.ratio <= 1
        if scale == 1.0:
            assert verdicts[16].status is Status.PASS


@pytest.mark.parametrize(
    ("name", "draws"),
    [
        ("gradient", 15),
        ("residual", 15),
        *(
            pytest.param(one, 40, marks=pytest.mark.nightly)
            for one in ("gradient", "residual", "weights", "weights of K-RR")
        ),
    ],
)
def test_correct_steps_from_a_state_never_exceed_the_bound(name, draws):
    judged_windows = []

    @settings(max_examples=draws)
    @given(
        st.integers(2, 14), st.integers(1, 8), st.integers(-2, 2), st.integers(-2, 2), st.integers(1, 3),
        st.sampled_from([np.float32, np.float64]), st.booleans(),
    )  # fmt: skip
    def holds(samples, features, size, parameter, block, dtype, squared):
        ridge = name in ("residual", "weights of K-RR")
        value = float(np.float32(10.0**parameter))
        loss = Ridge(value) if ridge else (SquaredHinge if squared else Hinge)(value)
        case, _ = small_case(
            loss, block=min(block, samples) if ridge else 1, samples=samples, features=features,
            iterations=60, s_values=(1, 7), scale=10.0**size,
        )  # fmt: skip
        tested = StatefulSolver(case.problem, name.split()[0], dtype=dtype)
        case = dataclasses.replace(case, declaration=tested.declaration)
        for verdict in judged(check, case, tested).values():
            assert verdict.ratio <= 1
            assert verdict.status in (Status.PASS, Status.VACUOUS)
            judged_windows.append(verdict.ratio)

    holds()
    assert len(judged_windows) >= 1.5 * draws
    # A bound that no run comes near would pass whatever is wrong.
    assert max(judged_windows) > 1e-3


@pytest.mark.parametrize(("loss", "name", "block"), CARRIED)
def test_a_wrong_step_fails(loss, name, block):
    verdicts = judged(check, *_carrying(loss, name, block, kind=WrongStep))
    assert Status.FAIL in {verdict.status for verdict in verdicts.values()}


@pytest.mark.parametrize(("loss", "name", "block"), map(of_few, CARRIED))
def test_a_drifted_state_is_the_claim_of_residual_gap_not_of_the_window(loss, name, block):
    # A leak in one window shifts the truth that later ones start from: s = 1 holds one update each.
    case, tested = _carrying(loss, name, block, leak=1e-7)
    assert judged(check, case, tested)[1].status is Status.PASS
    gap = {
        verdict.status
        for verdict in residual_gap.DECLARED.judge(
            case,
            {key: tested.run(request) for key, request in residual_gap.DECLARED.runs(case).items()},
            None,
        )
    }
    assert gap == {Status.FAIL}
    # Within a window, later steps are made from what leaked: seen there too.
    assert judged(check, case, tested)[16].status is Status.FAIL


@pytest.mark.parametrize(("loss", "name", "block"), [CARRIED[0], CARRIED[4]])
def test_a_replay_from_a_alone_would_blame_the_steps_for_the_drift(loss, name, block):
    case, tested = _carrying(loss, name, block, leak=1e-7)
    silent = dataclasses.replace(case, declaration=dataclasses.replace(case.declaration, state=()))
    assert judged(check, silent, tested)[1].status is Status.FAIL


def test_a_declared_state_that_is_not_recorded_is_inconclusive():
    case, tested = _carrying(Hinge(0.1), "gradient", 1)

    def forget(trajectory):
        return dataclasses.replace(trajectory, state={})

    verdict = judged(check, case, tested, change=forget)[4]
    assert verdict.status is Status.INCONCLUSIVE
    assert verdict.executed == 0
    assert "declared but not recorded" in verdict.reason


def test_a_state_that_is_not_finite_fails():
    case, tested = _carrying(Ridge(0.5), "residual", 1)

    def spoil(trajectory):
        return dataclasses.replace(trajectory, state={"residual": trajectory.state["residual"] * np.nan})

    assert judged(check, case, tested, change=spoil)[4].status is Status.FAIL
