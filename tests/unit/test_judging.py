"""The call that judges a solver from Python."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify import (
    CallableSolver,
    Declaration,
    IndexStream,
    InputError,
    LinearKernel,
    Problem,
    ReferenceSolver,
    Ridge,
    judge,
)

pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")

DATA = np.random.Generator(np.random.PCG64(1)).standard_normal((12, 3))
PROBLEM = Problem("small", DATA, DATA[:, 0].copy(), LinearKernel(), Ridge(0.5))
STREAM = IndexStream("uniform", samples=12, block=2, length=12, seed=0)


def classical(problem, blocks, s, a0, factor=1.0):
    """BDCD; the same iterates for every s."""
    samples = problem.samples
    matrix = problem.data @ problem.data.T / problem.loss.penalty + samples * np.eye(samples)
    alpha = a0.copy()
    for block in blocks:
        residual = problem.targets[block] - matrix[block] @ alpha
        alpha[block] += factor * np.linalg.solve(matrix[np.ix_(block, block)], residual)
    return alpha


def solver_of(function):
    return CallableSolver(function, Declaration(name="mine", factorisation="lu"))


def test_a_solver_that_logs_is_judged_by_its_steps():
    verdicts = judge(ReferenceSolver(), PROBLEM, STREAM, s=4)
    assert [verdict.check for verdict in verdicts] == ["contract", "step-replay"]
    assert {verdict.status for verdict in verdicts} == {"PASS"}


def test_one_that_does_not_is_judged_by_its_windows():
    contract, windows = judge(solver_of(classical), PROBLEM, STREAM, s=4)
    assert (contract.check, windows.check) == ("contract", "window-replay")
    assert windows.status == "PASS"
    assert windows.s == 4


def test_a_defect_fails():
    wrong = solver_of(lambda *given: classical(*given, factor=1 + 1e-9))
    assert judge(wrong, PROBLEM, STREAM, s=4)[-1].status == "FAIL"


def test_a_run_that_is_not_what_was_asked_for_is_judged_by_the_contract_alone():
    (verdict,) = judge(solver_of(lambda *given: classical(*given) * np.nan), PROBLEM, STREAM, s=4)
    assert (verdict.check, verdict.status) == ("contract", "FAIL")


def test_checks_are_chosen_by_id():
    verdicts = judge(ReferenceSolver(), PROBLEM, STREAM, 2, 8, checks=["determinism", "window-replay"])
    assert {verdict.check for verdict in verdicts} == {"contract", "determinism", "window-replay"}
    with pytest.raises(InputError, match="'determinsm' is unknown"):
        judge(ReferenceSolver(), PROBLEM, STREAM, 2, checks=["determinsm"])
