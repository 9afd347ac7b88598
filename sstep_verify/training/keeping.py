"""Keeping checkpoints by time, and going on where one cannot be written."""

from __future__ import annotations

import time
from collections.abc import Callable

from sstep_verify.solvers.production.training_plan import Place


class Keeper:
    """Writes the place that training reached, where that is due; on rank 0.

    The first place is written at once, so that what hinders it is known early, and then one that is reached
    `seconds` or more after the last attempt. A killed run loses those seconds and the interval under way.
    A place that cannot be written is no reason to end a training: that is told, and the next is tried.

    Parameters
    ----------
    write : callable
        Writes a place.
    seconds : float
        Seconds between two checkpoints, >= 0.
    tell : callable
        Takes a line for the user.
    clock : callable
        Gives seconds.
    """

    def __init__(
        self,
        write: Callable[[Place], None],
        seconds: float,
        tell: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ):
        self._write, self._seconds, self._tell, self._clock = write, seconds, tell, clock
        self._due = clock()
        self._pending: Place | None = None

    def keep(self, place: Place) -> bool:
        """Whether the place was written; where not, it is remembered."""
        self._pending = place
        if self._clock() < self._due:
            return False
        written = self.finish() is not None
        self._due = self._clock() + self._seconds
        return written

    def finish(self) -> int | None:
        """Write the last place, if that was not done; its iteration, None where nothing was written."""
        place = self._pending
        if place is None:
            return None
        try:
            self._write(place)
        except Exception as error:
            self._tell(f"warning: no checkpoint of iteration {place.iteration}: {error}")
            return None
        self._pending = None
        return place.iteration
