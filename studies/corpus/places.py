"""Where a mistake acts: the steps of a run in which it can first change a value that the run leaves.

A place is the smallest one here that surely holds those steps, whatever the data are: where it hangs on a
clip, a rounding or the contents of a cache, it is the steps in which that may happen. A verdict that names
a step of a run names the right one if the place holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Mask = Callable[[np.ndarray, int, int], Any]
"""Of blocks (H, b), s and the start in the stream: whether it may act in each of the H steps."""


def earlier(keys: np.ndarray) -> np.ndarray:
    """How many equal keys stand before each key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.searchsorted(ordered, ordered)
    found = np.empty(keys.size, dtype=np.int64)
    found[order] = np.arange(keys.size) - first
    return found


def earlier_draws(blocks: np.ndarray) -> np.ndarray:
    """How often each coordinate, shape (H, b), was drawn earlier in the run."""
    return earlier(blocks.ravel()).reshape(blocks.shape)


def drawn_in_window(blocks: np.ndarray, s: int) -> np.ndarray:
    """How often each coordinate, shape (H, b), was drawn earlier in its window."""
    window = (steps_of(blocks) // s)[:, None]
    most = int(blocks.max(initial=0)) + 1
    return earlier((window * most + blocks).ravel()).reshape(blocks.shape)


def steps_of(blocks: np.ndarray) -> np.ndarray:
    """Numbers of the steps of a run."""
    return np.arange(len(blocks))


def one_window_in(count: int) -> Mask:
    """Every so manieth window, counted from the run's first."""
    return lambda blocks, s, start: steps_of(blocks) // s % count == count - 1


def window_of(steps: int) -> Mask:
    """Windows of just so many steps."""

    def mask(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
        window = steps_of(blocks) // s
        return np.bincount(window)[window] == steps

    return mask


def wide_window(coordinates: int) -> Mask:
    """Windows that draw more distinct coordinates than so many."""

    def mask(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
        window = steps_of(blocks) // s
        new = (drawn_in_window(blocks, s) == 0).sum(axis=1)
        return np.bincount(window, weights=new)[window] > coordinates

    return mask


def after_distinct(coordinates: int) -> Mask:
    """Windows by whose end more distinct coordinates were drawn than so many, and all that follow."""

    def mask(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
        new = (earlier_draws(blocks) == 0).sum(axis=1)
        known = np.cumsum(new)
        ends = np.minimum((steps_of(blocks) // s + 1) * s, len(blocks)) - 1
        return known[ends] > coordinates

    return mask


PLACES: dict[str, tuple[str, Mask]] = {
    "every step": ("It may act in any step.", lambda blocks, s, start: steps_of(blocks) >= 0),
    "first step of a window": (
        "It acts in first steps of windows.",
        lambda blocks, s, start: steps_of(blocks) % s == 0,
    ),
    "after the first step of a window": (
        "It needs an earlier step of the same window: its increment, or a row beside its own.",
        lambda blocks, s, start: steps_of(blocks) % s > 0,
    ),
    "last step of a window": (
        "It acts in last steps of windows, that of a short one too.",
        lambda blocks, s, start: (steps_of(blocks) % s == s - 1) | (steps_of(blocks) == len(blocks) - 1),
    ),
    "coordinate drawn again in the window": (
        "It needs a coordinate that an earlier step of the window drew.",
        lambda blocks, s, start: (drawn_in_window(blocks, s) >= 1).any(axis=1),
    ),
    "coordinate drawn a third time in the window": (
        "It needs a coordinate that two earlier steps of the window drew.",
        lambda blocks, s, start: (drawn_in_window(blocks, s) >= 2).any(axis=1),
    ),
    "coordinate drawn before": (
        "It needs a coordinate whose value is not 0: drawn before, or of a run that goes on.",
        # A run that goes on begins with values of an earlier one.
        lambda blocks, s, start: (earlier_draws(blocks) > 0).any(axis=1) | (start > 0),
    ),
    "after the first window": (
        "It needs what an earlier window of the run left.",
        lambda blocks, s, start: steps_of(blocks) >= s,
    ),
    "from the end of the first window": (
        "It acts in what a window leaves: the a or the state at its end, and all later steps.",
        lambda blocks, s, start: steps_of(blocks) >= min(s, len(blocks)) - 1,
    ),
    "window that begins with a not 0": (
        "It needs an a at the window's start that is not 0: a later window, or a run that goes on.",
        # Runs from the stream's start begin at 0.
        lambda blocks, s, start: steps_of(blocks) >= (0 if start else s),
    ),
    "last short window": (
        "It acts in the last window where that is short; nothing follows.",
        lambda blocks, s, start: steps_of(blocks) >= len(blocks) // s * s,
    ),
    "block of several coordinates": (
        "It needs blocks of several coordinates.",
        lambda blocks, s, start: np.full(len(blocks), blocks.shape[1] > 1),
    ),
    "window of 37 steps": ("It acts in windows of 37 steps only.", window_of(37)),
    "window of more than 8 coordinates": (
        "It needs more than 8 distinct coordinates in a window.",
        wide_window(8),
    ),
    "every 64th window": ("It acts in windows 63, 127, ... of a run.", one_window_in(64)),
    "every 1000th window": ("It acts in windows 999, 1999, ... of a run.", one_window_in(1000)),
    "after 10,000 iterations": (
        "It acts once 10,000 steps are made.",
        lambda blocks, s, start: steps_of(blocks) >= 10_000,
    ),
    "after 60 distinct coordinates": (
        "It needs a cache of 60 rows or more that is full: more coordinates drawn than it holds.",
        after_distinct(60),
    ),
    "run": (
        "It acts in no step: in length, start, messages, or what is returned and claimed.",
        lambda blocks, s, start: steps_of(blocks) < 0,
    ),
    "continued run": (
        "It needs a run that goes on from where another ended.",
        lambda blocks, s, start: np.full(len(blocks), start > 0),
    ),
}
"""Places by name: what must be for a mistake to act there, and the steps in which that is so."""
