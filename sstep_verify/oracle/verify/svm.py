"""Proves the statements of a K-SVM certificate; the theorems are those that `SvmCertificate` states.

With ``H = Q + omega I``, g(a) the gap of the stated point and a* any optimum: ``||a - a*||_H^2 <= 2 g(a)``
(strong duality, concavity), hence ``|(Ha - Ha*)_i| <= sqrt(2 H_ii g(a))`` (Cauchy and Schwarz in the
H-seminorm). A sign of the gradient that this leaves no doubt of puts a*_i on its end. The smallest
eigenvalue of H on some coordinates is bounded by `verified_definite`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from sstep_reference.arithmetic import Balls
from sstep_reference.inputs import svm_constants

from sstep_verify.errors import require
from sstep_verify.oracle.verify.definite import eigenvalue_bounds
from sstep_verify.oracle.verify.kernel import (
    lower_rows,
    must_bound,
    must_have_digits,
    must_hold,
    point_of,
    shown,
    verifying_arithmetic,
)
from sstep_verify.oracle.verify.record import (
    DEFINITE,
    FREE,
    SINGULAR,
    UNDECIDED,
    UPPER,
    ZERO,
    CertificateError,
    SvmCertificate,
)
from sstep_verify.problems import Kernel, PolynomialKernel, Problem


def verify_svm(problem: Problem, certificate: SvmCertificate) -> None:
    """Prove all statements of a certificate about a problem.

    Raises
    ------
    CertificateError
        At the first field whose statement is not proved.
    """
    proof = _Proof(problem, certificate)
    proof.box()
    proof.values()
    proof.ends()
    proof.uniqueness()
    proof.interior()


class _Proof:
    """The stated point in balls, its products with Q, and what follows from them."""

    def __init__(self, problem: Problem, certificate: SvmCertificate):
        self._problem, self._stated = problem, certificate
        self._arithmetic = verifying_arithmetic(certificate.bits)
        self._rational = [Fraction(text) for text in certificate.alpha]
        self._point = point_of(problem, self._arithmetic, certificate.alpha)
        self._upper, self._omega = svm_constants(
            self._arithmetic, certificate.subject.task, problem.hinge.C
        )
        self._signs = [int(label) for label in problem.targets]
        self._rows = _signed_rows(problem, self._arithmetic, self._signs)
        self._gap: Any = None
        self._slopes: list[Any] = []

    def box(self) -> None:
        """Feasibility, decided in rationals."""
        end = None if self._upper is None else Fraction(self._problem.hinge.C)
        for i, value in enumerate(self._rational):
            if value < 0 or (end is not None and value > end):
                text = self._stated.alpha[i]
                raise CertificateError(
                    f"alpha[{i}]", f"is {text}, outside the box 0 .. {end or 'infinity'}"
                )

    def values(self) -> None:
        """Both objectives and the gap, and with weak duality the optimal value."""
        stated, arithmetic = self._stated, self._arithmetic
        with arithmetic.working():
            images, half_square = self._products()
            total = sum(self._point, arithmetic.number(0))
            square = sum((x * x for x in self._point), arithmetic.number(0))
            dual = total - half_square - self._omega * square / 2
            zero = arithmetic.number(0)
            slacks = [arithmetic.clip(1 - image, zero, None) for image in images]
            power = 2 if stated.subject.task == "svm-l2" else 1
            penalty = arithmetic.number(self._problem.hinge.C)
            primal = half_square + penalty * sum((slack**power for slack in slacks), zero)
            self._gap = primal - dual
            self._slopes = [
                image + self._omega * x - 1 for image, x in zip(images, self._point, strict=True)
            ]
        must_hold("dual", stated.dual, dual)
        must_hold("primal", stated.primal, primal)
        must_hold("gap", stated.gap, self._gap)
        with arithmetic.working():
            must_hold("objective", stated.objective, dual.union(primal))
        must_have_digits(
            stated.digits, Fraction(stated.objective.radius), Fraction(stated.objective.middle)
        )

    def ends(self) -> None:
        """Coordinates that every optimum has at 0 or C; the point must be there as well."""
        statuses = self._stated.statuses
        if len(statuses) != len(self._point):
            raise CertificateError("statuses", f"are {len(statuses)} for {len(self._point)} coordinates")
        end = Fraction(self._problem.hinge.C)
        with self._arithmetic.working():
            reach = 2 * self._gap.abs_upper()
            for i, (status, slope) in enumerate(zip(statuses, self._slopes, strict=True)):
                doubt = ((self._rows[i][i] + self._omega).abs_upper() * reach).sqrt()
                proved = ZERO if slope > doubt else UNDECIDED
                if self._upper is not None and slope < -doubt:
                    proved = UPPER
                self._judge_end(i, status, proved, {ZERO: Fraction(0), UPPER: end})

    def _judge_end(self, i: int, status: str, proved: str, ends: dict[str, Fraction]) -> None:
        if status in ends and proved != status:
            raise CertificateError(f"statuses[{i}]", f"states {status!r}, but what is proved is {proved!r}")
        if status not in ends and proved in ends:
            raise CertificateError(f"statuses[{i}]", f"states {status!r}, but it is proved {proved!r}")
        if status in ends and self._rational[i] != ends[status]:
            raise CertificateError(
                f"alpha[{i}]", f"is {self._stated.alpha[i]}, but its status is {status!r}"
            )

    def uniqueness(self) -> None:
        """The matrix on the remaining coordinates, and with it the distance to the optimum."""
        stated = self._stated
        if stated.remaining != DEFINITE:
            for name in ("eigenvalue", "radius"):
                if getattr(stated, name):
                    raise CertificateError(name, f"is given, but remaining is {stated.remaining!r}")
            if stated.remaining == SINGULAR and not self._singular():
                raise CertificateError("remaining", "states 'singular', but that could not be proved")
            return
        least = Fraction(stated.eigenvalue or 0)
        if least <= 0:
            raise CertificateError("eigenvalue", f"is {stated.eigenvalue!r}, but it must be above 0")
        proved = self._eigenvalue(self._places(), least)
        if proved is not None and not least <= proved:
            raise CertificateError(
                "eigenvalue", f"states at least {stated.eigenvalue}, but what is proved is {shown(proved)}"
            )
        with self._arithmetic.working():
            square = 2 * self._gap.abs_upper() / self._arithmetic.from_fraction(least)
            must_bound("radius", stated.radius, square.sqrt())

    def interior(self) -> None:
        """Free coordinates: strictly inside the box by more than the radius."""
        stated, end = self._stated, Fraction(self._problem.hinge.C)
        for i, status in enumerate(stated.statuses):
            if status != FREE:
                continue
            if not stated.radius:
                raise CertificateError(f"statuses[{i}]", "states 'free', but no radius is proved")
            value, radius = self._rational[i], Fraction(stated.radius)
            if not (radius < value and (self._upper is None or value + radius < end)):
                raise CertificateError(
                    f"statuses[{i}]", f"states 'free', but {shown(value)} is within the radius of an end"
                )

    def _places(self) -> list[int]:
        return [i for i, status in enumerate(self._stated.statuses) if status in (FREE, UNDECIDED)]

    def _singular(self) -> bool:
        """More coordinates than the feature space has dimensions, or the same sample twice (omega = 0)."""
        problem, places = self._problem, self._places()
        dimensions = _dimensions(problem.kernel, problem.features)
        samples = {tuple(row) for row in problem.dense[places].tolist()}
        return self._upper is not None and (len(places) > dimensions or len(samples) < len(places))

    def _products(self) -> tuple[list[Any], Any]:
        """``Q a`` and half of ``a'Qa``."""
        matrix = require("flint", "exact").arb_mat
        column = matrix(len(self._point), 1, self._point)
        images = (matrix(self._full()) * column).entries()
        half = sum((x * image for x, image in zip(self._point, images, strict=True)), images[0] * 0) / 2
        return images, half

    def _full(self) -> list[list[Any]]:
        count = range(len(self._rows))
        return [[self._rows[max(i, j)][min(i, j)] for j in count] for i in count]

    def _eigenvalue(self, places: list[int], stated: Fraction) -> Fraction | None:
        """The first lower bound that reaches the one stated, else the best; None without coordinates."""
        shift = 1 / (2 * Fraction(self._problem.hinge.C)) if self._upper is None else Fraction(0)
        if not places or shift:
            return shift or None
        entries = [[self._rows[max(i, j)][min(i, j)] for j in places] for i in places]
        best = Fraction(0)
        for bound in eigenvalue_bounds(self._arithmetic, entries):
            best = max(best, bound)
            if stated <= best:
                break
        if best == 0:
            raise CertificateError("remaining", "states 'positive definite', but that could not be proved")
        return best


def _dimensions(kernel: Kernel, features: int) -> float:
    """Dimensions of the kernel's feature space; infinite where this module does not know better."""
    if isinstance(kernel, PolynomialKernel):
        factors = kernel.degree
        return math.comb(features + (1 if kernel.offset else 0) + factors - 1, factors)
    return features if kernel.linear else math.inf


def _signed_rows(problem: Problem, arithmetic: Balls, signs: list[int]) -> list[list[Any]]:
    """Entries of Q up to the diagonal."""
    rows = lower_rows(problem, arithmetic)
    with arithmetic.working():
        return [[x if signs[i] == signs[j] else -x for j, x in enumerate(row)] for i, row in rows]
