"""Parameters of which a part is tried by day and the others in nightly runs."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import pytest


def some(values: Iterable, of: int, first: int = 0) -> list:
    """Values, or tuples of them, of which every `of`-th from the `first` on is tried by day."""
    return [
        pytest.param(
            *(value if isinstance(value, tuple) else (value,)),
            marks=[pytest.mark.nightly] * ((place - first) % of != 0),
        )
        for place, value in enumerate(values)
    ]


def crossed(*lists: Iterable, of: int, first: int = 0) -> list:
    """Every combination, of which one in `of` is tried by day: each value of a list, with some of each other."""
    places = product(*(list(enumerate(values)) for values in lists))
    return [
        pytest.param(
            *(value for _, value in combination),
            marks=[pytest.mark.nightly] * ((sum(place for place, _ in combination) - first) % of != 0),
        )
        for combination in places
    ]
