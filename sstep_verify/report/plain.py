"""Plain values: what JSON can hold, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import fields
from functools import cache, partial
from math import isfinite
from os import PathLike
from types import NoneType
from typing import Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from sstep_verify.errors import InputError

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")

DIGITS = 3
"""Significant digits of measured errors and of their factors: more would say nothing."""

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def plain(value, where: str = "value"):
    """Turn a value into None, bool, int, float, str, list and dict.

    A number that is infinite or undefined becomes None, since strict JSON has no word for it.
    Mappings keep their order; numpy scalars and arrays become Python numbers and lists. An InputError,
    which names the place `where`, says that there is no plain form.
    """
    if type(value) in (int, bool, NoneType) or (type(value) is float and isfinite(value)):
        return value
    try:
        return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_number_or_path))
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"{where}: {error}") from error


def _number_or_path(value):
    if hasattr(value, "tolist"):
        return value.tolist()
    if isinstance(value, PathLike):
        return str(value)
    raise TypeError(
        f"a {type(value).__name__} ({value!r:.60}) cannot be stored in a results document; "
        "turn it into numbers, text, lists or dicts"
    )


def finite(value, where: str = "value", digits: int | None = None) -> float | None:
    """A number as a float, to so many significant digits; None if it is missing, infinite or undefined."""
    if type(value) is not float:
        value = plain(value, where)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise InputError(f"{where}: {value!r} is not a number")
    if value is None or not isfinite(value):
        return None
    return float(value if digits is None else f"{value:.{digits}g}")


class Record:
    """A frozen dataclass whose values are made plain while it is built, as the types of its fields say.

    Numbers that are infinite or undefined become None, sequences become tuples, what is free becomes plain.
    With ``digits`` in the class statement every ``float | None`` is kept to so many significant digits.
    """

    _digits: ClassVar[int | None] = None

    def __init_subclass__(cls, digits: int | None = None):
        cls._digits = digits

    def __post_init__(self):
        name = f"{type(self).__name__.lower()} {next(iter(vars(self).values()))!s:.60}"
        kind: Any = type(self)
        for field, rule in _rules(kind):
            self._set(**{field: rule(getattr(self, field), f"{name}: {field}")})

    def _set(self, **values: Any) -> None:
        """Set fields while the record is being built."""
        for field, value in values.items():
            object.__setattr__(self, field, value)


Rule = Callable[[Any, str], Any]


@cache
def _rules(kind: Any) -> tuple[tuple[str, Rule], ...]:
    """How the fields of a record are made plain; those of text and of records stay."""
    hints = get_type_hints(kind)
    found = ((field.name, _rule(hints[field.name], kind._digits)) for field in fields(kind))
    return tuple((name, rule) for name, rule in found if rule)


def _rule(hint: Any, digits: int | None) -> Rule | None:
    parts = get_args(hint) or (hint,)
    if get_origin(hint) is tuple:
        one = _rule(parts[0], digits) or (lambda value, where: value)
        return lambda values, where: tuple(one(value, where) for value in values)
    if float in parts:
        return partial(finite, digits=digits if len(parts) > 1 else None)
    return plain if hint is dict or get_origin(hint) is dict or {int, bool} & {*parts} else None


def xml_text(text: str) -> str:
    """Replace characters that XML cannot hold (control characters, lone surrogates)."""
    return _NOT_XML.sub("\ufffd", text)


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Items by key, both in the order in which they are first met."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
