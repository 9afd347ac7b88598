"""When a run is measured and why it ends."""

import numpy as np
import pytest

from sstep_verify.campaign.verdicts.measured import PATIENCE, Monitor, measuring_points

ALPHA = np.zeros(1)


@pytest.mark.parametrize("s", [1, 2, 16, 256])
@pytest.mark.parametrize("iterations", [1, 255, 256, 257, 100_000])
def test_measuring_points_are_window_ends_and_include_the_last(s, iterations):
    points = measuring_points(iterations, s)
    assert points[-1] == iterations
    assert list(points) == sorted(set(points))
    assert all(point % s == 0 for point in points[:-1])


def _run(values, attainable, tolerance=1e-8):
    measured = iter(values)
    monitor = Monitor(
        frozenset(range(1, 100)), lambda alpha: (next(measured), attainable), tolerance, "gap"
    )
    ended = [monitor(iteration, ALPHA) for iteration in range(1, len(values) + 1)]
    return monitor, ended


def test_a_run_ends_at_the_tolerance():
    monitor, ended = _run([1.0, 1e-8], 0.0)
    assert ended == [False, True]
    assert monitor.stop(3, 3) == "tolerance reached"


def test_a_run_ends_at_the_attainable_level_only_once_it_no_longer_improves():
    falling = [2.0**-k for k in range(20)]
    assert not any(_run(falling, 1.0)[1])
    flat = [1e-5] * (PATIENCE + 2)
    monitor, ended = _run(flat, 1e-4)
    assert ended == [False] * PATIENCE + [True, True]
    assert monitor.stop(3, 3).startswith("attainable gap")


def test_a_stalled_run_above_the_attainable_level_goes_on_to_its_cap():
    monitor, ended = _run([1e-3] * 40, 1e-4)
    assert not any(ended)
    assert monitor.stop(40, 40) == "all iterations made, relative gap 0.001"
    assert monitor.stop(39, 40) == "39 of 40 iterations made, relative gap 0.001"


def test_the_last_value_is_none_where_alpha_is_not_finite():
    monitor, _ = _run([1.0, 0.5], 0.0)
    assert monitor.last == 0.5
    assert monitor(3, np.full(1, np.nan))
    assert monitor.last is None


def test_other_iterations_are_not_measured():
    monitor = Monitor(frozenset({4}), lambda alpha: pytest.fail("measured"), 1e-8, "gap")
    assert monitor(3, ALPHA) is False


def test_where_a_solver_ends_by_its_own_rule_is_measured_and_reported():
    monitor, _ = _run([1.0, 0.5, 0.25], 0.0)
    monitor.close(3, ALPHA)
    assert (monitor.iterations, monitor.stop(3, 3)) == (
        [1, 2, 3],
        "the solver's own tolerance reached, gap = 0.25",
    )
    monitor = Monitor(frozenset({9}), lambda alpha: (0.125, 0.0), 1e-8, "gap")
    monitor.close(5, ALPHA)
    assert (monitor.iterations, monitor.values) == ([5], [0.125])


def test_a_gap_of_a_vector_outside_its_box_is_reported_as_that_of_the_nearest():
    monitor = Monitor(frozenset({4, 8}), lambda alpha: (0.125, 0.0), 1e-8, "gap", box=(0.0, 2.0))
    monitor(4, np.array([0.0, 2.5]))
    assert monitor.stop(8, 8) == "all iterations made, relative gap 0.12, of the nearest vector in the box"
    monitor(8, np.array([0.0, 2.0]))
    assert monitor.stop(8, 8) == "all iterations made, relative gap 0.12"
