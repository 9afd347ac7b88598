"""Where a mistake acts: the steps of a run in which it can first change a value that the run leaves.

A place is the smallest one here that surely holds those steps, whatever the data are: where it hangs on a
clip, a rounding or the contents of a cache, it is the steps in which that may happen. A verdict that names
a step of a run names the right one if the place holds it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Mask = Callable[[np.ndarray, int, int], np.ndarray]
"""Of blocks (H, b), s and the start in the stream: whether it may act in each of the H steps."""


def earlier(keys: np.ndarray) -> np.ndarray:
    """How many equal keys stand before each key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.searchsorted(ordered, ordered)
    found = np.empty(keys.size, dtype=np.int64)
    found[order] = np.arange(keys.size) - first
    return found


def drawn_in_window(blocks: np.ndarray, s: int) -> np.ndarray:
    """How often each coordinate, shape (H, b), was drawn earlier in its window."""
    window = (np.arange(len(blocks)) // s)[:, None]
    most = int(blocks.max(initial=0)) + 1
    return earlier((window * most + blocks).ravel()).reshape(blocks.shape)


def every(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
    """All steps."""
    return np.ones(len(blocks), dtype=bool)


def none(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
    """No step."""
    return np.zeros(len(blocks), dtype=bool)


def first_of_window(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
    """First steps of windows."""
    return np.arange(len(blocks)) % s == 0


def later_of_window(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
    """Steps that are not the first of a window."""
    return np.arange(len(blocks)) % s > 0


def last_of_window(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
    """Last steps of windows, the short one's too."""
    steps = np.arange(len(blocks))
    return (steps % s == s - 1) | (steps == len(blocks) - 1)


def later_windows(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
    """Steps of all windows but the first."""
    return np.arange(len(blocks)) >= s


def from_first_end(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
    """The last step of the first window and all that follow."""
    return np.arange(len(blocks)) >= min(s, len(blocks)) - 1


def from_nonzero(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
    """Steps of windows that begin with an a that is not 0, if runs from the stream's start begin at 0."""
    return np.arange(len(blocks)) >= (0 if start else s)


def continued(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
    """All steps of a run that does not begin at the stream's start."""
    return np.full(len(blocks), start > 0)


def short_window(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
    """Steps of the last window where it has fewer than s."""
    return np.arange(len(blocks)) >= len(blocks) // s * s


def several(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
    """All steps where a block has several coordinates."""
    return np.full(len(blocks), blocks.shape[1] > 1)


def drawn_before(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
    """Steps at a coordinate whose value may not be 0: drawn by an earlier step, also of an earlier run."""
    if start:
        return every(blocks, s, start)
    return np.asarray((earlier(blocks.ravel()).reshape(blocks.shape) > 0).any(axis=1))


def drawn_again(times: int) -> Mask:
    """Steps at a coordinate that so many earlier steps of the window drew, or more."""

    def mask(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
        return np.asarray((drawn_in_window(blocks, s) >= times).any(axis=1))

    return mask


def one_window_in(count: int) -> Mask:
    """Every so manieth window, counted from the run's first."""
    return lambda blocks, s, start: np.arange(len(blocks)) // s % count == count - 1


def after_iterations(count: int) -> Mask:
    """Steps after so many of the run."""
    return lambda blocks, s, start: np.arange(len(blocks)) >= count


def window_of(steps: int) -> Mask:
    """Windows of just so many steps."""

    def mask(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
        window = np.arange(len(blocks)) // s
        return np.asarray(np.bincount(window)[window] == steps)

    return mask


def wide_window(coordinates: int) -> Mask:
    """Windows that draw more distinct coordinates than so many."""

    def mask(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
        window = np.arange(len(blocks)) // s
        new = (drawn_in_window(blocks, s) == 0).sum(axis=1)
        return np.asarray(np.bincount(window, weights=new)[window] > coordinates)

    return mask


def after_distinct(coordinates: int) -> Mask:
    """Windows by whose end more distinct coordinates were drawn than so many, and all that follow."""

    def mask(blocks: np.ndarray, s: int, start: int) -> np.ndarray:
        new = (earlier(blocks.ravel()).reshape(blocks.shape) == 0).sum(axis=1)
        known = np.cumsum(new)
        ends = np.minimum((np.arange(len(blocks)) // s + 1) * s, len(blocks)) - 1
        return known[ends] > coordinates

    return mask


PLACES: dict[str, tuple[str, Mask]] = {
    "every step": ("It may act in any step.", every),
    "first step of a window": ("It acts in first steps of windows.", first_of_window),
    "after the first step of a window": (
        "It needs an earlier step of the same window: its increment, or a row beside its own.",
        later_of_window,
    ),
    "last step of a window": ("It acts in last steps of windows, that of a short one too.", last_of_window),
    "coordinate drawn again in the window": (
        "It needs a coordinate that an earlier step of the window drew.",
        drawn_again(1),
    ),
    "coordinate drawn a third time in the window": (
        "It needs a coordinate that two earlier steps of the window drew.",
        drawn_again(2),
    ),
    "coordinate drawn before": (
        "It needs a coordinate whose value is not 0: drawn before, or of a run that goes on.",
        drawn_before,
    ),
    "after the first window": ("It needs what an earlier window of the run left.", later_windows),
    "from the end of the first window": (
        "It acts in what a window leaves: the a or the state at its end, and all later steps.",
        from_first_end,
    ),
    "window that begins with a not 0": (
        "It needs an a at the window's start that is not 0: a later window, or a run that goes on.",
        from_nonzero,
    ),
    "last short window": ("It acts in the last window where that is short; nothing follows.", short_window),
    "block of several coordinates": ("It needs blocks of several coordinates.", several),
    "window of 37 steps": ("It acts in windows of 37 steps only.", window_of(37)),
    "window of more than 8 coordinates": (
        "It needs more than 8 distinct coordinates in a window.",
        wide_window(8),
    ),
    "every 64th window": ("It acts in windows 63, 127, ... of a run.", one_window_in(64)),
    "every 1000th window": ("It acts in windows 999, 1999, ... of a run.", one_window_in(1000)),
    "after 10,000 iterations": ("It acts once 10,000 steps are made.", after_iterations(10_000)),
    "after 60 distinct coordinates": (
        "It needs a cache of 60 rows or more that is full: more coordinates drawn than it holds.",
        after_distinct(60),
    ),
    "run": ("It acts in no step: in length, start, messages, or what is returned and claimed.", none),
    "continued run": ("It needs a run that goes on from where another ended.", continued),
}
"""Places by name: what must be for a mistake to act there, and the steps in which that is so."""
