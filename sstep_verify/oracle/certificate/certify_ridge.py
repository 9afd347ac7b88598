"""Certificates of K-RR optima: points are searched, `oracle.verify.ridge` proves what is stated of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from sstep_verify.errors import InputError
from sstep_verify.oracle.balls.decimals import (
    RADIUS_DIGITS,
    bounding_decimal,
    decimal_digits,
    decimals_of,
    enclosing_decimals,
    nearest_decimal,
)
from sstep_verify.oracle.search.ridge import DENSE_SAMPLES, RidgeSearch
from sstep_verify.oracle.verify.kernel import MOST_BITS, ball_ends, verifying_arithmetic
from sstep_verify.oracle.verify.record import RidgeCertificate, subject_of
from sstep_verify.oracle.verify.ridge import RidgeProof
from sstep_verify.problems import Problem

GUARD_BITS = 80
"""Bits of the balls beyond the digits asked, for the condition of the system; doubled where too few."""

LEAST_BITS = 128


def certify_ridge(problem: Problem, digits: int = 30, *, keep: bool = True) -> RidgeCertificate:
    """Certify the solution of a K-RR.

    Parameters
    ----------
    problem : Problem
        A K-RR.
    digits : int
        Decimal digits of a* asked for, in the Euclidean norm, >= 1.
    keep : bool
        Keep the kernel in balls from pass to pass (`oracle.memory.certificate_bytes`).

    Returns
    -------
    RidgeCertificate
        Proved by `oracle.verify`; fewer digits are stated where they could not be had.

    Raises
    ------
    InputError
        If the problem is a K-SVM or the number of digits is out of range.
    CertificateError
        If nothing can be proved of the point found.
    """
    if problem.is_svm:
        raise InputError(f"{problem.label}: certify_ridge needs a K-RR problem; use certify_svm")
    if digits < 1:
        raise InputError(f"digits = {digits}, but it must be at least 1")
    search = RidgeSearch(problem, keep=keep)
    bits = max(math.ceil(digits * math.log2(10)) + GUARD_BITS, LEAST_BITS)
    best = _certified(problem, search, digits, bits)
    # Beyond this size another pass costs more than the digits are likely to be worth.
    while best.digits < digits and 2 * bits <= MOST_BITS and problem.samples <= DENSE_SAMPLES:
        bits *= 2
        best = max(best, _certified(problem, search, digits, bits), key=lambda made: made.digits)
    return best


def _certified(problem: Problem, search: RidgeSearch, digits: int, bits: int) -> RidgeCertificate:
    """The certificate of what is found with some bits."""
    near, how = search.point(digits, bits)
    point = tuple(nearest_decimal(ball_ends(x)[1], decimals_of(bits)) for x in near)
    proof = RidgeProof(problem, point, verifying_arithmetic(bits))
    how = f"{how}; exact kernel in balls of {bits} bits"
    certificate = _stated(problem, point, proof, bits, digits, how)
    proof.check(certificate)
    return certificate


def _stated(
    problem: Problem, point: Sequence[str], proof: RidgeProof, bits: int, digits: int, how: str
) -> RidgeCertificate:
    """What is proved of a point, rounded outwards to decimals."""
    radius = bounding_decimal(proof.radius)
    return RidgeCertificate(
        subject=subject_of(problem),
        digits=decimal_digits(Fraction(radius), ball_ends(proof.norm)[0], digits),
        bits=bits,
        alpha=tuple(point),
        radius=radius,
        radii=tuple(bounding_decimal(proof.coordinate(i)) for i in range(problem.samples)),
        residual=bounding_decimal(proof.length),
        objective=enclosing_decimals(proof.objective, decimals_of(bits)),
        gap=enclosing_decimals(proof.gap, RADIUS_DIGITS),
        how=how,
    )
