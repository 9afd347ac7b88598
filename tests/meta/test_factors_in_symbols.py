"""A factor that is a power of a parameter, or a product with m, is given in symbols; no other is."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify import (
    CallableSolver,
    Declaration,
    IndexStream,
    LinearKernel,
    Problem,
    RBFKernel,
    Ridge,
    judge,
)
from sstep_verify.diagnosis.symbols import in_symbols
from sstep_verify.meanings import meaning_of
from sstep_verify.verdict import Status

SAMPLES = 24
STREAM = IndexStream("uniform", SAMPLES, 2, 60, seed=1)


def problem_of(penalty, kernel=None, seed=0):
    generator = np.random.Generator(np.random.PCG64(seed))
    data, targets = generator.standard_normal((SAMPLES, 4)), generator.standard_normal(SAMPLES)
    return Problem("drawn", data, targets, kernel or LinearKernel(), Ridge(penalty))


def solver_of(penalty_used):
    """A correct K-RR, but for the lambda that it uses."""

    def solve(problem, blocks, s, a0, log):
        matrix = problem.dense @ problem.dense.T / penalty_used(problem.ridge.penalty)
        matrix, alpha = matrix + SAMPLES * np.eye(SAMPLES), a0.copy()
        for step, block in enumerate(blocks):
            residual = problem.targets[block] - matrix[block] @ alpha
            alpha[block] += np.linalg.solve(matrix[np.ix_(block, block)], residual)
            log[step] = alpha[block]
        return alpha

    return CallableSolver(solve, Declaration("other lambda", log=True))


USED = {
    "1/lambda^2": lambda penalty: 1 / penalty,
    "lambda": lambda penalty: penalty**2,
    "m": lambda penalty: SAMPLES * penalty,
    "1/m": lambda penalty: penalty / SAMPLES,
    "": lambda penalty: 0.7 * penalty,
}


@pytest.mark.parametrize("penalty", [0.05, 3.0, 0.3])
@pytest.mark.parametrize("symbol", USED)
def test_a_factor_on_lambda_is_given_in_symbols(penalty, symbol):
    verdict = judge(solver_of(USED[symbol]), problem_of(penalty), STREAM, s=4)[-1]
    assert (verdict.status, verdict.requirement) == (Status.FAIL, "S-1.5")
    (defect,) = verdict.defects
    assert defect.symbol == symbol
    assert abs(defect.factor * penalty / USED[symbol](penalty) - 1) < 1e-9


def test_what_is_used_instead_follows_from_the_symbol():
    words = meaning_of("penalty off by a factor", 400.0, "1/lambda^2")
    assert words.endswith("400 = 1/lambda^2, so 1/lambda is used instead of lambda")


def test_a_plain_number_and_one_of_two_meanings_have_no_symbol():
    assert in_symbols(problem_of(0.05), 400 - 1e-9, 400 + 1e-9) == "1/lambda^2"
    assert in_symbols(problem_of(0.05), 400 - 1e-9, 400 - 1e-10) == ""
    assert in_symbols(problem_of(0.5), 4 - 1e-9, 4 + 1e-9) == ""  # 4 itself
    assert in_symbols(problem_of(SAMPLES), SAMPLES, SAMPLES) == ""  # m and lambda


@pytest.mark.parametrize("seed", range(20))
def test_a_factor_that_is_known_to_two_digits_is_given_as_a_number(seed):
    generator = np.random.Generator(np.random.PCG64(seed))
    penalty = float(10.0 ** generator.uniform(-4, 4))
    low, high = sorted(penalty * (1 + generator.uniform(0.002, 0.1, 2) * [-1, 1]))
    assert in_symbols(problem_of(penalty), low, high) == ""
    assert in_symbols(problem_of(penalty), penalty * (1 - 1e-4), penalty * (1 + 1e-4)) == "lambda"
    assert in_symbols(problem_of(0.05), -np.inf, np.inf) == ""


@pytest.mark.parametrize(
    ("factor", "symbol"), [(1 / 0.3**2, "1/sigma^2"), (1 / (2 * 0.3**3), "1/(2*sigma^3)"), (1 / 4, "")]
)
def test_a_factor_on_sigma(factor, symbol):
    problem = problem_of(1.0, RBFKernel(0.3))
    assert in_symbols(problem, factor * (1 - 1e-12), factor * (1 + 1e-12), of_sigma=True) == symbol
