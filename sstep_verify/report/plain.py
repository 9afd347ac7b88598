"""Plain values, which are what JSON can hold and nothing else; numbers as text, for page and sentences."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable
from dataclasses import fields
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_UP, Context, Decimal
from functools import cache, partial
from os import PathLike
from types import NoneType
from typing import Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

from sstep_verify.errors import InputError
from sstep_verify.files.records import decode, encode

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")

DIGITS = 3
"""Significant digits of measured errors and of their factors: more would say nothing."""


def plain(value, where: str = "value"):
    """Turn a value into None, bool, int, float, str, list and dict.

    A number that is infinite or undefined becomes None, since strict JSON has no word for it.
    Mappings keep their order; numpy scalars and arrays become Python numbers and lists. An InputError,
    which names the place `where`, says that there is no plain form.
    """
    if type(value) in (int, bool, NoneType) or (type(value) is float and math.isfinite(value)):
        return value
    try:
        return decode(encode(value, _number_or_path), where)
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
    if value is None or not math.isfinite(value):
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


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Items by key, both in the order in which they are first met."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def short(value: float | None) -> str:
    """Three significant digits; a dash for what is not available."""
    return "–" if value is None else f"{value:.3g}".replace("inf", "∞")


def amount(value: float) -> str:
    """A positive number in three digits, of a large one all before the point: ``0.749``, ``5 600``."""
    return short(value) if value < 100 else count(round(value))


def count(value: int | None) -> str:
    """An integer with thin spaces between thousands."""
    return "–" if value is None else f"{value:,}".replace(",", "\u202f")


def ungrouped(words: str) -> str:
    """Words without the thin spaces of counts: a terminal shows plain digits, which scripts read."""
    return words.replace("\u202f", "")


def duration(seconds: float | None) -> str:
    """Seconds in words: ``0.31 s``, ``3 min 5 s``, ``2 h 10 min``."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def brief(value: float, digits: int = 2) -> str:
    """A number in few characters: ``1.3``, ``250``, ``3e4``, ``1e-5``."""
    return re.sub(r"e\+?(-?)0*(?=\d)", r"e\1", f"{value:.{digits}g}")


def rounded_up(value: float | None) -> float | None:
    """A number >= 0 to two significant digits, never smaller than it; None if there is no such number."""
    if value is None or not math.isfinite(value):
        return None
    return float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(Decimal(value)))


def promised(value: float | None) -> str:
    """The same as text, such as ``1.3e-12``; none where there is no such number."""
    up = rounded_up(value)
    return "none" if up is None else f"{up:.2g}"


def at_most(value: float, digits: int = 3) -> str:
    """A number >= 0 in a few significant digits, as text, never smaller than it."""
    return _toward(value, digits, ROUND_CEILING)


def at_least(value: float, digits: int = 3) -> str:
    """A number >= 0 in a few significant digits, as text, never larger than it."""
    return _toward(value, digits, ROUND_FLOOR)


def _toward(value: float, digits: int, rounding: str) -> str:
    """A number in a few significant digits: the nearest ones, if these are on the side asked for."""
    text = f"{value:.{digits}g}"
    above = float(text) >= value
    if not math.isfinite(value) or float(text) == value or above is (rounding == ROUND_CEILING):
        return text
    return f"{float(Context(prec=digits, rounding=rounding).create_decimal_from_float(value)):.{digits}g}"


def enclosed(low: float, high: float) -> str:
    """An interval as text, each end rounded away from the other: ``[7.6e-07, 7.8e-07]``."""
    down = Context(prec=2, rounding=ROUND_FLOOR).create_decimal(Decimal(low))
    up = Context(prec=2, rounding=ROUND_CEILING).create_decimal(Decimal(high))
    return f"[{float(down):.2g}, {float(up):.2g}]"


def shortened(text: str, digits: int = 3, rounding: str = ROUND_UP) -> str:
    """A decimal string rounded to so many significant digits; an empty one stays."""
    context = Context(prec=digits, rounding=rounding, Emin=-999_999, Emax=999_999)
    return text and str(context.create_decimal(text))
