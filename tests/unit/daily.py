"""Parameters of which a part is tried by day and the others in nightly runs.

In `THINNED` folders a part of the values of every test is left to the nights. Other choices stand with the
test: values whose order says what is tried by day.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from zlib import crc32

import pytest

THINNED = (
    "conformance", "faults", "meta", "parallel", "properties", "unit/bounds", "unit/campaign", "unit/checks",
    "unit/cli", "unit/oracle", "unit/parallel", "unit/solvers", "unit/training", "unit/vectors",
)  # fmt: skip
"""Folders whose tests take nearly all of the time."""

IN = 6
"""By day one in so many values is tried."""


def by_day(values: Iterable[str]) -> set[str]:
    """The ids of a test's values that are tried by day: one in `IN` by their checksums, and one at least.

    A checksum depends on no other value, nor on the order of the tests, and no pattern of crossed values
    follows it.
    """
    sums = {value: crc32(value.encode()) for value in values}
    return {value for value in sums if sums[value] % IN == 0} or {min(sums, key=lambda value: sums[value])}


def some(values: Iterable, of: int, first: int = 0) -> list:
    """Values, tuples of them or ``pytest.param``, of which every `of`-th from the `first` on is tried by day."""
    return [_given(value, (place - first) % of == 0) for place, value in enumerate(values)]


def _given(value, daily: bool):
    marks = [] if daily else [pytest.mark.nightly]
    if hasattr(value, "marks"):
        return pytest.param(*value.values, marks=[*value.marks, *marks], id=value.id)
    return pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=marks)


def crossed(*lists: Iterable, of: int, first: int = 0, flat: bool = False) -> list:
    """Every combination, of which one in `of` is tried by day: each value of a list, with some of each other.

    A tuple in a list is one value; where `flat`, its parts are values of parameters of their own.
    """
    places = product(*(list(enumerate(values)) for values in lists))
    return [
        pytest.param(
            *(
                part
                for _, value in combination
                for part in (value if flat and isinstance(value, tuple) else (value,))
            ),
            marks=[pytest.mark.nightly] * ((sum(place for place, _ in combination) - first) % of != 0),
        )
        for combination in places
    ]
