"""Masks of places on blocks made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from studies.corpus.grading import PLACES, Steps

DRAWS = np.array([[3], [1], [3], [3], [2], [2], [1], [3]])
"""Eight steps; with s = 3 the windows are 3 1 3, 3 2 2 and 1 3."""

PAIRS = np.array([[0, 1], [2, 0], [3, 4], [3, 0], [1, 4]])
"""Five steps of two coordinates; with s = 2 the windows are 0 1 2 0, 3 4 3 0 and 1 4."""

EXPECTED = {
    "every step": "11111111",
    "first step of a window": "10010010",
    "after the first step of a window": "01101101",
    "last step of a window": "00100101",
    "coordinate drawn again in the window": "00100100",
    "coordinate drawn a third time in the window": "00000000",
    "coordinate drawn before": "00110111",
    "after the first window": "00011111",
    "from the end of the first window": "00111111",
    "window that begins with a not 0": "00011111",
    "last short window": "00000011",
    "block of several coordinates": "00000000",
    "window of 37 steps": "00000000",
    "window of more than 8 coordinates": "00000000",
    "every 64th window": "00000000",
    "every 1000th window": "00000000",
    "after 10,000 iterations": "00000000",
    "after 60 distinct coordinates": "00000000",
    "run": "00000000",
    "continued run": "00000000",
}


def text(mask):
    return "".join("1" if one else "0" for one in mask)


def at(place, blocks, s, start=0):
    mask = PLACES[place](Steps(blocks, s, start))
    assert mask.dtype == bool
    assert mask.shape == (len(blocks),)
    return text(mask)


def test_every_place_on_three_windows():
    assert {place: at(place, DRAWS, 3) for place in PLACES} == EXPECTED


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("s", [1, 3, 8, 50])
def test_a_place_takes_any_s_and_no_step_at_all(place, s):
    at(place, DRAWS, s)
    at(place, PAIRS, s)
    assert at(place, DRAWS[:0], s) == ""


def test_one_step_a_window_has_no_later_step_and_no_repeat():
    assert at("after the first step of a window", DRAWS, 1) == "00000000"
    assert at("coordinate drawn again in the window", DRAWS, 1) == "00000000"
    assert at("last step of a window", DRAWS, 1) == "11111111"
    assert at("last short window", DRAWS, 1) == "00000000"


def test_a_window_of_all_steps():
    assert at("coordinate drawn again in the window", DRAWS, 8) == "00110111"
    assert at("coordinate drawn a third time in the window", DRAWS, 8) == "00010001"
    assert at("last short window", DRAWS, 8) == "00000000"
    assert at("last short window", DRAWS, 50) == "11111111"
    assert at("from the end of the first window", DRAWS, 50) == "00000001"


def test_blocks_of_two():
    assert at("coordinate drawn again in the window", PAIRS, 2) == "01010"
    assert at("coordinate drawn before", PAIRS, 2) == "01011"
    assert at("block of several coordinates", PAIRS, 2) == "11111"


def test_a_run_that_goes_on():
    assert at("continued run", DRAWS, 3, start=5) == "11111111"
    assert at("coordinate drawn before", DRAWS, 3, start=5) == "11111111"
    assert at("window that begins with a not 0", DRAWS, 3, start=5) == "11111111"
    assert at("after the first window", DRAWS, 3, start=5) == "00011111"


def test_places_with_a_number():
    long = np.arange(130)[:, None]

    def acts(place, s):
        return np.flatnonzero(PLACES[place](Steps(long, s, 0)))

    assert acts("every 64th window", 2).tolist() == [126, 127]
    assert acts("window of 37 steps", 37).tolist() == list(range(111))
    assert acts("window of more than 8 coordinates", 9)[-1] == 125
    assert acts("after 60 distinct coordinates", 7)[0] == 56


def test_there_are_few_names():
    assert len(PLACES) <= 20
