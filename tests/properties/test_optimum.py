"""Enclosures of optima contain the exact rational optimum, found by enumeration and elimination.

K-SVM: every active set (each coordinate free, at 0 or at C) is tried with rationals; the one that fulfils
the optimality conditions gives the exact optimal value. K-RR: Gaussian elimination with rationals.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from sstep_reference import Rational

from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.certificate.optimum import ridge_optimum, svm_optimum
from sstep_verify.problems import Hinge, LinearKernel, PolynomialKernel, Problem, Ridge, SquaredHinge

TARGET = 2.0**-52
"""Relative error aimed at: rounding a* to float64 already costs up to 2**-53."""

QUICK = settings(max_examples=60)
values = st.integers(-6, 6).map(lambda k: k / 4)
kernels = st.sampled_from([LinearKernel(), PolynomialKernel(2, 0.5), PolynomialKernel(3)])
parameters = st.sampled_from([0.125, 0.3, 1.0, 7.0])
losses = st.one_of(parameters.map(Hinge), parameters.map(SquaredHinge))


@st.composite
def problems(draw, loss, most: int):
    """A small problem of dyadic data, with zero rows and duplicates now and then."""
    m, n = draw(st.integers(1, most)), draw(st.integers(1, 3))
    rows = draw(st.lists(st.lists(values, min_size=n, max_size=n), min_size=m, max_size=m))
    if m > 1 and draw(st.booleans()):
        rows[-1] = list(rows[0])
    targets = draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=m, max_size=m))
    return Problem("drawn", np.array(rows), np.array(targets), draw(kernels), draw(loss))


def _gram(problem: Problem) -> list[list[Fraction]]:
    kernel, m = exact_kernel(problem, Rational()), problem.samples
    entries = [[kernel.column(j)[i] for j in range(m)] for i in range(m)]
    return [[Fraction(int(value.numerator), int(value.denominator)) for value in row] for row in entries]


def _solution(rows: list[list[Fraction]], rhs: list[Fraction]) -> list[Fraction] | None:
    """Solution by elimination; free unknowns of a singular system are 0; None if it has none."""
    table = [[*row, value] for row, value in zip(rows, rhs, strict=True)]
    pivots: list[int] = []
    for column in range(len(rhs)):
        found = next((r for r in range(len(pivots), len(table)) if table[r][column] != 0), None)
        if found is None:
            continue
        place = len(pivots)
        table[place], table[found] = table[found], table[place]
        table[place] = [value / table[place][column] for value in table[place]]
        for r, row in enumerate(table):
            if r != place and row[column] != 0:
                factor = row[column]
                table[r] = [x - factor * z for x, z in zip(row, table[place], strict=True)]
        pivots.append(column)
    if any(row[-1] != 0 for row in table[len(pivots) :]):
        return None
    solution = [Fraction(0)] * len(rhs)
    for row, column in zip(table, pivots, strict=False):
        solution[column] = row[-1]
    return solution


def _exact_svm_value(problem: Problem) -> Fraction:
    """Optimal dual value by trying all active sets; some basic one is optimal, so one always passes."""
    y, K, m = [int(t) for t in problem.targets], _gram(problem), problem.samples
    C = Fraction(problem.loss.C)
    upper, omega = (C, Fraction(0)) if problem.loss.power == 1 else (None, 1 / (2 * C))
    H = [[y[i] * K[i][j] * y[j] + (omega if i == j else 0) for j in range(m)] for i in range(m)]
    for states in product("0f" if upper is None else "0fC", repeat=m):
        alpha = [upper if state == "C" else Fraction(0) for state in states]
        free = [i for i in range(m) if states[i] == "f"]
        rhs = [1 - sum(H[i][j] * alpha[j] for j in range(m)) for i in free]
        found = _solution([[H[i][j] for j in free] for i in free], rhs)
        if found is None:
            continue
        for i, value in zip(free, found, strict=True):
            alpha[i] = value
        if any(value < 0 or (upper is not None and value > upper) for value in alpha):
            continue
        slopes = [sum(H[i][j] * alpha[j] for j in range(m)) - 1 for i in range(m)]
        if all(
            s >= 0 if k == "0" else s <= 0 if k == "C" else s == 0
            for s, k in zip(slopes, states, strict=True)
        ):
            return sum(alpha) - sum(x * (s + 1) for x, s in zip(alpha, slopes, strict=True)) / 2
    raise AssertionError("no active set fulfils the optimality conditions")


@QUICK
@given(problems(losses, 5))
def test_the_svm_enclosure_contains_the_exact_optimum(problem):
    optimum, exact = svm_optimum(problem), _exact_svm_value(problem)
    assert Fraction(optimum.value_lower) <= exact <= Fraction(optimum.value_upper)
    assert optimum.relative_width <= TARGET, optimum.how
    assert (optimum.alpha >= 0).all()
    assert (optimum.alpha <= problem.loss.upper).all()


@QUICK
@given(problems(st.sampled_from([1.0, 1e-3, 0.3]).map(Ridge), 6))
def test_the_ridge_enclosure_contains_the_exact_solution(problem):
    penalty, m = Fraction(problem.loss.penalty), problem.samples
    matrix = [
        [value / penalty + (m if i == j else 0) for j, value in enumerate(row)]
        for i, row in enumerate(_gram(problem))
    ]
    exact = _solution(matrix, [Fraction(t) for t in problem.targets.tolist()])
    optimum = ridge_optimum(problem)
    distance = sum((Fraction(a) - b) ** 2 for a, b in zip(optimum.alpha.tolist(), exact, strict=True))
    assert distance <= Fraction(optimum.error) ** 2
    assert optimum.relative <= TARGET


def test_the_property_can_fail():
    """The other loss has another optimum: its enclosure misses this one's value."""

    def misses(problem: Problem) -> bool:
        other = SquaredHinge(problem.loss.C)
        wrong = svm_optimum(Problem("other", problem.data, problem.targets, problem.kernel, other))
        return not Fraction(wrong.value_lower) <= _exact_svm_value(problem) <= Fraction(wrong.value_upper)

    find(problems(parameters.map(Hinge), 3), misses, settings=settings(QUICK, phases=[Phase.generate]))
