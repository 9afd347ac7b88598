"""The study of false alarms: runs of correct solvers on drawn problems, of which no check may fail any.

A bound is a theorem about every correct solver, so a FAIL here is an error in a derivation, or a solver
that is not correct after all. `units` cuts the study into pieces, `run` makes and judges one, `summary`
joins what they found. Each run depends on its group, the seed of the study and its number alone.
"""

from __future__ import annotations

import math
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np

from sstep_verify.power.alarms.comparisons import Judged
from sstep_verify.power.alarms.groups import GROUPS
from sstep_verify.power.alarms.tightness import tightness
from sstep_verify.reporting.sensitivity.alarms import (
    Alarm,
    AlarmOutcome,
    AlarmsDocument,
    AlarmUnit,
    Ratios,
    Shares,
    VariantCount,
)
from sstep_verify.verdict import Status, worst

CONFIDENCE = 0.95

DIGITS = 4
"""Digits of a ratio that are kept."""

FIELDS = {
    Status.PASS: "passed",
    Status.FAIL: "failed",
    Status.VACUOUS: "vacuous",
    Status.INCONCLUSIVE: "inconclusive",
}

COUNTED = (*FIELDS.values(), "undecided", "absent")


def units(runs: int, seed: int) -> list[AlarmUnit]:
    """The pieces of a study.

    Parameters
    ----------
    runs : int
        Runs that are drawn, about; fewer are judged, for where numbers overflow no bound is finite.
    seed : int
        Seed of the study.
    """
    found = []
    for name, group in GROUPS.items():
        wanted = math.ceil(group.share * runs)
        for first in range(0, wanted, group.piece):
            found.append(AlarmUnit(name, seed, first, min(group.piece, wanted - first)))
    return found


def again(unit: AlarmUnit) -> Judged:
    """The first run of a piece."""
    # A generator of its own for each run, so that one can be made again without those before it.
    entropy = (unit.seed, zlib.crc32(unit.group.encode()), unit.first)
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence(entropy)))
    return GROUPS[unit.group].judged(generator, unit.first)


def run(unit: AlarmUnit) -> AlarmOutcome:
    """Make and judge the runs of a piece."""
    begin = time.perf_counter()
    counts = defaultdict[str, Counter[str]](Counter)
    alarms: list[Alarm] = []
    ratios = defaultdict[tuple[str, str, str, str, bool], list[tuple[float, int]]](list)
    parts = defaultdict[tuple[str, str, str], dict[str, list[float]]](lambda: defaultdict(list))
    for number in range(unit.first, unit.first + unit.runs):
        one = AlarmUnit(unit.group, unit.seed, number, 1)
        judged = again(one)
        counts[judged.variant][_field(judged)] += 1
        alarms += _alarms(one, judged)
        kind = judged.task, judged.kernel, judged.precision
        for told in judged.comparisons:
            if told.decided and math.isfinite(told.ratio):
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
    )


def _field(judged: Judged) -> str:
    """The field of `VariantCount` in which a run is counted."""
    if not judged.comparisons:
        return "absent"
    severe = worst(one.status for one in judged.comparisons)
    if severe in (Status.PASS, Status.VACUOUS) and not any(one.decided for one in judged.comparisons):
        return "undecided"
    return FIELDS[severe]


def _alarms(unit: AlarmUnit, judged: Judged) -> list[Alarm]:
    failed = [one for one in judged.comparisons if one.status is Status.FAIL]
    return [Alarm(unit, judged.variant, judged.problem, one.check, one.reason) for one in failed]


def _ratios(key: tuple[str, str, str, str, bool], found: list[tuple[float, int]]) -> Ratios:
    lengths = tuple(length for _, length in found)
    return Ratios(*key, tuple(ratio for ratio, _ in found), lengths if all(lengths) else ())


def upper_bound(failed: int, judged: int) -> float:
    """Upper end of the one-sided 95 % interval of a share, failed of judged runs (Clopper and Pearson).

    With none failed it is ``1 - 0.05**(1/N)``; of no runs nothing is known: 1.
    """
    if failed >= judged:
        return 1.0
    # The quantile of a beta distribution.
    from scipy.special import betaincinv  # Slow to import, and needed where something is counted.

    return float(betaincinv(failed + 1, judged - failed, CONFIDENCE))


def summary(outcomes: Iterable[AlarmOutcome]) -> AlarmsDocument:
    """What all pieces of a study say together."""
    counts = defaultdict[str, Counter[str]](Counter)
    alarms: list[Alarm] = []
    ratios: list[Ratios] = []
    shares: list[Shares] = []
    for outcome in outcomes:
        for one in outcome.counts:
            counts[one.variant].update({name: getattr(one, name) for name in COUNTED})
        alarms += outcome.alarms
        ratios += outcome.ratios
        shares += outcome.shares
    variants = tuple(VariantCount(name, **counted) for name, counted in sorted(counts.items()))
    made = sum(sum(counted.values()) for counted in counts.values())
    judged, failed = sum(one.judged for one in variants), sum(one.failed for one in variants)
    return AlarmsDocument(
        made,
        judged,
        failed,
        upper_bound(failed, judged),
        variants,
        tuple(alarms),
        tightness(ratios, shares),
    )
