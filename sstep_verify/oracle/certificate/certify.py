"""Certificates of optima: a point is searched, `oracle.verify` proves what is stated of it.

Certificates kept on disk under the hash of what they answer: problem, digits and version of the method.

An entry is a whole certificate file, with its digest inside, put in place by a rename; so concurrent
writers do no harm, and what is cut short is not an answer. A digest can be written anew by whoever edits
an entry, so it proves nothing: an entry is an answer only once all it states has been proved anew.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Sequence
from fractions import Fraction
from operator import attrgetter
from pathlib import Path

from sstep_verify import __version__
from sstep_verify.errors import InputError
from sstep_verify.files import write_text
from sstep_verify.oracle.balls.enclosure import (
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
from sstep_verify.oracle.certificate.file import VERSION, encode, read_certificate
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


def cache_folder() -> Path:
    """``$XDG_CACHE_HOME/sstep-verify``, or ``~/.cache/sstep-verify``."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if os.path.isabs(home) else Path.home() / ".cache") / "sstep-verify" / "certificates"


def cache_path(problem: Problem, digits: int) -> Path:
    """File that holds the certificate of a problem to so many digits, if any does."""
    subject = subject_of(problem)
    content = repr((VERSION, __version__, subject, digits))
    return cache_folder() / f"{hashlib.sha256(content.encode()).hexdigest()}.json"


def proved(problem: Problem, digits: int) -> tuple[Certificate | None, str]:
    """Look a certificate up and prove every statement of it anew from the problem's own data.

    Returns
    -------
    certificate : RidgeCertificate, SvmCertificate or None
        None if there is none that can be used; one that states anything false cannot.
    note : str
        Why an entry that is there could not be used; empty otherwise.
    """
    path = cache_path(problem, digits)
    if not path.exists():
        return None, ""
    try:
        certificate = read_certificate(path)
        if certificate.subject != subject_of(problem):
            raise CertificateError("subject", "is of another problem")
        verify_certificate(certificate, problem.data, problem.targets)
    except (CertificateError, InputError) as error:
        return None, f"cache entry {path.name} is not used, the optimum is certified again: {error}"
    return certificate, ""


def keep(problem: Problem, digits: int, certificate: Certificate) -> str:
    """Store a certificate; a note if that was not possible, else an empty string."""
    path = cache_path(problem, digits)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, encode(certificate))
    except (OSError, InputError) as error:
        return f"the certificate was not kept in the cache: {error}"
    return ""


GUARD_BITS, LEAST_RIDGE_BITS = 80, 128
"""K-RR: bits of the balls beyond the digits asked, for the condition of the system, doubled where too few;
and at least."""

BITS_PER_DIGIT, LEAST_SVM_BITS = 12, 300
"""K-SVM: bits of the balls for a digit asked, as the gap bounds the square of the error of a; at least."""

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
        K-RR: keep the kernel in balls from pass to pass (`oracle.facade.certificate_bytes`).

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
    if digits < 1 or (problem.is_svm and digits > MOST_SVM_DIGITS):
        needed = f"in 1..{MOST_SVM_DIGITS}" if problem.is_svm else "at least 1"
        raise InputError(f"digits = {digits}, but it must be {needed}")
    return _certify_svm(problem, digits) if problem.is_svm else _certify_ridge(problem, digits, keep)


def _certify_ridge(problem: Problem, digits: int, keep: bool) -> RidgeCertificate:
    searched = RidgeSearch(problem, keep=keep)
    bits = max(math.ceil(digits * math.log2(10)) + GUARD_BITS, LEAST_RIDGE_BITS)
    best = _ridge_certified(problem, searched, digits, bits)
    # Beyond this size another pass costs more than the digits are likely to be worth.
    while best.digits < digits and 2 * bits <= MOST_BITS and problem.samples <= DENSE_SAMPLES:
        bits *= 2
        best = max(best, _ridge_certified(problem, searched, digits, bits), key=attrgetter("digits"))
    return best


def _ridge_certified(problem: Problem, searched: RidgeSearch, digits: int, bits: int) -> RidgeCertificate:
    """The certificate of what is found with some bits."""
    near, how = searched.point(digits, bits)
    point = tuple(nearest_decimal(ball_ends(x)[1], decimals_of(bits)) for x in near)
    proof = RidgeProof(problem, point, verifying_arithmetic(bits))
    how = f"{how}; exact kernel in balls of {bits} bits"
    certificate = _ridge_stated(problem, point, proof, bits, digits, how)
    proof.check(certificate)
    return certificate


def _ridge_stated(
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


def _certify_svm(problem: Problem, digits: int) -> SvmCertificate:
    bits = max(LEAST_SVM_BITS, BITS_PER_DIGIT * digits)
    # 10**(-2 digits - 6): then a itself has about as many digits as the value.
    point, bits, method = search(problem, 10.0 ** -(2 * digits + 6), (bits, 2 * bits, 4 * bits))
    proof = SvmProof(problem, point, verifying_arithmetic(bits))
    ends = {words.ZERO: "0", words.UPPER: exact_decimal(Fraction(problem.hinge.C))}
    snapped = tuple(ends.get(status, text) for status, text in zip(proof.ends, point, strict=True))
    if snapped != point:
        moved = SvmProof(problem, snapped, verifying_arithmetic(bits))
        # What is put on its end may spoil what is proved where entries of Q are huge.
        if _digits(moved, bits, digits) >= _digits(proof, bits, digits):
            point, proof = snapped, moved
    certificate = _svm_stated(problem, point, proof, bits, digits, f"{method}; balls of {bits} bits")
    proof.check(certificate)
    return certificate


def _digits(proof: SvmProof, bits: int, most: int) -> int:
    objective = enclosing_decimals(proof.objective(), decimals_of(bits))
    return decimal_digits(Fraction(objective.radius), Fraction(objective.middle), most)


def _svm_stated(
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
