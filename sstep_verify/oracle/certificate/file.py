"""Certificates as JSON files: written whole or not at all, read with every field checked for its form."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from sstep_verify.errors import InputError
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

SCHEMA, VERSION = "sstep-verify/certificate", 1
MOST_EXPONENT = 10_000
_DECIMAL = re.compile(r"-?\d{1,20000}(\.\d{1,20000})?(e-?\d{1,5})?", re.ASCII)
_CHOICES = {"statuses": STATUSES, "remaining": MATRICES}
_TYPES = {"int": "an integer >= 0", "float": "a number", "dict[str, Any]": "an object"}
_MAY_BE_EMPTY = ("eigenvalue", "radius")


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


def decode(text: str) -> Certificate:
    """The certificate in a JSON text.

    Raises
    ------
    CertificateError
        If the text is not JSON, or a field is missing, unknown or malformed; the first one is named.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise CertificateError("file", f"is not whole JSON ({error}); make it again") from error
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise CertificateError("schema", f"is not {SCHEMA!r}; this is no certificate")
    if document.get("schema_version") != VERSION:
        raise CertificateError(
            "schema_version", f"is {document.get('schema_version')!r}, but this version reads {VERSION}"
        )
    found, stated = document_digest(document), document.get("digest")
    if stated != found:
        raise CertificateError("digest", f"says {stated}, but the file's content has {found}")
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
        If the file cannot be read.
    CertificateError
        If it is no well-formed certificate.
    """
    try:
        return decode(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); give a certificate's file") from error
    except UnicodeDecodeError as error:
        raise CertificateError("file", f"{path} is not text ({error.reason})") from error


def write_whole(path: str | Path, text: str) -> None:
    """Write a file under another name, then rename it: readers see the old file or the new one.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    path = Path(path)
    beside = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with open(beside, "x", encoding="utf-8") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        os.replace(beside, path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror}); choose another place") from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)


_FRAME = ("schema", "schema_version", "digest")


def _record(kind: type, values: Any, within: str) -> Any:
    """An instance of a dataclass of this schema from what JSON held."""
    if not isinstance(values, dict):
        raise CertificateError(within.rstrip("."), f"is {values!r:.60}, but it must be an object")
    names = [one.name for one in fields(kind)]
    for name in names:
        if name not in values:
            raise CertificateError(within + name, "is missing")
    for name in values:
        if name not in names:
            raise CertificateError(within + name, "is not a known field")
    return kind(**{one.name: _value(one.type, values[one.name], within + one.name) for one in fields(kind)})


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
    # Not more digits or a larger exponent than any certificate needs: a rational of it must be cheap.
    if not _DECIMAL.fullmatch(value) or abs(int(value.partition("e")[2] or 0)) > MOST_EXPONENT:
        raise CertificateError(name, f"is {value!r:.60}, but it must be a decimal number")
    return value
