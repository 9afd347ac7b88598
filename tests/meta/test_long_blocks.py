"""Windows of long blocks, made step by step: judged right as they stand, and wrong if edited."""

from __future__ import annotations

import pytest
from daily import some
from judged import judged, small_case
from plant import plant

from sstep_verify.checks import step_replay, window_replay
from sstep_verify.problems import LinearKernel, RBFKernel, Ridge
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import recurrences, ridge_window, step_windows
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.run import Run
from sstep_verify.solver.settings import Options
from sstep_verify.verdict import Status

EDITS = {
    "a product with the row before": (ridge_window, "rows[first : first + end - begin]", "rows[first - (first > 0) : first - (first > 0) + end - begin]"),
    "the move of the first coordinate 1e-9": (recurrences, "alpha[block] += rhs", "rhs[0] *= 1.0 + 1e-9\n        alpha[block] += rhs"),
    "rows that are not drawn again stay in their place": (step_windows, "new] > step", "new] <= step"),
    "the last row that stays is written over": (step_windows, "kept + int(", "kept - 1 + int("),
    "rows of the step before": (recurrences, "rows, row_of, block, targets", "rows, row_of - (row_of > 0), block, targets"),
    "new rows in the places of the first ones": (step_windows, "np.arange(kept, kept + new)", "np.arange(new)"),
}  # fmt: skip


def case_of(kernel):
    return small_case(Ridge(0.1), kernel, block=97, samples=150, s_values=(5,), iterations=12)


def statuses(check, case, tested) -> set[Status]:
    return {verdict.status for verdict in judged(check, case, tested).values()}


@pytest.mark.parametrize("check", [step_replay, window_replay], ids=["step-replay", "window-replay"])
@pytest.mark.parametrize(
    "kernel",
    [LinearKernel(), pytest.param(RBFKernel(0.1), marks=pytest.mark.nightly)],
    ids=lambda kernel: kernel.name,
)
def test_they_are_judged_right(kernel, check):
    case, tested = case_of(kernel)
    assert statuses(check, case, tested) == {Status.PASS}


def test_the_case_is_made_by_steps():
    case, _ = case_of(LinearKernel())
    run = Run(Options(), SelfCommunicator(), RunRequest(case.problem, case.stream, 5, 12))
    assert isinstance(run._windows, step_windows.StepWindows)
    run.advance(0, 5)
    assert run._windows._used is not None


@pytest.mark.parametrize("name", some(EDITS, of=2))
def test_an_edit_fails(name):
    module, before, after = EDITS[name]
    case, tested = case_of(LinearKernel())
    with plant(module, (before, after)):
        assert Status.FAIL in statuses(step_replay, case, tested)
