"""The check kernel-entries on solvers that have no whole rows: entries among a window's own coordinates."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from daily import crossed
from judged import assert_teaches, judged, small_case
from plant import plant

from sstep_verify.adapters.ours import DistributedSolver
from sstep_verify.checks.recorded import kernel_entries as check
from sstep_verify.problems import Hinge, LinearKernel, PolynomialKernel, RBFKernel, Ridge
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.exchanges import exchange as exchange_module
from sstep_verify.solver.exchanges import gram_local
from sstep_verify.solver.panels import panel as kernel_functions
from sstep_verify.verdict import Status

KERNELS = [LinearKernel(), PolynomialKernel(2, 1.5), RBFKernel(0.3)]
CASES = [(form, kernel) for form in ("support", "reduce-scatter") for kernel in KERNELS] + [
    ("gram", KERNELS[0])
]


@pytest.mark.parametrize(
    ("loss", "exchange", "kernel", "sparse"),
    crossed([Hinge(0.5), Ridge(0.05)], CASES, [False, True], of=2, flat=True),
    ids=str,
)
def test_right_entries_pass(loss, exchange, kernel, sparse):
    case, tested = small_case(loss, kernel, solver=ProductionSolver(exchange=exchange), s_values=(4, 16))
    if sparse:
        data = np.where(np.abs(case.problem.dense) < 0.7, 0.0, case.problem.dense)
        problem = dataclasses.replace(case.problem, data=sp.csr_array(data))
        case = dataclasses.replace(case, problem=problem)
    verdicts = judged(check, case, tested)
    assert {verdict.status for verdict in verdicts.values()} == {Status.PASS}
    for s, verdict in verdicts.items():
        trajectory = tested.run(check.CHECK.runs(case)[f"panels/s={s}"])
        for panel in trajectory.panels.values():
            np.testing.assert_array_equal(panel.among, panel.columns)
            assert panel.entries.shape == 2 * (panel.columns.size,)
        assert 0 < verdict.executed == verdict.planned
        assert all(term.largest > 2 for term in verdict.terms)


@pytest.mark.parametrize(
    ("exchange", "kernel", "module", "old", "new"),
    [
        ("gram", KERNELS[0], gram_local, "np.dot(some, some.T, gram)",
         "np.dot(some * (1 + 1e-13), some.T, gram)"),
        ("gram", KERNELS[0], gram_local, "np.dot(row, data[columns[other]])",
         "np.dot(row[1:], data[columns[other], 1:])"),
        ("reduce-scatter", KERNELS[1], kernel_functions, "range(degree - 1)", "range(degree)"),
        ("reduce-scatter", KERNELS[2], kernel_functions, "norms[column] - 2.0",
         "norms[column] - 1.9999999"),
        ("reduce-scatter", KERNELS[2], exchange_module, "columns[place] - first",
         "columns[place] - first - (place == 3)"),
    ],
)  # fmt: skip
def test_a_planted_defect_fails_with_a_reason(exchange, kernel, module, old, new):
    with plant(module, (old, new)):
        case, tested = small_case(Hinge(0.5), kernel, solver=ProductionSolver(exchange=exchange))
        verdicts = judged(check, case, tested)
    failed = [verdict for verdict in verdicts.values() if verdict.status is Status.FAIL]
    assert failed
    for verdict in failed:
        assert_teaches(verdict)
        assert verdict.place.found != verdict.place.expected


def test_the_entries_that_three_ranks_assembled_pass():
    pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")
    solver = DistributedSolver(3, exchange="reduce-scatter")
    case, tested = small_case(Hinge(0.5), KERNELS[2], solver=solver, s_values=(16,))
    assert judged(check, case, tested)[16].status is Status.PASS
