"""The table of decided runs, by check, freedom, task and kernel: the runs that cells want, and their count.

Runs are drawn for each cell until it is covered, the rest of their freedoms wished as in rows of a greedy
design in which every two values of two freedoms meet. A number names a cell, and how often it was tried.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from itertools import combinations, product

import numpy as np

from sstep_verify.checks.registry import CHECKS
from studies.coverage.freedoms import CORE, CORES, VALUES
from studies.coverage.rules import Values, left_by, left_for
from studies.report.sensitivity.false_positives import (
    CROSSED,
    ENOUGH,
    Cells,
    CoverageDocument,
    CoverageRow,
    MirrorRow,
)

Pair = tuple[tuple[str, str], tuple[str, str]]
"""Two freedoms with a value each."""

TRIES = 1024
"""Runs that are drawn for one cell on one processor, at most."""

FREEDOMS = tuple(name for name in VALUES if name not in ("task", "kernel"))

AIMS = tuple((check, name, value) for check, name in product(CHECKS, FREEDOMS) for value in VALUES[name])
"""Cells of one task and kernel."""

STRIDE = len(AIMS) * TRIES
"""Numbers of the runs of one task and kernel."""

NONE = (0, 0.0)
"""Decided runs of a cell, and their largest ratio, where there is none."""


def all_pairs() -> list[Pair]:
    """Every two values of two freedoms."""
    values = [(name, value) for name, known in VALUES.items() for value in known]
    return [(one, other) for one, other in combinations(values, 2) if one[0] != other[0]]


def pairs_of(row: Mapping[str, str]) -> Iterable[Pair]:
    """The pairs that meet in a row."""
    return combinations([(name, row[name]) for name in VALUES], 2)


def named(pair: Pair) -> str:
    """A pair of values of two freedoms in words."""
    return ", ".join(f"{name} = {value or 'none'}" for name, value in pair)


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
    """The rows in which every two values of two freedoms meet, and the pairs that cannot with the reason.

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
        tried = [drawn_row(generator, left) for _ in range(4)]
        best = max(tried, key=lambda row: sum(one in missing for one in pairs_of(row)))
        rows.append(best)
        for one in pairs_of(best):
            missing.pop(one, None)
    return tuple(rows), apart


def wanted(number: int) -> tuple[str, Values, str]:
    """What the run of a number is for: the check that is to decide it, and what is left of each freedom.

    And why there is none of it on this processor; empty if there is.
    """
    place, (check, name, value) = CROSSED[number // STRIDE], AIMS[number % STRIDE // TRIES]
    task, kernel = place.split()
    given = {"task": task, "kernel": kernel, "processor": os.environ.get(CORE, "")}
    left, why = left_for(check, given | {name: value})
    return check, left, why if given.get(name, value) == value else "another processor"


def numbers(first: int, runs: int, cells: Cells) -> Iterator[int]:
    """Numbers of runs for cells of one task and kernel, as long as these lack decided ones.

    At most so many, from the number of the first cell's first run; to `cells`, the decided runs, each
    run is added before the next number is asked for.
    """
    # On each processor a fifth more than its part, for cells that one of them decides too seldom.
    share, tried, place = -(-6 * ENOUGH // (5 * len(CORES))), Counter[int](), CROSSED[first // STRIDE]
    left = np.random.Generator(np.random.PCG64(first)).permutation(len(AIMS)).tolist()
    while left and runs:
        cell = min(left, key=tried.__getitem__)
        check, name, value = AIMS[cell]
        enough = ENOUGH if name == "processor" else share
        decided, _ = cells.get(f"{check} {place} {name}={value}", NONE)
        if tried[cell] == TRIES or decided >= enough or wanted(first + cell * TRIES)[2]:
            left.remove(cell)
            continue
        yield first + cell * TRIES + tried[cell]
        tried[cell], runs = tried[cell] + 1, runs - 1


def count(cells: Cells, key: str, decided: int, largest: float) -> None:
    """Add decided runs, and their largest ratio, to a cell."""
    before = cells.get(key, NONE)
    cells[key] = before[0] + decided, max(before[1], largest)


def count_run(
    cells: Cells, pairs: dict[str, int], row: Mapping[str, str], told: Mapping[str, float]
) -> None:
    """Count a run: its row of freedoms, and the ratio of each check that decided it, infinite if failed."""
    for check, name in product(told, FREEDOMS):
        count(cells, f"{check} {row['task']} {row['kernel']} {name}={row[name]}", 1, told[check])
    for pair in pairs_of(row) if told else ():
        pairs[named(pair)] = pairs.get(named(pair), 0) + 1


def coverage(
    cells: Cells, pairs: Container[str], mirror: Mapping[str, Mapping[str, int]]
) -> CoverageDocument:
    """The whole table, pairs of freedoms that met in no decided run, defects as `MirrorRow` has them."""
    apart, rows = design()[1], list[CoverageRow]()
    for check, name, value in AIMS:
        found = [cells.get(f"{check} {place} {name}={value}", NONE) for place in CROSSED]
        reasons = {
            place: left_for(
                check, {name: value} | dict(zip(("task", "kernel"), place.split(), strict=True))
            )[1]
            for place, (runs, _) in zip(CROSSED, found, strict=True)
            if not runs
        }
        decided, largest = zip(*found, strict=True)
        known = {place: reason for place, reason in reasons.items() if reason}
        rows.append(CoverageRow(check, name, value, decided, max(largest), known))
    possible = [named(pair) for pair in all_pairs() if pair not in apart]
    planted = {(name.partition(":")[0], name.rpartition(", ")[2]) for name in mirror}
    return CoverageDocument(
        pairs=len(possible),
        apart=len(apart),
        unmet=tuple(pair for pair in possible if pair not in pairs),
        mirror=tuple(MirrorRow(name, **counted) for name, counted in sorted(mirror.items())),
        rows=tuple(rows),
        unplanted=tuple(
            f"{row.check}, {row.freedom} = {row.value or 'none'}"
            for row in rows
            if sum(row.decided) and (row.check, f"{row.freedom} = {row.value}") not in planted
        ),
    )
