"""Plain values: what JSON can hold, and nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from enum import Enum
from os import PathLike

from sstep_verify.errors import InputError

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
        If the value (or a part of it) has no plain form, or a key is no string.
    """
    if isinstance(value, Enum):
        return plain(value.value, where)
    if value is None or isinstance(value, (bool, str)):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {_key(key, where): plain(item, f"{where}.{key}") for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, f"{where}[{position}]") for position, item in enumerate(value)]
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value), where)
    if isinstance(value, PathLike):
        return str(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist(), where)
    raise InputError(
        f"{where}: a {type(value).__name__} ({value!r}) cannot be stored in a results document; "
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


def xml_text(text: str) -> str:
    """Replace characters that XML cannot hold (control characters, lone surrogates)."""
    return _NOT_XML.sub("\ufffd", text)


def _key(key, where: str) -> str:
    key = plain(key, where)
    if not isinstance(key, str):
        raise InputError(f"{where}: the key {key!r} is not text; JSON has text keys only")
    return key
