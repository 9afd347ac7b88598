"""Proves the statements of a K-RR certificate: a residual in balls, and that the exact system is >= m I.

With ``M = K/lambda + m I`` and ``r = y - M x``: ``||x - a*|| <= ||r|| / m``, K being positive semidefinite;
the gap of x is ``||r||^2 / (2m)``, and row i of ``M (x - a*) = -r`` bounds one coordinate by
``(|r_i| + sqrt(K_ii trace K) ||x - a*|| / lambda) / m``.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sstep_reference import Kernel

from sstep_verify.errors import require
from sstep_verify.oracle.certificate import CertificateError, RidgeCertificate
from sstep_verify.oracle.verified_kernel import (
    ball_ends,
    lower_rows,
    must_bound,
    must_have_digits,
    must_hold,
    point_of,
    verifying_kernel,
)
from sstep_verify.problems import Problem


def verify_ridge(problem: Problem, certificate: RidgeCertificate) -> None:
    """Prove all statements of a certificate about a problem.

    Raises
    ------
    CertificateError
        At the first field whose statement is not proved.
    """
    kernel = verifying_kernel(problem, certificate.bits)
    arithmetic, m = kernel.arithmetic, problem.samples
    point = point_of(kernel, certificate.alpha)
    if len(certificate.radii) != m:
        raise CertificateError("radii", f"are {len(certificate.radii)} for {m} coordinates")
    images, diagonal = _products(kernel, point)
    with arithmetic.working():
        zero, penalty = arithmetic.number(0), arithmetic.number(problem.ridge.penalty)
        targets = [arithmetic.number(y) for y in problem.targets.tolist()]
        whole = [image / penalty + m * x for image, x in zip(images, point, strict=True)]
        residual = [y - value for y, value in zip(targets, whole, strict=True)]
        square = sum((value.abs_upper() ** 2 for value in residual), zero)
        length = square.sqrt()
        must_bound("residual", certificate.residual, length)
        must_bound("radius", certificate.radius, length / m)
        _coordinates(certificate, residual, diagonal, length / m, penalty)
        pairs = zip(targets, whole, point, strict=True)
        dual = sum((x * (y - value / 2) for y, value, x in pairs), zero)
        gap = sum((value * value for value in residual), zero) / (2 * m)
        must_hold("gap", certificate.gap, gap)
        must_hold("objective", certificate.objective, dual.union(dual + gap))
        norm = sum((x * x for x in point), zero).sqrt()
    must_have_digits(certificate.digits, Fraction(certificate.radius), ball_ends(norm)[1])


def _coordinates(
    certificate: RidgeCertificate, residual: list, diagonal: list, radius: Any, penalty
) -> None:
    """Every coordinate's own radius: either bound may prove it."""
    m = len(residual)
    trace = sum(diagonal, radius * 0)
    for i, stated in enumerate(certificate.radii):
        own = (residual[i].abs_upper() + (diagonal[i] * trace).sqrt() * radius / penalty) / m
        if not ball_ends(radius)[1] <= Fraction(stated):
            must_bound(f"radii[{i}]", stated, own)


def _products(kernel: Kernel, point: list) -> tuple[list[Any], list[Any]]:
    """``K x`` and the diagonal of K, from one triangle, row by row."""
    matrix = require("flint", "exact").arb_mat
    arithmetic, m = kernel.arithmetic, kernel.samples
    diagonal: list[Any] = []
    above = [arithmetic.number(0)] * m
    images: list[Any] = []
    with arithmetic.working():
        for i, row in lower_rows(kernel):
            diagonal.append(row[i])
            images.append((matrix(1, i + 1, row) * matrix(i + 1, 1, point[: i + 1]))[0, 0])
            mirrored = (matrix(i, 1, row[:i]) * point[i]).entries()
            above = [one + other for one, other in zip(above, mirrored, strict=False)] + above[i:]
        return [image + other for image, other in zip(images, above, strict=True)], diagonal
