"""An error of a solver of K-RR is no FAIL where a correct factorisation may break down, and one anywhere else."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify import (
    CallableSolver,
    Declaration,
    Hinge,
    IndexStream,
    LinearKernel,
    Problem,
    ProductionSolver,
    Ridge,
    Status,
    Verdict,
    judge,
)
from sstep_verify.verdict import Why


def drawn(seed: int, penalty: float) -> tuple[Problem, IndexStream]:
    """Samples that stand twice, so that a block system is singular but for m."""
    generator = np.random.Generator(np.random.PCG64(seed))
    half = generator.standard_normal((4, 3))
    problem = Problem(
        "twice", np.tile(half, (2, 1)), generator.standard_normal(8), LinearKernel(), Ridge(penalty)
    )
    return problem, IndexStream("uniform", 8, 4, 30, seed)


def block_descent(problem, blocks, s, a0, raises=False):
    if raises:
        raise ValueError("not today")
    rows, m, alpha = problem.data @ problem.data.T / problem.loss.penalty, problem.samples, a0.copy()
    for block in blocks:
        system = rows[np.ix_(block, block)] + m * np.eye(block.size)
        lower = np.linalg.cholesky(system)
        right = problem.targets[block] - m * alpha[block] - rows[block] @ alpha
        alpha[block] += np.linalg.solve(lower.T, np.linalg.solve(lower, right))
    return alpha


def contract_of(problem, stream, **options) -> Verdict:
    def function(problem, blocks, s, a0):
        return block_descent(problem, blocks, s, a0, **options)

    contract, *_ = judge(CallableSolver(function, Declaration("cholesky")), problem, stream, 3)
    assert contract.check == "contract"
    return contract


def first(problem, stream, **options) -> Status:
    return contract_of(problem, stream, **options).status


@pytest.mark.parametrize("seed", range(5))
def test_a_breakdown_that_a_correct_run_may_meet_is_not_failed(seed):
    problem, stream = drawn(seed, 1e-18)
    with pytest.raises(np.linalg.LinAlgError):
        block_descent(problem, stream.blocks(0, 30), 3, np.zeros(8))
    contract = contract_of(problem, stream)
    # No number is near the end of the range.
    assert (contract.status, contract.why) == (Status.VACUOUS, Why.NO_BOUND)


@pytest.mark.parametrize("seed", range(5))
def test_an_error_where_no_factorisation_breaks_down_fails(seed):
    problem, stream = drawn(seed, 0.5)
    assert first(problem, stream) is Status.PASS
    assert first(problem, stream, raises=True) is Status.FAIL


@pytest.mark.parametrize("check", ["step-replay", "window-replay", "trajectory"])
def test_of_a_run_of_no_steps_nothing_is_shown(check):
    verdicts = judge(ProductionSolver(), *drawn(1, 0.5), 3, iterations=0, checks=[check])
    assert {one.status for one in verdicts} == {Status.VACUOUS}


def test_an_error_of_a_k_svm_fails_whatever_its_numbers():
    problem, _ = drawn(0, 1.0)
    signs = np.where(problem.targets < 0, -1.0, 1.0)
    svm = Problem("large", problem.data * 1e160, signs, LinearKernel(), Hinge(1.0))
    assert first(svm, IndexStream("uniform", 8, 1, 30, 0), raises=True) is Status.FAIL
