"""Calibration on ranks: every size of both collectives, the same number of calls on all of them."""

from __future__ import annotations

import calibration_ranks as ranks_do
import pytest

from sstep_verify.ranks import run
from sstep_verify.timing.calibrate import WORDS


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_ranks_time_the_same_collectives(ranks):
    found = run(ranks, ranks_do.measured)
    for (reduced, scattered), window in found:
        assert len(reduced) == len(scattered) == len(WORDS)
        assert min(reduced + scattered) > 0
        assert window == found[0][1] > 0  # Of the slowest rank, as all of them know.
