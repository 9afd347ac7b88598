"""Distinct columns of windows, compiled and as plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify.solver import windows as columns_module
from sstep_verify.solver.windows import WindowColumns, distinct_columns


def expected(window: np.ndarray) -> tuple[list[int], list[int]]:
    """Distinct coordinates in order of first draw, and the place of each draw among them."""
    columns = list(dict.fromkeys(window.tolist()))
    return columns, [columns.index(coordinate) for coordinate in window]


@pytest.mark.parametrize("samples", [1, 3, 50])
def test_columns_of_many_windows(samples):
    draws = np.random.default_rng(samples).integers(samples, size=(20, 7))
    made = WindowColumns(samples, 7, 20)
    for begin, end in [(0, 20), (3, 11), (0, 1)]:  # buffers and marks are used again
        columns, positions, counts = made.of(draws[begin:end])
        for window, row in enumerate(draws[begin:end]):
            distinct, places = expected(row)
            assert counts[window] == len(distinct)
            assert columns[window, : counts[window]].tolist() == distinct
            assert positions[window].tolist() == places


def test_a_short_window_uses_part_of_the_buffers():
    made = WindowColumns(5, 6, 4)
    columns, positions, counts = made.of(np.array([[4, 4, 0]]))
    assert (columns.shape, positions.shape, counts.tolist()) == ((1, 3), (1, 3), [2])
    assert columns[0, :2].tolist() == [4, 0]
    assert positions[0].tolist() == [0, 0, 1]


def test_plain_python_and_compiled_agree():
    draws = np.random.default_rng(0).integers(9, size=(6, 5))
    results = []
    for function in (distinct_columns, getattr(distinct_columns, "py_func", distinct_columns)):
        stamp = np.full((2, 9), -1, dtype=np.int32)
        columns, positions = np.zeros((6, 5), dtype=np.int64), np.zeros((6, 5), dtype=np.int64)
        counts = np.zeros(6, dtype=np.int64)
        results.append((function(draws, stamp, 0, columns, positions, counts), columns, positions, counts))
    assert results[0][0] == results[1][0] == 6
    for one, other in zip(results[0][1:], results[1][1:], strict=True):
        assert np.array_equal(one, other)


def test_marks_begin_again_before_they_run_out(monkeypatch):
    """Without it, a mark that overflows would be taken for one seen before."""
    monkeypatch.setattr(columns_module, "LARGEST_MARK", 11)
    made, draws = WindowColumns(4, 3, 5), np.random.default_rng(3).integers(4, size=(60, 3))
    for begin in range(0, 60, 5):
        columns, _, counts = made.of(draws[begin : begin + 5])
        assert made._mark <= 11
        for window, row in enumerate(draws[begin : begin + 5]):
            assert columns[window, : counts[window]].tolist() == expected(row)[0]
