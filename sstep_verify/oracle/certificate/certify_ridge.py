"""Certificates of K-RR optima: points are searched, `oracle.verify.ridge` proves what is stated of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

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
from sstep_verify.oracle.verify.ridge import RidgeProof, prove_ridge
from sstep_verify.problems import Problem, Ridge

GUARD_BITS = 80
"""Bits of the balls beyond the digits asked, for the condition of the system; doubled where too few."""

LEAST_BITS = 128


def certify_ridge(
    problem: Problem, digits: int = 30, penalties: tuple[float, ...] = (), *, keep: bool = True
) -> dict[float, RidgeCertificate]:
    """Certify the solutions of a K-RR for several penalties, which share the passes over the kernel.

    Parameters
    ----------
    problem : Problem
        A K-RR.
    digits : int
        Decimal digits of a* asked for, in the Euclidean norm, >= 1.
    penalties : tuple of float
        Regularisation parameters (lambda), each > 0; empty: that of the problem.
    keep : bool
        Keep the kernel in balls from pass to pass (`oracle.memory.certificate_bytes`).

    Returns
    -------
    dict of float to RidgeCertificate
        By penalty, proved by `oracle.verify`. Fewer digits are stated where they could not be had.

    Raises
    ------
    InputError
        If the problem is a K-SVM, or a penalty or the number of digits is out of range.
    CertificateError
        If nothing can be proved of a point found.
    """
    if problem.is_svm:
        raise InputError(f"{problem.label}: certify_ridge needs a K-RR problem; use certify_svm")
    if digits < 1:
        raise InputError(f"digits = {digits}, but it must be at least 1")
    penalties = tuple(dict.fromkeys(penalties or (problem.ridge.penalty,)))
    for penalty in penalties:
        if not 0 < penalty < np.inf:
            raise InputError(f"{problem.label}: lambda = {penalty}, but it must be finite and > 0")
    search = RidgeSearch(problem, keep=keep)
    certificates: dict[float, RidgeCertificate] = {}
    bits = max(math.ceil(digits * math.log2(10)) + GUARD_BITS, LEAST_BITS)
    while poor := [p for p in penalties if p not in certificates or certificates[p].digits < digits]:
        for penalty, certificate in _certified(problem, search, poor, digits, bits).items():
            if penalty not in certificates or certificate.digits > certificates[penalty].digits:
                certificates[penalty] = certificate
        bits *= 2
        # Beyond this size another pass costs more than the digits are likely to be worth.
        if bits > MOST_BITS or problem.samples > DENSE_SAMPLES:
            break
    return {penalty: certificates[penalty] for penalty in penalties}


def _certified(
    problem: Problem, search: RidgeSearch, penalties: list[float], digits: int, bits: int
) -> dict[float, RidgeCertificate]:
    """Certificates of what is found with some bits."""
    candidates = search.points(penalties, digits, bits)
    points = {
        penalty: tuple(nearest_decimal(ball_ends(x)[1], decimals_of(bits)) for x in point)
        for penalty, (point, _) in candidates.items()
    }
    certificates = {}
    for penalty, proof in prove_ridge(problem, points, verifying_arithmetic(bits)).items():
        how = f"{candidates[penalty][1]}; exact kernel in balls of {bits} bits"
        single = Problem(problem.name, problem.data, problem.targets, problem.kernel, Ridge(penalty))
        certificates[penalty] = _stated(single, points[penalty], proof, bits, digits, how)
        proof.check(certificates[penalty])
    return certificates


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
