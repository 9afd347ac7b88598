"""Published solvers land inside the certified enclosure, up to the tolerance each states itself."""

from __future__ import annotations

import functools
import importlib.util
from fractions import Fraction

import numpy as np
import pytest
from optional_parts import absent
from peers import kernel_ridge, liblinear, osqp, piqp
from stated_tolerance import box_qp_loss, cholesky_distance

from sstep_verify.oracle.balls.objectives import exact_values
from sstep_verify.oracle.certificate.certify import certify
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)

KERNELS = [LinearKernel(), PolynomialKernel(3), RBFKernel(0.25)]
LOSSES = [Hinge(1.0), SquaredHinge(1.0)]
TOLERANCES = [2.0**-20, 2.0**-26]


@pytest.fixture(autouse=True)
def _peers():
    for name in ("sklearn", "piqp", "osqp"):
        if importlib.util.find_spec(name) is None:
            absent("peers", "python -m pip install '.[peers]'")


def _problem(kernel, loss) -> Problem:
    draw = np.random.default_rng(5)
    data = np.round(draw.normal(size=(30, 4)) * 8) / 16
    scores = data[:, 0] + draw.normal(size=30) / 2 + 0.5
    targets = scores if isinstance(loss, Ridge) else np.where(scores > 0, 1.0, -1.0)
    return Problem("drawn", data, targets, kernel, loss)


@functools.cache
def _certified(kernel, loss):
    return certify(_problem(kernel, loss), 30)


def _numbers(certificate) -> list[Fraction]:
    return [Fraction(text) for text in certificate.alpha]


def _distance(alpha: np.ndarray, certificate) -> float:
    """Upper bound on the distance of a from the exact optimum."""
    square = sum((Fraction(x) - y) ** 2 for x, y in zip(alpha.tolist(), _numbers(certificate), strict=True))
    return float(np.nextafter(np.sqrt(float(square)), np.inf)) * (1 + 2.0**-50) + float(certificate.radius)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("penalty", [1.0, 2.0**-10])
def test_kernel_ridge_in_its_convention_lands_at_the_certified_solution(kernel, penalty):
    problem = _problem(kernel, Ridge(penalty))
    certificate = certify(problem, 30)
    found = kernel_ridge(problem)
    assert _distance(found, certificate) <= cholesky_distance(problem, found)


def test_kernel_ridge_in_another_convention_does_not():
    problem = _problem(LinearKernel(), Ridge(2.0**-4))
    found = kernel_ridge(Problem("drawn", problem.data, problem.targets, problem.kernel, Ridge(2.0**-5)))
    certificate = certify(problem, 30)
    assert _distance(found, certificate) > cholesky_distance(problem, found)


def _primal(problem: Problem, weights: np.ndarray) -> Fraction:
    """Exact primal value at weights w."""
    w, power = [Fraction(value) for value in weights.tolist()], problem.hinge.power
    value = sum(x * x for x in w) / 2
    for row, label in zip(problem.dense.tolist(), problem.targets.tolist(), strict=True):
        margin = Fraction(label) * sum(x * Fraction(a) for x, a in zip(w, row, strict=True))
        value += Fraction(problem.hinge.C) * max(1 - margin, Fraction(0)) ** power
    return value


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.task)
@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_liblinear_lands_above_the_optimum_and_its_tolerance_promises_no_more(loss, tolerance):
    problem = _problem(LinearKernel(), loss)
    found, certificate = liblinear(problem, tolerance), _certified(problem.kernel, loss)
    assert found.converged
    assert found.stated["gradient"] == tolerance
    assert "zero" in certificate.statuses
    value = _primal(problem, found.vector)
    assert value >= certificate.objective.lower
    # At w = 0 the value is C m.
    assert value < loss.C * problem.samples


@pytest.mark.parametrize("peer", [piqp, osqp], ids=["piqp", "osqp"])
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.task)
@pytest.mark.parametrize("tolerance", TOLERANCES)
def test_box_qp_solvers_land_below_the_optimum_by_no_more_than_their_tolerance_allows(
    peer, kernel, loss, tolerance
):
    problem = _problem(kernel, loss)
    found, certificate = peer(problem, tolerance), _certified(kernel, loss)
    assert found.converged
    assert set(found.stated.values()) == {tolerance}
    point = np.clip(found.vector, 0.0, problem.hinge.upper)
    assert np.abs(point - found.vector).max() <= found.stated["primal"]
    dual = exact_values(problem, [point, np.zeros(problem.samples)])
    optimum = np.array([float(value) for value in _numbers(certificate)])
    bound = box_qp_loss(problem, found.vector, optimum, found.stated)
    reached, at_start = dual[0]["dual"], dual[1]["dual"]
    assert Fraction(reached[0]) <= certificate.objective.upper
    assert certificate.objective.upper - Fraction(reached[0]) <= bound
    # The bound is no larger than what a wrong answer exceeds: a = 0.
    assert certificate.objective.lower - Fraction(at_start[1]) > bound


@pytest.mark.parametrize("kernel", [LinearKernel(), RBFKernel(0.25)], ids=lambda kernel: kernel.name)
def test_svc_is_no_referee_for_it_solves_another_problem(kernel):
    """Its bias adds the constraint y'a = 0, which the certified optimum is proved to violate.

    SVC's own stopping rule (tol on the violation of optimality) leaves its dual value at most
    ``2 C m tol`` below its own optimum; the certified optimum lies beyond that.
    """
    from sklearn.svm import SVC

    problem = _problem(kernel, Hinge(1.0))
    certificate = _certified(kernel, problem.loss)
    m, C = problem.samples, problem.hinge.C
    assert certificate.unique
    sum_at_optimum = sum(
        Fraction(y) * a for y, a in zip(problem.targets.tolist(), _numbers(certificate), strict=True)
    )
    # |y'(a - a*)| <= sqrt(m) ||a - a*|| < m radius.
    assert abs(sum_at_optimum) > m * Fraction(certificate.radius)
    name = "linear" if isinstance(kernel, LinearKernel) else "rbf"
    model = SVC(C=C, kernel=name, gamma=getattr(kernel, "sigma", 1.0), tol=2.0**-30)
    model.fit(problem.dense, problem.targets)
    alpha = np.zeros(m)
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    dual = exact_values(problem, [np.clip(alpha, 0.0, C)])[0]["dual"]
    assert Fraction(dual[1]) + Fraction(2 * C * m * model.tol) < certificate.objective.lower
