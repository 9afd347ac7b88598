"""Columns of kernel rows are left out only where no entry, and no bound, comes near the range of a type."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, LinearKernel, PolynomialKernel, Problem, RBFKernel, Ridge
from sstep_verify.rounding.arithmetic import largest_normal
from sstep_verify.rounding.formulas import formulas_of
from sstep_verify.rounding.kernel.entries import kernel_entries, stays_small

ANY, SINGLE = Declaration("any"), Declaration("single", precision="float32")
CUBIC = PolynomialKernel(degree=3, offset=1.0)


def problem_of(kernel, size=1.0, loss=None, sparse=False):
    data = size * np.array([[1.0, 0.5], [-0.25, 2.0], [0.0, 1.5]])
    return Problem("three", sp.csr_array(data) if sparse else data, [1, -1, 1], kernel, loss or Hinge(1.0))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("kernel", [LinearKernel(), CUBIC, RBFKernel(0.5)])
@pytest.mark.parametrize("loss", [Hinge(1.0), Ridge(1e-3)])
def test_usual_numbers_are_small(kernel, loss, sparse):
    problem = problem_of(kernel, 1.0, loss, sparse)
    assert stays_small(problem, ANY)
    assert stays_small(problem, SINGLE)


@pytest.mark.parametrize(
    ("kernel", "size", "declared"),
    [
        (LinearKernel(), 1e80, ANY), (LinearKernel(), 1e10, SINGLE),
        (CUBIC, 1e26, ANY), (CUBIC, 1e4, SINGLE),
        # The error of the exponent, not the exponent, is what may grow.
        (RBFKernel(1e10), 1e3, ANY), (RBFKernel(1.0), 1e3, SINGLE),
    ],
)  # fmt: skip
def test_large_numbers_are_not(kernel, size, declared):
    assert not stays_small(problem_of(kernel, size), declared)


def test_a_small_lambda_makes_entries_large():
    assert not stays_small(problem_of(LinearKernel(), loss=Ridge(1e-160)), ANY)


def test_another_scale_and_another_kernel_leave_nothing_out():
    assert not stays_small(problem_of(LinearKernel()), formulas_of(ANY, scaled=True))


@pytest.mark.parametrize("declared", [ANY, SINGLE])
@pytest.mark.parametrize("kernel", [LinearKernel(), CUBIC, RBFKernel(0.5), RBFKernel(1e5)])
def test_bounds_of_what_is_small_are_finite_at_every_size(kernel, declared):
    sizes = [
        size for size in 10.0 ** np.arange(-170, 160, 5) if stays_small(problem_of(kernel, size), declared)
    ]
    assert sizes
    for size in sizes:
        entries = kernel_entries(problem_of(kernel, size), declared, np.arange(3))
        largest = max(
            float(part.max()) for part in (entries.term_sizes, entries.solver_error, entries.judge_error)
        )
        assert largest**2 <= 4.0 * largest_normal(declared.precision)
