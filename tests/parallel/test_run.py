"""`run(P, function)`: results by rank, in a pool and in place alike."""

from __future__ import annotations

import math

import collective_ranks as ranks_do
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.errors import InputError
from sstep_verify.ranks import RankError, run

SIZES = [1, 2, 3, 4]
each_size = pytest.mark.parametrize("ranks", SIZES)


@each_size
def test_every_rank_is_called_and_answers_by_rank(ranks):
    assert run(ranks, ranks_do.place) == [(rank, ranks) for rank in range(ranks)]


@each_size
def test_arguments_reach_every_rank(ranks):
    made = run(ranks, ranks_do.with_arguments, [1], {"two"})
    assert made == [([1], {"two"}, rank) for rank in range(ranks)]


@each_size
@given(numbers=st.lists(st.integers(-(2**40), 2**40), max_size=9))
def test_shares_add_up_to_the_sum(ranks, numbers):
    """Whole numbers below 2**53 add exactly, in any order and on any number of ranks."""
    assert run(ranks, ranks_do.summed, numbers) == [[math.fsum(numbers), ranks]] * ranks


@each_size
@given(data=st.data())
def test_reduce_scatter_gives_each_rank_its_part(ranks, data):
    counts = data.draw(st.lists(st.integers(0, 5), min_size=ranks, max_size=ranks))
    factor = ranks * (ranks + 1) / 2
    words = iter(range(sum(counts)))
    expected = [[factor * next(words) for _ in range(count)] for count in counts]
    assert run(ranks, ranks_do.scattered, counts) == expected


@each_size
def test_objects_of_all_ranks(ranks):
    assert run(ranks, ranks_do.gathered) == [[{"rank": rank} for rank in range(ranks)]] * ranks


@each_size
def test_an_error_names_its_rank_and_leaves_the_ranks_usable(ranks):
    guilty = ranks - 1
    with pytest.raises(RankError, match=f"rank {guilty} raised ValueError: 7 > 5") as caught:
        run(ranks, ranks_do.raise_above, guilty, 7, 5)
    assert (caught.value.ranks, caught.value.kind) == ((guilty,), "ValueError")
    assert "raise_above" in str(caught.value)
    assert run(ranks, ranks_do.raise_above, guilty, 4, 5) == [4] * ranks


@each_size
def test_hypothesis_shrinks_an_error_of_one_rank(ranks):
    seen = []

    @given(value=st.integers(0, 10**6))
    def always_accepted(value):
        seen.append(value)
        run(ranks, ranks_do.raise_above, ranks - 1, value, 1000)

    with pytest.raises(RankError):
        always_accepted()
    assert seen[-1] == 1001


@pytest.mark.parametrize("ranks", [2])
def test_a_stray_message_does_not_reach_the_next_call(ranks):
    with pytest.raises(RankError, match="rank 0, 1 raised ValueError"):
        run(ranks, ranks_do.leave_a_message)
    assert run(ranks, ranks_do.any_message) == [False, False]


@pytest.mark.parametrize("ranks", [2])
def test_a_result_that_cannot_be_sent_is_an_error_of_the_rank(ranks):
    with pytest.raises(RankError, match="rank 0, 1 raised"):
        run(ranks, ranks_do.unsendable)


@pytest.mark.parametrize("ranks", [2])
def test_a_call_within_a_call_is_refused(ranks):
    with pytest.raises(RankError, match="runs on ranks itself") as caught:
        run(ranks, ranks_do.run_again)
    assert caught.value.kind == "InputError"


def test_refused_inputs():
    def inner(comm):
        return comm

    with pytest.raises(InputError, match="ranks = 0"):
        run(0, ranks_do.place)
    with pytest.raises(InputError, match="inner is not a function of an importable module"):
        run(1, inner)
    with pytest.raises(InputError, match="<lambda> is not a function"):
        run(1, lambda comm: comm)
    with pytest.raises(InputError, match="cannot be sent to the ranks"):
        run(1, ranks_do.with_arguments, inner, 0)
