"""Rows of values in which every two values of two freedoms meet: a greedy pairwise covering design."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from itertools import combinations

import numpy as np

from studies.coverage.freedoms import VALUES
from studies.coverage.rules import Values, left_by

Value = tuple[str, str]
Pair = tuple[Value, Value]

TRIES = 4
"""Rows that are looked at for each that is taken."""


def all_pairs() -> list[Pair]:
    """Every two values of two freedoms."""
    values = [(name, value) for name, known in VALUES.items() for value in known]
    return [(one, other) for one, other in combinations(values, 2) if one[0] != other[0]]


def pairs_of(row: Mapping[str, str]) -> Iterable[Pair]:
    """The pairs that meet in a row."""
    return combinations([(name, row[name]) for name in VALUES], 2)


def drawn_row(
    generator: np.random.Generator, left: Values, wished: Mapping[str, str] | None = None
) -> dict[str, str]:
    """A row of values that are left by the rules: those wished where the others leave them, else drawn."""
    for name in generator.permutation(list(VALUES)).tolist():
        if len(left[name]) > 1:
            value = (wished or {}).get(name)
            place = left[name].index(value) if value in left[name] else generator.integers(len(left[name]))
            left, _ = left_by(left | {name: (left[name][int(place)],)})
    return {name: value for name, (value,) in left.items()}


@cache
def design() -> tuple[tuple[dict[str, str], ...], dict[Pair, str]]:
    """The rows, and the pairs that cannot meet with the reason.

    Each row is made for a pair that is still to be met; of some such rows that one is taken in which most
    pairs meet for the first time.
    """
    generator = np.random.Generator(np.random.PCG64(0))
    missing = dict.fromkeys(all_pairs())
    rows, apart = list[dict[str, str]](), dict[Pair, str]()
    while missing:
        pair = next(iter(missing))
        left, why = left_by(VALUES | {name: (value,) for name, value in pair})
        if why:
            apart[pair] = why
            del missing[pair]
            continue
        tried = [drawn_row(generator, left) for _ in range(TRIES)]
        best = max(tried, key=lambda row: sum(one in missing for one in pairs_of(row)))
        rows.append(best)
        for one in pairs_of(best):
            missing.pop(one, None)
    return tuple(rows), apart
