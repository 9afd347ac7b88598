"""Windows, kernel rows formed, reductions and words that a declared exchange allows a run.

The formulas stand in costs/messages.py.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.costs import messages
from sstep_verify.costs.windows import (
    Distinct,
    cache_misses,
    distinct_counts,
    distinct_of,
    drawn_windows,
    support_counts,
)
from sstep_verify.trajectory import Trajectory

SUPPORT = "support"
"""Exchange whose words depend on a, and so on the log of a run."""

COUNTED = ("windows", "panel columns", "collectives", "words")


def expected_counts(case: Case, s: int, trajectory: Trajectory) -> list[dict[str, int]]:
    """The counts that the declared exchange allows a run, shape of `COUNTED`; the usual ones first.

    Without the words for exchange support where the run has no log: they depend on a.
    """
    declared, samples = case.declaration, case.problem.samples
    norms = case.problem.kernel.of_distance and declared.rbf == "norm-expansion"
    if declared.exchange == "kept-gram":
        sizes = samples, -(-trajectory.length // s), declared.gram_rows, norms
        return [messages.kept_gram_counts(*sizes, formed=formed).counters for formed in (True, False)]
    if declared.exchange == "column-cache":
        capacity = min(declared.cache_words // samples, samples)
        missing = cache_misses(_drawn(case, s, trajectory), samples, capacity)
        return [messages.column_cache_counts(samples, missing, norms).counters]
    if declared.exchange == SUPPORT:
        return [_of_support(case, s, trajectory, norms)]
    distinct = distinct_columns(case, s, trajectory)
    return [messages.window_counts(declared.exchange, samples, distinct, norms).counters]


def _of_support(case: Case, s: int, trajectory: Trajectory, norms: bool) -> dict[str, int]:
    samples, log = case.problem.samples, trajectory.log
    draws = case.stream.blocks(trajectory.start, trajectory.start + trajectory.length)
    known = np.zeros(draws.shape) if log is None else log
    counts = messages.support_counts(samples, *support_counts(draws, known, s, trajectory.alphas[0]), norms)
    return {name: count for name, count in counts.counters.items() if log is not None or name != "words"}


def distinct_columns(case: Case, s: int, trajectory: Trajectory) -> Distinct:
    """Distinct coordinates of the windows of a run."""
    return distinct_of(distinct_counts(_drawn(case, s, trajectory)))


def _drawn(case: Case, s: int, trajectory: Trajectory) -> Iterator[np.ndarray]:
    return drawn_windows(case.stream, s, trajectory.length, trajectory.start)
