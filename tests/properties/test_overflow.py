"""No number of a correct run exceeds the bound, over kernels, losses, scales and starts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sstep_verify.bounds.overflow import largest_number, largest_value
from sstep_verify.declaration import Declaration
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.scenarios.scenario import Scenario
from studies.corpus.labelled import RIGHT
from studies.false_positives.groups import judged_run
from studies.false_positives.solvers import Variant

KERNELS = (LinearKernel(), PolynomialKernel(3, 0.5), RBFKernel(0.7))
H = 40


class Largest:
    """The largest absolute value that went by."""

    value = 0.0

    def __call__(self, number):
        self.value = max(self.value, float(np.max(np.abs(number), initial=0.0)))
        return number


def kernel_of(problem, seen):
    """The kernel matrix, with every number that is formed for it looked at."""
    data, kernel = problem.dense, problem.kernel
    products = seen(data @ data.T)
    if isinstance(kernel, LinearKernel):
        return products
    if isinstance(kernel, PolynomialKernel):
        return seen(seen(products + kernel.offset) ** kernel.degree)
    norms = seen(np.diag(products))
    distances = seen(seen(norms[:, None] + norms) - seen(2 * products))
    return seen(np.exp(-seen(kernel.sigma * np.maximum(distances, 0))))


def svm_run(problem, matrix, draws, start, seen, states):
    """Algorithm 1; the largest number it forms."""
    labels, loss, a = problem.targets, problem.hinge, states(start.copy())
    for i in draws:
        gradient = seen(labels[i] * seen(matrix[i] @ (labels * a)) - 1 + seen(loss.shift * a[i]))
        step = gradient / (matrix[i, i] + loss.shift)
        if loss.shift:
            seen(step)
        a[i] = min(max(a[i] - step, 0.0), loss.upper)
        states(a)


def ridge_run(problem, matrix, blocks, start, seen, states):
    """Algorithm 3; the largest number it forms."""
    m, penalty, a = problem.samples, problem.ridge.penalty, states(start.copy())
    for block in blocks:
        system = seen(matrix[np.ix_(block, block)] / penalty + m * np.eye(block.size))
        right = seen(problem.targets[block] - seen(m * a[block]) - seen(matrix[block] @ a) / penalty)
        a[block] = a[block] + seen(np.linalg.solve(system, right))
        states(a)


@pytest.mark.parametrize(
    "loss", [Hinge(3.0), SquaredHinge(0.5), Ridge(0.05)], ids=lambda loss: type(loss).__name__
)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32), scale=st.integers(-60, 60), moved=st.booleans())
def test_no_number_of_a_correct_run_exceeds_the_bound(loss, kernel, seed, scale, moved):
    generator = np.random.Generator(np.random.PCG64(seed))
    data = generator.standard_normal((7, 3)) * 2.0**scale
    ridge = isinstance(loss, Ridge)
    targets = generator.standard_normal(7) if ridge else np.where(generator.random(7) < 0.5, -1.0, 1.0)
    problem = Problem("drawn", data, targets, kernel, loss)
    block = 2 if ridge else 1
    draws = IndexStream("uniform", 7, block, H, seed=seed % 1000).blocks(0, H)
    start = (generator.random(7) - 0.5 * (seed % 2)) * moved
    value, seen, states = largest_value(problem, Declaration("x"), 4, block, H, start), Largest(), Largest()
    matrix = kernel_of(problem, seen)
    if ridge:
        ridge_run(problem, matrix, draws, start, seen, states)
    else:
        svm_run(problem, matrix, draws.ravel(), start, seen, states)
    assert states.value <= value
    # From the values that a log holds, and from those that the theorem promises.
    for largest in (states.value, value):
        assert seen.value <= largest_number(problem, Declaration("x"), 4, block, largest)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_bound_is_promised_where_numbers_are_ordinary_and_none_where_they_are_not(precision):
    generator = np.random.Generator(np.random.PCG64(0))
    data, labels = generator.standard_normal((30, 4)), np.where(np.arange(30) % 2, 1.0, -1.0)
    declared = Declaration("x", precision=precision)
    for kernel in KERNELS:
        for loss, block in ((Hinge(1.0), 1), (SquaredHinge(1.0), 1), (Ridge(0.1), 1), (Ridge(0.1), 8)):
            problem = Problem("ordinary", data, labels, kernel, loss)
            assert largest_number(problem, declared, 16, block, 10.0) < 1e16  # float32 ends at 3e38
            value = largest_value(problem, declared, 16, block, 1000, np.zeros(30))
            # In float32 rounding may add up, over a whole run, to more than the theorem allows for.
            assert value < 1e6 or precision == "float32"
    large = Problem("large", data * 1e200, labels, LinearKernel(), Hinge(1.0))
    assert largest_number(large, declared, 16, 1, 1.0) == np.inf


FAR = 1e306
"""A parameter that float32 does not hold; nor does it hold its reciprocal."""


@pytest.mark.parametrize(
    ("kernel", "loss"),
    [
        (LinearKernel(), Hinge(FAR)),  # A step on a zero row stores C.
        (LinearKernel(), SquaredHinge(1 / FAR)),  # omega
        (RBFKernel(FAR), Hinge(1.0)),  # sigma times a distance of 0
        (LinearKernel(), Ridge(FAR)),
    ],
    ids=["C", "omega", "sigma", "lambda"],
)
def test_nothing_is_promised_where_the_type_does_not_hold_a_parameter(kernel, loss):
    targets = np.array([1.0, -1.0, 1.0])
    problem = Problem("tiny", np.full((3, 2), 1e-200), targets, kernel, loss)
    assert largest_number(problem, Declaration("x", precision="float32"), 4, 1, 0.0) > float(
        np.finfo("f4").max
    )


def test_a_run_that_stores_a_c_beyond_float32_keeps_its_contract():
    scenario = Scenario.from_id(
        "svm-l1,linear,m=12,n=4,b=1,s=8,H=20,P=1,seed=2199122177,parameter=1.4044477616111843e+306,cond=10,"
        "scale=near-underflow"
    )
    (labelled,) = (one for one in RIGHT if one.id == "float32")
    variant = Variant("float32", labelled.make)
    assert [one.status for one in judged_run(variant, scenario, ("step-replay",)).verdicts] == ["VACUOUS"]
