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
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import msgspec
import numpy as np

from sstep_verify.bounds.step.clip import clip_constants
from sstep_verify.bounds.step.residual import solve_constants
from sstep_verify.checks import (
    sstep_equals_classical,
    step_replay,
    trajectory,
    window_replay,
)
from sstep_verify.checks.recorded import kernel_entries, residual_gap
from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.shared.case import Case
from sstep_verify.files.records import convert, decode
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.verdict import Status, worst
from studies import search_path
from studies.coverage.freedoms import CORE, CORES
from studies.coverage.table import count, count_run, coverage, numbers
from studies.false_positives.groups import GROUPS, Judged, decided
from studies.report.sensitivity.false_positives import (
    CROSSED,
    Alarm,
    AlarmsDocument,
    AlarmUnit,
    Cells,
    TightnessRow,
    VariantCount,
)

ADDED_UP = (trajectory.ID, sstep_equals_classical.ID, residual_gap.ID)
"""Checks whose bound adds up what all steps of a run may err by, or carries it along."""

WANTED = 0.02
"""Median of the ratio times the length of the longest sum below which a sharper derivation is wanted.

An error bound of a sum of k terms grows with k; errors that add up like a random walk with its square root,
so that ratios fall as k grows without a fault of the derivation. Runs in which no quantity of a step acts,
many of them without any rounding, are left out.
"""

BOUNDED = tuple(check.id for check in CHECKS.values() if check.bounds and not check.all_runs)
"""Checks with a derived bound: one of them decides a run that is counted."""


@dataclass(frozen=True)
class AlarmOutcome:
    """What a run, a piece or all of the study found.

    Runs are counted by solver and field of `VariantCount`; decided ones in cells of check, task, kernel and
    value of a freedom, and by pair of values of two freedoms; those with a defect by check, defect and
    value of a freedom, made and refused ones as `MirrorRow` has them.

    Of each verdict with a finite bound there are, by check, task, kernel and precision, measured / bound;
    the roundings of the longest sum in the bound, 0 where it is no single sum's; and whether an error in
    every core quantity of a step would have shown (PASS, not VACUOUS). Of the others many have no rounding
    at all, such as runs whose every step is clipped. Shares of the bounds of the worst steps of some runs
    stand by task, kernel and precision, then by part.
    """

    alarms: list[Alarm] = field(default_factory=list)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    ratios: dict[str, list[tuple[float, int, bool]]] = field(default_factory=dict)
    shares: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    cells: Cells = field(default_factory=dict)
    pairs: dict[str, int] = field(default_factory=dict)
    planted: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, found: AlarmOutcome) -> None:
        """Count what another one found here as well."""
        self.alarms.extend(found.alarms)
        for key, cell in found.cells.items():
            count(self.cells, key, *cell)
        for name in ("counts", "ratios", "shares", "pairs", "planted"):
            _merge(getattr(self, name), getattr(found, name))


def _merge(held: dict[str, Any], found: dict[str, Any]) -> None:
    """Add numbers, or lists, to those that are held by the same names."""
    for key, value in found.items():
        if isinstance(value, dict):
            _merge(held.setdefault(key, {}), value)
        else:
            held[key] = held[key] + value if key in held else value


