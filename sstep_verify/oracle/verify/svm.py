"""Proofs about a feasible point of a K-SVM; the theorems are those that `SvmCertificate` states.

With ``H = Q + omega I``, g(a) the gap of the point and a* any optimum: ``1/2 ||a - a*||_H^2 <= D* - D(a) <=
P(a) - D(a) = g(a)`` (concavity of the dual, weak duality), hence ``|(Ha - Ha*)_i| <= sqrt(2 H_ii g(a))``
(Cauchy and Schwarz in the H-seminorm). A sign of the gradient that this leaves no doubt of puts a*_i on
its end, whatever the active set. With a on those ends exactly, ``a - a*`` lives on the remaining
coordinates; if H has no eigenvalue below mu > 0 there (`definite`), the optimum is unique and
``||a - a*||_2 <= sqrt(2 g(a) / mu)``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from sstep_reference.arithmetic import Balls
from sstep_reference.inputs import svm_constants

from sstep_verify.oracle.verify.definite import eigenvalue_bounds
from sstep_verify.oracle.verify.kernel import (
    ProofKernel,
    ReferenceKernel,
    must_bound,
    must_have_digits,
    must_hold,
    point_of,
    present,
    shown,
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


class SvmProof:
    """What is proved of a K-SVM by one point of its box.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    decimals : sequence of m str
        The point (a).
    arithmetic : Balls
        Arithmetic of the proof: verifiers take that of `verifying_arithmetic`.
    kernel : ProofKernel, optional
        A maker's own; that of the reference if none is given, as in every proof that counts.

    Attributes
    ----------
    dual, primal, gap : ball
        Enclosures of D(a), P(a) and their difference; the optimal value is in the union of the first two.
    ends : tuple of m str
        "zero" or "upper" where every optimum is proved to be there, else "undecided".

    Raises
    ------
    CertificateError
        If the point is outside the box or has another number of coordinates than the data have samples.
    """

    def __init__(
        self,
        problem: Problem,
        decimals: Sequence[str],
        arithmetic: Balls,
        kernel: ProofKernel | None = None,
    ):
        self._problem, self._decimals = problem, decimals
        self._end = Fraction(problem.hinge.C)
        self._arithmetic = arithmetic
        point = point_of(problem, arithmetic, decimals)
        upper, omega = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)
        self._bounded = upper is not None
        self._rational = [Fraction(text) for text in decimals]
        self._must_be_in_the_box()
        signs = [int(label) for label in problem.targets]
        with arithmetic.working():
            signed = [sign * x for sign, x in zip(signs, point, strict=True)]
        # Only where omega = 0 are entries asked for again, for their smallest eigenvalue.
        self._kernel = kernel or ReferenceKernel(problem, arithmetic, keep=self._bounded)
        products, diagonal = self._kernel.image(signed)
        with arithmetic.working():
            zero, penalty = arithmetic.number(0), arithmetic.number(problem.hinge.C)
            images = [sign * value for sign, value in zip(signs, products, strict=True)]
            half = sum((x * image for x, image in zip(point, images, strict=True)), zero) / 2
            square = sum((x * x for x in point), zero)
            self.dual = sum(point, zero) - half - omega * square / 2
            losses = (arithmetic.clip(1 - image, zero, None) ** problem.hinge.power for image in images)
            self.primal = half + penalty * sum(losses, zero)
            self.gap = self.primal - self.dual
            slopes = [image + omega * x - 1 for image, x in zip(images, point, strict=True)]
            self.ends = self._ends([entry + omega for entry in diagonal], slopes)

    def _must_be_in_the_box(self) -> None:
        """Feasibility, decided in rationals."""
        for i, value in enumerate(self._rational):
            if value < 0 or (self._bounded and value > self._end):
                end = self._end if self._bounded else "infinity"
                raise CertificateError(f"alpha[{i}]", f"is {self._decimals[i]}, outside the box 0 .. {end}")

    def objective(self) -> Any:
        """Ball that holds the optimal value."""
        with self._arithmetic.working():
            return self.dual.union(self.primal)

    def relative_width(self) -> float:
        """Upper bound on ``(P(a) - D(a)) / D(a)``; infinite if D(a) is not proved positive."""
        with self._arithmetic.working():
            lower = self.dual.lower()
            width = float(((self.primal.upper() - lower) / lower).abs_upper()) if lower > 0 else math.inf
        return math.nextafter(width, math.inf) if width == width else math.inf

    def _ends(self, curvatures: list, slopes: list) -> tuple[str, ...]:
        """To be called inside `working()`."""
        statuses = []
        reach = 2 * self.gap.abs_upper()
        for curvature, slope in zip(curvatures, slopes, strict=True):
            doubt = (curvature.abs_upper() * reach).sqrt()
            at_upper = self._bounded and slope < -doubt
            statuses.append(ZERO if slope > doubt else UPPER if at_upper else UNDECIDED)
        return tuple(statuses)

    def eigenvalues(self, places: list[int], most: float = math.inf) -> Iterator[Fraction]:
        """Proved lower bounds, > 0, on the smallest eigenvalue of H on some coordinates.

        The cheapest comes first; for more coordinates than `most` it is the only one.
        """
        shift = Fraction(0) if self._bounded else 1 / (2 * self._end)
        if shift or not places:
            return iter((shift or Fraction(1),))
        # Q is diag(y) K diag(y), of the same eigenvalues as K.
        rows, count = self._kernel.lower(places), range(len(places))
        return eigenvalue_bounds(
            self._arithmetic, [[rows[max(i, j)][min(i, j)] for j in count] for i in count], most
        )

    def singular(self, places: list[int]) -> bool:
        """Whether there are more coordinates than dimensions, or the same sample twice (omega = 0)."""
        problem = self._problem
        data = present(problem)
        samples = {tuple(row) for row in data[places].tolist()}
        few = _dimensions(problem.kernel, data.shape[1])
        return self._bounded and (len(places) > few or len(samples) < len(places))

    def radius(self, eigenvalue: Fraction) -> Any:
        """Ball whose upper end bounds ``||a - a*||``, from a bound on the smallest eigenvalue."""
        with self._arithmetic.working():
            return (2 * self.gap.abs_upper() / self._arithmetic.from_fraction(eigenvalue)).sqrt()

    def inside(self, i: int, radius: Fraction) -> bool:
        """Whether a coordinate is farther than the radius from both ends of the box."""
        value = self._rational[i]
        return radius < value and (not self._bounded or value + radius < self._end)

    def at(self, i: int, status: str) -> bool:
        """Whether the point is on the end that a status names, or the status names none."""
        return self._rational[i] == {ZERO: Fraction(0), UPPER: self._end}.get(status, self._rational[i])

    def check(self, certificate: SvmCertificate) -> None:
        """Refuse a certificate about this point if a statement is not proved; weaker ones may stand.

        Raises
        ------
        CertificateError
            At the first field whose statement is not.
        """
        must_hold("dual", certificate.dual, self.dual)
        must_hold("primal", certificate.primal, self.primal)
        must_hold("gap", certificate.gap, self.gap)
        must_hold("objective", certificate.objective, self.objective())
        value = certificate.objective
        must_have_digits(certificate.digits, Fraction(value.radius), Fraction(value.middle))
        self._check_ends(certificate.statuses)
        self._check_uniqueness(certificate)
        for i, status in enumerate(certificate.statuses):
            if status != FREE:
                continue
            if not certificate.radius:
                raise CertificateError(f"statuses[{i}]", "states 'free', but no radius is proved")
            if not self.inside(i, Fraction(certificate.radius)):
                raise CertificateError(
                    f"statuses[{i}]",
                    f"states 'free', but {shown(self._rational[i])} is within the radius of an end",
                )

    def _check_ends(self, statuses: Sequence[str]) -> None:
        """Coordinates that every optimum has at 0 or C; the point must be there as well."""
        if len(statuses) != len(self._rational):
            raise CertificateError("statuses", f"are {len(statuses)} for {len(self._rational)} coordinates")
        for i, (status, proved) in enumerate(zip(statuses, self.ends, strict=True)):
            if status != proved and (status in (ZERO, UPPER) or (status == FREE and proved != UNDECIDED)):
                raise CertificateError(
                    f"statuses[{i}]", f"states {status!r}, but what is proved is {proved!r}"
                )
            if not self.at(i, status):
                fault = f"is {self._decimals[i]}, but its status is {status!r}"
                raise CertificateError(f"alpha[{i}]", fault)

    def _check_uniqueness(self, certificate: SvmCertificate) -> None:
        """The matrix on the remaining coordinates, and with it the distance to the optimum."""
        places = remaining_places(certificate.statuses)
        if certificate.remaining != DEFINITE:
            for name in ("eigenvalue", "radius"):
                if getattr(certificate, name):
                    raise CertificateError(name, f"is given, but remaining is {certificate.remaining!r}")
            if certificate.remaining == SINGULAR and not self.singular(places):
                raise CertificateError("remaining", "states 'singular', but that could not be proved")
            return
        lambda_min = Fraction(certificate.eigenvalue or 0)
        if lambda_min <= 0:
            raise CertificateError("eigenvalue", f"is {certificate.eigenvalue!r}, but it must be above 0")
        if places or not self._bounded:
            self._check_eigenvalue(places, lambda_min)
        must_bound("radius", certificate.radius, self.radius(lambda_min))

    def _check_eigenvalue(self, places: list[int], lambda_min: Fraction) -> None:
        best = Fraction(0)
        for bound in self.eigenvalues(places):
            best = max(best, bound)
            if lambda_min <= best:
                return
        if not best:
            raise CertificateError("remaining", "states 'positive definite', but that could not be proved")
        raise CertificateError(
            "eigenvalue", f"states at least {shown(lambda_min)}, but what is proved is {shown(best)}"
        )


def remaining_places(statuses: Sequence[str]) -> list[int]:
    """Coordinates that are not stated to be at an end in every optimum."""
    return [i for i, status in enumerate(statuses) if status in (FREE, UNDECIDED)]


def _dimensions(kernel: Kernel, features: int) -> float:
    """Dimensions of the kernel's feature space; infinite where this module does not know better."""
    if isinstance(kernel, PolynomialKernel):
        factors = kernel.degree
        return math.comb(features + (1 if kernel.offset else 0) + factors - 1, factors)
    return features if kernel.linear else math.inf
