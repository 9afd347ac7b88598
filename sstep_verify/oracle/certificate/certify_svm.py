"""Certificates of K-SVM optima: a point is searched, `oracle.verify.svm` proves what is stated of it."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from sstep_verify.errors import InputError
from sstep_verify.oracle.balls.decimals import (
    ROOM,
    bounding_decimal,
    decimal_digits,
    decimals_of,
    enclosing_decimals,
    exact_decimal,
    lower_decimal,
)
from sstep_verify.oracle.search.svm import search
from sstep_verify.oracle.verify import record as words
from sstep_verify.oracle.verify.kernel import verifying_arithmetic
from sstep_verify.oracle.verify.record import SvmCertificate, subject_of
from sstep_verify.oracle.verify.svm import SvmProof, remaining_places
from sstep_verify.problems import Problem

LEAST_BITS = 300
BITS_PER_DIGIT = 12
"""Bits of the balls for a digit asked: the gap bounds the square of the error of a."""

MOST_INVERTED = 400
"""Largest matrix whose definiteness is proved by more than an inverse in float64."""


def certify_svm(problem: Problem, digits: int = 30) -> SvmCertificate:
    """Certify the optimum of a K-SVM.

    Parameters
    ----------
    problem : Problem
        A K-SVM, m up to about a thousand.
    digits : int
        Decimal digits of the optimal value asked for, >= 1.

    Returns
    -------
    SvmCertificate
        Proved by `oracle.verify`; fewer digits are stated where they could not be had.

    Raises
    ------
    InputError
        If the problem is a K-RR or the number of digits is out of range.
    CertificateError
        If nothing can be proved of the point found.
    """
    if not problem.is_svm:
        raise InputError(f"{problem.label}: certify_svm needs a K-SVM problem; use certify_ridge")
    if not 1 <= digits <= 130:
        raise InputError(f"digits = {digits}, but it must be in 1..130")
    bits = max(LEAST_BITS, BITS_PER_DIGIT * digits)
    # 10**(-2 digits - 6): then a itself has about as many digits as the value.
    point, _, bits, method = search(problem, 10.0 ** -(2 * digits + 6), (bits, 2 * bits, 4 * bits))
    proof = SvmProof(problem, point, verifying_arithmetic(bits))
    ends = {words.ZERO: "0", words.UPPER: exact_decimal(Fraction(problem.hinge.C))}
    snapped = tuple(ends.get(status, text) for status, text in zip(proof.ends, point, strict=True))
    if snapped != point:
        moved = SvmProof(problem, snapped, verifying_arithmetic(bits))
        # What is put on its end may spoil what is proved where entries of Q are huge.
        if _digits(moved, bits, digits) >= _digits(proof, bits, digits):
            point, proof = snapped, moved
    certificate = _stated(problem, point, proof, bits, digits, f"{method}; balls of {bits} bits")
    proof.check(certificate)
    return certificate


def _digits(proof: SvmProof, bits: int, most: int) -> int:
    objective = enclosing_decimals(proof.objective(), decimals_of(bits))
    return decimal_digits(Fraction(objective.radius), Fraction(objective.middle), most)


def _stated(
    problem: Problem, point: Sequence[str], proof: SvmProof, bits: int, digits: int, how: str
) -> SvmCertificate:
    """What is proved of a point, rounded outwards to decimals."""
    digits_written = decimals_of(bits)
    statuses = [status if proof.at(i, status) else words.UNDECIDED for i, status in enumerate(proof.ends)]
    remaining = remaining_places(statuses)
    matrix, eigenvalue, radius = _uniqueness(proof, remaining)
    if radius:
        for i in remaining:
            if proof.inside(i, Fraction(radius)) and proof.ends[i] == words.UNDECIDED:
                statuses[i] = words.FREE
    return SvmCertificate(
        subject=subject_of(problem),
        digits=_digits(proof, bits, digits),
        bits=bits,
        alpha=tuple(point),
        statuses=tuple(statuses),
        objective=enclosing_decimals(proof.objective(), digits_written),
        dual=enclosing_decimals(proof.dual, digits_written),
        primal=enclosing_decimals(proof.primal, digits_written),
        gap=enclosing_decimals(proof.gap, digits_written),
        remaining=matrix,
        eigenvalue=eigenvalue,
        radius=radius,
        how=how,
    )


def _uniqueness(proof: SvmProof, remaining: list[int]) -> tuple[str, str, str]:
    """What is proved of the matrix on the remaining coordinates, its eigenvalue, and the radius."""
    if proof.singular(remaining):
        return words.SINGULAR, "", ""
    lambda_min = next(proof.eigenvalues(remaining, MOST_INVERTED), None)
    if lambda_min is None:
        return words.UNDECIDED, "", ""
    # Less than is proved, so that an inverse with other rounding errors proves it anew.
    eigenvalue = lower_decimal(lambda_min / ROOM)
    return words.DEFINITE, eigenvalue, bounding_decimal(proof.radius(Fraction(eigenvalue)))
