"""Certificates hold for the exact rational optimum, and can be proved again by code of their own.

K-SVM: every active set is tried with rationals until one fulfils the optimality conditions; K-RR: a linear
system is solved with rationals. Every number a certificate states must be true of what was found.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import flint
import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st
from sstep_reference import Rational
from sstep_reference.arithmetic import Mpmath, exact_fraction

from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.certificate.certify import certify
from sstep_verify.oracle.certificate.file import decode, encode
from sstep_verify.oracle.evaluated import closed_form
from sstep_verify.oracle.verify.certificate import verify_certificate
from sstep_verify.oracle.verify.record import SvmCertificate
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)

QUICK = settings(max_examples=40)
DIGITS = 30
values = st.integers(-6, 6).map(lambda k: k / 4)
exact_kernels = st.sampled_from([LinearKernel(), PolynomialKernel(2, 0.5), PolynomialKernel(3)])
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
    return Problem("drawn", np.array(rows), np.array(targets), draw(exact_kernels), draw(loss))


def _gram(problem: Problem) -> list[list]:
    kernel, m = exact_kernel(problem, Rational()), problem.samples
    return [[_rational(kernel.column(j)[i]) for j in range(m)] for i in range(m)]


def _rational(value):
    return flint.fmpq(int(value.numerator), int(value.denominator))


def _basic_solution(matrix, rhs: list) -> list | None:
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


def _exact_svm(problem: Problem) -> tuple[list[Fraction], Fraction]:
    """An optimal a and the optimal value, by trying all active sets with rationals."""
    y, gram, m = [int(t) for t in problem.targets], _gram(problem), problem.samples
    C = _rational(Fraction(problem.loss.C))
    upper, omega = (C, flint.fmpq(0)) if problem.loss.power == 1 else (None, 1 / (2 * C))
    H = [[y[i] * gram[i][j] * y[j] + (omega if i == j else 0) for j in range(m)] for i in range(m)]
    for states in product("0f" if upper is None else "0Cf", repeat=m):
        free = [i for i in range(m) if states[i] == "f"]
        alpha = [upper if state == "C" else flint.fmpq(0) for state in states]
        if free:
            rhs = [1 - sum((H[i][j] * alpha[j] for j in range(m)), flint.fmpq(0)) for i in free]
            found = _basic_solution([[H[i][j] for j in free] for i in free], rhs)
            if found is None:
                continue
            for i, value in zip(free, found, strict=True):
                alpha[i] = value
        if any(value < 0 or (upper is not None and value > upper) for value in alpha):
            continue
        slopes = [sum((H[i][j] * alpha[j] for j in range(m)), flint.fmpq(-1)) for i in range(m)]
        if all(
            s >= 0 if k == "0" else s <= 0 if k == "C" else s == 0
            for s, k in zip(slopes, states, strict=True)
        ):
            half = sum((x * (s + 1) for x, s in zip(alpha, slopes, strict=True)), flint.fmpq(0)) / 2
            return [_fraction(x) for x in alpha], _fraction(sum(alpha, flint.fmpq(0)) - half)
    raise AssertionError("no active set fulfils the optimality conditions")


def _fraction(value) -> Fraction:
    return Fraction(int(value.p), int(value.q))


def _falsehoods(
    certificate: SvmCertificate, alpha: list[Fraction], value: Fraction, C: Fraction
) -> list[str]:
    """Statements that an exact optimum contradicts."""
    false = []
    if not certificate.objective.lower <= value <= certificate.objective.upper:
        false.append("objective")
    if not (certificate.dual.lower <= value <= certificate.primal.upper):
        false.append("dual or primal")
    for i, (status, exact) in enumerate(zip(certificate.statuses, alpha, strict=True)):
        ends = {"zero": exact == 0, "upper": exact == C, "free": exact > 0, "undecided": True}
        if not ends[status]:
            false.append(f"statuses[{i}]")
    if certificate.radius:
        pairs = zip(certificate.alpha, alpha, strict=True)
        distance = sum((Fraction(text) - exact) ** 2 for text, exact in pairs)
        if distance > Fraction(certificate.radius) ** 2:
            false.append("radius")
    return false


@QUICK
@given(problems(losses, 8))
def test_an_svm_certificate_is_true_of_the_exact_optimum(problem):
    certificate = certify(problem, DIGITS)
    alpha, value = _exact_svm(problem)
    assert _falsehoods(certificate, alpha, value, Fraction(problem.loss.C)) == []
    assert certificate.digits == DIGITS, certificate.how
    again = decode(encode(certificate))
    assert again == certificate
    verify_certificate(again, problem.data, problem.targets)


def test_the_svm_property_can_fail():
    """The statements about one C are false of another."""

    def contradicted(problem: Problem) -> bool:
        other = Problem("other", problem.data, problem.targets, problem.kernel, Hinge(2 * problem.loss.C))
        alpha, value = _exact_svm(other)
        return bool(_falsehoods(certify(problem, DIGITS), alpha, value, Fraction(other.loss.C)))

    find(
        problems(parameters.map(Hinge), 3), contradicted, settings=settings(QUICK, phases=[Phase.generate])
    )


@QUICK
@given(problems(st.sampled_from([1.0, 1e-3, 0.3]).map(Ridge), 8))
def test_a_ridge_certificate_is_true_of_the_exact_solution(problem):
    certificate = certify(problem, DIGITS)
    penalty, m = _rational(Fraction(problem.loss.penalty)), problem.samples
    gram = _gram(problem)
    matrix = [[gram[i][j] / penalty + (m if i == j else 0) for j in range(m)] for i in range(m)]
    targets = [_rational(Fraction(t)) for t in problem.targets.tolist()]
    solution = flint.fmpq_mat(matrix).solve(flint.fmpq_mat(m, 1, targets))
    exact = [_fraction(solution[i, 0]) for i in range(m)]
    errors = [abs(Fraction(text) - x) for text, x in zip(certificate.alpha, exact, strict=True)]
    assert sum(error**2 for error in errors) <= Fraction(certificate.radius) ** 2
    assert all(e <= Fraction(radius) for e, radius in zip(errors, certificate.radii, strict=True))
    value = sum(Fraction(t) * x for t, x in zip(problem.targets.tolist(), exact, strict=True)) / 2
    assert certificate.objective.lower <= value <= certificate.objective.upper
    assert certificate.digits == DIGITS, certificate.how
    verify_certificate(decode(encode(certificate)), problem.data, problem.targets)


@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(3, 0.5), RBFKernel(0.7)], ids=str)
def test_a_ridge_certificate_agrees_with_mpmath(kernel):
    generator = np.random.default_rng(11)
    data, targets = generator.standard_normal((60, 4)), generator.standard_normal(60)
    problem = Problem("random", data, targets, kernel, Ridge(1e-3))
    certificate = certify(problem, 50)
    exact = [exact_fraction(value) for value in closed_form(problem, Mpmath(800))]
    errors = [abs(Fraction(text) - value) for text, value in zip(certificate.alpha, exact, strict=True)]
    assert all(e <= Fraction(radius) for e, radius in zip(errors, certificate.radii, strict=True))
    assert certificate.digits == 50
    # The same statement about a point moved by one unit in its 40th digit is false.
    moved = Fraction(certificate.alpha[0]) * (1 + Fraction(1, 10**40))
    assert abs(moved - exact[0]) > Fraction(certificate.radii[0])


def test_ties_are_undecided_with_the_value_certified():
    problem = Problem(
        "far apart", np.diag([1e3, 2e3, 3e3]), np.array([1.0, -1.0, 1.0]), RBFKernel(), Hinge()
    )
    certificate = certify(problem, DIGITS)
    assert certificate.statuses == ("undecided",) * 3
    assert certificate.unique
    assert certificate.digits == DIGITS


def test_a_singular_matrix_leaves_uniqueness_open():
    problem = Problem("twice", np.array([[2.0], [2.0]]), np.array([1.0, 1.0]), LinearKernel(), Hinge())
    certificate = certify(problem, DIGITS)
    assert (certificate.remaining, certificate.radius, certificate.unique) == ("singular", "", False)
    assert certificate.digits == DIGITS
    verify_certificate(certificate, problem.data, problem.targets)
