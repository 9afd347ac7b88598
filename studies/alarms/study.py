"""The study of false alarms: runs of correct solvers on drawn problems, of which no check may fail any.

A bound is a theorem about every correct solver, so a FAIL here is an error in a derivation, or a solver
that is not correct after all. `units` cuts the study into pieces, `run` makes and judges one, `summary`
joins what they found. Each run depends on its group, the seed of the study and its number alone.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import BinaryIO

import msgspec
import numpy as np

from sstep_verify.checks.registry import CHECKS
from sstep_verify.inputs.records import convert, decode
from sstep_verify.verdict import Status, worst
from studies import search_path
from studies.alarms.comparisons import Judged
from studies.alarms.groups import GROUPS
from studies.alarms.tightness import tightness
from studies.coverage.cells import added, coverage
from studies.coverage.freedoms import CORE, CORES
from studies.reporting.sensitivity.alarms import (
    Alarm,
    AlarmOutcome,
    AlarmsDocument,
    AlarmUnit,
    Ratios,
    Shares,
    VariantCount,
)
from studies.reporting.sensitivity.coverage import CROSSED, Cells

DIGITS = 4
"""Digits of a ratio that are kept."""

FIELDS = {
    Status.PASS: "passed",
    Status.FAIL: "failed",
    Status.VACUOUS: "vacuous",
    Status.INCONCLUSIVE: "inconclusive",
}

BOUNDED = tuple(check.id for check in CHECKS.values() if check.bounds and not check.all_runs)
"""Checks with a derived bound: one of them decides a run that is counted."""

COUNTED = (*FIELDS.values(), "undecided", "absent")


def units(runs: int, seed: int, design: int = 0) -> list[AlarmUnit]:
    """The pieces of a study of about so many runs; where numbers overflow none is judged.

    With `design` so many runs, at most, for cells of the coverage table beside them, for all
    processors, tasks and kernels.
    """
    found = []
    for name, group in GROUPS.items():
        wanted = round(group.share * runs)
        for first in range(0, wanted, group.piece):
            found.append(AlarmUnit(name, seed, first, min(group.piece, wanted - first)))
        for place in range(len(CROSSED)) if design and not group.share else ():
            most = math.ceil(design / len(CORES) / len(CROSSED))
            found.append(AlarmUnit(name, seed, place * group.piece, most))
    return found


def again(unit: AlarmUnit) -> Judged:
    """The first run of a piece."""
    # A generator of its own for each run, so that one can be made again without those before it.
    entropy = (unit.seed, zlib.crc32(unit.group.encode()), unit.first)
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
    return GROUPS[unit.group].judged(generator, unit.first)


def run(unit: AlarmUnit) -> AlarmOutcome:
    """Make and judge the runs of a piece, in a process of its own where another processor is played."""
    if GROUPS[unit.group].core != os.environ.get(CORE, ""):
        return _elsewhere(unit)
    begin = time.perf_counter()
    cells: Cells = {}
    pairs, tried, refused = Counter[str](), Counter[str](), Counter[str]()
    counts = defaultdict[str, Counter[str]](Counter)
    alarms: list[Alarm] = []
    ratios = defaultdict[tuple[str, str, str, str, bool], list[tuple[float, int]]](list)
    parts = defaultdict[tuple[str, str, str], dict[str, list[float]]](lambda: defaultdict(list))
    for number in GROUPS[unit.group].chosen(unit.first, unit.runs, cells):
        one = AlarmUnit(unit.group, unit.seed, number, 1)
        judged = again(one)
        counts[judged.variant][_field(judged)] += 1
        alarms += _alarms(one, judged)
        if judged.row:
            added(cells, pairs, judged.row, judged.ratios)
        for name, found in judged.planted.items():
            keys = [name, *(f"{name}, {freedom} = {value}" for freedom, value in judged.row.items())]
            tried.update(keys)
            refused.update(keys if found else ())
        kind = judged.task, judged.kernel, judged.precision
        for told in judged.comparisons:
            settled = told.decided and told.status is not Status.INCONCLUSIVE
            if settled and math.isfinite(told.ratio):  # what is not replayed may exceed a screen's bound
                ratio = float(f"{told.ratio:.{DIGITS}g}")
                ratios[told.check, *kind, told.acted].append((ratio, told.length))
        for name, share in judged.shares.items():
            parts[kind][name].append(float(f"{share:.{DIGITS}g}"))
    return AlarmOutcome(
        unit,
        tuple(VariantCount(name, **counted) for name, counted in sorted(counts.items())),
        tuple(alarms),
        tuple(_ratios(key, found) for key, found in sorted(ratios.items())),
        tuple(
            Shares(*key, {name: tuple(found) for name, found in named.items()})
            for key, named in sorted(parts.items())
        ),
        time.perf_counter() - begin,
        cells,
        dict(pairs),
        dict(tried),
        dict(refused),
    )


def _elsewhere(unit: AlarmUnit) -> AlarmOutcome:
    """The runs of a piece, made in a process whose library multiplies matrices for another processor."""
    given = msgspec.json.encode(unit)
    code = f"import sys; from {__name__} import in_child; in_child(sys.stdin.buffer, sys.stdout.buffer)"
    environment = {name: value for name, value in os.environ.items() if name != CORE}
    environment |= {"PYTHONPATH": search_path()} | (
        {CORE: core} if (core := GROUPS[unit.group].core) else {}
    )
    made = subprocess.run([sys.executable, "-c", code], input=given, env=environment, stdout=-1, check=True)
    outcome: AlarmOutcome = convert(decode(made.stdout, unit.group), AlarmOutcome, unit.group)
    return outcome


def in_child(given: BinaryIO, answer: BinaryIO) -> None:
    """Make the piece that is read, and write what came of it."""
    answer.write(msgspec.json.encode(run(convert(decode(given.read(), "unit"), AlarmUnit, "unit"))))


def _field(judged: Judged) -> str:
    """The field of `VariantCount` that counts a run: what was decided, else the most severe verdict."""
    bounded = [one for one in judged.comparisons if one.check in BOUNDED]
    if any(one.status is Status.FAIL for one in judged.comparisons):
        return "failed"
    if any(one.status is Status.PASS for one in bounded):
        return "passed"
    if not judged.comparisons:
        return "absent"
    decided = any(one.decided for one in bounded)
    return FIELDS[worst({one.status for one in bounded})] if decided else "undecided"


def _alarms(unit: AlarmUnit, judged: Judged) -> list[Alarm]:
    failed = [one for one in judged.comparisons if one.status is Status.FAIL]
    return [Alarm(unit, judged.variant, judged.problem, one.check, one.reason) for one in failed]


def _ratios(key: tuple[str, str, str, str, bool], found: list[tuple[float, int]]) -> Ratios:
    lengths = tuple(length for _, length in found)
    return Ratios(*key, tuple(ratio for ratio, _ in found), lengths if all(lengths) else ())


def summary(outcomes: Sequence[AlarmOutcome]) -> AlarmsDocument:
    """What all pieces of a study say together."""
    counts = defaultdict[str, Counter[str]](Counter)
    for one in (one for outcome in outcomes for one in outcome.counts):
        counts[one.variant].update({name: getattr(one, name) for name in COUNTED})
    ratios = [one for outcome in outcomes for one in outcome.ratios]
    shares = [one for outcome in outcomes for one in outcome.shares]
    variants = tuple(VariantCount(name, **counted) for name, counted in sorted(counts.items()))
    made = sum(sum(counted.values()) for counted in counts.values())
    judged, failed = sum(one.judged for one in variants), sum(one.failed for one in variants)
    return AlarmsDocument(
        made,
        judged,
        failed,
        None,
        variants,
        tuple(one for outcome in outcomes for one in outcome.alarms),
        tightness(ratios, shares),
        coverage(outcomes),
    )
