"""Gap, objectives, residual and gradient at given dual vectors in balls: one pass over the exact kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from flint import arb_mat
from sstep_reference.arithmetic import Balls

from sstep_verify.oracle.balls.enclosure import distances, interval
from sstep_verify.oracle.balls.kernel_balls import BallKernel
from sstep_verify.oracle.balls.objectives import derivative, objectives, signed
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
        points, weighted = _weighted(problem, arithmetic, alphas)
        columns = kernel.product(weighted).transpose().tolist()
        pairs = zip(points, columns, strict=True)
        return [_values(problem, arithmetic, point, products) for point, products in pairs]


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
    with arithmetic.working():
        points, weighted = _weighted(problem, arithmetic, alphas)
        if name == "weights":
            data = arb_mat([[arithmetic.number(x) for x in row] for row in problem.dense.T.tolist()])
            columns = (data * weighted).transpose().tolist()
        else:
            pairs = zip(points, kernel.product(weighted).transpose().tolist(), strict=True)
            columns = [
                derivative(problem, arithmetic, point, signed(problem, products))
                for point, products in pairs
            ]
    return [
        distances(arithmetic, arithmetic.vector(state), exact)
        for state, exact in zip(carried, columns, strict=True)
    ]


def _weighted(problem: Problem, arithmetic: Balls, alphas: Sequence[np.ndarray]) -> tuple[list[list], Any]:
    """Dual vectors in balls, and the columns that the kernel multiplies, an arb_mat of shape (m, k)."""
    points = [[arithmetic.number(value) for value in alpha] for alpha in alphas]
    return points, arb_mat([signed(problem, point) for point in points]).transpose()


def _values(problem: Problem, arithmetic: Balls, point: list, products: list) -> dict[str, Interval]:
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
