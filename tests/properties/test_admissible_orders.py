"""No correct window exceeds its bound, over the whole exponent range and every legal order of operations.

`SSTEP_VERIFY_DRAWS` says how many problems are drawn (``tox -e false-alarms``: 30,000); each is one window of
a solver of its own (studies/admissible/), as window-replay and step-replay judge it.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections import Counter

import numpy as np
import pytest
from admissible_runs import LONGEST, OWN, by_all_checks, by_window_and_steps

from sstep_verify.checks.metamorphic.scaling_range import kernel_span, no_room_for_states
from sstep_verify.checks.shared.comparison import Window
from sstep_verify.checks.window.one_window import WindowReplays
from sstep_verify.declaration import Declaration
from sstep_verify.errors import InputError
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import LinearKernel, Problem, Ridge
from sstep_verify.protocol import RunRequest
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status
from studies.admissible.solver import draw
from studies.false_positives.groups import decided

DRAWS = int(os.environ.get("SSTEP_VERIFY_DRAWS", "150"))


def test_a_drawn_solver_warns_of_no_number_that_leaves_the_range():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(200):
            solver, case = draw(seed)
            with contextlib.suppress(InputError):  # A factorisation failed.
                solver.run(
                    RunRequest(case.problem, case.stream, case.s_values[0], case.iterations, log=True)
                )


@pytest.mark.parametrize("draws", [50, pytest.param(DRAWS, marks=pytest.mark.nightly)])
def test_no_correct_window_and_no_step_of_it_is_failed(draws):
    largest, counts = dict.fromkeys(OWN, (0.0, -1)), Counter()
    for seed in range(draws):
        drawn = draw(seed)
        for check, told in by_window_and_steps(*drawn).items():
            said = (seed, check, told.reason, drawn[0])
            counts[check, told.status] += 1
            assert told.status is not Status.FAIL, said
            # Correct runs meet some bounds exactly: the width of the box, or |fl(C) - C| at its end.
            if decided(told) and told.ratio < 1.0:
                largest[check] = max(largest[check], (told.ratio, seed))
    print(f"{draws} windows: {dict(counts)}; largest ratios {largest}")
    for check in OWN:
        # Of so few steps most do not show every quantity; of others a number may overflow.
        assert counts[check, Status.PASS] > draws // 8
        # A bound that no run comes near would pass whatever is wrong.
        assert largest[check][0] > 1e-2


@pytest.mark.nightly
def test_no_check_fails_a_run_of_them():
    counts = Counter()
    for seed in range(0, 5 * DRAWS, 10):
        drawn = draw(seed)
        for told in by_all_checks(*drawn, 1 + seed % LONGEST):
            counts[told.check, told.status] += 1
            assert told.status is not Status.FAIL, (seed, told.check, told.reason)
    print(f"{DRAWS // 2} runs: {dict(counts)}")
    for check in ("box", "metamorphic-exact", "trajectory", "window-replay"):
        assert counts[check, Status.PASS] > DRAWS // 16


ONCE_FAILED = {
    31: (14, "a block system that 192 bits do not prove to be invertible"),
    62: (11, "NaN and NaN are the same"),
    77: (2, "at another scale what overflowed is finite"),
    345: (8, "1/(2C) is no number of float32"),
    20825: (24, "a mistake's block system that cannot be solved"),
    1381: (7, "K a overflows, which is then divided by lambda"),
}
"""Runs of which a check once promised what nobody can keep: iterations, and what happens in them."""


@pytest.mark.parametrize("seed", ONCE_FAILED)
def test_runs_that_were_once_failed_are_not(seed):
    length, why = ONCE_FAILED[seed]
    told = by_all_checks(*draw(seed), length)
    assert told
    assert not any(one.status is Status.FAIL for one in told), why


def test_a_window_whose_residuals_overflow_when_added_promises_nothing():
    _, case = draw(1323769000)  # a factorisation fails; others might end with NaN, or with anything
    s, start = case.iterations, case.initial
    run = Trajectory(s, 0, np.array([0, s]), np.array([start, np.full_like(start, np.nan)]))
    found = WindowReplays(case, Oracle(case.problem)).replay_and_compare(run, Window(0, s, ()))
    assert found.status is Status.VACUOUS


FOUND = {
    555: "a step from a vector with NaN in it, of a coordinate whose kernel row is 0",
    10391: "A'a overflows, though what it is multiplied with is 0",
    88455: "a number of a block's solve overflows, though neither right-hand side nor increment does",
    8402: "a factorisation may break down, and the increment is 0",
    112784: "an entry over lambda underflows, and what it multiplies is 1e215",
}
"""Windows of which step-replay once promised what nobody can keep."""


@pytest.mark.parametrize("seed", FOUND)
def test_steps_that_were_once_failed_are_not(seed):
    told = by_window_and_steps(*draw(seed))
    assert told
    assert not any(one.status is Status.FAIL for one in told.values()), FOUND[seed]


def test_a_step_that_underflows_to_0_leaves_no_room_for_another_scale():
    data, zero = np.full((2, 1), 1e9), np.zeros((2, 2))
    rooms = []
    for target in (1e-35, 1.0):
        problem = Problem("small", data, np.full(2, target), LinearKernel(), Ridge(0.2))
        declared = Declaration("mine", precision="float32")
        kernel = kernel_span(problem, declared, np.arange(2))
        rooms.append(no_room_for_states(problem, declared, kernel, zero))
    # The first step is 1e-35 / 1e19, less than float32 holds.
    assert "beyond the normal numbers" in rooms[0]
    assert not rooms[1]
