"""Checkpoints are written by time, what is reached is written at the end, and a full disk ends no training."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.solver.training.files import Keeper
from sstep_verify.solver.training.intervals import Place


class Hours:
    """A clock, and a disk that takes its time and fails at some writes, counted from 0."""

    def __init__(self, cost: float, failing=frozenset()):
        self.now, self.cost, self.failing = 0.0, cost, failing
        self.tried, self.written, self.told = 0, [], []

    def write(self, place: Place) -> None:
        self.now += self.cost
        self.tried += 1
        if self.tried - 1 in self.failing:
            raise OSError("No space left on device")
        self.written.append(place.iteration)

    def keeper(self, seconds: float) -> Keeper:
        return Keeper(self.write, seconds, self.told.append, lambda: self.now)


DRAWN = (
    st.lists(st.integers(1, 100), min_size=1, max_size=100),
    st.integers(0, 10),
    st.integers(0, 200),
    st.sets(st.integers(0, 20)),
)


@given(*DRAWN)
def test_no_more_is_lost_than_is_said_and_none_is_tried_before_its_time(intervals, cost, seconds, failing):
    hours = Hours(cost, failing)
    keeper, last = hours.keeper(seconds), -seconds
    for number, taken in enumerate(intervals, 1):
        hours.now += taken
        since, tried = hours.now - last, hours.tried
        kept = keeper.keep(Place(number, np.zeros(1)))
        assert (hours.tried > tried) == (since >= seconds)
        assert kept == (hours.tried > tried and tried not in failing)
        last = hours.now if hours.tried > tried else last
    hours.failing = frozenset()
    keeper.finish()
    assert hours.written[-1] == len(intervals)
    assert keeper.finish() is None
    assert len(set(hours.written)) == len(hours.written)


def test_a_place_that_cannot_be_written_is_reported_and_the_next_is_tried():
    hours = Hours(0.0, {0, 1})
    keeper = hours.keeper(0.0)
    assert [keeper.keep(Place(number, np.zeros(1))) for number in (5, 10, 15)] == [False, False, True]
    assert hours.told == [
        f"warning: no checkpoint of iteration {number}: No space left on device" for number in (5, 10)
    ]
    assert hours.written == [15]
