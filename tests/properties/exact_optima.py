"""Optima in rationals: the exact solution of a K-RR, and of a K-SVM by trying every active set.

Of an RBF kernel the entries are those of mpmath, rounded to `BITS`: what that changes is far below whatever
is stated of an optimum. Nothing here is shared with the oracle but the reference's formulas.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import product

import flint
import mpmath
import numpy as np
from sstep_reference import Rational
from sstep_reference.arithmetic import exact_fraction

from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.problems import Problem, RBFKernel

BITS = 5_000
"""Of the entries of an RBF kernel, below which they are 0: duals of 2**1000 are squared next to it, and what is
stated has 1,200 bits at most."""


@lru_cache(maxsize=4)
def gram(problem: Problem) -> list[list[Fraction]]:
    """The kernel matrix."""
    m = problem.samples
    if not isinstance(problem.kernel, RBFKernel):
        kernel = exact_kernel(problem, Rational())
        return [[exact_fraction(kernel.column(j)[i]) for j in range(m)] for i in range(m)]
    return [[_exponential(problem, i, j) for j in range(m)] for i in range(m)]


def _exponential(problem: Problem, i: int, j: int) -> Fraction:
    pairs = zip(problem.dense[i].tolist(), problem.dense[j].tolist(), strict=True)
    exponent = Fraction(problem.kernel.sigma) * sum((Fraction(x) - Fraction(z)) ** 2 for x, z in pairs)
    if exponent > BITS:
        return Fraction(0)
    with mpmath.workprec(BITS):
        return exact_fraction(mpmath.exp(mpmath.mpf(-exponent.numerator) / exponent.denominator))


def exact_ridge(problem: Problem) -> list[Fraction]:
    """Solution of ``(K/lambda + m I) a = y``."""
    rows, m, penalty = gram(problem), problem.samples, Fraction(problem.ridge.penalty)
    # Multiplied by lambda, which changes no solution.
    matrix = [[_rational(rows[i][j] + (m * penalty if i == j else 0)) for j in range(m)] for i in range(m)]
    right = [_rational(Fraction(y) * penalty) for y in problem.targets.tolist()]
    found = flint.fmpq_mat(matrix).solve(flint.fmpq_mat(m, 1, right))
    return [_fraction(found[i, 0]) for i in range(m)]


def exact_svm(problem: Problem) -> tuple[list[Fraction], Fraction]:
    """An optimal a and the optimal value."""
    H, upper, m = hessian(problem), None, problem.samples
    if problem.hinge.power == 1:
        upper = _rational(Fraction(problem.hinge.C))
    matrix = [[_rational(value) for value in row] for row in H]
    for states in product("0f" if upper is None else "0Cf", repeat=m):
        free = [i for i in range(m) if states[i] == "f"]
        alpha = [upper if state == "C" else flint.fmpq(0) for state in states]
        if free:
            rhs = [1 - sum((matrix[i][j] * alpha[j] for j in range(m)), flint.fmpq(0)) for i in free]
            found = _basic_solution([[matrix[i][j] for j in free] for i in free], rhs)
            if found is None:
                continue
            for i, value in zip(free, found, strict=True):
                alpha[i] = value
        if any(value < 0 or (upper is not None and value > upper) for value in alpha):
            continue
        slopes = [sum((matrix[i][j] * alpha[j] for j in range(m)), flint.fmpq(-1)) for i in range(m)]
        if all(
            s >= 0 if k == "0" else s <= 0 if k == "C" else s == 0
            for s, k in zip(slopes, states, strict=True)
        ):
            half = sum((x * (s + 1) for x, s in zip(alpha, slopes, strict=True)), flint.fmpq(0)) / 2
            return [_fraction(x) for x in alpha], _fraction(sum(alpha, flint.fmpq(0)) - half)
    raise AssertionError("no active set fulfils the optimality conditions")


def hessian(problem: Problem) -> list[list[Fraction]]:
    """``Q + omega I`` of a K-SVM."""
    rows, y, m = gram(problem), [int(t) for t in problem.targets], problem.samples
    omega = Fraction(0) if problem.hinge.power == 1 else 1 / (2 * Fraction(problem.hinge.C))
    return [[y[i] * rows[i][j] * y[j] + (omega if i == j else 0) for j in range(m)] for i in range(m)]


def exact_values(problem: Problem, alpha: np.ndarray) -> dict[str, Fraction]:
    """Gap, primal and dual value at a float64 vector, and the square of a K-RR's residual."""
    a, m, rows = [Fraction(x) for x in alpha.tolist()], problem.samples, gram(problem)
    y = [Fraction(x) for x in problem.targets.tolist()]
    if problem.is_svm:
        images = [y[i] * sum(rows[i][j] * y[j] * a[j] for j in range(m)) for i in range(m)]
        half, C = sum(x * z for x, z in zip(a, images, strict=True)) / 2, Fraction(problem.hinge.C)
        primal = half + C * sum(max(1 - z, Fraction(0)) ** problem.hinge.power for z in images)
        omega = Fraction(0) if problem.hinge.power == 1 else 1 / (2 * C)
        dual = sum(a) - half - omega * sum(x * x for x in a) / 2
        return {"gap": primal - dual, "primal": primal, "dual": dual}
    images = [sum(rows[i][j] * a[j] for j in range(m)) / Fraction(problem.ridge.penalty) for i in range(m)]
    square = sum((t - z - m * x) ** 2 for t, z, x in zip(y, images, a, strict=True))
    dual = sum(x * (t - z / 2 - m * x / 2) for t, z, x in zip(y, images, a, strict=True))
    gap = square / (2 * m)
    return {"gap": gap, "primal": dual + gap, "dual": dual, "residual": square}


def is_definite(matrix: list[list[Fraction]]) -> bool:
    """Whether a symmetric matrix is positive definite: all pivots of its elimination are positive."""
    rows = [list(row) for row in matrix]
    for k, pivot in enumerate(rows):
        if not pivot[k] > 0:
            return False
        for row in rows[k + 1 :]:
            factor = row[k] / pivot[k]
            row[k:] = [x - factor * z for x, z in zip(row[k:], pivot[k:], strict=True)]
    return True


def _basic_solution(matrix: list[list], rhs: list) -> list | None:
    """Solution whose free unknowns are 0; None if the system has none."""
    size = len(rhs)
    table, rank = flint.fmpq_mat([[*row, value] for row, value in zip(matrix, rhs, strict=True)]).rref()
    solution = [flint.fmpq(0)] * size
    for r in range(rank):
        column = next(j for j in range(size + 1) if table[r, j] != 0)
        if column == size:
            return None
        solution[column] = table[r, size]
    return solution


def _rational(value: Fraction) -> flint.fmpq:
    return flint.fmpq(value.numerator, value.denominator)


def _fraction(value: flint.fmpq) -> Fraction:
    return Fraction(int(value.p), int(value.q))
