"""Lines that tell of progress where no terminal shows a bar, such as in the log of a cluster job."""

from __future__ import annotations

import time

import click
from tqdm import tqdm

SILENCE = 30.0
"""Seconds between two lines."""


class SpacedLines:
    """Prints one line now and then on standard error.

    Parameters
    ----------
    wanted : bool
        Whether to print at all.
    """

    def __init__(self, wanted: bool):
        self._wanted = wanted
        self._begin = self._last = time.monotonic()

    def say(self, line: str, part: float = 0.0) -> None:
        """Print a line, if the last one, or the beginning, was `SILENCE` seconds ago.

        Parameters
        ----------
        line : str
            The line.
        part : float
            Part of the work that is done, 0 to 1, for the time left; 0 if that is not known.
        """
        now = time.monotonic()
        if self._wanted and now - self._last > SILENCE:
            left = (now - self._begin) * (1 - part) / part if part else 0.0
            click.echo(line + f", about {tqdm.format_interval(left)} left" * bool(part), err=True)
            self._last = now
