"""Ranges of the values in a campaign file, each with its reason; a value outside is refused in one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sstep_verify.campaign.toml_values import read_kernel
from sstep_verify.errors import InputError, closest
from sstep_verify.problems import Kernel
from sstep_verify.problems.kernels import LARGEST_DEGREE


@dataclass(frozen=True)
class Range:
    """Least and largest value of a key; `open` leaves out the least itself. `reason` says why no more."""

    least: float
    most: float = sys.float_info.max
    reason: str = ""
    open: bool = False


MANY = 1_000
"""Most values in one list of a campaign file."""

LONG = 10**12
"""Most iterations; at a million a second they take eleven days."""

WORDS = 2**53
"""Largest count: what float64 still counts exactly."""


def most_ranks() -> int:
    """Ranks that this machine can start at once: four a core, but sixteen in any case."""
    return max(16, 4 * (os.cpu_count() or 1))


def within(where: str, values: Mapping[str, Any], ranges: Mapping[str, Range]) -> None:
    """Raise InputError for the first number, or number of a list, that is out of its range.

    Parameters
    ----------
    where : str
        File and place.
    values : mapping
        By key; a key without a range is not looked at.
    ranges : mapping of str to Range
        By key.
    """
    for key, allowed in ranges.items():
        found = values.get(key, ())
        for value in found if isinstance(found, tuple | list) else (found,):
            low = value > allowed.least if allowed.open else value >= allowed.least
            if not (low and value <= allowed.most):
                raise InputError(f"{where}: {key} = {_short(value)}, but it must be {_words(allowed)}")


def _words(allowed: Range) -> str:
    sign = ">" if allowed.open else ">="
    if allowed.most == sys.float_info.max:
        return f"finite and {sign} {allowed.least:g}"
    return f"{sign} {allowed.least:g} and <= {allowed.most:,.16g}" + (
        f": {allowed.reason}" * bool(allowed.reason)
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:20]}... ({len(text)} digits)"


def refuse_lists(where: str, values: Mapping[str, Any]) -> None:
    """Raise InputError for a list that is empty, too long, or holds a value twice."""
    for key, found in values.items():
        if not isinstance(found, tuple | list):
            continue
        if not found:
            raise InputError(f"{where}: {key} is empty; name at least one value, or leave {key} out")
        if len(found) > MANY:
            raise InputError(
                f"{where}: {key} has {len(found)} values, but at most {MANY} are run: each is run on every "
                "problem of the table"
            )
        for place, value in enumerate(found):
            if value in found[:place]:
                raise InputError(f"{where}: {key} holds {_short(value)} twice")


def known(where: str, key: str, value: str, names: Any) -> None:
    """Raise InputError unless a value is one of some names."""
    if value not in names:
        raise InputError(
            f"{where}: {key} {value!r:.60} is unknown{closest(value, names)}; known: {', '.join(names)}"
        )


def kernel_of(table: Any, where: str) -> Kernel:
    """The kernel of a table, its parameters being numbers in their ranges; InputError if not."""
    if isinstance(table, dict):
        for key, kind in (("degree", int), ("offset", (int, float)), ("sigma", (int, float))):
            value = table.get(key, 0)
            if not isinstance(value, kind) or isinstance(value, bool):
                wanted = f"an integer from 2 to {LARGEST_DEGREE}" if kind is int else "a number"
                raise InputError(f"{where}: kernel {key} = {value!r:.60}, but it must be {wanted}")
    return read_kernel(table, where)
