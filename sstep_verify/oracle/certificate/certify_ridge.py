"""Certificates of K-RR optima to as many digits as asked, from the data to a*.

The exact K is positive semidefinite, so ``M = K/lambda + m I >= m I`` and
``||x - a*|| <= ||y - M x|| / m``. With ``e = x - a*`` and ``r = y - M x``, row i of ``M e = -r`` gives a
sharper bound on one coordinate,

    m |e_i| <= |r_i| + ||K_i|| ||e|| / lambda,    ||K_i||^2 <= K_ii trace(K),

the last since ``K_ij^2 <= K_ii K_jj``. All is evaluated in balls at the decimals that are written down. The
entries of the kernel are made once, kept as balls, and shared by all refinements and all penalties.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from sstep_reference.arithmetic import Balls, exact_fraction

from sstep_verify.errors import InputError, require
from sstep_verify.oracle.balls.decimals import (
    ROOM,
    decimal_digits,
    enclosing_decimals,
    lower_fraction,
    nearest_decimal,
    upper_decimal,
    upper_fraction,
)
from sstep_verify.oracle.balls.kernel_balls import BallKernel, diagonal
from sstep_verify.oracle.search.float_ridge import FloatRidge
from sstep_verify.oracle.verify.record import Interval, RidgeCertificate, subject_of
from sstep_verify.problems import Problem, Ridge

GUARD_BITS = 80
"""Bits of the balls beyond the digits asked, for the condition of the system; doubled where too few."""

LEAST_BITS, MOST_BITS = 128, 4096
MOST_ROUNDS = 60
DENSE_SAMPLES = 800
"""Largest m for which the whole matrix is held and solved in balls where float64 cannot refine."""


def certify_ridge(
    problem: Problem, digits: int = 30, penalties: tuple[float, ...] = ()
) -> dict[float, RidgeCertificate]:
    """Certify the solutions of a K-RR for several penalties, which share the entries of the kernel.

    Parameters
    ----------
    problem : Problem
        A K-RR.
    digits : int
        Decimal digits of a* asked for, in the Euclidean norm, >= 1.
    penalties : tuple of float
        Regularisation parameters (lambda), each > 0; empty: that of the problem.

    Returns
    -------
    dict of float to RidgeCertificate
        By penalty. Fewer digits are stated where they could not be had.

    Raises
    ------
    InputError
        If the problem is a K-SVM, or a penalty or the number of digits is out of range.
    MissingExtraError
        If python-flint is not installed.
    """
    if problem.is_svm:
        raise InputError(f"{problem.label}: certify_ridge needs a K-RR problem; use certify_svm")
    if digits < 1:
        raise InputError(f"digits = {digits}, but it must be at least 1")
    penalties = tuple(dict.fromkeys(penalties or (problem.ridge.penalty,)))
    approximate = FloatRidge(problem)
    found: dict[float, RidgeCertificate] = {}
    bits = max(math.ceil(digits * math.log2(10)) + GUARD_BITS, LEAST_BITS)
    while poor := [p for p in penalties if p not in found or found[p].digits < digits]:
        systems = _Systems(problem, Balls(bits), approximate)
        for penalty, certificate in systems.certify(poor, digits).items():
            if penalty not in found or certificate.digits > found[penalty].digits:
                found[penalty] = certificate
        bits *= 2
        # Beyond this size another pass costs more than the digits are likely to be worth.
        if bits > MOST_BITS or problem.samples > DENSE_SAMPLES:
            break
    return {penalty: found[penalty] for penalty in penalties}


class _Systems:
    """The systems of all penalties at one precision."""

    def __init__(self, problem: Problem, arithmetic: Balls, approximate: FloatRidge):
        self._problem, self._arithmetic, self._approximate = problem, arithmetic, approximate
        self._kernel = BallKernel(problem, arithmetic, keep=True)
        self._matrix_type = require("flint", "exact").arb_mat
        self._targets = [arithmetic.number(value) for value in problem.targets.tolist()]

    def certify(self, penalties: list[float], digits: int) -> dict[float, RidgeCertificate]:
        """Refine all points until written decimals have the digits asked, or nothing improves."""
        points = {p: self._approximate.solve(p, self._problem.targets).tolist() for p in penalties}
        points = {p: [self._arithmetic.number(x) for x in point] for p, point in points.items()}
        hows = dict.fromkeys(penalties, "float64 Cholesky and refinement")
        lengths: dict[float, Any] = {}
        open_penalties = list(penalties)
        for _ in range(MOST_ROUNDS):
            for penalty, residual in self._residuals({p: points[p] for p in open_penalties}).items():
                length = self._length(residual)
                if self._enough(points[penalty], length, digits):
                    open_penalties.remove(penalty)
                elif not length < lengths.get(penalty, math.inf) / 2:
                    open_penalties.remove(penalty)
                    if self._problem.samples <= DENSE_SAMPLES:
                        points[penalty] = self._solved(penalty, points[penalty])
                        hows[penalty] = "the whole system solved in balls"
                else:
                    lengths[penalty] = length
                    points[penalty] = self._corrected(penalty, points[penalty], residual)
            if not open_penalties:
                break
        written = self._written()
        decimals = {
            p: tuple(nearest_decimal(exact_fraction(x), written) for x in point)
            for p, point in points.items()
        }
        points = {p: [self._arithmetic.from_fraction(Fraction(x)) for x in decimals[p]] for p in penalties}
        residuals = self._residuals(points)
        return {
            p: self._stated(p, points[p], residuals[p], decimals[p], digits, hows[p]) for p in penalties
        }

    def _residuals(self, points: dict[float, list]) -> dict[float, list]:
        """Enclosures of ``y - K x / lambda - m x`` by penalty, by one product with the kernel."""
        arithmetic, m = self._arithmetic, self._problem.samples
        if not points:
            return {}
        with arithmetic.working():
            together = self._matrix_type([list(row) for row in zip(*points.values(), strict=True)])
            columns = self._kernel.product(together).transpose().tolist()
            return {
                p: [
                    y - image / arithmetic.number(p) - m * x
                    for y, image, x in zip(self._targets, images, points[p], strict=True)
                ]
                for p, images in zip(points, columns, strict=True)
            }

    def _length(self, vector: list) -> Any:
        """Ball that holds the Euclidean norm."""
        with self._arithmetic.working():
            zero = self._arithmetic.number(0)
            return sum((value.abs_upper() ** 2 for value in vector), zero).sqrt()

    def _enough(self, point: list, residual: Any, digits: int) -> bool:
        with self._arithmetic.working():
            # Some of the residual's room is left for the rounding to decimals.
            allowed = self._length([x.mid() for x in point]) * self._problem.samples
            return bool(residual * 2 <= allowed * self._arithmetic.number(10) ** (-digits))

    def _corrected(self, penalty: float, point: list, residual: list) -> list:
        """The point moved by a float64 solution, its right-hand side scaled so that nothing underflows."""
        arithmetic = self._arithmetic
        with arithmetic.working():
            scale = max((abs(value.mid()) for value in residual), key=lambda value: value.mid())
            if scale.is_zero():
                return point
            rhs = np.array([float((value.mid() / scale).mid()) for value in residual])
            change = self._approximate.solve(penalty, rhs)
            moves = zip(point, change.tolist(), strict=True)
            return [(x + scale * arithmetic.number(step)).mid() for x, step in moves]

    def _solved(self, penalty: float, known: list) -> list:
        """Solution of the whole system, midpoints; the point known where balls cannot solve it."""
        arithmetic, m = self._arithmetic, self._problem.samples
        with arithmetic.working():
            matrix = self._kernel.matrix() / arithmetic.number(penalty)
            for i in range(m):
                matrix[i, i] = matrix[i, i] + m
            try:
                solution = matrix.solve(self._kernel.column(self._targets), algorithm="approx")
            except ZeroDivisionError:
                return known
            found = solution.mid().entries()
        return found if all(value.is_finite() for value in found) else known

    def _stated(self, penalty, point, residual, decimals, digits: int, how: str) -> RidgeCertificate:
        """The certificate of a point that is written down already."""
        arithmetic, m = self._arithmetic, self._problem.samples
        with arithmetic.working():
            divisor = arithmetic.number(penalty)
            length = self._length(residual)
            norm = self._length([x.mid() for x in point])
            radii = self._radii(residual, length, divisor)
            images = [y - r for y, r in zip(self._targets, residual, strict=True)]
            values = zip(self._targets, images, point, strict=True)
            dual = sum((x * (y - image / 2) for y, image, x in values), arithmetic.number(0))
            square = sum((value * value for value in residual), arithmetic.number(0))
            gap = square / (2 * m)
            optimum = (lower_fraction(dual), upper_fraction(dual + gap))
            gap_ends = (max(lower_fraction(gap), Fraction(0)), upper_fraction(gap))
        radius = upper_decimal(upper_fraction(length) / m * ROOM)
        subject = subject_of(
            Problem(
                self._problem.name,
                self._problem.data,
                self._problem.targets,
                self._problem.kernel,
                Ridge(penalty),
            )
        )
        return RidgeCertificate(
            subject=subject,
            digits=decimal_digits(Fraction(radius), lower_fraction(norm) * 4095 / 4096, digits),
            bits=arithmetic.bits,
            alpha=decimals,
            radius=radius,
            radii=radii,
            residual=upper_decimal(upper_fraction(length) * ROOM),
            objective=Interval(*enclosing_decimals(*optimum, self._written())),
            gap=Interval(*enclosing_decimals(*gap_ends, 6)),
            how=f"{how}; kernel in balls of {arithmetic.bits} bits",
        )

    def _radii(self, residual: list, length: Any, divisor: Any) -> tuple[str, ...]:
        """Bounds on every coordinate's error: the smaller of the two that the module states."""
        m = self._problem.samples
        entries = diagonal(self._kernel)
        trace = sum(entries, self._arithmetic.number(0))
        whole = length / m
        radii = []
        for value, entry in zip(residual, entries, strict=True):
            own = (value.abs_upper() + (entry * trace).sqrt() * whole / divisor) / m
            radii.append(upper_decimal(min(upper_fraction(whole), upper_fraction(own)) * ROOM))
        return tuple(radii)

    def _written(self) -> int:
        return math.ceil(self._arithmetic.bits * math.log10(2))
