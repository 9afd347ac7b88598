"""The clock that adds up the seconds of a rank's phases."""

from __future__ import annotations

from time import perf_counter

PHASES = ("panel", "waiting", "transfer", "kernel function", "gradient", "recurrence")
"""Phases of a window, in order. Waiting is timed apart from transfer, and the gradient from the recurrence,
only where timers are asked to be separate: a barrier, and one more call, are the price."""


PANEL, WAITING, TRANSFER, FUNCTION, GRADIENT, RECURRENCE = range(len(PHASES))


class Clock:
    """Adds up the seconds of each phase.

    Attribute `seconds`: by phase, in the order of `PHASES`.
    """

    def __init__(self):
        self.seconds = [0.0] * len(PHASES)
        self._last = perf_counter()

    def start(self) -> None:
        """A phase begins."""
        self._last = perf_counter()

    def stop(self, phase: int) -> None:
        """The phase that began at the last start or stop ends; the next one begins."""
        now = perf_counter()
        self.seconds[phase] += now - self._last
        self._last = now
