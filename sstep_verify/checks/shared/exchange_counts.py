"""Formulas for windows, kernel rows formed, collectives and words of a declared exchange.

With W = ceil(H/s) windows, d_k distinct columns in window k, m samples, and the set-up Z = 1 where the RBF
kernel is formed by norm expansion (the squared norms, m words) and else 0:

    allreduce        W + Z collectives, m (sum d_k + Z) words
    reduce-scatter   2 W + Z collectives, m (sum d_k + Z) + sum (d_k**2 + d_k) words
    gram             W collectives, sum (d_k**2 + d_k) words (linear kernel)
    kept-gram        ceil(m / R) + Z collectives, m (m + Z) words, R rows (`gram_rows`) in each; or
                     Z and m Z where an earlier run left the matrix
    column-cache     as allreduce, but a window asks only for the rows that are not kept, and not at all if
                     none is missing

and two words (status, signature) in every collective, except the first of the two of reduce-scatter.
A cache of R rows fills in the order of the draws; a new row then takes the place of the one kept longest,
those of the current window apart.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.trajectory import Trajectory

COUNTED = ("windows", "panel columns", "collectives", "words")

TRAILER = 2
"""Words beside the payload of a collective: status and signature."""

DRAWS_AT_ONCE = 1 << 20
"""Drawn coordinates that are sorted at once."""


def expected_counts(case: Case, s: int, trajectory: Trajectory) -> list[dict[str, int]]:
    """The counts that the declared exchange allows a run, shape of `COUNTED`; the usual ones first."""
    samples, setup, exchange = case.problem.samples, _setup(case), case.declaration.exchange
    windows = -(-trajectory.length // s)
    if exchange == "kept-gram":
        rows = min(case.declaration.gram_rows or samples, samples)
        messages = -(-samples // rows)
        return [
            _counts(windows, samples, messages + setup, samples * (samples + setup)),
            _counts(windows, 0, setup, samples * setup),
        ]
    if exchange == "column-cache":
        missing, asking = _misses(case, s, trajectory)
        return [_counts(windows, missing, asking + setup, samples * (missing + setup))]
    distinct, squares = distinct_columns(case, s, trajectory)
    panel, small = samples * (distinct + setup), squares + distinct
    if exchange == "gram":
        return [_counts(windows, distinct, windows, small)]
    if exchange == "reduce-scatter":
        return [_counts(windows, distinct, 2 * windows + setup, panel + small, bare=windows)]
    return [_counts(windows, distinct, windows + setup, panel)]


def distinct_columns(case: Case, s: int, trajectory: Trajectory) -> tuple[int, int]:
    """Distinct coordinates of the windows of a run: their sum, and the sum of their squares."""
    total = squares = 0
    for part in _windows(case, s, trajectory):
        ordered = np.sort(part, axis=1)
        distinct = 1 + np.count_nonzero(ordered[:, 1:] != ordered[:, :-1], axis=1)
        total += int(distinct.sum())
        squares += int((distinct * distinct).sum())
    return total, squares


def _windows(case: Case, s: int, trajectory: Trajectory) -> Iterator[np.ndarray]:
    """The drawn coordinates of a run, one window a row."""
    block, length = case.stream.block, trajectory.length
    step = max(DRAWS_AT_ONCE // (s * block), 1) * s
    for first in range(0, length, step):
        draws = case.stream.blocks(trajectory.start + first, trajectory.start + min(first + step, length))
        full = draws.shape[0] // s * s
        for part in (draws[:full].reshape(-1, s * block), draws[full:].reshape(1, -1)):
            if part.size:
                yield part


def _setup(case: Case) -> int:
    return int(case.problem.kernel.of_distance and case.declaration.rbf == "norm-expansion")


def _counts(windows: int, columns: int, collectives: int, payload: int, *, bare: int = 0) -> dict[str, int]:
    """Counts with the trailers of all collectives but `bare` of them."""
    words = payload + TRAILER * (collectives - bare)
    return dict(zip(COUNTED, (windows, columns, collectives, words), strict=True))


def _misses(case: Case, s: int, trajectory: Trajectory) -> tuple[int, int]:
    """Rows that a cache had to form, and the windows that asked for any."""
    samples = case.problem.samples
    capacity = min(case.declaration.cache_words // samples, samples)
    kept: dict[int, int] = {}
    slots: list[int | None] = [None] * capacity
    place = missing = asking = 0
    for part in _windows(case, s, trajectory):
        for window in part.tolist():
            if len(kept) == samples:
                return missing, asking  # Nothing is ever dropped from a full cache of all rows.
            needed = dict.fromkeys(window)
            lacking = [coordinate for coordinate in needed if coordinate not in kept]
            for coordinate in lacking:
                while slots[place] in needed:
                    place = (place + 1) % capacity
                dropped = slots[place]
                if dropped is not None:
                    del kept[dropped]
                slots[place] = coordinate
                kept[coordinate] = place
                place = (place + 1) % capacity
            missing += len(lacking)
            asking += bool(lacking)
    return missing, asking
