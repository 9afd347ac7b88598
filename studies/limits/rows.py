"""From what units measured to the rows of a report, by statements that hold whatever the distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any, TypeVar

from sstep_verify import quantities
from sstep_verify.report.plain import grouped
from studies.limits.outcomes import (
    EITHER,
    JUDGES,
    LIMITS,
    ActingRuns,
    DosePair,
    DoseTrial,
    LimitOutcome,
    is_switch,
)
from studies.report.sensitivity.limits import OURS, DoseRow, LimitRow, LimitsDocument, RivalRow
from studies.rivals import RIVALS

CONTENT, CONFIDENCE = 0.95, 0.95
"""A limit holds for this share of runs, with this confidence."""

ORDER = [one.name for one in quantities.QUANTITIES]
Item = TypeVar("Item")
Key = tuple[Any, ...]


def summary(outcomes: Sequence[LimitOutcome]) -> LimitsDocument:
    """The rows of a report from the outcomes of any units, in any order."""
    ordered = sorted(outcomes, key=lambda one: one.unit.id)
    limits = [one for one in ordered if one.unit.kind == LIMITS]
    pairs = [pair for one in ordered for pair in one.pairs]
    return LimitsDocument(
        content=CONTENT,
        confidence=CONFIDENCE,
        strata=tuple(
            _limit_row([runs], one.unit.task, one.unit.kernel, one.unit.samples[0], one.unit.s[0])
            for one in limits
            for runs in one.acting
        ),
        overall=overall_rows(limits),
        doses=dose_rows(pairs),
        rivals=rival_rows(pairs),
        pairs=len(pairs),
        switches=sum(one.switches for one in ordered),
        switches_missed=sum(one.switches_missed for one in ordered),
        judged=sum(one.judged for one in ordered),
        alarms=tuple(alarm for one in ordered for alarm in one.alarms),
    )


def tolerance_rank(runs: int) -> int | None:
    """Rank of the run, counted from the smallest as 1, that bounds a share of all runs from above.

    With N the number of runs below the quantile of `CONTENT`, which is binomial, the value of rank r lies
    below that quantile iff ``N >= r``; so the smallest r with ``P(N <= r - 1) >= CONFIDENCE`` is taken. Of
    59 independent runs that is the largest, as ``0.95**59 < 0.05``; of fewer there is none.

    Source: Wilks, Determination of sample sizes for setting tolerance limits (1941); MIL-HDBK-1823A.
    """
    if runs < 1:
        return None
    from scipy.stats import binom  # Slow to import, and needed where something is counted.

    rank = int(binom.ppf(CONFIDENCE, runs, CONTENT)) + 1
    return rank if rank <= runs else None


def tolerance_limit(values: Sequence[float]) -> tuple[int | None, float | None]:
    """The rank and the value of a limit on `values`, which may be infinite; (None, None) of too few."""
    rank = tolerance_rank(len(values))
    return rank, None if rank is None else sorted(values)[rank - 1]


def share_interval(count: int, of: int) -> tuple[float, float]:
    """Interval of a share, by Clopper and Pearson.

    It also holds where `of` was not fixed but drawing went on until `count` was reached: there the exact
    interval has the same lower end and a smaller upper one.
    """
    from scipy.stats import beta  # Slow to import, and needed where something is counted.

    tail = (1.0 - CONFIDENCE) / 2.0
    low = 0.0 if count == 0 else float(beta.ppf(tail, count, of - count + 1))
    high = 1.0 if count == of else float(beta.ppf(1.0 - tail, count + 1, of - count))
    return low, high


def overall_rows(outcomes: Iterable[LimitOutcome]) -> tuple[LimitRow, ...]:
    """A row per precision and quantity, over all strata."""
    acting = [runs for one in outcomes for runs in one.acting]
    return tuple(_limit_row(runs, "", "", 0, 0) for runs in _groups(acting, _by_quantity))


def _limit_row(parts: Sequence[ActingRuns], task: str, kernel: str, samples: int, s: int) -> LimitRow:
    draws = sum(part.draws for part in parts)
    sizes = [math.inf if value is None else value for part in parts for value in part.detection_limit]
    rank, limit = tolerance_limit(sizes)
    acted = len(sizes)
    low, high = share_interval(acted, draws)
    return LimitRow(
        quantity=parts[0].quantity,
        precision=parts[0].precision,
        task=task,
        kernel=kernel,
        samples=samples,
        s=s,
        switch=is_switch(parts[0].quantity),
        draws=draws,
        acted=acted,
        share=acted / draws if draws else 0.0,
        share_low=low,
        share_high=high,
        rank=rank,
        limit=_told(limit),
        median=_median(sizes),
        largest=_told(max(sizes, default=None)),
        seen=sum(part.seen for part in parts),
    )


def dose_rows(pairs: Sequence[DosePair]) -> tuple[DoseRow, ...]:
    """A row per check and precision over quantities, then one per quantity."""
    trials = [(pair, trial) for pair in pairs for trial in pair.trials]

    def over(item: tuple[DosePair, DoseTrial]) -> Key:
        return -list(JUDGES).index(item[1].check), item[0].precision

    def each(item: tuple[DosePair, DoseTrial]) -> Key:
        return *over(item), ORDER.index(item[0].quantity)

    return tuple(
        _dose_row([trial for _, trial in group], pair.precision, "" if key is over else pair.quantity)
        for key in (over, each)
        for group in _groups(trials, key)
        for pair, _ in group[:1]
    )


def _dose_row(trials: Sequence[DoseTrial], precision: str, quantity: str) -> DoseRow:
    resolved = [trial for trial in trials if trial.resolved]
    ratios = sorted(
        math.inf if trial.found is None else trial.found / trial.predicted for trial in resolved
    )
    return DoseRow(
        check=trials[0].check,
        precision=precision,
        quantity=quantity,
        trials=len(resolved),
        within=sum(trial.within for trial in resolved),
        smallest=_told(ratios[0] if ratios else None),
        median=_median(ratios),
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
            # Ours is the smallest dose of a pair that a campaign flags.
            either = [[one.found for one in pair.trials if one.check == EITHER] for pair in group]
            sizes = [min((one for one in found if one is not None), default=math.inf) for found in either]
            rows.append(_rival_row(OURS, group[0].precision, quantity, sizes, 0))
            for rival in RIVALS:
                told = [one for pair in group for one in pair.rivals if one.rival == rival.name]
                sizes = [math.inf if one.dose is None else one.dose for one in told if not one.alarm]
                alarms = len(told) - len(sizes)
                rows.append(_rival_row(rival.name, group[0].precision, quantity, sizes, alarms))
    return tuple(rows)


def _rival_row(name: str, precision: str, quantity: str, sizes: Sequence[float], alarms: int) -> RivalRow:
    rank, limit = tolerance_limit(sizes)
    return RivalRow(
        rival=name,
        precision=precision,
        quantity=quantity,
        pairs=len(sizes) + alarms,
        alarms=alarms,
        never=sum(not math.isfinite(size) for size in sizes),
        rank=rank,
        limit=_told(limit),
        median=_median(sizes),
    )


def _by_quantity(item: Any) -> Key:
    return item.precision, ORDER.index(item.quantity)


def _groups(items: Iterable[Item], key: Callable[[Item], Key]) -> list[list[Item]]:
    """Items of the same key, in the order of keys."""
    return [items for _, items in sorted(grouped(items, key).items())]


def _median(sizes: Sequence[float]) -> float | None:
    return _told(median(sizes) if sizes else None)


def _told(value: float | None) -> float | None:
    """A finite value; None of one that is not there or infinite."""
    return value if value is not None and math.isfinite(value) else None
