"""Feature partition: complete; contiguous with the smallest possible largest load, or dealt with even work."""

from __future__ import annotations

import lzma
from dataclasses import replace
from itertools import chain, combinations_with_replacement, pairwise
from types import SimpleNamespace
from typing import ClassVar
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from daily import some
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.errors import InputError
from sstep_verify.solver.data import partition as partition_module
from sstep_verify.solver.data.partition import (
    Entries,
    balanced_partition,
    column_nonzeros,
    dealt_partition,
    local_columns,
    partition_of,
)

COLUMN_COUNTS = "news20.binary.colnnz.txt.xz"

counts_of = st.lists(st.integers(0, 9) | st.integers(0, 1000), max_size=8)


def least_largest_load(counts: list[int], ranks: int) -> int:
    """Smallest largest load over all ways to cut the columns into runs."""
    columns = len(counts)
    return min(
        max(sum(counts[begin:end]) for begin, end in pairwise((0, *cuts, columns)))
        for cuts in combinations_with_replacement(range(columns + 1), ranks - 1)
    )


@given(counts_of, st.integers(1, 4))
def test_the_largest_load_is_the_least_possible(counts, ranks):
    partition = balanced_partition(np.array(counts, dtype=np.int64), ranks)
    assert partition.loads.max() == least_largest_load(counts, ranks)


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 80))
def test_runs_are_contiguous_and_hold_every_column_once(counts, ranks):
    partition = balanced_partition(np.array(counts, dtype=np.int64), ranks)
    assert partition.starts.shape == (ranks + 1,)
    assert (partition.starts[0], partition.starts[-1]) == (0, len(counts))
    assert (np.diff(partition.starts) >= 0).all()
    held = [column for rank in range(ranks) for column in range(len(counts))[partition.columns(rank)]]
    assert held == list(range(len(counts)))
    assert partition.loads.tolist() == [sum(counts[partition.columns(rank)]) for rank in range(ranks)]


@given(st.lists(st.integers(1, 50), min_size=1, max_size=40), st.integers(1, 60))
def test_imbalance_is_largest_over_mean(counts, ranks):
    partition = balanced_partition(np.array(counts), ranks)
    assert partition.imbalance == max(partition.loads) * ranks / sum(counts)


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 80), st.integers(0, 70))
def test_a_dealt_partition_holds_every_column_once(counts, ranks, heavy):
    with mock.patch.object(partition_module, "HEAVY", heavy):
        partition = dealt_partition(np.array(counts, dtype=np.int64), ranks)
    held = [partition.columns(rank).tolist() for rank in range(ranks)]
    assert sorted(chain.from_iterable(held)) == list(range(len(counts)))
    assert all(own == sorted(own) for own in held)
    assert partition.loads.tolist() == [sum(counts[column] for column in own) for own in held]
    assert partition.works.tolist() == [sum(counts[column] ** 2 for column in own) for own in held]


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40), st.integers(1, 6))
def test_dealt_work_is_within_a_third_of_the_least_possible(counts, ranks):
    # Longest processing time first: at most 4/3 - 1/(3 P) of the optimum, which is no less than mean or largest.
    works = dealt_partition(np.array(counts, dtype=np.int64), ranks).works
    squares = sorted((count**2 for count in counts), reverse=True)
    least = max(
        sum(squares) / ranks, squares[0], sum(squares[ranks - 1 : ranks + 1]) if len(squares) > ranks else 0
    )
    assert works.max() <= (4 - 1 / ranks) / 3 * least or works.max() <= sum(squares) / ranks + squares[0]


def test_columns_alike_and_one_rank_stay_in_runs():
    assert partition_of(np.full(9, 4), 3).order is None
    assert partition_of(np.array([1, 5, 2]), 1).order is None
    assert partition_of(np.array([1, 5, 2]), 2).order is not None
    assert partition_of(np.array([1, 5, 2]), 2, "contiguous").order is None
    assert partition_of(np.empty(0, dtype=int), 2).starts.tolist() == [0, 0, 0]


@pytest.mark.parametrize("how", ["work", "contiguous"])
@pytest.mark.parametrize("seed", range(4))
def test_a_column_more_is_the_last_rank_s_and_counts_in_its_load_and_work(seed, how):
    drawn = np.random.Generator(np.random.PCG64(seed))
    counts, ranks, more = drawn.integers(1, 90, 40), int(drawn.integers(2, 6)), int(drawn.integers(50, 400))
    grown = partition_of(counts, ranks, how).with_column(more)
    every = np.append(counts, more)
    held = [every[np.arange(every.size)[grown.columns(rank)]] for rank in range(ranks)]
    assert more in held[-1]
    assert grown.loads.tolist() == [own.sum() for own in held]
    assert grown.works.tolist() == [(own**2).sum() for own in held]


