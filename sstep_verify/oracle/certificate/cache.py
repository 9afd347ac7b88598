"""Certificates kept on disk under the hash of what they answer: problem, digits and version of the method.

An entry is a whole certificate file, with its digest inside, put in place by a rename; so concurrent
writers do no harm, and what is cut short is not an answer. A digest can be written anew by whoever edits
an entry, so it proves nothing: an entry is an answer only once all it states has been proved anew.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from sstep_verify import __version__
from sstep_verify.errors import InputError
from sstep_verify.files import write_text
from sstep_verify.oracle.certificate.file import VERSION, encode, read_certificate
from sstep_verify.oracle.verify.certificate import verify_certificate
from sstep_verify.oracle.verify.record import Certificate, CertificateError, subject_of
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
