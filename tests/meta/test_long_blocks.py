"""Windows of long blocks, whose steps push their increments: judged right as they stand, and wrong if edited."""

from __future__ import annotations

import pytest
from judged import judged, small_case
from plant import plant

from sstep_verify.checks import step_replay, window_replay
from sstep_verify.parallel.communicator import SelfCommunicator
from sstep_verify.parallel.exchanges import step_order
from sstep_verify.parallel.exchanges.steps import StepsExchange
from sstep_verify.problems import LinearKernel, RBFKernel, Ridge
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.production import ridge_steps
from sstep_verify.solvers.production.options import Options
from sstep_verify.solvers.production.run import Run
from sstep_verify.verdict import Status

EDITS = {
    "a row left out of what is pushed": (ridge_steps, "range(count - count % 4, count)", "range(0)"),
    "pushed 1e-9": (ridge_steps, "a * p[place] + b * q[place]", "a * p[place] * (1.0 + 1e-9) + b * q[place]"),
    "products of the step before only": (ridge_steps, "pushed[first + place] += total", "pushed[first + place] = total"),
    "what was pushed before a first draw": (ridge_steps, "products[1, draws[2, item]] = 0.0", "pass"),
    "an entry of the next row": (ridge_steps, "begin = system[item], starts[draws[1, item]]",
                                 "begin = system[item], starts[draws[1, item - 1]]"),
    "values of the samples' own order": (ridge_steps, "np.take(self._alpha, order, out", "np.take(self._alpha, np.sort(order), out"),
    "as much kept as is read one step later": (step_order, "ahead[following[item] - 1], starts", "ahead[min(following[item], ahead.size - 1)], starts"),
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
    assert isinstance(run._exchange, StepsExchange)
    run.advance(0, 5)
    assert run._exchange._in_order


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_fails(name):
    module, before, after = EDITS[name]
    case, tested = case_of(LinearKernel())
    with plant(module, (before, after)):
        assert Status.FAIL in statuses(step_replay, case, tested)
