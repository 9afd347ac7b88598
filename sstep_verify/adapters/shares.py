"""Shares of ranks: the work of the columns that they take is as even as their partition promises.

A column of c nonzeros makes work c^2 in a panel, and c in a pass over the data. Partition "work" has the
first as even as whole columns allow: no column is better off elsewhere. Without the least of its columns
that make any work, then, a rank has no more work than any other. Of more columns than are dealt one by one
this holds for those alone: without the others, a rank exceeds their mean by a column at most. Partition
"contiguous", which columns that are alike have too, has the least largest load of all ways to cut them into
runs. Columns that are lost or held twice are not looked for here: every step of the run is wrong by them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import ConductError

DEALT = 1 << 14
"""Columns that are dealt one by one, those with the most nonzeros; the others have their nonzeros even."""


def nonzeros_of(data: Any) -> np.ndarray:
    """Stored values of each column, int64, (n,); m of each column of dense data."""
    if sp.issparse(data):
        columns: Any = data
        return np.diff(columns.tocsc().indptr).astype(np.int64)
    return np.full(data.shape[1], data.shape[0], dtype=np.int64)


def require_shares(data: Any, owned: Sequence[slice | np.ndarray], how: str) -> None:
    """ConductError where ranks share all columns less evenly than their partition promises.

    `data`, (m, n): those of all ranks; `owned`: columns of each rank; `how`: name of the partition.
    """
    counts = nonzeros_of(data)
    parts = [np.arange(counts.size)[columns] for columns in owned]
    if not held_once(counts.size, parts):
        return  # Every step shows it.
    if how == "contiguous" or not counts.size or (counts == counts[0]).all():
        _require_runs(counts, parts)
    else:
        _require_even(counts, parts)


def held_once(columns: int, parts: Sequence[np.ndarray]) -> bool:
    """Whether each of so many columns is held by one rank."""
    return bool((np.bincount(np.concatenate(parts), minlength=columns) == 1).all())


def _require_runs(counts: np.ndarray, parts: Sequence[np.ndarray]) -> None:
    most = least_largest_load(counts, len(parts))
    for rank, columns in enumerate(parts):
        load = int(counts[columns].sum())
        if (np.diff(columns) != 1).any():
            raise ConductError(f"rank {rank} has columns {columns[0]} to {columns[-1]}, which are no run")
        if load > most:
            raise ConductError(
                f"rank {rank} has {load} nonzeros, and runs of columns can be cut so that each has at most "
                f"{most}"
            )


def least_largest_load(counts: np.ndarray, ranks: int) -> int:
    """The least largest load of all ways to cut columns into so many runs."""
    ends = np.cumsum(counts)
    low, high = int(counts.max(initial=0)), int(counts.sum())
    while low < high:
        middle, place, reached = (low + high) // 2, 0, 0
        for _ in range(ranks):
            place = int(np.searchsorted(ends, reached + middle, side="right"))
            reached = int(ends[place - 1]) if place else 0
        if place == counts.size:
            high = middle
        else:
            low = middle + 1
    return low


def _require_even(counts: np.ndarray, parts: Sequence[np.ndarray]) -> None:
    works, ranks = [count * count for count in counts.tolist()], len(parts)
    owned = [[works[column] for column in columns.tolist() if works[column]] for columns in parts]
    loads, column = [sum(own) for own in owned], max(works)
    # Whole numbers, so that nothing is rounded; of the rest all may be one rank's.
    rest = sum(sorted(works)[: max(len(works) - DEALT, 0)])
    for rank, own in enumerate(owned):
        if not rest:
            column, even = min(own, default=0), loads[rank] - min(own, default=0) <= min(loads)
        else:
            even = ranks * (loads[rank] - rest) <= sum(works) - rest + (ranks - 1) * column
        if not even:
            raise ConductError(
                f"rank {rank} makes work {loads[rank]} on panels, with a column of {column}, and another "
                f"rank {min(loads)}"
            )
