"""Functions of libraries err by units in the last place: a solver that promises nothing may use them, and so do we."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from daily import crossed

from sstep_verify import Declaration, judge
from sstep_verify.adapters import CallableSolver
from sstep_verify.declaration import LIBRARY_ULPS
from sstep_verify.problems import Hinge, IndexStream, PolynomialKernel, Problem, RBFKernel, SquaredHinge
from sstep_verify.rounding.kernel import entries as kernels
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.verdict import Status

mpmath = pytest.importorskip("mpmath")

U = 2.0**-53


def problem_of(kernel, loss, seed=0):
    generator = np.random.Generator(np.random.PCG64(seed))
    data = generator.standard_normal((10, 3)) / 2
    return Problem("drawn", data, np.where(np.arange(10) % 2, 1.0, -1.0), kernel, loss)


def descent(off):
    """Classical steps whose kernel entries are off by so many units in the last place more."""

    def solve(problem, blocks, s, a0, log):
        data, y, loss = problem.dense, problem.targets, problem.hinge
        if isinstance(problem.kernel, RBFKernel):
            square = ((data[:, None] - data) ** 2).sum(axis=2)
            matrix = np.exp(-problem.kernel.sigma * square)
        else:
            matrix = (problem.kernel.offset + data @ data.T) ** problem.kernel.degree
        matrix = matrix + off * np.spacing(matrix)
        a = a0.copy()
        for step, (i,) in enumerate(blocks):
            eta = matrix[i, i] + loss.shift
            gradient = y[i] * (matrix[i] @ (y * a)) - 1.0 + loss.shift * a[i]
            a[i] = log[step, 0] = min(max(a[i] - gradient / eta, 0.0), loss.upper)
        return a

    return solve


@pytest.mark.parametrize(
    ("kernel", "off"),
    crossed([RBFKernel(0.5), PolynomialKernel(3, 1.0)], [-3.0, 3.0], of=2),
    ids=lambda one: getattr(one, "name", None),
)
def test_a_solver_that_promises_nothing_may_use_any_library(kernel, off):
    statuses = []
    for seed, loss in enumerate((Hinge(2.0), SquaredHinge(1.0), Hinge(0.5))):
        solver = CallableSolver(descent(off), Declaration("of a library", rbf="difference", log=True))
        stream = IndexStream("uniform", 10, 1, 60, seed=seed)
        verdict = judge(solver, problem_of(kernel, loss, seed), stream, 1)[-1]
        assert verdict.status is Status.PASS, verdict.reason
        worse = CallableSolver(descent(off * 20), Declaration("of none", rbf="difference", log=True))
        statuses.append(judge(worse, problem_of(kernel, loss, seed), stream, 1)[-1].status)
    assert Status.FAIL in statuses  # so far off that it shows


def test_the_judge_s_own_entries_are_those_of_any_library(monkeypatch):
    problem, places = problem_of(RBFKernel(0.5), Hinge(1.0)), np.arange(10)
    exact = np.ones((10, 10))
    for i, j in product(range(10), repeat=2):
        apart = [
            mpmath.mpf(a) - mpmath.mpf(b) for a, b in zip(problem.dense[i], problem.dense[j], strict=True)
        ]
        exact[i, j] = mpmath.exp(-mpmath.fsum(one**2 for one in apart) / 2)

    class Vectorised:
        """NumPy whose exp errs by nearly as much as it may."""

        def __getattr__(self, name):
            return getattr(np, name)

        def exp(self, values):
            right = np.exp(values)
            return right + (LIBRARY_ULPS - 1) * np.spacing(right)

    monkeypatch.setattr(kernels, "np", Vectorised())
    entries = kernel_entries(problem, Declaration("any"), places)
    off = np.abs(entries.values - exact)
    assert (off > 2 * U * exact).any()
    assert (off <= entries.judge_error + U * exact).all()


@pytest.mark.parametrize("kernel", [RBFKernel(0.5), PolynomialKernel(2, 0.0)], ids=lambda one: one.name)
def test_what_is_not_said_promises_no_more_than_libraries_keep_to(kernel):
    # Of one feature, a power of 2, all else in an entry is exact or rounds once or twice.
    problem = Problem("exact", np.array([[2.0], [2.0]]), np.array([1.0, -1.0]), kernel, Hinge(1.0))
    entries = kernel_entries(problem, Declaration("nothing said", rbf="difference"), np.arange(2))
    assert (entries.solver_error >= 2 * LIBRARY_ULPS * U * entries.values).all()
    assert LIBRARY_ULPS >= 4.0
