"""Certificates of optima: a search proposes a point with statements, `oracle.verify` proves them, once."""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from operator import attrgetter
from typing import Any, NamedTuple

from sstep_verify.errors import InputError
from sstep_verify.oracle.balls.decimals import (
    RADIUS_DIGITS,
    ROOM,
    bounding_decimal,
    decimal_digits,
    decimals_of,
    enclosing_decimals,
    exact_decimal,
    lower_decimal,
    nearest_decimal,
)
from sstep_verify.oracle.balls.kernel_balls import BallKernel
from sstep_verify.oracle.search.ridge import DENSE_SAMPLES, RidgeSearch
from sstep_verify.oracle.search.svm import search
from sstep_verify.oracle.verify import record as words
from sstep_verify.oracle.verify.certificate import verify_certificate
from sstep_verify.oracle.verify.kernel import MOST_BITS, ball_ends, verifying_arithmetic
from sstep_verify.oracle.verify.record import (
    Certificate,
    CertificateError,
    RidgeCertificate,
    SvmCertificate,
    subject_of,
)
from sstep_verify.oracle.verify.ridge import RidgeProof
from sstep_verify.oracle.verify.svm import SvmProof, remaining_places
from sstep_verify.problems import Problem

GUARD_BITS, LEAST_RIDGE_BITS = 80, 128
"""K-RR: bits of the balls beyond the digits asked, for the condition of the system, doubled where too few;
and at least."""

BITS_PER_DIGIT, LEAST_SVM_BITS = 12, 300
"""K-SVM: bits of the balls for a digit asked; at least. The gap bounds the square of the error of alpha."""

MOST_INVERTED = 400
"""Largest matrix whose definiteness is proved by more than an inverse in float64."""

MOST_SVM_DIGITS = 130


def certify(problem: Problem, digits: int = 30, *, keep: bool = True) -> Certificate:
    """Certify the optimum of a problem.

    Parameters
    ----------
    problem : Problem
        A K-RR, or a K-SVM with m up to about a thousand.
    digits : int
        Decimal digits asked for, >= 1: of a* in the Euclidean norm (K-RR), of the optimal value (K-SVM).
    keep : bool
        K-RR: keep the kernel in balls from pass to pass (`certificate.memory.certificate_bytes`).

    Returns
    -------
    RidgeCertificate or SvmCertificate
        Proved by `oracle.verify`; fewer digits are stated where they could not be had.

    Raises
    ------
    InputError
        If the number of digits is out of range.
    CertificateError
        If nothing can be proved of the point found.
    """
    return prove(problem, propose(problem, digits, keep=keep), digits)


class Proposal(NamedTuple):
    """A point that was searched, and what the search's own kernel says of it, which proves nothing.

    `bits` are those of the search, `how` is for reports; without a certificate nothing is said.
    """

    point: tuple[str, ...]
    bits: int
    how: str
    certificate: Certificate | None = None

    @property
    def digits(self) -> int:
        """Digits that the certificate states; 0 without one."""
        return self.certificate.digits if self.certificate else 0


def propose(problem: Problem, digits: int, *, keep: bool = True) -> Proposal:
    """What `prove` has to prove; parameters and errors are those of `certify`."""
    if digits < 1 or (problem.is_svm and digits > MOST_SVM_DIGITS):
        needed = f"in 1..{MOST_SVM_DIGITS}" if problem.is_svm else "at least 1"
        raise InputError(f"digits = {digits}, but it must be {needed}")
    return _propose_svm(problem, digits) if problem.is_svm else _propose_ridge(problem, digits, keep)


def prove(problem: Problem, proposal: Proposal, digits: int) -> Certificate:
    """The certificate proposed, once `oracle.verify` proves it; else what is proved of the same point.

    Raises CertificateError if nothing can be proved of the point.
    """
    if proposal.certificate and proposal.digits >= digits:
        try:
            verify_certificate(proposal.certificate, problem.data, problem.targets)
            return proposal.certificate
        except CertificateError as refused:
            how = f"{proposal.how}; stated by the proof, which refused {refused.field_name}"
            proposal = proposal._replace(how=how)
    certificate, proof = _stated(problem, proposal, digits)
    proof.check(certificate)
    return certificate


def _propose_ridge(problem: Problem, digits: int, keep: bool) -> Proposal:
    searched = RidgeSearch(problem, keep=keep)
    bits = max(math.ceil(digits * math.log2(10)) + GUARD_BITS, LEAST_RIDGE_BITS)

    def proposed() -> Proposal:
        near, how = searched.point(digits, bits)
        point = tuple(nearest_decimal(ball_ends(x)[1], decimals_of(bits)) for x in near)
        how = f"{how}; exact kernel in balls of {bits} bits"
        proposal = Proposal(point, bits, how)
        # A kernel that was not kept would be made once more.
        return _completed(problem, proposal, digits, searched.kernel) if keep else proposal

    best = proposed()
    # Beyond this size another pass costs more than the digits are likely to be worth.
    while best.digits < digits and 2 * bits <= MOST_BITS and problem.samples <= DENSE_SAMPLES:
        bits *= 2
        best = max(best, proposed(), key=attrgetter("digits"))
    return best


