"""Certificates: what is proved of an optimum, in decimal strings, as typed values and as files.

A certificate makes statements about the exact optimum of the problem whose data, targets and parameters
are the float64 numbers given. Whoever holds the data can prove every one of them again
(`sstep_verify.oracle.verify.certificate`); how the optimum was searched for does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sstep_verify.errors import SstepVerifyError
from sstep_verify.problems import Problem
from sstep_verify.problems.data.registry import values_digest
from sstep_verify.problems.kernels import kernel_from
from sstep_verify.problems.losses import loss_from
from sstep_verify.problems.transforms import require_usable, with_constant_feature

ZERO, UPPER, FREE, UNDECIDED = "zero", "upper", "free", "undecided"
STATUSES = (ZERO, UPPER, FREE, UNDECIDED)
DEFINITE, SINGULAR = "positive definite", "singular"
MATRICES = (DEFINITE, SINGULAR, UNDECIDED)


class CertificateError(SstepVerifyError):
    """A certificate that is refused; the message names the field and both values.

    Parameters
    ----------
    field_name : str
        Field at fault, such as ``alpha[3]``.
    fault : str
        What is wrong with it.
    """

    def __init__(self, field_name: str, fault: str):
        super().__init__(f"certificate refused: {field_name}: {fault}")
        self.field_name = field_name


@dataclass(frozen=True)
class Interval:
    """The numbers from ``middle - radius`` to ``middle + radius``, in decimal strings."""

    middle: str
    radius: str

    @property
    def lower(self) -> Fraction:
        """Lower end."""
        return Fraction(self.middle) - Fraction(self.radius)

    @property
    def upper(self) -> Fraction:
        """Upper end."""
        return Fraction(self.middle) + Fraction(self.radius)


@dataclass(frozen=True)
class Subject:
    """The problem a certificate speaks of.

    Parameters
    ----------
    data : str
        Name of the data set or file.
    samples, features : int
        Shape of the data (m, n), a constant feature included.
    values_digest : str
        `problems.data.registry.values_digest` of data and targets, a constant feature included.
    task : {"krr", "svm-l1", "svm-l2"}
        Task.
    parameter : float
        lambda of K-RR or C of K-SVM; this float64 number exactly.
    kernel : {"linear", "polynomial", "rbf"}
        Kernel.
    degree : int
    offset, sigma : float
        Parameters of the kernel; those it does not use have their default values.
    bias : float
        Value of the constant feature appended to the data; 0 if none is. See `problems.transforms`.
    """

    data: str
    samples: int
    features: int
    values_digest: str
    task: str
    parameter: float
    kernel: str
    degree: int = 3
    offset: float = 0.0
    sigma: float = 1.0
    bias: float = 0.0

    def problem(self, data: Any, targets: Any) -> Problem:
        """The problem over data and targets (m,); whether they are the right ones is not checked.

        The data come without the constant feature.
        """
        kernel = kernel_from(self.kernel, degree=self.degree, offset=self.offset, sigma=self.sigma)
        loss = loss_from(self.task, self.parameter)
        require_usable(self.bias, kernel)
        return Problem(self.data, with_constant_feature(data, self.bias), targets, kernel, loss)


def subject_of(problem: Problem) -> Subject:
    """Describe a problem."""
    kernel = problem.kernel
    used = {name: getattr(kernel, name) for name in ("degree", "offset", "sigma") if hasattr(kernel, name)}
    return Subject(
        data=problem.name,
        samples=problem.samples,
        features=problem.features,
        values_digest=values_digest(problem.data, problem.targets),
        task=problem.loss.task,
        parameter=problem.loss.parameter,
        kernel=kernel.name,
        **used,
    )


@dataclass(frozen=True)
class RidgeCertificate:
    """What is proved of the solution a* of a K-RR, ``(K/lambda + m I) a* = y``.

    Parameters
    ----------
    subject : Subject
        The problem.
    digits : int
        ``radius <= 10**-digits ||alpha||``; 0 states nothing.
    bits : int
        Precision of the balls it was proved with.
    alpha : tuple of str
        The point, m decimals.
    radius : str
        ``||alpha - a*||_2 <= radius``.
    radii : tuple of str
        ``|alpha_i - a*_i| <= radii_i``.
    residual : str
        ``||y - M alpha||_2 <= residual`` (M the exact matrix).
    objective : Interval
        Holds the optimal dual value ``y'a* - 1/2 a*'M a*``.
    gap : Interval
        Holds the duality gap of alpha, ``||y - M alpha||^2 / (2m)``.
    how : str
        How it was found.
    provenance : dict
        See `sstep_verify.provenance.collect`.
    """

    subject: Subject
    digits: int
    bits: int
    alpha: tuple[str, ...]
    radius: str
    radii: tuple[str, ...]
    residual: str
    objective: Interval
    gap: Interval
    how: str
    provenance: dict[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class SvmCertificate:
    """What is proved of the optimum of a K-SVM.

    Parameters
    ----------
    subject : Subject
        The problem.
    digits : int
        ``objective.radius <= 10**-digits objective.middle``; 0 states nothing.
    bits : int
        Precision of the balls it was proved with.
    alpha : tuple of str
        A point exactly in the box, m decimals.
    statuses : tuple of str
        Per coordinate: "zero" (0 in every optimum, its multiplier is positive), "upper" (likewise C),
        "free" (strictly between them in the unique optimum), "undecided".
    objective : Interval
        Holds the optimal value ``D* = P*``.
    dual, primal, gap : Interval
        Hold ``D(alpha)``, ``P(alpha)`` and their difference.
    remaining : {"positive definite", "singular", "undecided"}
        ``Q + omega I`` on the coordinates that are neither "zero" nor "upper": positive definite proves
        that the optimum is unique; singular leaves it open.
    eigenvalue : str
        Proved lower bound, > 0, on the eigenvalues of that matrix; empty unless it is positive definite.
    radius : str
        ``||alpha - a*||_2 <= radius``; empty unless the optimum is proved unique.
    how : str
        How it was found.
    provenance : dict
        See `sstep_verify.provenance.collect`.
    """

    subject: Subject
    digits: int
    bits: int
    alpha: tuple[str, ...]
    statuses: tuple[str, ...]
    objective: Interval
    dual: Interval
    primal: Interval
    gap: Interval
    remaining: str
    eigenvalue: str
    radius: str
    how: str
    provenance: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def unique(self) -> bool:
        """Whether the optimum is proved unique."""
        return self.remaining == DEFINITE

    @property
    def support(self) -> tuple[int, ...]:
        """Coordinates not proved zero, from 0."""
        return tuple(i for i, status in enumerate(self.statuses) if status != ZERO)


Certificate = RidgeCertificate | SvmCertificate
