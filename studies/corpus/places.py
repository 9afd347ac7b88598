"""Where a mistake acts: the steps of a run in which it can first change a value that the run leaves.

A place is the smallest one here that surely holds those steps, whatever the data are: where it hangs on a
clip, a rounding or the contents of a cache, it is the steps in which that may happen. A verdict that names
a step of a run names the right one if the place holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np


class Steps:
    """The steps of a run: its blocks, shape (H, b), windows of s, and its start in the stream."""

    def __init__(self, blocks: np.ndarray, s: int, start: int):
        self.blocks, self.s, self.start, self.length = blocks, s, start, len(blocks)
        self.number = np.arange(self.length)
        self.window, self.place = np.divmod(self.number, s)

    @cached_property
    def before(self) -> np.ndarray:
        """How often each coordinate, shape (H, b), was drawn earlier in the run."""
        return _earlier(self.blocks)

    @cached_property
    def again(self) -> np.ndarray:
        """How often each coordinate, shape (H, b), was drawn earlier in its window."""
        return _earlier(self.window[:, None] * (int(self.blocks.max(initial=0)) + 1) + self.blocks)

    def steps_of_window(self) -> np.ndarray:
        """Steps of each step's window."""
        return np.bincount(self.window)[self.window]

    def width(self) -> np.ndarray:
        """Distinct coordinates of each step's window."""
        return np.bincount(self.window, weights=(self.again == 0).sum(axis=1))[self.window]

    def distinct(self) -> np.ndarray:
        """Distinct coordinates of the run until the end of each step's window."""
        ends = np.minimum((self.window + 1) * self.s, self.length) - 1
        return np.cumsum((self.before == 0).sum(axis=1))[ends]


def _earlier(keys: np.ndarray) -> np.ndarray:
    """How many equal keys stand before each key."""
    order = np.argsort(keys, axis=None, kind="stable")
    ordered = keys.ravel()[order]
    count = np.empty(keys.size, dtype=np.int64)
    count[order] = np.arange(keys.size) - np.searchsorted(ordered, ordered)
    return count.reshape(keys.shape)


PLACES: dict[str, Callable[[Steps], Any]] = {
    "every step": lambda run: run.number >= 0,
    "first step of a window": lambda run: run.place == 0,
    # An earlier step of the same window is needed: its increment, or a row beside its own.
    "after the first step of a window": lambda run: run.place > 0,
    "last step of a window": lambda run: (run.place == run.s - 1) | (run.number == run.length - 1),
    "coordinate drawn again in the window": lambda run: (run.again >= 1).any(axis=1),
    "coordinate drawn a third time in the window": lambda run: (run.again >= 2).any(axis=1),
    # A run that goes on begins with values of an earlier one.
    "coordinate drawn before": lambda run: (run.before > 0).any(axis=1) | (run.start > 0),
    "after the first window": lambda run: run.window > 0,
    # What a window leaves is wrong: the a or the state at its end, and all later steps.
    "from the end of the first window": lambda run: run.number >= min(run.s, run.length) - 1,
    # Runs from the stream's start begin at 0.
    "window that begins with a not 0": lambda run: run.window >= (run.start == 0),
    "last short window": lambda run: run.number >= run.length // run.s * run.s,
    "block of several coordinates": lambda run: np.full(run.length, run.blocks.shape[1] > 1),
    "window of 37 steps": lambda run: run.steps_of_window() == 37,
    "window of more than 8 coordinates": lambda run: run.width() > 8,
    "every 64th window": lambda run: run.window % 64 == 63,
    "every 1000th window": lambda run: run.window % 1000 == 999,
    "after 10,000 iterations": lambda run: run.number >= 10_000,
    # A cache of 60 rows or more is full: more coordinates were drawn than it holds.
    "after 60 distinct coordinates": lambda run: run.distinct() > 60,
    # In no step: in length, start, messages, or what is returned and claimed.
    "run": lambda run: run.number < 0,
    "continued run": lambda run: np.full(run.length, run.start > 0),
}
"""Places by name, with the steps in which a mistake may act there."""
