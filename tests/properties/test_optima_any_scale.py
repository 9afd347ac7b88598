"""Stated errors of optima hold over the whole exponent range, and every certificate made is proved.

Data, targets, lambda, C and the parameters of kernels are drawn from 2**-1000 to 2**1000, with duplicates of
either label, zero rows, ties, singular Q; the truth comes in rationals (`exact_optima`). Where
SSTEP_VERIFY_DRAWS is set (``tox -e optima``: 10,000) so many problems are drawn.
"""

from __future__ import annotations

import os
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("flint", reason="certificates need the extra [exact]")

from exact_optima import exact_ridge, exact_svm, hessian, is_definite

from sstep_verify.oracle.certificate.certify_ridge import certify_ridge
from sstep_verify.oracle.certificate.certify_svm import certify_svm
from sstep_verify.oracle.certificate.file import decode, encode
from sstep_verify.oracle.certificate.optimum import ridge_optimum, svm_optimum
from sstep_verify.oracle.verify.certificate import verify_certificate
from sstep_verify.oracle.verify.record import CertificateError
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)

DRAWS = int(os.environ.get("SSTEP_VERIFY_DRAWS", "40"))
SEEDS = np.array_split(np.arange(DRAWS), max(DRAWS // 250, 2))
DIGITS = 20
FARTHEST = 1000
"""Largest exponent drawn."""


def drawn(seed: int) -> Problem:
    """A small problem; exponents are drawn freely, or near those at which its terms are alike."""
    generator = np.random.Generator(np.random.PCG64(seed))
    m, n = int(generator.integers(1, 6)), int(generator.integers(1, 4))
    task, name = generator.choice(["svm-l1", "svm-l2", "krr"]), generator.choice(["linear", "poly", "rbf"])

    def power(near: int = 0) -> float:
        if generator.random() < 0.5:
            exponent = int(generator.integers(-FARTHEST, FARTHEST + 1))
        else:
            exponent = near + int(generator.integers(-4, 5))
        size = 1.0 if generator.random() < 0.4 else float(generator.uniform(1, 2))
        return size * 2.0 ** min(max(exponent, -FARTHEST), FARTHEST)

    data = generator.standard_normal((m, n))
    if generator.random() < 0.5:
        data = np.round(2 * data) / 2
    labels = np.where(generator.random(m) < 0.5, -1.0, 1.0)
    if m > 1 and generator.random() < 0.3:
        data[-1] = data[0]
    if generator.random() < 0.2:
        data[generator.integers(m)] = 0.0
    scale = power()
    data *= scale
    if generator.random() < 0.2:
        data *= 2.0 ** generator.integers(-FARTHEST, 0, size=(m, 1))
    assert np.isfinite(data).all()
    near = int(np.frexp(scale)[1])
    kernel = {
        "linear": LinearKernel(),
        "poly": PolynomialKernel(int(generator.integers(2, 4)), 0.0 if near % 2 else power(2 * near)),
        "rbf": RBFKernel(power(-2 * near)),
    }[name]
    size = {"linear": 2 * near, "poly": 2 * near * getattr(kernel, "degree", 0), "rbf": 0}[name]
    if task == "krr":
        targets = generator.standard_normal(m) * power()
        return Problem("drawn", data, targets, kernel, Ridge(power(size)))
    loss = Hinge if task == "svm-l1" else SquaredHinge
    return Problem("drawn", data, labels, kernel, loss(power(-size)))


def falsehoods(problem: Problem, certificate) -> list[str]:
    """Statements of a certificate that the exact optimum contradicts."""
    false = []
    if problem.is_svm:
        alpha, value = exact_svm(problem)
        C = Fraction(problem.hinge.C)
        for i, (status, exact) in enumerate(zip(certificate.statuses, alpha, strict=True)):
            right = {"zero": exact == 0, "upper": exact == C, "free": exact > 0, "undecided": True}
            if not right[status]:
                false.append(f"statuses[{i}]")
        false += _false_eigenvalue(problem, certificate)
        if certificate.dual.lower > value or certificate.primal.upper < value:
            false.append("dual or primal")
        size, error = value**2, (value - Fraction(certificate.objective.middle)) ** 2
    else:
        alpha = exact_ridge(problem)
        value = sum(Fraction(y) * a for y, a in zip(problem.targets.tolist(), alpha, strict=True)) / 2
        errors = [abs(Fraction(x) - a) for x, a in zip(certificate.alpha, alpha, strict=True)]
        false += [f"radii[{i}]" for i, e in enumerate(errors) if e > Fraction(certificate.radii[i])]
        size, error = sum(a * a for a in alpha), sum(e * e for e in errors)
    if certificate.digits and error * 100**certificate.digits > size * Fraction(1001, 1000):
        false.append("digits")
    if not certificate.objective.lower <= value <= certificate.objective.upper:
        false.append("objective")
    if certificate.radius:
        apart = [Fraction(x) - a for x, a in zip(certificate.alpha, alpha, strict=True)]
        if sum(x * x for x in apart) > Fraction(certificate.radius) ** 2:
            false.append("radius")
    return false


def _false_eigenvalue(problem: Problem, certificate) -> list[str]:
    if not certificate.eigenvalue:
        return []
    H = hessian(problem)
    places = [i for i, status in enumerate(certificate.statuses) if status in ("free", "undecided")]
    # Less by far less than its rounding downwards, as the bound is reached by H = omega I.
    least = Fraction(certificate.eigenvalue) * (1 - Fraction(1, 10**9))
    part = [[H[i][j] - (least if i == j else 0) for j in places] for i in places]
    return [] if is_definite(part) else ["eigenvalue"]


def false_optimum(problem: Problem) -> list[str]:
    """What the optimum in float64 states falsely."""
    if problem.is_svm:
        alpha, value = exact_svm(problem)
        optimum = svm_optimum(problem)
        inside = Fraction(optimum.value_lower) <= value
        if optimum.value_upper < np.inf:
            inside &= value <= Fraction(optimum.value_upper)
        return [] if inside else ["value"]
    alpha, optimum = exact_ridge(problem), ridge_optimum(problem)[problem.ridge.penalty]
    apart = sum((Fraction(x) - a) ** 2 for x, a in zip(optimum.alpha.tolist(), alpha, strict=True))
    false = [] if apart <= Fraction(optimum.error) ** 2 else ["error"]
    size = sum(Fraction(x) ** 2 for x in optimum.alpha.tolist())
    if optimum.relative < np.inf and apart > Fraction(optimum.relative) ** 2 * size:
        false.append("relative")
    if optimum.digits == np.inf and apart:
        false.append("digits")
    return false


def judged(seed: int) -> tuple[str, list[str]]:
    """How a problem fared: its kind, and what was false or refused."""
    problem = drawn(seed)
    kind = f"{problem.loss.task} {problem.kernel.name}"
    if problem.is_svm:
        certificate = certify_svm(problem, DIGITS)
    else:
        certificate = certify_ridge(problem, DIGITS)[problem.ridge.penalty]
    found = falsehoods(problem, certificate) + false_optimum(problem)
    try:
        again = decode(encode(certificate))
        verify_certificate(again, problem.data, problem.targets)
        if again != certificate:
            found.append("file")
    except CertificateError as error:
        found.append(f"refused: {error}")
    return f"{kind}, {'all' if certificate.digits == DIGITS else 'fewer'} digits", found


@pytest.mark.parametrize("seeds", SEEDS, ids=range(len(SEEDS)))
def test_no_stated_error_is_false_and_no_certificate_refused(seeds):
    kinds: Counter[str] = Counter()
    wrong = {}
    for seed in seeds.tolist():
        kind, found = judged(seed)
        kinds[kind] += 1
        if found:
            wrong[seed] = found
    print(dict(sorted(kinds.items())))
    assert wrong == {}
    assert sum(kinds.values()) == len(seeds)
