"""The form of a statement in its file: strict JSON, with a digest of every field."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields
from typing import Any

from sstep_verify.campaign.statement.record import SCHEMA, Statement
from sstep_verify.errors import InputError
from sstep_verify.inputs.records import build, decode
from sstep_verify.reporting.plain import plain

MOST_BYTES = 16 << 20
"""Largest statement that is read; one of profile ci has 100 kB."""


def digests_of(values: dict[str, Any]) -> dict[str, str]:
    """SHA-256 of every field but `digests`, as JSON with sorted keys and no white space."""
    return {
        item.name: hashlib.sha256(
            json.dumps(values[item.name], sort_keys=True, separators=(",", ":")).encode()
        ).hexdigest()
        for item in fields(Statement)
        if item.name != "digests"
    }


def statement_text(statement: Statement) -> str:
    """The statement as strict JSON."""
    return json.dumps(plain(statement), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def statement_from(content: bytes, where: str) -> Statement:
    """Read a statement; its digests are not looked at.

    Raises
    ------
    InputError
        If it is not strict JSON, has another schema version, or a field is missing, unknown or unusable.
    """
    values = decode(content, where)
    if not isinstance(values, dict) or values.get("schema") != SCHEMA or values["schema"] is True:
        raise InputError(f"{where}: schema: is no statement of schema {SCHEMA}")
    return build(values, Statement, where)
