"""A solver that maintains its gradient, residual or weights and declares nothing: correct ones pass, wrong ones fail."""

from __future__ import annotations

import dataclasses

import pytest
from judged import judged, small_case
from stateful import StatefulSolver

from sstep_verify.checks import step_replay, window_replay
from sstep_verify.problems import Hinge, Ridge, SquaredHinge
from sstep_verify.verdict import Status

MAINTAINED = [
    (Hinge(2.0), "gradient", 1),
    (SquaredHinge(2.0), "gradient", 1),
    (Ridge(0.5), "residual", 1),
    (Ridge(0.5), "residual", 3),
]


def maintaining(loss, name, block, iterations=300, **options):
    case, _ = small_case(loss, block=block, iterations=iterations, s_values=(1, 12), windows=8)
    tested = StatefulSolver(case.problem, name, **options)
    assert tested.declaration.weights is None
    return dataclasses.replace(case, declaration=tested.declaration), tested


@pytest.mark.parametrize(("loss", "name", "block"), MAINTAINED)
def test_correct_steps_from_what_is_not_reported_pass(loss, name, block):
    by_steps = judged(step_replay, *maintaining(loss, name, block, log=True))
    by_windows = judged(window_replay, *maintaining(loss, name, block))
    for verdict in (*by_steps.values(), *by_windows.values()):
        assert verdict.status is Status.PASS, verdict.reason
        assert verdict.ratio < 0.5


@pytest.mark.parametrize(
    ("loss", "name", "block", "log"),
    [
        pytest.param(*kind, log, marks=[pytest.mark.nightly] * ((row + column) % 2))
        for row, kind in enumerate(MAINTAINED)
        for column, log in enumerate((True, False))
    ],
)
def test_the_last_increment_of_every_window_lost_fails(loss, name, block, log):
    check = step_replay if log else window_replay
    for s, verdict in judged(check, *maintaining(loss, name, block, log=log, lose=True)).items():
        assert verdict.status is Status.FAIL, (s, verdict.reason)


@pytest.mark.parametrize(("loss", "name", "block"), MAINTAINED)
def test_a_leak_fails(loss, name, block):
    for verdict in judged(step_replay, *maintaining(loss, name, block, log=True, leak=1e-7)).values():
        assert verdict.status is Status.FAIL


def test_a_gradient_of_a_long_run_passes_step_by_step():
    case, tested = maintaining(SquaredHinge(2.0), "gradient", 1, iterations=20_000, log=True)
    for verdict in judged(step_replay, case, tested).values():
        assert verdict.status is Status.PASS, verdict.reason
        assert verdict.ratio < 0.5
