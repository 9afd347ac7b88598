"""The study of detection limits: its units of work, what each measures, and the summary."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from sstep_verify.declaration import Precision
from sstep_verify.problems.losses import TASKS
from sstep_verify.scenarios.draws import KERNEL_NAMES
from studies.limits.acting import measure_limits
from studies.limits.doses import measure_doses
from studies.limits.rows import dose_rows, overall_rows, rival_rows, stratum_rows
from studies.limits.statistics import CONFIDENCE, CONTENT
from studies.reporting.sensitivity.limit_outcomes import DOSES, LIMITS, LimitOutcome, LimitUnit
from studies.reporting.sensitivity.limits import LimitsDocument

PRECISIONS: tuple[Precision, ...] = ("float64", "float32")

SIZES = ((16, 4), (64, 32))
"""Values of m and s of the strata."""

ACTING, DRAWN = 59, 120
"""Acting runs per quantity of a stratum, the fewest of which there is a limit; problems drawn for them."""

PAIRS = 17
"""Pairs of problem and quantity that get doses, per task, kernel and precision: 306 in all."""

FEW_DRAWN, FEW_PAIRS = 60, 3
"""The same of a small study."""


def units(seed: int = 0, *, small: bool = False) -> list[LimitUnit]:
    """Limits per task, kernel, m and s, in float32 for one kernel; doses per task, kernel and precision.

    Every unit has a seed of its own, made from that of the study and its id. A small study has only one
    stratum of each K-SVM, and a few pairs of each task, for half a minute.
    """
    kernels, sizes = (("rbf",), SIZES[:1]) if small else (KERNEL_NAMES, SIZES)
    samples, widths = zip(*sizes, strict=True)
    precisions = PRECISIONS[:1] if small else PRECISIONS
    drawn, pairs = (FEW_DRAWN, FEW_PAIRS) if small else (DRAWN, PAIRS)
    limits = [
        # A bound in float32 is that in float64 times the ratio of the roundoffs: one kernel shows it.
        _unit(seed, LIMITS, task, kernel, (m,), (s,), precisions[: 1 + (kernel == "rbf")], ACTING, drawn)
        for task in (TASKS[:2] if small else TASKS)
        for kernel in kernels
        for m, s in sizes
    ]
    doses = [
        _unit(seed, DOSES, task, kernel, samples, widths, (precision,), pairs, drawn)
        for task in TASKS
        for kernel in kernels
        for precision in precisions
    ]
    return limits + doses


def _unit(seed: int, *fields: Any) -> LimitUnit:
    kind, task, kernel, samples, widths, precisions, wanted, most = fields
    unit = LimitUnit(kind, task, kernel, samples, widths, precisions, seed, wanted, most)
    own = int.from_bytes(hashlib.sha256(f"{seed} {unit.id}".encode()).digest()[:6], "big")
    return LimitUnit(kind, task, kernel, samples, widths, precisions, own, wanted, most)


def run(unit: LimitUnit) -> LimitOutcome:
    """Measure a unit, in this process; the same outcome every time."""
    return measure_limits(unit) if unit.kind == LIMITS else measure_doses(unit)


def summary(outcomes: Sequence[LimitOutcome]) -> LimitsDocument:
    """The rows of a report from the outcomes of any units, in any order."""
    ordered = sorted(outcomes, key=lambda one: one.unit.id)
    limits = [one for one in ordered if one.unit.kind == LIMITS]
    pairs = [pair for one in ordered for pair in one.pairs]
    return LimitsDocument(
        content=CONTENT,
        confidence=CONFIDENCE,
        strata=stratum_rows(limits),
        overall=overall_rows(limits),
        doses=dose_rows(pairs),
        rivals=rival_rows(pairs),
        pairs=len(pairs),
        switches=sum(one.switches for one in ordered),
        switches_missed=sum(one.switches_missed for one in ordered),
        judged=sum(one.judged for one in ordered),
        alarms=tuple(alarm for one in ordered for alarm in one.alarms),
    )
