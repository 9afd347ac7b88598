"""What products with the kernel make of a dual vector, in balls: objectives, gradient, residual.

Points are lists of m numbers of the arithmetic, and so are their images: ``Q a`` of a K-SVM, ``K a`` of a
K-RR; functions on them are to be called inside the arithmetic's `working()`. `exact_values` and
`exact_drift` take given dual vectors and make one pass over the exact kernel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from flint import arb_mat
from sstep_reference.arithmetic import Balls
from sstep_reference.inputs import svm_constants

from sstep_verify.oracle.balls.exact_kernel import distances, interval, ridge_residual
from sstep_verify.oracle.balls.kernel_balls import BallKernel
from sstep_verify.problems import Problem


class Objectives(NamedTuple):
    """Enclosures of the dual value, of the primal value and of their difference."""

    dual: Any
    primal: Any
    gap: Any


def signed(problem: Problem, values: Iterable[Any]) -> list[Any]:
    """Labels times values (K-SVM), or the values (K-RR): what K multiplies, and what it makes of that."""
    return [int(y) * value for y, value in zip(problem.signs, values, strict=True)]


def objectives(
    problem: Problem, arithmetic: Any, point: Sequence[Any], images: Sequence[Any]
) -> Objectives:
    """Objectives at a point (a), feasible for a K-SVM, from its images.

    K-SVM: ``D(a) = 1'a - 1/2 a'Qa - omega/2 a'a`` and ``P(a) = 1/2 a'Qa + C sum max(0, 1 - (Qa)_i)^p``.
    K-RR: ``D(a) = y'a - 1/2 a'(K/lambda + m I)a``; the gap is ``||r||^2 / (2 m)`` with the residual r.
    """
    vector, zero = arithmetic.vector(point), arithmetic.number(0)
    half = arithmetic.dot(vector, arithmetic.vector(images)) / 2
    square = arithmetic.dot(vector, vector) / 2
    if problem.is_svm:
        _, shift = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)
        dual = sum(point, zero) - half - shift * square
        losses = (arithmetic.clip(1 - image, zero, None) ** problem.hinge.power for image in images)
        primal = half + arithmetic.number(problem.hinge.C) * sum(losses, zero)
        return Objectives(dual, primal, primal - dual)
    residual = arithmetic.vector(derivative(problem, arithmetic, point, images))
    targets = arithmetic.vector(problem.targets)
    dual = arithmetic.dot(targets, vector) - half / arithmetic.number(problem.ridge.penalty)
    dual = dual - problem.samples * square
    gap = arithmetic.dot(residual, residual) / (2 * problem.samples)
    return Objectives(dual, dual + gap, gap)


def derivative(problem: Problem, arithmetic: Any, point: Iterable[Any], images: Iterable[Any]) -> list[Any]:
    """Gradient of the minimised dual ``Q a - 1 + omega a`` (K-SVM), or residual (K-RR), from the images."""
    if not problem.is_svm:
        penalty, targets = arithmetic.number(problem.ridge.penalty), arithmetic.vector(problem.targets)
        return ridge_residual(penalty, problem.samples, targets, point, images)
    _, shift = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)
    return [image - 1 + shift * value for image, value in zip(images, point, strict=True)]


BITS = 256
"""Precision of the balls: about 200 bits beyond float64, lost in no cancellation met so far."""

MOST_SAMPLES = 1024
"""Number of samples up to which a pass over the exact kernel takes no more than seconds."""

Interval = tuple[float, float]


def exact_values(
    problem: Problem, alphas: Sequence[np.ndarray], bits: int = BITS
) -> list[dict[str, Interval]]:
    """Enclose what a solver may report about its dual vectors.

    Parameters
    ----------
    problem : Problem
        The problem.
    alphas : sequence of ndarray, shape (m,)
        Dual vectors, in any precision; taken exactly.
    bits : int
        Precision of the balls.

    Returns
    -------
    list of dict
        Per vector, intervals by name. K-SVM: gap, primal, dual, objective (the dual's negative); K-RR:
        gap, residual (2-norm of ``y - K a / lambda - m a``), primal, dual, objective. Both: "prediction i",
        the value of sample i, ``(K (y a))_i`` or ``(K a)_i / lambda``.
    """
    arithmetic = Balls(bits)
    kernel = BallKernel(problem, arithmetic)
    with arithmetic.working():
        points, weighted = _weighted(problem, arithmetic, alphas)
        columns = kernel.product(weighted).transpose().tolist()
        pairs = zip(points, columns, strict=True)
        return [reported_values(problem, arithmetic, point, products) for point, products in pairs]


def exact_drift(
    problem: Problem, alphas: Sequence[np.ndarray], weights: Sequence[np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Enclose the distance between maintained weights and those of each dual vector, entry by entry.

    Parameters
    ----------
    problem : Problem
        The problem.
    alphas : sequence of ndarray, shape (m,)
        Dual vectors, taken exactly.
    weights : sequence of ndarray, shape (n,)
        Weights next to each.

    Returns
    -------
    list of (lower, upper)
        Arrays of shape (n,), one pair per vector.
    """
    arithmetic = Balls(BITS)
    with arithmetic.working():
        _, weighted = _weighted(problem, arithmetic, alphas)
        data = arb_mat(problem.features, problem.samples, problem.dense.T.ravel().tolist())
        columns = (data * weighted).transpose().tolist()
    return [
        distances(arithmetic, arithmetic.vector(given), exact)
        for given, exact in zip(weights, columns, strict=True)
    ]


def _weighted(problem: Problem, arithmetic: Balls, alphas: Sequence[np.ndarray]) -> tuple[list[list], Any]:
    """Dual vectors in balls, and the columns that the kernel multiplies, an arb_mat of shape (m, k)."""
    points = [[arithmetic.number(value) for value in alpha] for alpha in alphas]
    return points, arb_mat([signed(problem, point) for point in points]).transpose()


def reported_values(
    problem: Problem, arithmetic: Any, point: Sequence[Any], products: Sequence[Any]
) -> dict[str, Interval]:
    """All that a solver may report about one dual vector, from its products with the kernel."""
    values = objectives(problem, arithmetic, point, signed(problem, products))._asdict()
    scale = arithmetic.number(1)
    if not problem.is_svm:
        scale = arithmetic.number(problem.ridge.penalty)
        # A square that cancels has a ball that reaches below 0, of which there is no root.
        square, zero = values["gap"] * (2 * problem.samples), arithmetic.number(0)
        values["residual"] = square.lower().max(zero).sqrt().union(square.upper().max(zero).sqrt())
    values["objective"] = -values["dual"]
    values |= {f"prediction {i}": product / scale for i, product in enumerate(products)}
    return {name: interval(value) for name, value in values.items()}
