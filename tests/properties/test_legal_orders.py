"""No correct window exceeds its bound, over the whole exponent range and every legal order of operations.

`SSTEP_VERIFY_DRAWS` says how many problems are drawn (``tox -e false-alarms``: 30,000); each is one window of
a solver of its own (power/alarms/legal_draws.py, legal_orders.py), judged as window-replay judges it.
"""

from __future__ import annotations

import os
from collections import Counter

import pytest

from sstep_verify.power.alarms.legal_draws import draw
from sstep_verify.power.alarms.legal_orders import end_of_window
from sstep_verify.power.alarms.legal_windows import attained, finding
from sstep_verify.verdict import Status

pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")

DRAWS = int(os.environ.get("SSTEP_VERIFY_DRAWS", "150"))


def test_no_correct_window_is_failed():
    largest, counts = (0.0, -1), Counter()
    for seed in range(DRAWS):
        drawn = draw(seed)
        found = finding(drawn, end_of_window(drawn))
        counts[found.status] += 1
        assert found.status is not Status.FAIL, (seed, found, drawn.declaration, drawn.order, drawn.choices)
        if found.status is Status.PASS and not attained(drawn, found.bound):
            largest = max(largest, (found.ratio, seed))
    print(f"{DRAWS} windows: {dict(counts)}; largest ratio {largest[0]:.3g} (seed {largest[1]})")
    assert counts[Status.PASS] > DRAWS // 2  # the others promise nothing: a number may overflow
    # A bound that no run comes near would pass whatever is wrong.
    assert 1e-2 < largest[0] <= 1.0


def test_a_window_whose_residuals_overflow_when_added_promises_nothing():
    drawn = draw(1323769000)
    assert finding(drawn, end_of_window(drawn)).status is Status.VACUOUS
