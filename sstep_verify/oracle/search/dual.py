"""The dual and primal objectives of a K-SVM in balls, at feasible points of many digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from flint import arb_mat
from sstep_reference.arithmetic import Balls
from sstep_reference.inputs import svm_constants

from sstep_verify.oracle.balls.enclosure import magnitude_interval
from sstep_verify.oracle.balls.feature_map import feature_dimensions
from sstep_verify.oracle.balls.kernel_balls import BallKernel
from sstep_verify.oracle.balls.objectives import derivative, objectives, signed
from sstep_verify.oracle.search.systems import shifted
from sstep_verify.problems import Problem


class BallDual:
    """The dual of a K-SVM in balls: ``max 1'a - 1/2 a'Qa - omega/2 a'a`` over the box."""

    def __init__(self, problem: Problem, arithmetic: Balls):
        self.problem, self.arithmetic = problem, arithmetic
        self.kernel = BallKernel(problem, arithmetic)
        self.matrix = self.kernel.matrix()
        self.labels = [int(label) for label in problem.targets]
        with arithmetic.working():
            self.upper, self.shift = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)

    def feasible(self, values: list) -> list:
        """Exact points nearest to balls or numbers, moved into the box."""
        zero = self.arithmetic.number(0)
        return [
            self.arithmetic.clip(self.arithmetic.number(value).mid(), zero, self.upper).mid()
            for value in values
        ]

    def products(self, alpha: list) -> list:
        """Enclosures of ``Q a``, m balls."""
        with self.arithmetic.working():
            column = arb_mat(len(alpha), 1, signed(self.problem, alpha))
            return signed(self.problem, (self.matrix * column).entries())

    def gradient(self, alpha: list) -> list:
        """Enclosures of the gradient of the minimised dual, ``Qa - 1 + omega a``."""
        products = self.products(alpha)
        with self.arithmetic.working():
            return derivative(self.problem, self.arithmetic, alpha, products)

    def system(self, places: list[int]) -> Any:
        """``Q + omega I`` on some coordinates, an arb_mat."""
        with self.arithmetic.working():
            signs = self.labels
            system = arb_mat([[self.matrix[i, j] * (signs[i] * signs[j]) for j in places] for i in places])
            return shifted(system, self.shift)

    def signed(self, places: list[int]) -> np.ndarray:
        """``Q + omega I`` on some coordinates, rounded to float64."""
        rows = [[float(self.matrix[i, j]) for j in places] for i in places]
        labels = np.array([self.labels[i] for i in places], dtype=np.float64)
        matrix = np.array(rows).reshape(len(places), -1) * labels[:, None] * labels
        matrix.flat[:: len(places) + 1] += self.problem.hinge.shift
        return matrix

    def images(self, places: list[int]) -> Any:
        """Rows F with ``Q = F F'`` on some coordinates, an arb_mat; None unless F has fewer columns."""
        dimensions = feature_dimensions(self.problem)
        if dimensions is None or dimensions >= len(places):
            return None
        with self.arithmetic.working():
            images = self.kernel.images()[0]
            return arb_mat([[self.labels[i] * images[i, k] for k in range(images.ncols())] for i in places])

    def relative_width(self, alpha: list) -> float:
        """Upper bound on ``(P(a) - D(a)) / D(a)`` at an exact feasible point.

        It is infinite if D(a) is not positive.
        """
        products = self.products(alpha)
        with self.arithmetic.working():
            dual, primal, _ = objectives(self.problem, self.arithmetic, alpha, products)
            lower = dual.lower()
            return magnitude_interval((primal.upper() - lower) / lower)[1] if lower > 0 else np.inf
