"""Schema version 2: validation of a results document that is read, and its text form."""

from __future__ import annotations

import json
import re
import types
import typing
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path

from sstep_verify.errors import InputError
from sstep_verify.reporting.case import status_of
from sstep_verify.reporting.results import SCHEMA, Results
from sstep_verify.verdict import Status, Term, Verdict

_SHORT_ARRAY = re.compile(r"\[\n\s*((?:(?:-?\d[\d.eE+-]*|null),?\s*)+)\]")


def dumps(results: Results) -> str:
    """The document as strict JSON text: sorted keys, no NaN or Infinity, one line per curve."""
    text = json.dumps(results.as_dict(), sort_keys=True, indent=1, allow_nan=False, ensure_ascii=False)
    return _SHORT_ARRAY.sub(lambda match: "[" + re.sub(r"\s+", " ", match[1]).strip() + "]", text) + "\n"


def loads(text: str, name: str = "results.json") -> Results:
    """Read a document from JSON text.

    Raises
    ------
    InputError
        If the text is not strict JSON, or has another schema version, or a field is missing,
        unknown or of the wrong type; the message names the field.
    """
    try:
        document = json.loads(text, parse_constant=_refuse_constant)
    except ValueError as error:
        raise InputError(f"{name} is not strict JSON: {error}") from error
    try:
        return parse(document)
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def load(path: str | Path) -> Results:
    """Read a ``results.json`` file; raises InputError as `loads`, or if it cannot be read."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    return loads(text, str(path))


def parse(document) -> Results:
    """Validate plain values against schema version 2 and build the document.

    Raises
    ------
    InputError
        As `loads`.
    """
    if not isinstance(document, dict) or "schema" not in document:
        raise InputError("not a results document: it has no field 'schema'")
    if document["schema"] != SCHEMA or isinstance(document["schema"], bool):
        raise InputError(
            f"the document has schema version {document['schema']!r}, but this version reads "
            f"schema {SCHEMA}; read it with the version of sstep-verify that wrote it"
        )
    return _value(document, Results, "document")


def check_consistency(results: Results) -> None:
    """Check what no single record can: unique ids, and verdicts that name known cases.

    Raises
    ------
    InputError
        As `Results`.
    """
    if results.schema != SCHEMA:
        raise InputError(f"schema = {results.schema!r}, but this version writes schema {SCHEMA}")
    known: set[str] = set()
    for case in results.cases:
        if case.id in known:
            raise InputError(f"two cases have the id {case.id!r}; ids must be unique")
        known.add(case.id)
    for run in results.stability.runs if results.stability else ():
        if run.case not in known:
            raise InputError(f"a stability run names the case {run.case!r}, which is not there")
    for row in results.certified.rows if results.certified else ():
        if row.case not in known:
            raise InputError(f"a certified row names the case {row.case!r}, which is not there")
    for position, verdict in enumerate(results.verdicts):
        _check_record(verdict, Verdict, f"verdicts[{position}]")
        if verdict["case"] not in known:
            raise InputError(f"verdicts[{position}] names the case {verdict['case']!r}, which is not there")
        for number, term in enumerate(verdict["terms"]):
            _check_record(term, Term, f"verdicts[{position}].terms[{number}]")


def _check_record(record: dict, kind: type, where: str) -> None:
    for name in (item.name for item in fields(kind)):
        if name not in record:
            raise InputError(f"{where}: the field {name!r} is missing")
    status_of(record["status"], where)


def _refuse_constant(name: str):
    raise ValueError(f"the value {name} is not allowed")


def _value(value, hint, where: str):
    """Check one value against a type hint and build what the hint asks for."""
    if is_dataclass(hint):
        return record(value, hint, where)
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        if value is None and type(None) in arguments:
            return None
        return _value(value, next(kind for kind in arguments if kind is not type(None)), where)
    if origin is tuple:
        _expect(value, list, where)
        kinds = arguments[:1] * len(value) if arguments[-1] is ... else arguments
        if len(kinds) != len(value):
            raise InputError(f"{where}: {len(value)} values, but {len(kinds)} are needed")
        return tuple(
            _value(item, kind, f"{where}[{k}]")
            for k, (item, kind) in enumerate(zip(value, kinds, strict=True))
        )
    if hint is Status:
        return Status(status_of(value, where))
    if hint is float:
        return _expect(value, (int, float), where)
    return _expect(value, origin or hint, where)


def record(value, kind, where: str):
    """Validate plain values against the fields of a record, parts included, and build it.

    Parameters
    ----------
    value : object
        A dict of plain values, as JSON holds them.
    kind : type
        The record, a dataclass.
    where : str
        Name of the place, for the error.

    Raises
    ------
    InputError
        If a field is missing, unknown or of the wrong type, or the record refuses a value.
    """
    _expect(value, dict, where)
    hints = typing.get_type_hints(kind)
    for name in value:
        if name not in hints:
            raise InputError(f"{where}: the field {name!r} is unknown in schema {SCHEMA}")
    for item in fields(kind):
        if item.name not in value and item.default is MISSING and item.default_factory is MISSING:
            raise InputError(f"{where}: the field {item.name!r} is missing")
    return kind(**{name: _value(item, hints[name], f"{where}.{name}") for name, item in value.items()})


def _expect(value, kind, where: str):
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        wanted = " or ".join(item.__name__ for item in kinds)
        raise InputError(f"{where}: {value!r} is not of type {wanted}")
    return value