def units(runs: int, seed: int, design: int = 0) -> list[AlarmUnit]:
    """The pieces of a study of about so many runs; where numbers overflow none is judged.

    With `design` so many runs, at most, for cells of the coverage table besides them, for all
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
    group, outcome = GROUPS[unit.group], AlarmOutcome()
    if group.core != os.environ.get(CORE, ""):
        return _elsewhere(unit)
    every = range(unit.first, unit.first + unit.runs)
    for number in every if group.share else numbers(unit.first, unit.runs, outcome.cells):
        one = AlarmUnit(unit.group, unit.seed, number, 1)
        outcome.add(counted(one, again(one)))
    return outcome


def counted(unit: AlarmUnit, judged: Judged) -> AlarmOutcome:
    """What one run found."""
    outcome = AlarmOutcome(counts={judged.variant: {_field(judged): 1}})
    count_run(outcome.cells, outcome.pairs, judged.row, judged.ratios)
    for name, found in judged.planted.items():
        keys = [name, *(f"{name}, {freedom} = {value}" for freedom, value in judged.row.items())]
        outcome.planted.update((key, {"made": 1, "refused": int(found)}) for key in keys)
    kind = " ".join(judged.row.get(name, "") for name in ("task", "kernel", "precision"))
    for verdict in judged.verdicts:
        if verdict.status is Status.FAIL:
            outcome.alarms.append(
                Alarm(unit, judged.variant, judged.problem, verdict.check, verdict.reason)
            )
        settled = decided(verdict) and verdict.status is not Status.INCONCLUSIVE
        # What is not replayed may exceed a screen's bound.
        if judged.case and settled and math.isfinite(verdict.ratio):
            length, acted = longest_sum(verdict.check, judged.case), verdict.status is Status.PASS
            held = outcome.ratios.setdefault(f"{verdict.check} {kind}", [])
            held.append((_short(verdict.ratio), length, acted))
    if judged.shares:
        outcome.shares[kind] = {name: [_short(share)] for name, share in judged.shares.items()}
    return outcome


def longest_sum(check: str, case: Case) -> int:
    """Roundings of a term of the longest sum in a check's bound; 0 where its bound is no single sum's.

    Of a step or window: that of a kernel row's product with a and the corrections, read back from the
    bound's own constant, or the judge's where that is longer and the solver no coarser; of a kernel entry,
    that over the features.
    """
    problem, declared = case.problem, case.declaration
    entries = problem.features
    if check == kernel_entries.ID:
        return entries
    if check not in (step_replay.ID, window_replay.ID, *ADDED_UP):
        return 0
    samples, width = problem.samples, min(case.s_values[0], max(case.iterations, 1))
    if problem.is_svm:
        sums = clip_constants(declared, samples, samples, width, problem.dual, judge=False).sums
    else:
        sums = solve_constants(declared, samples, samples, width, case.stream.block, 1.0, judge=False).sums
    # gamma_k = k u / (1 - k u), solved for k.
    solver = round(sums.longest / ((1.0 + sums.longest) * unit_roundoff(declared.precision)))
    # Roundings of the judge's own product with a, besides one a sample (bounds/step/clip.py).
    judge = samples + 7 if declared.precision == "float64" and check == step_replay.ID else 0
    return max(solver, judge, entries)


def tightness_row(
    of: str, found: Sequence[tuple[float, int, bool]], shares: Mapping[str, Sequence[float]]
) -> TightnessRow:
    """The row of a check, task, kernel and precision, with a space between them.

    Of each verdict there is its ratio, the roundings of the longest sum in its bound, and whether all
    quantities of a step acted; of some bounds the shares of their parts.
    """
    ratios = np.array([ratio for ratio, _, _ in found])
    acted, lengths = (np.array([one[place] for one in found if one[2]]) for place in (0, 1))
    single = lengths.size > 0 and bool(lengths.all())
    product = float(np.median(acted * lengths)) if single else None
    medians = {name: float(np.median(held)) for name, held in shares.items()}
    largest = max(medians, key=lambda name: medians[name], default="")
    dominates = f"{largest}, {medians[largest]:.0%}" if largest else ""
    quantiles: Any = {
        name: float(np.quantile(acted, part)) if acted.size else None
        for name, part in {
            "least": 0.0,
            "lower": 0.25,
            "median": 0.5,
            "upper": 0.75,
            "ninety_ninth": 0.99,
        }.items()
    }
    check, task, kernel, precision = of.split()
    # Of fewer than 20 verdicts a median says too little.
    return TightnessRow(
        *(check, task, kernel, precision),
        runs=ratios.size,
        acted=acted.size,
        **quantiles,
        most=float(ratios.max()),
        length=float(np.median(lengths)) if single else None,
        product=product,
        wanted=product is not None and acted.size >= 20 and product < WANTED,
        dominates="the errors of all steps, added up" if check in ADDED_UP else dominates,
    )


def _short(ratio: float) -> float:
    return float(f"{ratio:.4g}")


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
    bounded = [one for one in judged.verdicts if one.check in BOUNDED]
    if any(one.status is Status.FAIL for one in judged.verdicts):
        return "failed"
    if any(one.status is Status.PASS for one in bounded):
        return "passed"
    if not judged.verdicts:
        return "absent"
    return worst({one.status for one in bounded}).lower() if any(map(decided, bounded)) else "undecided"


def summary(outcomes: Sequence[AlarmOutcome]) -> AlarmsDocument:
    """What all pieces of a study say together."""
    whole = AlarmOutcome()
    for outcome in outcomes:
        whole.add(outcome)
    variants = tuple(VariantCount(name, **counted) for name, counted in sorted(whole.counts.items()))
    tightness = []
    for key in sorted(whole.ratios, key=str.split):
        check, _, kind = key.partition(" ")
        # The only check whose bounds are looked into is step-replay.
        shares = whole.shares.get(kind, {}) if check == step_replay.ID else {}
        tightness.append(tightness_row(key, whole.ratios[key], shares))
    return AlarmsDocument(
        made=sum(sum(counted.values()) for counted in whole.counts.values()),
        judged=sum(one.judged for one in variants),
        failed=sum(one.failed for one in variants),
        upper=None,
        variants=variants,
        alarms=tuple(whole.alarms),
        tightness=tuple(tightness),
        coverage=coverage(whole.cells, whole.pairs, whole.planted) if whole.pairs else None,
    )
