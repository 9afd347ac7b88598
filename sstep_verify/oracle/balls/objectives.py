"""What products with the kernel make of a dual vector, in balls: objectives, gradient, residual.

All functions are to be called inside the arithmetic's `working()`. Points and products are vectors of the
arithmetic or lists of m balls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sstep_reference.arithmetic import Balls
from sstep_reference.inputs import svm_constants

from sstep_verify.problems import Problem


class Objectives(NamedTuple):
    """Enclosures of the dual value, of the primal value and of their difference."""

    dual: Any
    primal: Any
    gap: Any


def svm_objectives(problem: Problem, arithmetic: Balls, point: Sequence[Any], images: Sequence[Any]):
    """Objectives of a K-SVM at a feasible point (a), from ``Q a``.

    ``D(a) = 1'a - 1/2 a'Qa - omega/2 a'a`` and ``P(a) = 1/2 a'Qa + C sum max(0, 1 - (Qa)_i)^p``.
    """
    _, shift = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)
    penalty, zero = arithmetic.number(problem.hinge.C), arithmetic.number(0)
    vector = arithmetic.vector(point)
    half = arithmetic.dot(vector, arithmetic.vector(images)) / 2
    dual = sum(point, zero) - half - shift * arithmetic.dot(vector, vector) / 2
    losses = (arithmetic.clip(1 - image, zero, None) ** problem.hinge.power for image in images)
    primal = half + penalty * sum(losses, zero)
    return Objectives(dual, primal, primal - dual)


def ridge_objectives(
    problem: Problem,
    arithmetic: Balls,
    point: Sequence[Any],
    images: Sequence[Any],
    residual: Sequence[Any],
):
    """Objectives of a K-RR at a point (a), from ``K a`` and ``r = y - K a / lambda - m a``.

    ``D(a) = y'a - 1/2 a'(K/lambda + m I)a``; the gap is ``||r||^2 / (2 m)``.
    """
    samples, penalty = problem.samples, arithmetic.number(problem.ridge.penalty)
    vector, left = arithmetic.vector(point), arithmetic.vector(residual)
    half = arithmetic.dot(vector, arithmetic.vector(images)) / (2 * penalty)
    square = samples * arithmetic.dot(vector, vector) / 2
    dual = arithmetic.dot(arithmetic.vector(problem.targets), vector) - half - square
    gap = arithmetic.dot(left, left) / (2 * samples)
    return Objectives(dual, dual + gap, gap)


def svm_gradient(problem: Problem, arithmetic: Balls, point: Iterable[Any], images: Iterable[Any]) -> list:
    """``Q a - 1 + omega a``, the gradient of the minimised dual of a K-SVM, from ``Q a``."""
    _, shift = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)
    return [image - 1 + shift * value for image, value in zip(images, point, strict=True)]


def ridge_residual(
    penalty: Any, samples: int, targets: Iterable[Any], point: Iterable[Any], images: Iterable[Any]
) -> list:
    """``y - K a / lambda - m a`` on some coordinates, from their targets, values and products with K."""
    triples = zip(targets, point, images, strict=True)
    return [target - image / penalty - samples * value for target, value, image in triples]
