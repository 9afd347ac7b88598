"""Cells of check, freedom, task and kernel: decided runs counted, empty ones with their reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from sstep_verify.checks.registry import CHECKS
from studies.coverage.design import Pair, all_pairs, design, pairs_of
from studies.coverage.freedoms import VALUES
from studies.coverage.requirements import left_for
from studies.reporting.sensitivity.alarms import AlarmOutcome
from studies.reporting.sensitivity.coverage import (
    CROSSED,
    Cells,
    CoverageDocument,
    CoverageRow,
    MirrorRow,
)

FREEDOMS = tuple(name for name in VALUES if name not in ("task", "kernel"))


def added(cells: Cells, pairs: Counter[str], row: Mapping[str, str], told: Mapping[str, float]) -> None:
    """Count a run: its row of freedoms, and the ratio of each check that decided it, infinite if failed."""
    for check, ratio in told.items():
        found = cells.setdefault(f"{check} {row['task']} {row['kernel']}", {})
        for name in FREEDOMS:
            key = f"{name}={row[name]}"
            decided, largest = found.get(key, (0, 0.0))
            found[key] = decided + 1, max(largest, ratio)
    if told:
        pairs.update(map(named, pairs_of(row)))


def named(pair: Pair) -> str:
    """A pair of values of two freedoms in words, as `added` counts it."""
    return ", ".join(f"{name} = {value or 'none'}" for name, value in pair)


def joined(parts: Iterable[Cells]) -> Cells:
    """The cells of several pieces together."""
    whole: Cells = {}
    for part in parts:
        for place, found in part.items():
            known = whole.setdefault(place, {})
            for key, (decided, largest) in found.items():
                before = known.get(key, (0, 0.0))
                known[key] = before[0] + decided, max(before[1], largest)
    return whole


def rows(cells: Cells) -> Iterator[CoverageRow]:
    """A row for every check and value of a freedom: decided runs, or a reason, of each task and kernel."""
    for check, name in product(CHECKS, FREEDOMS):
        for value in VALUES[name]:
            counts, largest, reasons = list[int](), 0.0, dict[str, str]()
            for place in CROSSED:
                task, kernel = place.split()
                decided, ratio = cells.get(f"{check} {place}", {}).get(f"{name}={value}", (0, 0.0))
                counts.append(decided)
                largest = max(largest, ratio)
                why = "" if decided else left_for(check, {name: value, "task": task, "kernel": kernel})[1]
                reasons |= {place: why} if why else {}
            yield CoverageRow(check, name, value, tuple(counts), largest, reasons)


def _unplanted(table: Iterable[CoverageRow], tried: Iterable[str]) -> Iterator[str]:
    """Checks and values of freedoms of which runs were decided, and none was made again with a defect."""
    made = {(name.partition(":")[0], name.rpartition(", ")[2]) for name in tried}
    for row in table:
        if sum(row.decided) and (row.check, f"{row.freedom} = {row.value}") not in made:
            yield f"{row.check}, {row.freedom} = {row.value or 'none'}"


def coverage(outcomes: Sequence[AlarmOutcome]) -> CoverageDocument | None:
    """The whole table, pairs of freedoms that met in no decided run, and defects made and refused."""
    cells, pairs = joined(one.cells for one in outcomes), set[str]().union(*(one.pairs for one in outcomes))
    tried = sum((Counter(one.planted) for one in outcomes), Counter[str]())
    refused = sum((Counter(one.refused) for one in outcomes), Counter[str]())
    if not pairs:
        return None
    table, apart = tuple(rows(cells)), design()[1]
    possible = [pair for pair in all_pairs() if pair not in apart]
    return CoverageDocument(
        pairs=len(possible),
        apart=len(apart),
        unmet=tuple(told for pair in possible if (told := named(pair)) not in pairs),
        mirror=tuple(MirrorRow(name, made, refused[name]) for name, made in sorted(tried.items())),
        rows=table,
        unplanted=tuple(_unplanted(table, tried)),
    )
