"""Calibration on ranks: every size of both collectives, the same number of calls on all of them."""

from __future__ import annotations

import calibration_ranks as ranks_do
import pytest

from sstep_verify.calibration.collectives import WORDS
from sstep_verify.launch import run


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_time_the_same_collectives(ranks):
    found = run(ranks, ranks_do.measured)
    for (reduced, scattered), windows in found:
        assert len(reduced) == len(scattered) == len(WORDS)
        assert min(reduced + scattered) > 0
        assert windows == found[0][1]  # Of the slowest rank, as all of them know.
