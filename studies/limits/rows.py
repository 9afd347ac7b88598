"""From what units measured to the rows of a report, by statements that hold whatever the distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Any

from sstep_verify import quantities
from sstep_verify.report.plain import finite, grouped
from studies.baselines import BASELINES
from studies.limits.runs import JUDGES, is_switch
from studies.report.sensitivity.limits import (
    OURS,
    ActingRuns,
    DoseRow,
    DoseTrial,
    LimitOutcome,
    LimitRow,
    LimitsDocument,
    RivalDose,
    RivalRow,
)

CONTENT, CONFIDENCE = 0.95, 0.95
"""A limit holds for this share of runs, with this confidence."""

ORDER = [one.name for one in quantities.QUANTITIES]
Key = tuple[Any, ...]


def summary(outcomes: Sequence[LimitOutcome]) -> LimitsDocument:
    """The rows of a report from the outcomes of any units, in any order."""
    ordered = sorted(outcomes, key=lambda one: one.unit.id)
    doses = [dose for one in ordered for dose in one.rivals]
    return LimitsDocument(
        content=CONTENT,
        confidence=CONFIDENCE,
        strata=tuple(
            _limit_row([runs], one.unit.task, one.unit.kernel, one.unit.samples[0], one.unit.s[0])
            for one in ordered
            for runs in one.acting
        ),
        overall=overall_rows(ordered),
        doses=dose_rows([trial for one in ordered for trial in one.trials]),
        rivals=rival_rows(doses),
        pairs=sum(one.rival == OURS for one in doses),
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
    acting = (runs for one in outcomes for runs in one.acting)
    return tuple(_limit_row(runs, "", "", 0, 0) for runs in _groups(acting, _by_quantity))


def _limit_row(parts: Sequence[ActingRuns], task: str, kernel: str, samples: int, s: int) -> LimitRow:
    sizes = [math.inf if value is None else value for part in parts for value in part.detection_limit]
    rank, limit = tolerance_limit(sizes)
    draws, acted = sum(part.draws for part in parts), len(sizes)
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
        limit=finite(limit),
        median=finite(median(sizes or [math.inf])),
        largest=finite(max(sizes, default=None)),
        seen=sum(part.seen for part in parts),
    )


def dose_rows(trials: Sequence[DoseTrial]) -> tuple[DoseRow, ...]:
    """A row per check and precision over quantities, then one per quantity."""

    def over(one: DoseTrial) -> Key:
        return -list(JUDGES).index(one.check), one.precision

    def each(one: DoseTrial) -> Key:
        return *over(one), ORDER.index(one.quantity)

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
        smallest=finite(ratios[0] if ratios else None),
        median=finite(median(ratios or [math.inf])),
        largest=finite(ratios[-1] if ratios else None),
        unresolved=len(trials) - len(resolved),
        certain=sum(trial.certain for trial in trials),
        missed=sum(trial.missed for trial in trials),
    )


def rival_rows(doses: Sequence[RivalDose]) -> tuple[RivalRow, ...]:
    """A row per judge and precision over quantities, ours first; then one per quantity."""
    return tuple(
        _rival_row(
            name,
            group[0].precision,
            group[0].quantity if key is _by_quantity else "",
            [one for one in group if one.rival == name],
        )
        for key in (lambda one: (one.precision,), _by_quantity)
        for group in _groups(doses, key)
        for name in (OURS, *(rival.name for rival in BASELINES))
    )


def _rival_row(name: str, precision: str, quantity: str, told: Sequence[RivalDose]) -> RivalRow:
    sizes = [math.inf if one.dose is None else one.dose for one in told if not one.alarm]
    rank, limit = tolerance_limit(sizes)
    return RivalRow(
        rival=name,
        precision=precision,
        quantity=quantity,
        pairs=len(told),
        alarms=len(told) - len(sizes),
        never=sum(not math.isfinite(size) for size in sizes),
        rank=rank,
        limit=finite(limit),
        median=finite(median(sizes or [math.inf])),
    )


def _by_quantity(item: Any) -> Key:
    return item.precision, ORDER.index(item.quantity)


def _groups(items: Iterable[Any], key: Callable[[Any], Key]) -> list[list[Any]]:
    """Items of the same key, in the order of keys."""
    return [items for _, items in sorted(grouped(items, key).items())]
