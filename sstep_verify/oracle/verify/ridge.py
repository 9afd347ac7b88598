"""Proofs about a point of a K-RR: a residual in balls, and that the exact system is >= m I.

With ``M = K/lambda + m I`` and ``r = y - M x``: ``||x - a*|| <= ||r|| / m``, K being positive semidefinite;
the gap of x is ``||r||^2 / (2m)``, and row i of ``M (x - a*) = -r`` bounds one coordinate by
``(|r_i| + ||K_i|| ||x - a*|| / lambda) / m``, with ``||K_i||^2 <= K_ii trace(K)`` since ``K_ij^2 <=
K_ii K_jj``.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sstep_reference.arithmetic import Balls

from sstep_verify.oracle.verify.kernel import (
    ProofKernel,
    ReferenceKernel,
    ball_ends,
    must_bound,
    must_have_digits,
    must_hold,
    point_of,
)
from sstep_verify.oracle.verify.record import CertificateError, RidgeCertificate
from sstep_verify.problems import Problem


class RidgeProof:
    """What is proved of a K-RR by one point.

    Parameters
    ----------
    problem : Problem
        A K-RR.
    decimals : sequence of m str
        The point (x).
    arithmetic : Balls
        Arithmetic of the proof: verifiers take that of `verifying_arithmetic`.
    kernel : ProofKernel, optional
        A maker's own; that of the reference if none is given, as in every proof that counts.

    Attributes
    ----------
    length, radius : ball
        Upper bounds on ``||y - M x||`` and on ``||x - a*||``.
    gap, objective, norm : ball
        Enclosures of the gap of x, of the optimal dual value, and of ``||x||``.

    Raises
    ------
    CertificateError
        If the point has another number of coordinates than the data have samples.
    """

    def __init__(
        self,
        problem: Problem,
        decimals: Sequence[str],
        arithmetic: Balls,
        kernel: ProofKernel | None = None,
    ):
        self._arithmetic, self._samples = arithmetic, problem.samples
        point = point_of(problem, arithmetic, decimals)
        image, diagonal = (kernel or ReferenceKernel(problem, arithmetic)).image(point)
        with arithmetic.working():
            zero, self._penalty = arithmetic.number(0), arithmetic.number(problem.ridge.penalty)
            targets = [arithmetic.number(y) for y in problem.targets.tolist()]
            pairs = zip(image, point, strict=True)
            whole = [value / self._penalty + self._samples * x for value, x in pairs]
            self._residual = [y - value for y, value in zip(targets, whole, strict=True)]
            self.length = sum((value.abs_upper() ** 2 for value in self._residual), zero).sqrt()
            self.radius = self.length / self._samples
            triples = zip(targets, whole, point, strict=True)
            dual = sum((x * (y - value / 2) for y, value, x in triples), zero)
            self.gap = sum((value * value for value in self._residual), zero) / (2 * self._samples)
            self.objective = dual.union(dual + self.gap)
            self.norm = sum((x * x for x in point), zero).sqrt()
            trace = sum(diagonal, zero)
            self._rows = [(entry * trace).sqrt() for entry in diagonal]

    def coordinate(self, i: int) -> Any:
        """Ball that bounds the error of one coordinate from above, at its upper end."""
        with self._arithmetic.working():
            row = self._residual[i].abs_upper() + self._rows[i] * self.radius / self._penalty
            return (row / self._samples).abs_upper().min(self.radius.abs_upper())

    def check(self, certificate: RidgeCertificate) -> None:
        """Refuse a certificate about this point if a statement is not proved.

        Raises
        ------
        CertificateError
            At the first field whose statement is not.
        """
        if len(certificate.radii) != self._samples:
            raise CertificateError("radii", f"are {len(certificate.radii)} for {self._samples} coordinates")
        must_bound("residual", certificate.residual, self.length)
        must_bound("radius", certificate.radius, self.radius)
        for i, stated in enumerate(certificate.radii):
            must_bound(f"radii[{i}]", stated, self.coordinate(i))
        must_hold("gap", certificate.gap, self.gap)
        must_hold("objective", certificate.objective, self.objective)
        must_have_digits(certificate.digits, Fraction(certificate.radius), ball_ends(self.norm)[0])
