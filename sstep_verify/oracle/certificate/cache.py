"""Certificates kept on disk under the hash of what they answer: problem, digits and version of the method.

An entry is a whole certificate file, with its digest inside, put in place by a rename; so concurrent
writers do no harm, and what is cut short is not an answer. A digest can be written again by whoever edits
an entry, so it proves nothing: an entry is an answer only once all it states has been proved again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from sstep_verify import __version__
from sstep_verify.errors import InputError
from sstep_verify.files import write_text
from sstep_verify.files.homes import user_cache
from sstep_verify.oracle.certificate.file import VERSION, encode, read_certificate
from sstep_verify.oracle.verify.certificate import verify_certificate
from sstep_verify.oracle.verify.record import Certificate, CertificateError, subject_of
from sstep_verify.problems import Problem


def cache_folder() -> Path | None:
    """``$XDG_CACHE_HOME/sstep-verify``, or ``~/.cache/sstep-verify``; None where there is no home."""
    home = user_cache()
    return home / "sstep-verify" / "certificates" if home else None


def cache_path(problem: Problem, digits: int) -> Path | None:
    """File that holds the certificate of a problem to so many digits, if any does; None without a home."""
    if (folder := cache_folder()) is None:
        return None
    subject = subject_of(problem)
    content = repr((VERSION, __version__, subject, digits))
    return folder / f"{hashlib.sha256(content.encode()).hexdigest()}.json"


def proved(problem: Problem, digits: int) -> tuple[Certificate | None, str]:
    """Look a certificate up and prove every statement of it again from the problem's own data.

    Returns
    -------
    certificate : RidgeCertificate, SvmCertificate or None
        None if there is none that can be used; one that states anything false cannot.
    note : str
        Why an entry that is there could not be used; empty otherwise.
    """
    path = cache_path(problem, digits)
    try:
        if path is None or not path.exists():
            return None, ""
    except OSError as error:
        return None, f"the cache of certificates cannot be looked into: {path}: {error.strerror}"
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
    if path is None:
        return "the certificate was not kept in the cache: no home; name a folder in $XDG_CACHE_HOME"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, encode(certificate))
    except (OSError, InputError) as error:
        return f"the certificate was not kept in the cache: {error}"
    return ""
