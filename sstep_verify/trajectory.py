"""Trajectory: what a run leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class Trajectory:
    """The recorded states of one run.

    Parameters
    ----------
    s : int
        Iterations per window.
    start : int
        Position of the stream at which the run began.
    iterations : ndarray of int64, shape (k,)
        Recorded iterations, ascending, counted from the run's beginning; the first is 0.
    alphas : ndarray, shape (k, m)
        The dual vector a at those iterations.
    counters : dict
        Counts made by the run: windows, panel columns, collectives, words.
    timers : dict
        Seconds per phase.
    stopped : {"iterations", "observer"}
        Whether all iterations were made or the observer ended the run.
    """

    s: int
    start: int
    iterations: np.ndarray
    alphas: np.ndarray
    counters: dict[str, int] = field(default_factory=dict)
    timers: dict[str, float] = field(default_factory=dict)
    stopped: str = "iterations"

    @property
    def final(self) -> np.ndarray:
        """The dual vector at the end, shape (m,)."""
        return self.alphas[-1]

    @property
    def length(self) -> int:
        """Iterations made."""
        return int(self.iterations[-1])

    def at(self, iteration: int) -> np.ndarray:
        """The dual vector at a recorded iteration, shape (m,).

        Raises
        ------
        KeyError
            If a was not recorded there.
        """
        position = int(np.searchsorted(self.iterations, iteration))
        if position == self.iterations.size or self.iterations[position] != iteration:
            raise KeyError(f"a was not recorded at iteration {iteration}")
        return self.alphas[position]

    def windows(self) -> list[tuple[int, int]]:
        """Pairs (begin, end) of consecutive recorded iterations that span exactly one window."""
        pairs = zip(self.iterations[:-1].tolist(), self.iterations[1:].tolist(), strict=True)
        return [
            (begin, end)
            for begin, end in pairs
            if begin % self.s == 0
            and (end - begin == self.s or (end - begin < self.s and end == self.length))
        ]
