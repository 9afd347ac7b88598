"""Statements that hold whatever the distribution: tolerance limits by order statistics, shares."""

from __future__ import annotations

from collections.abc import Sequence

CONTENT, CONFIDENCE = 0.95, 0.95
"""A limit holds for this share of runs, with this confidence."""


def tolerance_rank(runs: int, content: float = CONTENT, confidence: float = CONFIDENCE) -> int | None:
    """Rank of the run, counted from the smallest as 1, that bounds a share of all runs from above.

    With N the number of runs below the quantile of `content`, which is binomial, the value of rank r lies
    below that quantile iff ``N >= r``; so the smallest r with ``P(N <= r - 1) >= confidence`` is taken. Of
    59 runs that is the largest, as ``0.95**59 < 0.05``; of fewer there is none.

    Source: Wilks, Determination of sample sizes for setting tolerance limits (1941); MIL-HDBK-1823A.

    Parameters
    ----------
    runs : int
        Number of runs, drawn independently.
    content, confidence : float
        Share of runs that the limit is to hold for, and confidence in that, both in (0, 1).

    Returns
    -------
    int or None
        None if there are too few runs for any limit.
    """
    if runs < 1:
        return None
    from scipy.stats import binom  # Slow to import, and needed where something is counted.

    rank = int(binom.ppf(confidence, runs, content)) + 1
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
