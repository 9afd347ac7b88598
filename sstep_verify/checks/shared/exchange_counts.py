"""Windows, kernel rows formed, reductions and words that a declared exchange allows a run.

The formulas stand in costs/messages.py.
"""

from __future__ import annotations

from sstep_verify.checks.shared.case import Case
from sstep_verify.costs import messages
from sstep_verify.costs.windows import cache_misses, distinct_counts, distinct_of, drawn_windows
from sstep_verify.trajectory import Trajectory

COUNTED = ("windows", "panel columns", "collectives", "words")


def expected_counts(case: Case, s: int, trajectory: Trajectory) -> list[dict[str, int]]:
    """The counts that the declared exchange allows a run, shape of `COUNTED`; the usual ones first."""
    declared, samples = case.declaration, case.problem.samples
    norms = case.problem.kernel.of_distance and declared.rbf == "norm-expansion"
    if declared.exchange == "kept-gram":
        sizes = samples, -(-trajectory.length // s), declared.gram_rows, norms
        return [messages.kept_gram_counts(*sizes, formed=formed).counters for formed in (True, False)]
    drawn = drawn_windows(case.stream, s, trajectory.length, trajectory.start)
    if declared.exchange == "column-cache":
        capacity = min(declared.cache_words // samples, samples)
        missing = cache_misses(drawn, samples, capacity)
        return [messages.column_cache_counts(samples, missing, norms).counters]
    distinct = distinct_of(distinct_counts(drawn))
    return [messages.window_counts(declared.exchange, samples, distinct, norms).counters]


def distinct_columns(case: Case, s: int, trajectory: Trajectory) -> tuple[int, int]:
    """Distinct coordinates of the windows of a run: their sum, and the sum of their squares."""
    drawn = drawn_windows(case.stream, s, trajectory.length, trajectory.start)
    distinct = distinct_of(distinct_counts(drawn))
    return distinct.total, distinct.squares
