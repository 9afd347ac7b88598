"""Proves a certificate again from the file and the data alone, by code of its own.

It uses the reference's kernels in balls and the description of the problem, nothing else: the search and
this code share no more. Every statement of a certificate is recomputed, with more bits than it was made
with, and must come out true. A statement that is true but weaker than it need be is accepted; that a file
is the one that was written is what its digest says.
"""

from __future__ import annotations

from typing import Any

from sstep_verify.errors import InputError
from sstep_verify.oracle.verify.kernel import verifying_arithmetic
from sstep_verify.oracle.verify.record import Certificate, CertificateError, RidgeCertificate
from sstep_verify.oracle.verify.ridge import RidgeProof
from sstep_verify.oracle.verify.svm import SvmProof
from sstep_verify.problems import Problem
from sstep_verify.problems.data.registry import values_digest


def verify_certificate(certificate: Certificate, data: Any, targets: Any) -> Problem:
    """Prove everything that a certificate states.

    Parameters
    ----------
    certificate : RidgeCertificate or SvmCertificate
        What is to be proved.
    data : ndarray or csr_array, shape (m, n)
        Samples by features (A).
    targets : ndarray, shape (m,)
        Labels -1 / +1 or real targets (y).

    Returns
    -------
    Problem
        The problem that the certificate is now known to be right about.

    Raises
    ------
    CertificateError
        If a statement is false or cannot be proved, or the data are others than those certified; the
        first field at fault is named.
    """
    subject = certificate.subject
    try:
        problem = subject.problem(data, targets)
    except InputError as error:
        raise CertificateError("subject", f"describes no problem over these data: {error}") from error
    for name, actual in (("samples", problem.samples), ("features", problem.features)):
        if getattr(subject, name) != actual:
            raise CertificateError(
                f"subject.{name}", f"states {getattr(subject, name)}, but the data have {actual}"
            )
    digest = values_digest(problem.data, problem.targets)
    if digest != subject.values_digest:
        raise CertificateError(
            "subject.values_digest", f"states {subject.values_digest}, but the data have {digest}"
        )
    if isinstance(certificate, RidgeCertificate) == problem.is_svm:
        raise CertificateError("subject.task", f"is {subject.task!r}, not that of the statements")
    arithmetic = verifying_arithmetic(certificate.bits)
    proof: Any = (SvmProof if problem.is_svm else RidgeProof)(problem, certificate.alpha, arithmetic)
    proof.check(certificate)
    return problem
