"""What products with the kernel make of a dual vector, in balls: objectives, gradient, residual.

All functions are to be called inside the arithmetic's `working()`. Points are lists of m numbers of the
arithmetic, and so are their images: ``Q a`` of a K-SVM, ``K a`` of a K-RR.
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


def signed(problem: Problem, values: Iterable[Any]) -> list[Any]:
    """Labels times values (K-SVM), or the values (K-RR): what K multiplies, and what it makes of that."""
    return [int(y) * value for y, value in zip(problem.signs, values, strict=True)]


def objectives(
    problem: Problem, arithmetic: Balls, point: Sequence[Any], images: Sequence[Any]
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


def derivative(
    problem: Problem, arithmetic: Balls, point: Iterable[Any], images: Iterable[Any]
) -> list[Any]:
    """Gradient of the minimised dual ``Q a - 1 + omega a`` (K-SVM), or residual (K-RR), from the images."""
    if not problem.is_svm:
        penalty, targets = arithmetic.number(problem.ridge.penalty), arithmetic.vector(problem.targets)
        return ridge_residual(penalty, problem.samples, targets, point, images)
    _, shift = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)
    return [image - 1 + shift * value for image, value in zip(images, point, strict=True)]


def ridge_residual(
    penalty: Any, samples: int, targets: Iterable[Any], point: Iterable[Any], images: Iterable[Any]
) -> list:
    """``y - K a / lambda - m a`` on some coordinates, from their targets, values and products with K."""
    triples = zip(targets, point, images, strict=True)
    return [target - image / penalty - samples * value for target, value, image in triples]