def test_nothing_to_balance_is_even():
    assert balanced_partition(np.zeros(5, dtype=int), 3).imbalance == 1.0
    empty = balanced_partition(np.empty(0, dtype=int), 2)
    assert (empty.starts.tolist(), empty.imbalance) == ([0, 0, 0], 1.0)


def test_the_last_rank_does_not_get_the_remnants():
    """Cutting every run as long as the least largest load allows would leave nothing for the last rank."""
    assert balanced_partition(np.full(9, 1), 4).loads.min() == 2
    assert balanced_partition(np.full(100, 1), 30).loads.min() == 3


def test_unusable_input_is_refused():
    with pytest.raises(InputError, match="ranks = 0"):
        balanced_partition(np.ones(3, dtype=int), 0)
    with pytest.raises(InputError, match="column 1 has -2 nonzeros"):
        balanced_partition(np.array([3, -2]), 2)


def test_nonzeros_and_columns_of_dense_and_sparse_data():
    data = np.array([[1.0, 0.0, 2.0, 0.0], [3.0, 0.0, 0.0, 0.0]])
    sparse = sp.csr_array(data)
    assert column_nonzeros(sparse).tolist() == [2, 0, 1, 0]
    assert column_nonzeros(data).tolist() == [2, 2, 2, 2]
    for part in (slice(0, 2), slice(1, 1), slice(2, 4)):
        assert np.array_equal(local_columns(data, part), data[:, part])
        assert local_columns(data, part).flags.c_contiguous
        assert np.array_equal(local_columns(sparse, part).toarray(), data[:, part])


@pytest.mark.parametrize("ranks", some([2, 4, 8, 16, 64], of=4))
def test_work_and_nonzeros_of_news20_are_even(news20_counts, ranks):
    dealt, runs = (partition_of(news20_counts, ranks, how) for how in ("work", "contiguous"))
    squares = news20_counts.astype(np.float64) ** 2
    floor = max(1.0, squares.max() / squares.mean() / squares.size * ranks)
    assert dealt.work_imbalance <= 1.01 * floor
    assert dealt.imbalance <= 1.02
    assert runs.work_imbalance > 1.9, "runs of equal nonzeros leave nearly all the work to one rank"


@pytest.fixture(scope="module")
def news20_counts(data_directory) -> np.ndarray:
    path = data_directory / COLUMN_COUNTS
    if not path.exists():
        pytest.skip(f"{COLUMN_COUNTS} is absent from the folder named by SSTEP_VERIFY_DATA")
    with lzma.open(path, "rt") as lines:
        return np.array([int(line) for line in lines], dtype=np.int64)


def test_news20_on_few_ranks_is_even(news20_counts):
    assert balanced_partition(news20_counts, 4).imbalance <= 1.1
    # Columns of equal number would not be.
    halves = np.array_split(news20_counts, 4)
    assert max(part.sum() for part in halves) * 4 / news20_counts.sum() > 1.1


@pytest.mark.nightly
def test_news20_on_many_ranks_is_near_its_densest_column(news20_counts):
    ranks = 896
    floor = max(news20_counts.max(), news20_counts.sum() / ranks)
    assert balanced_partition(news20_counts, ranks).loads.max() <= 1.1 * floor


class Long:
    """A matrix whose indices have 8 bytes, as those of more than 2^31 entries have."""

    def __init__(self, matrix):
        self.shape, self._columns = matrix.shape, matrix.tocsc()

    def tocsc(self):
        found = self._columns
        indices, indptr = found.indices.astype(np.int64), found.indptr.astype(np.int64)
        return SimpleNamespace(data=Noted(found.data), indices=Noted(indices), indptr=indptr)


class Noted:
    """An array that tells by what it was indexed."""

    kinds: ClassVar[list[np.dtype]] = []

    def __init__(self, values):
        self._values = values

    def __getitem__(self, index):
        self.kinds.append(index.dtype)
        return self._values[index]

    def astype(self, kind, copy):
        return Noted(self._values.astype(kind, copy=copy))

    def __iadd__(self, first):
        self._values += first
        return self


def test_places_of_entries_beyond_31_bits_are_counted_in_64():
    """Of 2^31 entries one place is 2^31 - 1, and the next would be negative in 32 bits."""
    matrix = sp.random_array((6, 5), density=0.5, format="csr", rng=np.random.default_rng(1))
    partition = dealt_partition(np.diff(matrix.tocsc().indptr), 2)
    partition = replace(partition, order=np.array([4, 2, 0, 1, 3], dtype=np.int32))
    Noted.kinds.clear()
    found, usual = Entries(Long(matrix), 3, partition), Entries(matrix, 3, partition)
    assert Noted.kinds == [np.dtype(np.int64)] * 2
    for name in ("values", "rows", "places"):
        np.testing.assert_array_equal(getattr(found, name), getattr(usual, name))
