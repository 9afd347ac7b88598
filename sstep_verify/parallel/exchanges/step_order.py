"""An order of the samples for one window: those that are drawn last of all stand first.

Whatever later steps of the window still need of the samples then lies side by side, at the first places,
and of a kernel row no more than these places need be kept until its coordinate is drawn again.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.compiled import compiled


class StepOrder:
    """The order of a window, and what its steps leave to later ones.

    Parameters
    ----------
    samples, steps, block : int
        Number of samples (m), most steps of a window (s), coordinates of a step (b).

    Attributes
    ----------
    order : ndarray of int64, shape (m,)
        Sample at each place.
    place_of : ndarray of int64, shape (m,)
        Place of each sample.
    ahead : ndarray of int64, shape (s,)
        Samples that are drawn after each step: those at so many first places.
    following : ndarray of int64, shape (s, b)
        Next step that draws the same coordinate, or the number of steps where there is none.
    """

    def __init__(self, samples: int, steps: int, block: int):
        self.order, self.place_of = np.arange(samples), np.arange(samples)
        self.ahead = np.zeros(steps, dtype=np.int64)
        self.following = np.empty((steps, block), dtype=np.int64)
        self._last = np.empty(samples, dtype=np.int64)

    def arrange(self, draws: np.ndarray) -> None:
        """Set all of it for the steps of a window, shape (w, b), w <= s."""
        arrange(draws, self._last, self.order, self.place_of, self.ahead, self.following)


@compiled
def arrange(draws, last, order, place_of, ahead, following):
    """Sort the samples by the last step that draws them, descending, those that are not drawn behind.

    Parameters
    ----------
    draws : ndarray of int64, shape (w, b)
        Coordinates drawn, one step a row.
    last : ndarray of int64, shape (m,)
        Scratch.
    order, place_of, ahead, following
        Out: see `StepOrder`.
    """
    steps, block = draws.shape
    for sample in range(last.size):
        last[sample] = -1
    for step in range(steps):
        ahead[step] = 0
        for place in range(block):
            last[draws[step, place]] = step
    for sample in range(last.size):
        if last[sample] >= 0:
            ahead[last[sample]] += 1
    for step in range(steps - 2, -1, -1):
        ahead[step] += ahead[step + 1]
    # Each counter begins one beyond the places of the samples drawn last in its step and ends at the first
    # of them, which is how many are drawn later.
    behind = last.size
    for sample in range(last.size - 1, -1, -1):
        if last[sample] < 0:
            behind -= 1
            place = behind
        else:
            ahead[last[sample]] -= 1
            place = ahead[last[sample]]
        order[place], place_of[sample] = sample, place
        last[sample] = steps
    for step in range(steps - 1, -1, -1):
        for place in range(block):
            following[step, place] = last[draws[step, place]]
            last[draws[step, place]] = step


@compiled
def keep_rows(words, starts, rows, known, following, ahead, used):
    """Move of the new rows of a step what later steps read to where it is kept; one beyond the last word.

    Parameters
    ----------
    words : ndarray
        Kernel rows; the new ones stand whole behind all that is kept.
    starts : ndarray of int64, shape (c,)
        Where rows begin; changed for the new ones.
    rows : ndarray of int64, shape (b,)
        Rows of the step's coordinates; the new ones are number `known` and on, in this order.
    known : int
        Rows before the step.
    following, ahead : ndarray of int64, shapes (b,) and (s,)
        As in `StepOrder`, `following` of this step.
    used : int
        Words kept before.
    """
    for item in range(rows.size):
        if rows[item] >= known:
            # After the step before the next one that reads it there are all samples that this one needs.
            length, source = ahead[following[item] - 1], starts[rows[item]]
            kept, new = words[used : used + length], words[source : source + length]
            for word in range(length):
                kept[word] = new[word]
            starts[rows[item]] = used
            used += length
    return used
