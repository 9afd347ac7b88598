"""Plain values: what JSON can hold, and nothing else."""

from __future__ import annotations

import re
from os import PathLike

import msgspec

from sstep_verify.errors import InputError

DIGITS = 3
"""Significant digits of measured errors and of their factors: more would say nothing."""

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def plain(value, where: str = "value"):
    """Turn a value into None, bool, int, float, str, list and dict.

    A number that is infinite or undefined becomes None, since strict JSON has no word for it.
    Mappings keep their order; numpy scalars and arrays become Python numbers and lists.

    Parameters
    ----------
    value : object
        What is to be stored.
    where : str
        Name of the place in the document, for the error.

    Raises
    ------
    InputError
        If the value (or a part of it) has no plain form, or a key is neither text nor a number.
    """
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


def finite(value, where: str = "value") -> float | None:
    """Turn a number into a float, or into None if it is missing, infinite or undefined."""
    value = plain(value, where)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{where}: {value!r} is not a number")
    return float(value)


def rounded(value: object, where: str) -> float | None:
    """A finite number in `DIGITS` significant digits; None for any other."""
    number = finite(value, where)
    return None if number is None else float(f"{number:.{DIGITS}g}")


def xml_text(text: str) -> str:
    """Replace characters that XML cannot hold (control characters, lone surrogates)."""
    return _NOT_XML.sub("\ufffd", text)
