"""From what units measured to the rows of a report."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any, TypeVar

from sstep_verify import quantities
from studies import grouped
from studies.limits.statistics import share_interval, tolerance_limit
from studies.limits.trials import EITHER, JUDGES
from studies.reporting.sensitivity.document import OURS
from studies.reporting.sensitivity.limit_outcomes import ActingRuns, DosePair, DoseTrial, LimitOutcome
from studies.reporting.sensitivity.limits import DoseRow, LimitRow, RivalRow
from studies.rivals import RIVALS

ORDER = [one.name for one in quantities.QUANTITIES]
Item = TypeVar("Item")
Key = tuple[Any, ...]


def stratum_rows(outcomes: Iterable[LimitOutcome]) -> tuple[LimitRow, ...]:
    """A row per stratum, precision and quantity."""
    return tuple(
        _limit_row([runs], one.unit.task, one.unit.kernel, one.unit.samples[0], one.unit.s[0])
        for one in outcomes
        for runs in one.acting
    )


def overall_rows(outcomes: Iterable[LimitOutcome]) -> tuple[LimitRow, ...]:
    """A row per precision and quantity, over all strata."""
    acting = [runs for one in outcomes for runs in one.acting]
    return tuple(_limit_row(runs, "", "", 0, 0) for runs in _groups(acting, _by_quantity))


def _limit_row(parts: Sequence[ActingRuns], task: str, kernel: str, samples: int, s: int) -> LimitRow:
    draws, acted = (sum(getattr(part, name) for part in parts) for name in ("draws", "acted"))
    sizes = [math.inf if value is None else value for part in parts for value in part.detection_limit]
    rank, limit = tolerance_limit(sizes)
    low, high = share_interval(acted, draws)
    return LimitRow(
        quantity=parts[0].quantity,
        precision=parts[0].precision,
        task=task,
        kernel=kernel,
        samples=samples,
        s=s,
        switch=parts[0].switch,
        draws=draws,
        acted=acted,
        share=acted / draws if draws else 0.0,
        share_low=low,
        share_high=high,
        rank=rank,
        limit=_told(limit),
        median=_told(median(sizes) if sizes else None),
        largest=_told(max(sizes, default=None)),
        seen=sum(part.seen for part in parts),
    )


def dose_rows(pairs: Sequence[DosePair]) -> tuple[DoseRow, ...]:
    """A row per check and precision over quantities, then one per quantity."""
    trials = [trial for pair in pairs for trial in pair.trials]
    checks = list(JUDGES)

    def over(trial: DoseTrial) -> Key:
        return -checks.index(trial.check), trial.precision

    def each(trial: DoseTrial) -> Key:
        return *over(trial), ORDER.index(trial.quantity)

    return tuple(
        _dose_row(group, "" if key is over else group[0].quantity)
        for key in (over, each)
        for group in _groups(trials, key)
    )


def _dose_row(trials: Sequence[DoseTrial], quantity: str) -> DoseRow:
    resolved = [trial for trial in trials if trial.resolved]
    ratios = sorted(
        math.inf if trial.found is None else trial.found / trial.predicted for trial in resolved
    )
    return DoseRow(
        check=trials[0].check,
        precision=trials[0].precision,
        quantity=quantity,
        trials=len(resolved),
        within=sum(trial.within for trial in resolved),
        smallest=_told(ratios[0] if ratios else None),
        median=_told(median(ratios) if ratios else None),
        largest=_told(ratios[-1] if ratios else None),
        unresolved=len(trials) - len(resolved),
        certain=sum(trial.certain for trial in trials),
        missed=sum(trial.missed for trial in trials),
    )


def rival_rows(pairs: Sequence[DosePair]) -> tuple[RivalRow, ...]:
    """A row per judge and precision over quantities, ours first; then one per quantity."""
    rows = []
    for key in (lambda pair: (pair.precision,), _by_quantity):
        for group in _groups(pairs, key):
            quantity = group[0].quantity if key is _by_quantity else ""
            rows.append(_rival_row(OURS, quantity, group, [_own_dose(pair) for pair in group], 0))
            for rival in RIVALS:
                told = [one for pair in group for one in pair.rivals if one.rival == rival.name]
                sizes = [math.inf if one.dose is None else one.dose for one in told if not one.alarm]
                alarms = sum(one.alarm for one in told)
                rows.append(_rival_row(rival.name, quantity, group, sizes, alarms))
    return tuple(rows)


def _own_dose(pair: DosePair) -> float:
    """The smallest dose of a pair that a campaign flags."""
    found = [trial.found for trial in pair.trials if trial.check == EITHER]
    return min((dose for dose in found if dose is not None), default=math.inf)


def _rival_row(
    name: str, quantity: str, group: Sequence[DosePair], sizes: Sequence[float], alarms: int
) -> RivalRow:
    rank, limit = tolerance_limit(sizes)
    return RivalRow(
        rival=name,
        precision=group[0].precision,
        quantity=quantity,
        pairs=len(sizes) + alarms,
        alarms=alarms,
        never=sum(not math.isfinite(size) for size in sizes),
        rank=rank,
        limit=_told(limit),
        median=_told(median(sizes) if sizes else None),
    )


def _by_quantity(item: Any) -> Key:
    return item.precision, ORDER.index(item.quantity)


def _groups(items: Iterable[Item], key: Callable[[Item], Key]) -> list[list[Item]]:
    """Items of the same key, in the order of keys."""
    return [items for _, items in sorted(grouped(items, key).items())]


def _told(value: float | None) -> float | None:
    """A finite value; None of one that is not there or infinite."""
    return value if value is not None and math.isfinite(value) else None
