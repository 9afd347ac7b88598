"""K-SVM optima: proved enclosures, exact ties and singular Q included."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from sstep_reference.arithmetic import Balls

from sstep_verify.errors import InputError
from sstep_verify.oracle.balls.exact_kernel import interval
from sstep_verify.oracle.balls.objectives import objectives
from sstep_verify.oracle.certificate.optimum import svm_optimum
from sstep_verify.oracle.search import svm as module
from sstep_verify.oracle.search.active_set import BallDual, Polisher
from sstep_verify.oracle.search.svm import TARGET
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.problems.data.datasets import load

KERNELS = [LinearKernel(), PolynomialKernel(), RBFKernel()]
LOSSES = [Hinge(1.0), SquaredHinge(1.0), Hinge(0.1), SquaredHinge(30.0)]


def _labels(m: int) -> np.ndarray:
    return np.where(np.arange(m) % 3 == 0, -1.0, 1.0)


def _problem(kernel, loss, m=40, n=3, scale=1.0) -> Problem:
    data = np.random.default_rng(1).standard_normal((m, n)) * scale
    return Problem("random", data, _labels(m), kernel, loss)


def floats_above(value: float, count: int) -> float:
    """The float64 number so many places above another."""
    for _ in range(count):
        value = math.nextafter(value, math.inf)
    return value


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_random_problems_are_enclosed_to_thirty_digits(kernel, loss):
    problem = _problem(kernel, loss)
    optimum = svm_optimum(problem)
    assert optimum.relative_width <= TARGET
    assert optimum.relative_width <= 1e-30
    # Each end is rounded to float64 and then moved outwards by one float.
    assert optimum.value_lower < optimum.value_upper <= floats_above(optimum.value_lower, 4)
    assert (optimum.alpha >= 0).all()
    assert (optimum.alpha <= loss.upper).all()


@pytest.mark.parametrize(
    ("loss", "value"), [(Hinge(1.0), 3.0), (SquaredHinge(1.0), 2.0), (Hinge(0.5), 2.25)]
)
def test_the_identity_has_a_known_value_even_where_every_coordinate_is_tied(loss, value):
    problem = Problem("far apart", np.eye(6) * 1e3, _labels(6), RBFKernel(1.0), loss)
    optimum = svm_optimum(problem)
    assert optimum.value_lower <= value <= optimum.value_upper
    assert optimum.relative_width <= TARGET


@pytest.mark.parametrize("loss", [Hinge(1.0), SquaredHinge(1.0)], ids=str)
def test_duplicates_zero_rows_and_contradictions(loss):
    """Two copies of (1, +1), one of (1, -1), a zero row: so the best value is elementary."""
    data, labels = np.array([[1.0], [1.0], [1.0], [0.0]]), np.array([1.0, 1.0, -1.0, 1.0])
    optimum = svm_optimum(Problem("ties", data, labels, LinearKernel(), loss))
    # L1: 1/2 w^2 + 2 (1-w) + (1+w) + 1, least at w = 1; L2: 1/2 w^2 + 2 (1-w)^2 + (1+w)^2 + 1, at w = 2/7.
    value = 3.5 if loss.power == 1 else 26 / 7
    assert optimum.value_lower <= value <= optimum.value_upper
    assert optimum.relative_width <= TARGET


def test_the_zero_matrix():
    optimum = svm_optimum(Problem("zeros", np.zeros((3, 2)), _labels(3), LinearKernel(), Hinge(2.0)))
    assert optimum.value_lower <= 6.0 <= optimum.value_upper
    assert optimum.alpha.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("loss", [Hinge(1.0), SquaredHinge(1.0)], ids=str)
def test_where_float64_fails_the_high_precision_search_takes_over(loss):
    generator = np.random.default_rng(5)
    data = np.abs(generator.standard_normal((60, 3))) * np.array([1.0, 30.0, 300.0])
    problem = Problem("unscaled", data, np.sign(generator.standard_normal(60)), PolynomialKernel(), loss)
    start = module.extended_search(problem)
    assert start.finished
    dual = BallDual(problem, Balls(600))
    best, width = min(Polisher(dual, start).points(), key=lambda point: point[1])
    assert width <= TARGET
    optimum = svm_optimum(problem)
    assert optimum.relative_width <= TARGET
    with dual.arithmetic.working():
        values = objectives(problem, dual.arithmetic, best, dual.products(best))
    lower, upper = interval(values.dual)[0], interval(values.primal)[1]
    assert max(lower, optimum.value_lower) <= min(upper, optimum.value_upper)


def test_a_bad_guess_gives_a_wide_but_true_enclosure(monkeypatch):
    problem = _problem(RBFKernel(), Hinge())
    good = svm_optimum(problem)
    monkeypatch.setattr("sstep_verify.oracle.search.interior_point.MOST_ITERATIONS", 0)
    monkeypatch.setattr("sstep_verify.oracle.search.active_set.MOST_ROUNDS", 0)
    wide = svm_optimum(problem)
    assert wide.relative_width > TARGET
    assert wide.value_lower <= good.value_lower
    assert good.value_upper <= wide.value_upper
    assert "no active set" in wide.how


def test_ridge_is_refused():
    with pytest.raises(InputError, match="ridge_optimum"):
        svm_optimum(Problem("krr", np.eye(2), np.ones(2), LinearKernel(), Ridge()))


@pytest.mark.parametrize(
    ("name", "kernel", "loss", "value"),
    [
        ("duke", PolynomialKernel(), Hinge(), 5.07e-10),
        pytest.param("duke", RBFKernel(), Hinge(), 22.0, marks=pytest.mark.nightly),
        pytest.param("diabetes_scale", PolynomialKernel(), SquaredHinge(), None, marks=pytest.mark.nightly),
        *(
            [("diabetes", PolynomialKernel(), Hinge(), 386.77)]
            if "SSTEP_VERIFY_DRAWS" in os.environ
            else []
        ),
    ],
    ids=str,
)
def test_the_papers_problems_are_enclosed_to_thirty_digits(data_directory, name, kernel, loss, value):
    data = load(name, directory=data_directory)
    optimum = svm_optimum(Problem(name, data.data, data.targets, kernel, loss))
    assert optimum.relative_width <= 1e-30
    if value is not None:
        digits = 3 if value < 1 else 2 + int(math.log10(value)) + 1
        assert (
            float(f"{optimum.value_lower:.{digits}g}")
            == float(f"{optimum.value_upper:.{digits}g}")
            == value
        )
