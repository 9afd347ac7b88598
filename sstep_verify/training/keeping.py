"""Keeping checkpoints by time: often enough to lose little, and so rarely that it costs little."""

from __future__ import annotations

import time
from collections.abc import Callable

from sstep_verify.solvers.production.training_plan import Place

SHARE = 0.02
"""Share of the time that writing checkpoints may take."""


class Keeper:
    """Writes the place that training reached, where that is due; on rank 0.

    The first place is written at once, the next one when the time since the last is so long that what it
    took is `SHARE` of it. So a killed run loses at most one interval and ``1 / SHARE`` times what a
    checkpoint takes.

    Parameters
    ----------
    write : callable
        Writes a place.
    clock : callable
        Gives seconds.
    """

    def __init__(self, write: Callable[[Place], None], clock: Callable[[], float] = time.monotonic):
        self._write, self._clock = write, clock
        self._due = clock()
        self._pending: Place | None = None

    def keep(self, place: Place) -> bool:
        """Whether the place was written; where not, it is remembered."""
        begin = self._clock()
        self._pending = place
        if begin < self._due:
            return False
        self.finish()
        end = self._clock()
        self._due = end + (end - begin) * (1.0 / SHARE - 1.0)
        return True

    def finish(self) -> int | None:
        """Write the last place, if that was not done; its iteration."""
        place, self._pending = self._pending, None
        if place is None:
            return None
        self._write(place)
        return place.iteration
