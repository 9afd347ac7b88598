"""Certified K-SVM optima against a second arithmetic: mpmath, from the data and the statuses alone.

With the statuses as they are certified, mpmath solves for the free coordinates, so it finds a point of its
own. If that point fulfils the optimality conditions it is the optimum, and every number that the
certificate states of the optimum must hold for it.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from daily import crossed
from sstep_reference import Mpmath
from sstep_reference.arithmetic import exact_fraction

from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.certificate.certify import certify
from sstep_verify.oracle.verify.record import SvmCertificate
from sstep_verify.problems import Hinge, PolynomialKernel, Problem, RBFKernel, SquaredHinge

SAMPLES, DIGITS, BITS = 50, 50, 700


def drawn(kernel, loss) -> Problem:
    """Two clouds of points that overlap, so that some coordinates end at each end of the box."""
    generator = np.random.default_rng(8)
    targets = np.where(generator.random(SAMPLES) < 0.5, -1.0, 1.0)
    data = generator.standard_normal((SAMPLES, 3)) + 0.7 * targets[:, None]
    return Problem("overlapping", data, targets, kernel, loss)


def optimum_by_mpmath(
    problem: Problem, certificate: SvmCertificate
) -> tuple[list[Fraction], list[Fraction]]:
    """The point of the certificate's statuses, and the gradient there, both of length m."""
    arithmetic, hinge = Mpmath(BITS), problem.hinge
    kernel, labels = exact_kernel(problem, arithmetic), problem.targets.astype(int).tolist()
    free = [i for i, status in enumerate(certificate.statuses) if status == "free"]
    with arithmetic.working():
        matrix = [
            [labels[i] * labels[j] * value for j, value in enumerate(kernel.column(i))]
            for i in range(SAMPLES)
        ]
        shift = 1 / (2 * arithmetic.number(hinge.C)) if isinstance(problem.loss, SquaredHinge) else 0
        for i in range(SAMPLES):
            matrix[i][i] += shift
        upper = {i: arithmetic.number(hinge.C) for i, s in enumerate(certificate.statuses) if s == "upper"}
        rhs = [1 - sum(matrix[i][j] * value for j, value in upper.items()) for i in free]
        solved = arithmetic.solve([[matrix[i][j] for j in free] for i in free], rhs)
        alpha = {**dict.fromkeys(range(SAMPLES), arithmetic.number(0)), **upper}
        alpha |= dict(zip(free, solved, strict=True))
        gradient = [sum(x * alpha[j] for j, x in enumerate(row)) - 1 for row in matrix]
        return [exact_fraction(alpha[i]) for i in range(SAMPLES)], [exact_fraction(x) for x in gradient]


def contradictions(problem: Problem, certificate: SvmCertificate) -> list[str]:
    """What the point found by mpmath contradicts."""
    alpha, gradient = optimum_by_mpmath(problem, certificate)
    found = []
    for i, status in enumerate(certificate.statuses):
        inside = alpha[i] > 0 and (not isinstance(problem.loss, Hinge) or alpha[i] < problem.hinge.C)
        right = {"zero": gradient[i] > 0, "upper": gradient[i] < 0, "free": inside}
        if not right.get(status, False):
            found.append(f"{status}: {i}")
    # At the optimum a'(Q + omega I)a = a'(gradient + 1), so the dual value is this sum.
    value = sum(a - a * (g + 1) / 2 for a, g in zip(alpha, gradient, strict=True))
    if not certificate.objective.lower <= value <= certificate.objective.upper:
        found.append("objective")
    apart = sum((Fraction(text) - a) ** 2 for text, a in zip(certificate.alpha, alpha, strict=True))
    if apart > Fraction(certificate.radius) ** 2:
        found.append("radius")
    return found


@pytest.mark.parametrize(
    ("loss", "kernel"),
    crossed([Hinge(1.0), SquaredHinge(10.0)], [RBFKernel(0.7), PolynomialKernel(3)], of=2),
    ids=lambda one: getattr(one, "name", None) or one.task,
)
def test_mpmath_finds_the_certified_optimum(kernel, loss):
    problem = drawn(kernel, loss)
    certificate = certify(problem, DIGITS)
    assert certificate.digits == DIGITS
    assert "free" in certificate.statuses
    assert contradictions(problem, certificate) == []
    # The same certificate with one coordinate at the other end of the box, or with its point moved in the 40th digit, is not right.
    place = certificate.statuses.index("zero")
    wrong = tuple("upper" if i == place else status for i, status in enumerate(certificate.statuses))
    assert contradictions(problem, replace(certificate, statuses=wrong))
    place = certificate.statuses.index("free")
    moved = list(certificate.alpha)
    moved[place] = str(Fraction(moved[place]) * (1 + Fraction(1, 10**40)))
    assert contradictions(problem, replace(certificate, alpha=tuple(moved))) == ["radius"]