def _propose_svm(problem: Problem, digits: int) -> Proposal:
    bits = max(LEAST_SVM_BITS, BITS_PER_DIGIT * digits)
    # 10**(-2 digits - 6): then alpha itself has about as many digits as the value.
    point, bits, method, dual = search(problem, 10.0 ** -(2 * digits + 6), (bits, 2 * bits, 4 * bits))
    proposal = Proposal(point, bits, f"{method}; balls of {bits} bits")
    return _completed(problem, proposal, digits, dual.kernel)


def _completed(problem: Problem, proposal: Proposal, digits: int, kernel: BallKernel) -> Proposal:
    """With what the kernel of the search says, unless its balls are too wide.

    They have fewer bits than those of the proof, so that what they say is proved there.
    """
    with suppress(CertificateError):
        return proposal._replace(certificate=_stated(problem, proposal, digits, kernel)[0])
    return proposal


def _stated(
    problem: Problem, proposal: Proposal, digits: int, kernel: BallKernel | None = None
) -> tuple[Certificate, Any]:
    """What the theorems say of a point, over a maker's kernel or as a proof, and what says it."""
    point, bits = proposal.point, proposal.bits
    arithmetic = kernel.arithmetic if kernel else verifying_arithmetic(bits)
    if not problem.is_svm:
        ridge = RidgeProof(problem, point, arithmetic, kernel)
        return _ridge_stated(problem, proposal, ridge, digits), ridge
    proof = SvmProof(problem, point, arithmetic, kernel)
    ends = {words.ZERO: "0", words.UPPER: exact_decimal(Fraction(problem.hinge.C))}
    snapped = tuple(ends.get(status, text) for status, text in zip(proof.ends, point, strict=True))
    if snapped != point:
        moved = SvmProof(problem, snapped, arithmetic, kernel)
        # What is put on its end may spoil what is proved where entries of Q are huge.
        if _digits(moved, bits, digits) >= _digits(proof, bits, digits):
            proposal, proof = proposal._replace(point=snapped), moved
    return _svm_stated(problem, proposal, proof, digits), proof


def _ridge_stated(problem: Problem, proposal: Proposal, proof: RidgeProof, digits: int) -> RidgeCertificate:
    """What is proved of a point, rounded outwards to decimals."""
    bits = proposal.bits
    radius = bounding_decimal(proof.radius)
    return RidgeCertificate(
        subject=subject_of(problem),
        digits=decimal_digits(Fraction(radius), ball_ends(proof.norm)[0], digits),
        bits=bits,
        alpha=proposal.point,
        radius=radius,
        radii=tuple(bounding_decimal(proof.coordinate(i)) for i in range(problem.samples)),
        residual=bounding_decimal(proof.length),
        objective=enclosing_decimals(proof.objective, decimals_of(bits)),
        gap=enclosing_decimals(proof.gap, RADIUS_DIGITS),
        how=proposal.how,
    )


def _digits(proof: SvmProof, bits: int, most: int) -> int:
    objective = enclosing_decimals(proof.objective(), decimals_of(bits))
    return decimal_digits(Fraction(objective.radius), Fraction(objective.middle), most)


def _svm_stated(problem: Problem, proposal: Proposal, proof: SvmProof, digits: int) -> SvmCertificate:
    """What is proved of a point, rounded outwards to decimals."""
    bits, digits_written = proposal.bits, decimals_of(proposal.bits)
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
        alpha=proposal.point,
        statuses=tuple(statuses),
        objective=enclosing_decimals(proof.objective(), digits_written),
        dual=enclosing_decimals(proof.dual, digits_written),
        primal=enclosing_decimals(proof.primal, digits_written),
        gap=enclosing_decimals(proof.gap, digits_written),
        remaining=matrix,
        eigenvalue=eigenvalue,
        radius=radius,
        how=proposal.how,
    )


def _uniqueness(proof: SvmProof, remaining: list[int]) -> tuple[str, str, str]:
    """What is proved of the matrix on the remaining coordinates, its eigenvalue, and the radius."""
    if proof.singular(remaining):
        return words.SINGULAR, "", ""
    lambda_min = next(proof.eigenvalues(remaining, MOST_INVERTED), None)
    if lambda_min is None:
        return words.UNDECIDED, "", ""
    # Less than is proved, so that an inverse with other rounding errors proves it again.
    eigenvalue = lower_decimal(lambda_min / ROOM)
    return words.DEFINITE, eigenvalue, bounding_decimal(proof.radius(Fraction(eigenvalue)))
