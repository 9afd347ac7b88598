"""Least squares, pseudo-inverses, QR, SVD and eigen-decompositions pass as orthogonal factorisations."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify import (
    CallableSolver,
    Declaration,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    Status,
    judge,
)


def _by_qr(system, right):
    orthogonal, triangular = np.linalg.qr(system)
    return np.linalg.solve(triangular, orthogonal.T @ right)


def _by_svd(system, right):
    left, values, other = np.linalg.svd(system)
    return other.T @ ((left.T @ right) / values)


def _by_eigh(system, right):
    values, vectors = np.linalg.eigh(system)
    return vectors @ ((vectors.T @ right) / values)


SOLVES = {
    "lstsq": lambda system, right: np.linalg.lstsq(system, right, rcond=None)[0],
    "pinv": lambda system, right: np.linalg.pinv(system) @ right,
    "hermitian pinv": lambda system, right: np.linalg.pinv(system, hermitian=True) @ right,
    "qr": _by_qr,
    "svd": _by_svd,
    "eigh": _by_eigh,
}
KERNELS = (LinearKernel(), PolynomialKernel(3, 1.0), RBFKernel(0.2))


def verdict_of(how: str, seed: int, off: float = 0.0) -> Status:
    """The verdict on drawn runs whose block solutions are off by this relative error."""
    generator = np.random.Generator(np.random.PCG64(seed))
    samples, block = int(generator.integers(8, 20)), int(generator.integers(1, 6))
    data = generator.standard_normal((samples, 4)) * 10.0 ** generator.integers(-2, 2)
    penalty = 10.0 ** float(generator.integers(-8, 1))
    problem = Problem("drawn", data, generator.standard_normal(samples), KERNELS[seed % 3], Ridge(penalty))
    stream = IndexStream("uniform", samples, block, 24, seed)

    def solver(problem, blocks, s, a0, log):
        products = data @ data.T
        kernel = problem.kernel
        if isinstance(kernel, PolynomialKernel):
            products = (products + kernel.offset) ** kernel.degree
        elif isinstance(kernel, RBFKernel):
            products = np.exp(-kernel.sigma * np.square(data[:, None] - data[None]).sum(axis=2))
        alpha = a0.copy()
        for step, drawn in enumerate(blocks):
            right = problem.targets[drawn] - samples * alpha[drawn] - products[drawn] @ alpha / penalty
            system = products[np.ix_(drawn, drawn)] / penalty + samples * np.eye(block)
            alpha[drawn] += SOLVES[how](system, right) * (1 + off)
            log[step] = alpha[drawn]
        return alpha

    declared = Declaration(how, products="rows", rbf="difference", factorisation="orthogonal", log=True)
    return judge(CallableSolver(solver, declared), problem, stream, s=3)[-1].status


SEEDS = pytest.mark.parametrize("seeds", [6, pytest.param(18, marks=pytest.mark.nightly)])


@SEEDS
@pytest.mark.parametrize("how", SOLVES)
def test_an_orthogonal_solve_is_within_its_bound(how: str, seeds: int) -> None:
    """No drawn run fails, and few show nothing."""
    found = [verdict_of(how, seed) for seed in range(seeds)]
    assert Status.FAIL not in found
    assert found.count(Status.PASS) >= 2 * seeds // 3


@SEEDS
@pytest.mark.usefixtures("unexplained")
def test_a_solution_that_is_off_fails(seeds: int) -> None:
    """A hundred-thousandth in every step of the well conditioned ones."""
    found = [verdict_of("lstsq", seed, 1e-5) for seed in range(seeds)]
    assert found.count(Status.FAIL) >= 2 * seeds // 3
