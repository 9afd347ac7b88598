"""Records in files: a strict type for each dataclass, values checked against it, and its JSON schema.

The dataclasses of this package know nothing of files. `strict` derives from one of them the type that its
record must have in a file: the same fields, no others, and no value that is turned into another type
("1" is not 1, true is not 1, 1.0 is not an integer). msgspec reads by these types and writes their schemas.
"""

from __future__ import annotations

import functools
import operator
import re
import tomllib
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from inspect import cleandoc
from typing import Any

import msgspec

from sstep_verify.errors import InputError, among, storable, visible

DRAFT = "https://json-schema.org/draft/2020-12/schema"

LONGEST_MESSAGE = 400

Record = typing.TypeVar("Record")

_AT = re.compile(r"(?P<fault>.*?) - at (?:`key` in )?`\$\.?(?P<place>.*)`", re.DOTALL)


def strict(hint: Any, instead: Mapping[Any, Any], tagged: bool = False) -> Any:
    """The type that values of a type hint have in a file; `instead` takes the place of hints in it.

    For a dataclass that is a `msgspec.Struct` of the same name that forbids unknown fields; its attribute
    ``stands_for`` is the dataclass. If `tagged`, a record names its dataclass, in the field ``record``, so
    that unions can be distinguished.
    """
    return _strict(hint, {object: Any, **instead}, tagged)


