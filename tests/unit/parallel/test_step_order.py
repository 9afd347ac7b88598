"""The order of a window's samples, and what of a row is kept, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify.parallel.exchanges.step_order import StepOrder, keep_rows

SAMPLES = 23


def drawn_blocks(steps: int, block: int) -> np.ndarray:
    rng = np.random.default_rng((steps, block))
    return np.array([rng.permutation(SAMPLES)[:block] for _ in range(steps)])


@pytest.mark.parametrize(("steps", "block"), [(1, 1), (2, 23), (5, 4), (9, 7), (40, 3)])
def test_samples_stand_by_the_last_step_that_draws_them(steps, block):
    order = StepOrder(SAMPLES, 40, block)
    for blocks in drawn_blocks(40, block)[:steps], drawn_blocks(steps, block):
        order.arrange(blocks)
        assert sorted(order.order.tolist()) == list(range(SAMPLES))
        assert np.array_equal(order.place_of[order.order], np.arange(SAMPLES))
        for step in range(steps):
            later = set(blocks[step + 1 :].ravel().tolist())
            assert set(order.order[: order.ahead[step]].tolist()) == later
            for place, coordinate in enumerate(blocks[step]):
                again = [other for other in range(step + 1, steps) if coordinate in blocks[other]]
                assert order.following[step, place] == min(again, default=steps)


def test_of_a_row_the_places_are_kept_that_its_next_step_and_later_ones_draw():
    blocks = drawn_blocks(6, 5)
    order = StepOrder(SAMPLES, 6, 5)
    order.arrange(blocks)
    rows = np.arange(5)
    words, starts = np.full(9 * SAMPLES, np.nan), np.full(5, -1)
    base = words.size - 5 * SAMPLES
    words[base:] = np.arange(5 * SAMPLES)
    starts[:] = base + rows * SAMPLES
    used = keep_rows(words, starts, rows, 0, order.following[0], order.ahead, 0)
    total = 0
    for row, coordinate in enumerate(blocks[0]):
        following = order.following[0, row]
        wanted = {int(c) for block in blocks[following:] for c in block} if following < 6 else set()
        assert starts[row] == total
        kept = words[total : total + len(wanted)]
        assert np.array_equal(kept, row * SAMPLES + np.arange(len(wanted)))
        assert set(order.order[: len(wanted)].tolist()) == wanted
        assert coordinate in wanted or not wanted
        total += len(wanted)
    assert used == total > 0
