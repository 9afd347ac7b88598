"""Certificates as JSON: written with a digest, read with every field checked for its form."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from sstep_verify.errors import InputError
from sstep_verify.files import read_whole
from sstep_verify.files.records import decode as strict_json
from sstep_verify.oracle.verify.record import (
    MATRICES,
    STATUSES,
    Certificate,
    CertificateError,
    Interval,
    RidgeCertificate,
    Subject,
    SvmCertificate,
)
from sstep_verify.problems import PolynomialKernel, Problem

SCHEMA, VERSION = "sstep-verify/certificate", 1
MOST_BYTES = 256 << 20
"""Largest file that is read: 32,561 samples with all digits that a proof may use have 160 MB."""

MOST_EXPONENT, MOST_DIGITS = 10_000, 4_000
"""Of a decimal number: the 8,192 bits that a proof may use give 2,467 digits; a rational of each number
must be cheap. Python itself refuses integers of more than 4,300."""

MOST_KERNEL_EXPONENT = 4_000
"""Of a kernel entry, as a power of ten: gap and bounds hold its square, and C and lambda with it."""

MOST_INTEGER = 2**63 - 1

_DECIMAL = re.compile(r"-?\d+(\.\d+)?(e-?\d{1,5})?", re.ASCII)
_CHOICES = {"statuses": STATUSES, "remaining": MATRICES}
_TYPES = {"int": "an integer >= 0", "float": "a number", "dict[str, Any]": "an object"}
_MAY_BE_EMPTY = ("eigenvalue", "radius")


def require_writable(problem: Problem) -> None:
    """Refuse, before any work, a problem whose kernel entries have more digits than a certificate holds.

    Raises
    ------
    InputError
        If a polynomial kernel of its degree goes beyond ``10**MOST_KERNEL_EXPONENT``, or below its
        reciprocal; the largest degree that does not is named.
    """
    kernel = problem.kernel
    data: Any = problem.data
    largest = float(abs(data).max())
    if not isinstance(kernel, PolynomialKernel) or not (largest or kernel.offset):
        return
    terms = [2 * math.log10(largest) + math.log10(problem.features)] if largest else []
    base = max([*terms, math.log10(kernel.offset)] if kernel.offset else terms)
    most = math.floor(MOST_KERNEL_EXPONENT / abs(base)) if base else math.inf
    if kernel.degree > most:
        raise InputError(
            f"{problem.label}: entries of this kernel have more than {MOST_KERNEL_EXPONENT} digits, the "
            f"most that a certificate holds; take a degree of at most {most}, or scale the data"
        )


def encode(certificate: Certificate) -> str:
    """A certificate as JSON, with a digest over everything else in it."""
    document: dict[str, Any] = {"schema": SCHEMA, "schema_version": VERSION, **asdict(certificate)}
    if not document["subject"]["bias"]:
        del document["subject"]["bias"]
    document["digest"] = document_digest(document)
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def document_digest(document: dict[str, Any]) -> str:
    """SHA-256 over the document without its digest, in JSON with sorted keys and no white space."""
    rest = {name: value for name, value in document.items() if name != "digest"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def decode(text: str | bytes) -> Certificate:
    """The certificate in a JSON text.

    Raises
    ------
    CertificateError
        If the text is not JSON, or a field is missing, unknown or malformed; the first one is named.
    """
    try:
        document = strict_json(text.encode() if isinstance(text, str) else text, "it")
    except (InputError, UnicodeEncodeError) as error:
        raise CertificateError("file", f"is not whole JSON ({error}); make it again") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise CertificateError("schema", f"is not {SCHEMA!r}; this is no certificate")
    if document.get("schema_version") != VERSION:
        raise CertificateError(
            "schema_version", f"is {document.get('schema_version')!r}, but this version reads {VERSION}"
        )
    actual, stated = document_digest(document), document.get("digest")
    if stated != actual:
        raise CertificateError("digest", f"says {stated}, but the file's content has {actual}")
    values = {name: value for name, value in document.items() if name not in _FRAME}
    subject = values.get("subject")
    if isinstance(subject, dict):
        values["subject"] = subject = {"bias": 0.0, **subject}
    ridge = isinstance(subject, dict) and subject.get("task") == "krr"
    return _record(RidgeCertificate if ridge else SvmCertificate, values, "")


def read_certificate(path: str | Path) -> Certificate:
    """Read a certificate.

    Raises
    ------
    InputError
        If the file cannot be read, is not a regular file or has more than `MOST_BYTES`.
    CertificateError
        If it is no well-formed certificate.
    """
    return decode(read_whole(path, MOST_BYTES, "a certificate"))


_FRAME = ("schema", "schema_version", "digest")


def _record(kind: type, values: Any, within: str) -> Any:
    """An instance of a dataclass of this schema from what JSON held."""
    if not isinstance(values, dict):
        raise CertificateError(within.rstrip("."), f"is {values!r:.60}, but it must be an object")
    kinds = {field.name: field.type for field in fields(kind)}
    for name in kinds:
        if name not in values:
            raise CertificateError(within + name, "is missing")
    for name in values:
        if name not in kinds:
            raise CertificateError(within + name, "is not a known field")
    return kind(**{name: _value(kinds[name], values[name], within + name) for name in kinds})


def _value(kind: Any, value: Any, name: str) -> Any:
    records = {"Interval": Interval, "Subject": Subject}
    if kind in records:
        return _record(records[kind], value, name + ".")
    if kind == "tuple[str, ...]":
        if not isinstance(value, list):
            raise CertificateError(name, f"is {value!r:.60}, but it must be a list")
        return tuple(_text(entry, f"{name}[{i}]", name) for i, entry in enumerate(value))
    if kind == "str":
        return _text(value, name, name)
    wanted: type = {"int": int, "float": float, "dict[str, Any]": dict}[kind]
    if type(value) is int and not abs(value) <= MOST_INTEGER:
        raise CertificateError(name, f"has {len(str(abs(value)))} digits, more than any that is meant")
    if kind == "float" and type(value) is int:
        value = float(value)
    if type(value) is not wanted or (type(value) is int and value < 0):
        raise CertificateError(name, f"is {value!r:.60}, but it must be {_TYPES[kind]}")
    return value


def _text(value: Any, name: str, owner: str) -> str:
    if not isinstance(value, str):
        raise CertificateError(name, f"is {value!r:.60}, but it must be a string")
    if owner in ("how", "subject.data", "subject.values_digest", "subject.task", "subject.kernel"):
        return value
    if owner in _CHOICES:
        if value not in _CHOICES[owner]:
            raise CertificateError(name, f"is {value!r:.60}; known: {', '.join(_CHOICES[owner])}")
        return value
    if value == "" and owner in _MAY_BE_EMPTY:
        return value
    number, _, exponent = value.partition("e")
    if len(number) > MOST_DIGITS:
        raise CertificateError(name, f"has {len(number)} digits, but at most {MOST_DIGITS} are needed")
    if not _DECIMAL.fullmatch(value) or abs(int(exponent or 0)) > MOST_EXPONENT:
        raise CertificateError(name, f"is {value!r:.60}, but it must be a decimal number")
    return value
