"""No correct window exceeds its bound, over the whole exponent range and every legal order of operations.

`SSTEP_VERIFY_DRAWS` says how many problems are drawn (``tox -e false-alarms``: 30,000); each is one window of
a solver of its own (legal_draws.py, legal_orders.py), judged as window-replay judges it.
"""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest
from legal_draws import Drawn, draw
from legal_orders import end_of_window

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Window
from sstep_verify.checks.window.replays import WindowReplays
from sstep_verify.numerics.rounding import stored
from sstep_verify.oracle.facade import Oracle
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status

pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")

DRAWS = int(os.environ.get("SSTEP_VERIFY_DRAWS", "400"))


def finding(drawn: Drawn, end: np.ndarray):
    """Window-replay's comparison of the window's end."""
    s = drawn.stream.length
    case = Case("drawn", drawn.problem, drawn.stream, (s,), s, drawn.declaration)
    trajectory = Trajectory(s, 0, np.array([0, s]), np.array([drawn.start, end]))
    return WindowReplays(case, Oracle(drawn.problem)).finding(trajectory, Window(0, s, ()))


def attained(drawn: Drawn, bound: float) -> bool:
    """Whether a bound is met exactly by correct runs: the width of the box, or ``|fl(C) - C|`` at its end."""
    if not drawn.problem.is_svm:
        return False
    C, upper = drawn.problem.hinge.C, drawn.problem.hinge.upper
    rounded = drawn.declaration.precision == "float32" and float(stored(C, "float32")) != C
    return rounded or bound >= upper


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
