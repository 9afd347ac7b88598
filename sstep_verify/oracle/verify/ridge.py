"""Proves the statements of a K-RR certificate: a residual in balls, and that the exact system is >= m I.

With ``M = K/lambda + m I`` and ``r = y - M x``: ``||x - a*|| <= ||r|| / m``, K being positive semidefinite;
the gap of x is ``||r||^2 / (2m)``, and row i of ``M (x - a*) = -r`` bounds one coordinate by
``(|r_i| + sqrt(K_ii trace K) ||x - a*|| / lambda) / m``.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from typing import Any

from sstep_reference.arithmetic import Balls

from sstep_verify.errors import require
from sstep_verify.oracle.verify.kernel import (
    ball_ends,
    lower_rows,
    must_bound,
    must_have_digits,
    must_hold,
    point_of,
    verifying_arithmetic,
)
from sstep_verify.oracle.verify.record import CertificateError, RidgeCertificate
from sstep_verify.problems import Problem

ROWS_TOGETHER = 32
"""Rows of the kernel that are held and multiplied at once (about 150 bytes an entry)."""


def verify_ridge(problem: Problem, certificate: RidgeCertificate) -> None:
    """Prove all statements of a certificate about a problem.

    Raises
    ------
    CertificateError
        At the first field whose statement is not proved.
    """
    arithmetic, m = verifying_arithmetic(certificate.bits), problem.samples
    point = point_of(problem, arithmetic, certificate.alpha)
    if len(certificate.radii) != m:
        raise CertificateError("radii", f"are {len(certificate.radii)} for {m} coordinates")
    images, diagonal = _products(problem, arithmetic, point)
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


def _products(problem: Problem, arithmetic: Balls, point: list) -> tuple[list[Any], list[Any]]:
    """``K x`` and the diagonal of K, from one triangle, some rows at a time."""
    matrix = require("flint", "exact").arb_mat
    m = problem.samples
    diagonal: list[Any] = []
    images: list[Any] = []
    above = matrix(1, m)
    rows = lower_rows(problem, arithmetic)
    with arithmetic.working():
        for block in iter(lambda: [row for _, row in islice(rows, ROWS_TOGETHER)], []):
            begin, count = len(images), len(block)
            end = begin + count
            diagonal += [row[-1] for row in block]
            within = [[block[max(i, j)][begin + min(i, j)] for j in range(count)] for i in range(count)]
            own = matrix(within) * matrix(count, 1, point[begin:end])
            if begin:
                before = matrix([row[:begin] for row in block])
                own = own + before * matrix(begin, 1, point[:begin])
                mirrored = matrix(1, count, point[begin:end]) * before
                above = above + matrix(1, m, mirrored.entries() + [0] * (m - begin))
            images += own.entries()
        return [image + other for image, other in zip(images, above.entries(), strict=True)], diagonal
