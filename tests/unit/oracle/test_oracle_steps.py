"""What is wrong about a stored step is enclosed: a residual, or the distance of a clipped value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
from sstep_reference import exact_fraction
from sstep_reference.arithmetic import Balls, Rational

from sstep_verify.oracle.balls.exact_kernel import Followed, exact_kernel
from sstep_verify.oracle.facade import Oracle
from sstep_verify.oracle.window_ends import begun_window
from sstep_verify.problems import BoxedLoss, Hinge, LinearKernel, PolynomialKernel, Problem, Ridge
from sstep_verify.recurrence.steps import finisher_of, mutable_window


@pytest.mark.parametrize("bits", [64, 192])
def test_the_residual_of_a_block_is_enclosed(bits):
    generator = np.random.Generator(np.random.PCG64(3))
    data, alpha = generator.standard_normal((7, 3)), generator.standard_normal(7)
    problem = Problem(
        name="residual",
        data=data,
        targets=generator.standard_normal(7),
        kernel=PolynomialKernel(2, 0.5),
        loss=Ridge(0.3),
    )
    draws = np.array([4, 1, 6])
    lower, upper = Oracle(problem).step_error(problem, alpha, alpha, draws, bits)
    for place, i in enumerate(draws.tolist()):
        products = (
            sum(Fraction(x) * Fraction(y) for x, y in zip(data[i], row, strict=True)) for row in data
        )
        kernel = ((product + Fraction(1, 2)) ** 2 for product in products)
        left = Fraction(problem.targets[i]) - 7 * Fraction(alpha[i])
        left -= sum(value * Fraction(a) for value, a in zip(kernel, alpha, strict=True)) / Fraction(0.3)
        assert Fraction(lower[place]) <= abs(left) <= Fraction(upper[place])
        assert upper[place] - lower[place] <= 1e-12 * upper[place]


@pytest.mark.parametrize("stored", [0.4, 0.7, 0.2])
def test_the_distance_of_a_clipped_value_is_enclosed(stored):
    data = np.array([[1.0, 0.5], [-0.25, 2.0], [0.75, 0.75]])
    labels, before = np.array([1.0, -1.0, 1.0]), np.array([0.5, 0.25, 0.125])
    problem = Problem(name="step", data=data, targets=labels, kernel=LinearKernel(), loss=Hinge(0.7))
    after = before.copy()
    after[2] = stored
    products = [sum(Fraction(x) * Fraction(z) for x, z in zip(data[2], row, strict=True)) for row in data]
    slope = sum(Fraction(y * a) * p for y, a, p in zip(labels, before, products, strict=True)) - 1
    exact = min(max(Fraction(before[2]) - slope / products[2], Fraction(0)), Fraction(0.7))
    (lower,), (upper,) = Oracle(problem).step_error(problem, before, after, np.array([2]), 192)
    assert Fraction(lower) <= abs(Fraction(stored) - exact) <= Fraction(upper)
    assert upper - lower <= 1e-12


def test_numbers_of_a_followed_vector_are_those_made_at_once():
    generator, arithmetic = np.random.Generator(np.random.PCG64(6)), Balls(192)
    followed, stored = Followed(arithmetic), generator.standard_normal(9)
    for changed in (0, 1, 3, 9, 0):
        places = generator.permutation(9)[:changed]
        stored[places] = generator.choice([0.0, -0.0, 5e-324, -1e308, 1 / 3], changed)
        numbers = followed.at(stored)
        assert [*map(float, numbers)] == stored.tolist()
        for one, other in zip(numbers, arithmetic.vector(stored), strict=True):
            assert one.is_exact()
            assert one == other
        numbers[0] = arithmetic.number(7)  # It is the caller's own.
    assert [*map(float, followed.at(stored))] == stored.tolist()


def test_a_step_is_enclosed_alike_whatever_the_oracle_was_asked_before():
    generator = np.random.Generator(np.random.PCG64(9))
    data, targets = generator.standard_normal((8, 3)), generator.standard_normal(8)
    for loss, block in ((Ridge(0.3), 3), (Hinge(0.7), 1)):
        labels = targets if block > 1 else np.sign(targets)
        problem = Problem("asked", data, labels, LinearKernel(), loss)
        oracle = Oracle(problem)
        for _ in range(6):
            before, draws = np.abs(generator.standard_normal(8)), generator.integers(8, size=block)
            after = before.copy()
            after[draws] = np.abs(generator.standard_normal(8))[draws]
            found = oracle.step_error(problem, before, after, draws)
            alone = Oracle(problem).step_error(problem, before, after, draws)
            assert np.array_equal(found, alone)


@dataclass(frozen=True)
class Unlabelled(BoxedLoss):
    """A boxed loss whose targets are no labels."""

    task: ClassVar[str] = "unlabelled"
    labelled: ClassVar[bool] = False
    base_task: ClassVar[str] = "svm-l1"


@pytest.mark.parametrize("loss", [Unlabelled(2.0), Hinge(2.0)], ids=lambda loss: loss.task)
def test_products_of_the_window_before_have_labels_where_targets_are_labels(loss):
    generator = np.random.Generator(np.random.PCG64(5))
    data, old, alpha = (generator.integers(-4, 5, size=size) / 4 for size in ((6, 3), 6, 6))
    targets = np.where(generator.random(6) < 0.5, -1.0, 1.0) * (1.0 if loss.labelled else 0.5)
    problem = Problem("before", data, targets, LinearKernel(), loss)
    draws, earlier = np.array([[4], [1]]), np.array([[2], [5]])
    kernel = exact_kernel(problem, Balls(128))
    window = begun_window(problem, kernel, kernel.arithmetic.vector(alpha), draws, before=(old, earlier))
    signs = targets if loss.labelled else np.ones(6)
    for late, rows, vector, own in (
        ("A", draws, old, 1),
        ("K", earlier, alpha, 1),
        ("Q", earlier, alpha, signs),
    ):
        for step, ((i,), (row,)) in enumerate(zip(draws, rows, strict=True)):
            expected = data[row] @ data.T @ (signs * vector)
            expected *= own[i] * own[row] if late == "Q" else 1
            assert float(window.products(step, late)[0]) == expected


@dataclass(frozen=True)
class Thresholded(Unlabelled):
    """With the weight of a 1-norm."""

    threshold = property(lambda self: 0.5)  # type: ignore[assignment]


@pytest.mark.parametrize(("target", "new"), [(3, Fraction(5, 8)), (-3, 0), (Fraction(1, 4), 0), (40, 2)])
def test_a_threshold_is_divided_by_the_curvature(target, new):
    """From 0 with K = 4: soft(p / 4, 1/2 / 4), in a box from 0 to 2."""
    problem = Problem(
        "soft", np.array([[2.0]]), np.array([float(target)]), LinearKernel(), Thresholded(2.0)
    )
    arithmetic = Rational()
    kernel = exact_kernel(problem, arithmetic)
    window = begun_window(problem, kernel, arithmetic.vector(np.zeros(1)), np.array([[0]]))
    (end,) = mutable_window(arithmetic, window, finisher_of(problem, arithmetic))
    assert exact_fraction(end) == new
