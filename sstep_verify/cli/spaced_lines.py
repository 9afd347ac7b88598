"""Lines that tell of progress where no terminal shows a bar, such as in the log of a cluster job."""

from __future__ import annotations

import time

import click

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
        self._wanted, self._last = wanted, time.monotonic()

    def say(self, line: str) -> None:
        """Print a line, if the last one, or the beginning, was `SILENCE` seconds ago."""
        if self._wanted and time.monotonic() - self._last > SILENCE:
            click.echo(line, err=True)
            self._last = time.monotonic()
