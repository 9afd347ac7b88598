"""Checkpoints are written so rarely that they cost little, and what is reached is written at the end."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.solvers.production.training_plan import Place
from sstep_verify.training.keeping import SHARE, Keeper


class Hours:
    """A clock, and a disk that takes its time."""

    def __init__(self, cost: float):
        self.now, self.cost, self.spent, self.written = 0.0, cost, 0.0, []

    def write(self, place: Place) -> None:
        self.now += self.cost
        self.spent += self.cost
        self.written.append(place.iteration)


@given(st.lists(st.floats(1e-3, 100.0), min_size=1, max_size=200), st.floats(1e-4, 10.0))
def test_writing_takes_its_share_and_no_more_is_lost_than_is_said(intervals, cost):
    hours = Hours(cost)
    keeper, last = Keeper(hours.write, lambda: hours.now), 0.0
    for number, seconds in enumerate(intervals, 1):
        hours.now += seconds
        lost = hours.now - last
        if keeper.keep(Place(number, np.zeros(1))):
            last = hours.now
        else:
            assert lost < cost * (1 / SHARE - 1)
    # The first and the last one come on top.
    assert hours.spent - cost <= SHARE * hours.now * (1 + 1e-9)
    keeper.finish()
    assert hours.written[-1] == len(intervals)
    assert keeper.finish() is None
    assert len(set(hours.written)) == len(hours.written)


def test_a_place_whose_writing_fails_is_not_written_again():
    def failing(place):
        raise OSError("disk full")

    keeper = Keeper(failing, lambda: 0.0)
    with pytest.raises(OSError, match="disk full"):
        keeper.keep(Place(1, np.zeros(1)))
    assert keeper.finish() is None