def _strict(hint: Any, known: dict[Any, Any], tagged: bool) -> Any:
    if hint in known:
        return known[hint]
    if is_dataclass(hint):
        known[hint] = _struct(hint, known, tagged)
        return known[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return functools.reduce(operator.or_, (_strict(part, known, tagged) for part in arguments))
    if origin in (None, typing.Literal, typing.Annotated):
        return hint
    parts = tuple(part if part is ... else _strict(part, known, tagged) for part in arguments)
    return (tuple if origin is tuple else dict)[parts]


@functools.cache
def hints_of(kind: Any, include_extras: bool = False) -> Mapping[str, Any]:
    """The type hints of a dataclass, evaluated once: at each table that takes longer than all else."""
    return types.MappingProxyType(typing.get_type_hints(kind, include_extras=include_extras))


def _struct(kind: Any, known: dict[Any, Any], tagged: bool) -> type[msgspec.Struct]:
    hints = hints_of(kind, include_extras=True)
    held: list[Any] = []
    for item in fields(kind):
        entry = (item.name, _strict(hints[item.name], known, tagged))
        if item.default is not MISSING:
            held.append((*entry, item.default))
        elif item.default_factory is not MISSING:
            held.append((*entry, msgspec.field(default_factory=item.default_factory)))
        else:
            held.append(entry)
    tag = {"tag_field": "record", "tag": kind.__name__} if tagged else {}
    about = {"__doc__": cleandoc(kind.__doc__ or "").partition("\n\n")[0], "stands_for": kind}
    return msgspec.defstruct(
        kind.__name__, held, namespace=about, forbid_unknown_fields=True, kw_only=True, **tag
    )


def with_field(kind: Any, name: str, hint: Any) -> Any:
    """A type of `strict` with one more required field, which its dataclass has not."""
    about = {"stands_for": kind.stands_for, "__doc__": kind.__doc__}
    more = [(name, hint)]
    return msgspec.defstruct(
        kind.__name__, more, bases=(kind,), namespace=about, forbid_unknown_fields=True, kw_only=True
    )


def encode(value: Any, enc_hook: Callable[[Any], Any] | None = None) -> bytes:
    """Strict JSON of a value; in text what is no character, as names of files may hold, is escaped."""
    try:
        return msgspec.json.encode(value, enc_hook=enc_hook)
    except UnicodeEncodeError:
        return msgspec.json.encode(_storable(msgspec.to_builtins(value, enc_hook=enc_hook)))


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {_storable(key): _storable(item) for key, item in value.items()}
    return [_storable(item) for item in value] if isinstance(value, (list, tuple)) else value


def decode(content: bytes, where: str) -> Any:
    """Plain values of strict JSON.

    InputError if it is none, or holds NaN, Infinity or a number beyond float64, or is nested too deeply.
    """
    try:
        return msgspec.json.decode(content)
    except RecursionError as error:
        raise InputError(f"{where} is nested too deeply to be one of ours") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{where} is not strict JSON: {error}") from error


def table_from(content: bytes | str, where: str, what: str) -> dict[str, Any]:
    """The table of a TOML text; InputError if it is none, or nested too deeply for `what`."""
    try:
        return tomllib.loads(content if isinstance(content, str) else content.decode("utf-8-sig"))
    except RecursionError as error:
        raise InputError(f"{where}: is nested too deeply for {what}") from error
    except ValueError as error:  # TOMLDecodeError, UnicodeDecodeError, integers of very many digits
        raise InputError(f"{where}: not a TOML file: {error}") from error


def convert(values: Any, kind: Any, where: str) -> Any:
    """Build a type from plain values of JSON or TOML, none of which is turned into another type.

    The `kind` is from `strict`, to refuse unknown fields, or a dataclass. InputError if a field is missing,
    unknown or of another type, or a record refuses its values; the message begins with `where`, and names
    the field, its value and what is expected.
    """
    try:
        return msgspec.convert(values, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise InputError(f"{where}: {one_line(_worded(str(error), values, kind))}") from error
    except RecursionError as error:
        raise InputError(f"{where}: is nested too deeply to be one of ours") from error


def build(values: Any, kind: type[Record], where: str) -> Record:
    """The same of a dataclass, which refuses fields that it has not."""
    convert(values, strict(kind, {}), where)
    record: Record = convert(values, kind, where)
    return record


def json_schema(kind: Any, name: str, version: int) -> dict[str, Any]:
    """JSON schema of a type; its ``$id`` holds name and version of the form."""
    identifier = f"urn:sstep-verify:schema:{name}:{version}"
    return {"$schema": DRAFT, "$id": identifier, **msgspec.json.schema(kind)}


def one_line(message: str) -> str:
    """A message that quotes what a file holds, cut to a length that can be read and with no line breaks."""
    whole = message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}..."
    return visible(whole)


def _worded(message: str, values: Any, kind: Any) -> str:
    """A message of msgspec, place first, with the value that stands there."""
    parts = _AT.fullmatch(message)
    fault, place = (parts["fault"], parts["place"]) if parts else (message, "")
    hint = _hint_at(kind, place)
    if fault.startswith("Object contains unknown field"):
        known = [item.name for item in fields(hint)] if is_dataclass(hint) else []
        fault = fault.replace("Object contains", "").strip() + among(fault.split("`")[1], known)
    fault = fault.replace("Object missing required field", "missing field")
    if fault.startswith(("Expected", "Invalid", "Number")):
        literal = typing.get_origin(hint) is typing.Literal
        known = [str(value) for value in typing.get_args(hint)] if literal else []
        value, preface = _at(values, place)
        fault = f"{preface}{fault[0].lower()}{fault[1:]}{among(value, known)}"
    return f"{place}: {fault}" if place else fault


def _hint_at(kind: Any, place: str) -> Any:
    """The type hint of a place in a record, as a dataclass where it is one; None if none is found."""
    try:
        for step in ("", *filter(None, place.split("."))):
            kind = typing.get_type_hints(getattr(kind, "stands_for", kind))[step] if step else kind
            if typing.get_origin(kind) in (types.UnionType, typing.Union):
                options = [option for option in typing.get_args(kind) if option is not type(None)]
                kind = options[0] if len(options) == 1 else kind
    except (TypeError, NameError, KeyError):
        return None
    return getattr(kind, "stands_for", kind)


def _at(values: Any, place: str) -> tuple[Any, str]:
    """The value at a place such as ``cases[0].samples``, and what is said of it; nothing if none is."""
    for key, number in re.findall(r"([^.\[\]]+)|\[(\d+)\]", place.replace("[...]", "[0].?")):
        try:
            values = values[int(number)] if number else values[key]
        except (LookupError, TypeError):
            return None, ""
    try:
        return values, f"{values!r:.60} is rejected: "
    except ValueError:  # an integer of more digits than Python prints
        return values, "a number of thousands of digits is rejected: "
