"""Results documents as text: strict JSON of schema version 3, written, and read with each field checked."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import msgspec

from sstep_verify.errors import InputError
from sstep_verify.inputs import read_whole
from sstep_verify.inputs.records import build, convert, decode, strict
from sstep_verify.report.results import SCHEMA, STUDIED, VERDICT, Results, Stored, part_of

MOST_BYTES = 256 << 20
"""Largest document that is read; the largest of the shipped campaigns has 3 MB."""

DOCUMENT = strict(Results, {Stored: VERDICT})

_SHORT_ARRAY = re.compile(r"\[\n\s*((?:(?:-?\d[\d.eE+-]*|null),?\s*)+)\]")


def dumps(results: Results) -> str:
    """The document as strict JSON text: sorted keys, no NaN or Infinity, one line per curve."""
    text = json.dumps(results.as_dict(), sort_keys=True, indent=1, allow_nan=False, ensure_ascii=False)
    return _SHORT_ARRAY.sub(lambda match: "[" + re.sub(r"\s+", " ", match[1]).strip() + "]", text) + "\n"


def loads(text: str | bytes, name: str = "results.json") -> Results:
    """Read a document from JSON text.

    Raises
    ------
    InputError
        If the text is not strict JSON or is nested too deeply, or has another schema version, or a field is
        missing, unknown or of the wrong type; the message names the field.
    """
    document = decode(text.encode("utf-8", "replace") if isinstance(text, str) else text, name)
    if not isinstance(document, dict) or "schema" not in document:
        raise InputError(f"{name}: not a results document: it has no field 'schema'")
    if document["schema"] != SCHEMA or type(document["schema"]) is not int:
        raise InputError(
            f"{name}: the document has schema version {document['schema']!r}, but this version reads "
            f"schema {SCHEMA}; read it with the version of sstep-verify that wrote it"
        )
    parts = {part: document.pop(part) for part in STUDIED if part in document}
    studied = {part: build(value, part_of(part).RECORD, f"{name}: {part}") for part, value in parts.items()}
    return replace(
        convert(msgspec.to_builtins(convert(document, DOCUMENT, name)), Results, name), **studied
    )


def load(path: str | Path) -> Results:
    """Read a ``results.json`` file.

    Raises
    ------
    InputError
        As `loads`, or if it cannot be read, is not a regular file or has more than `MOST_BYTES`.
    """
    return loads(read_whole(path, MOST_BYTES, "a results document"), str(path))
