"""Gap, objectives and residual at given dual vectors in balls: one pass over the exact kernel for all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from flint import arb_mat
from sstep_reference.arithmetic import Balls
from sstep_reference.inputs import svm_constants

from sstep_verify.oracle.balls.enclosure import interval, magnitude_interval
from sstep_verify.oracle.balls.kernel_balls import BallKernel
from sstep_verify.problems import Problem

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
        points = [[arithmetic.number(value) for value in alpha] for alpha in alphas]
        labels = [int(y) for y in problem.signs]
        columns = [[y * value for y, value in zip(labels, point, strict=True)] for point in points]
        products = kernel.product(arb_mat([list(row) for row in zip(*columns, strict=True)]))
        found = []
        for place, point in enumerate(points):
            images = [y * products[i, place] for i, y in enumerate(labels)]
            judge = _svm if problem.is_svm else _ridge
            values = judge(problem, arithmetic, point, images)
            values["objective"] = -values["dual"]
            scale = arithmetic.number(1 if problem.is_svm else problem.ridge.penalty)
            values |= {f"prediction {i}": products[i, place] / scale for i in range(problem.samples)}
            found.append({name: interval(value) for name, value in values.items()})
    return found


def exact_drift(
    problem: Problem, name: str, alphas: Sequence[np.ndarray], carried: Sequence[np.ndarray]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Enclose the distance between carried states and what they stand for, entry by entry.

    Parameters
    ----------
    problem : Problem
        The problem.
    name : {"gradient", "residual", "weights"}
        What is carried, see `Trajectory.state`.
    alphas : sequence of ndarray, shape (m,)
        Dual vectors, taken exactly.
    carried : sequence of ndarray, shape (k,)
        State carried beside each.

    Returns
    -------
    list of (lower, upper)
        Arrays of shape (k,), one pair per vector.
    """
    arithmetic = Balls(BITS)
    kernel = BallKernel(problem, arithmetic)
    labels = [int(y) for y in problem.signs]
    with arithmetic.working():
        points = [[arithmetic.number(value) for value in alpha] for alpha in alphas]
        columns = [[y * value for y, value in zip(labels, point, strict=True)] for point in points]
        matrix = arb_mat([list(row) for row in zip(*columns, strict=True)])
        if name == "weights":
            data = arb_mat([[arithmetic.number(x) for x in row] for row in problem.dense.T.tolist()])
            products = data * matrix
        else:
            products = kernel.product(matrix)
        found = []
        for place, (point, state) in enumerate(zip(points, carried, strict=True)):
            true = [products[i, place] for i in range(products.nrows())]
            if name != "weights":
                true = _affine(problem, arithmetic, labels, point, true)
            pairs = zip(state, true, strict=True)
            ends = [magnitude_interval(arithmetic.number(value) - exact) for value, exact in pairs]
            low, high = np.array(ends).T
            found.append((low, high))
    return found


def _affine(problem: Problem, arithmetic: Balls, labels: list, point: list, images: list) -> list:
    """Gradient (K-SVM) or residual (K-RR) from the kernel's products with the point."""
    if problem.is_svm:
        _, shift = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)
        return [y * p - 1 + shift * a for y, p, a in zip(labels, images, point, strict=True)]
    penalty = arithmetic.number(problem.ridge.penalty)
    targets = [arithmetic.number(y) for y in problem.targets]
    return [y - p / penalty - problem.samples * a for y, p, a in zip(targets, images, point, strict=True)]


def _svm(problem: Problem, arithmetic: Balls, point: list, images: list) -> dict:
    _, shift = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)
    zero, penalty = arithmetic.number(0), arithmetic.number(problem.hinge.C)
    half = sum((a * p for a, p in zip(point, images, strict=True)), zero) / 2
    dual = sum(point, zero) - half - shift * sum((a * a for a in point), zero) / 2
    losses = (arithmetic.clip(1 - p, zero, None) ** problem.hinge.power for p in images)
    primal = half + penalty * sum(losses, zero)
    return {"gap": primal - dual, "primal": primal, "dual": dual}


def _ridge(problem: Problem, arithmetic: Balls, point: list, images: list) -> dict:
    zero, penalty, samples = arithmetic.number(0), arithmetic.number(problem.ridge.penalty), problem.samples
    targets = [arithmetic.number(y) for y in problem.targets]
    misfit = [y - p / penalty for y, p in zip(targets, images, strict=True)]
    left = [r - samples * a for r, a in zip(misfit, point, strict=True)]
    square = sum((r * r for r in left), zero)  # flint has no power of a ball about 0
    half = sum((a * p for a, p in zip(point, images, strict=True)), zero) / (2 * penalty)
    own = samples * sum((a * a for a in point), zero) / 2
    dual = sum((y * a for y, a in zip(targets, point, strict=True)), zero) - half - own
    gap = square / (2 * samples)
    # A square that cancels has a ball that reaches below 0, of which there is no root.
    residual = square.lower().max(zero).sqrt().union(square.upper().max(zero).sqrt())
    return {"gap": gap, "primal": dual + gap, "dual": dual, "residual": residual}
