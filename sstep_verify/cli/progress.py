"""Progress on a terminal, or in the log of a job: of a campaign's problems, and of training."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click
from threadpoolctl import threadpool_limits
from tqdm import tqdm

if TYPE_CHECKING:
    from sstep_verify.ranks.watchdog import Unwatched


SILENCE = 30.0
"""Seconds between two lines."""


class SpacedLines:
    """Prints one line now and then on standard error, if any is wanted."""

    def __init__(self, wanted: bool):
        self._wanted = wanted
        self._begin = self._last = time.monotonic()

    def say(self, line: str, part: float = 0.0) -> None:
        """Print a line, if the last one, or the beginning, was `SILENCE` seconds ago.

        `part` of the work is done, 0 to 1, from which follows the time left; 0 if that is not known.
        """
        now = time.monotonic()
        if self._wanted and now - self._last > SILENCE:
            left = (now - self._begin) * (1 - part) / part if part else 0.0
            click.echo(line + f", about {tqdm.format_interval(left)} left" * bool(part), err=True)
            self._last = now


@contextlib.contextmanager
def of_problems() -> Iterator[Callable[[float, int, str], None]]:
    """A bar of problems, elsewhere than on a terminal lines; told are those done, all, and the one at hand.

    Meanwhile BLAS has one thread, for the processes share out the problems.
    """
    form = "{l_bar}{bar}| {n:.1f} of {total_fmt} [{elapsed} so far, {remaining} left]{postfix}"
    with tqdm(bar_format=form, disable=None, leave=False) as bar, threadpool_limits(1):
        lines = SpacedLines(bar.disable)

        def progress(done: float, planned: int, case: str) -> None:
            lines.say(f"{done:.1f} of {planned} problems, {case}", done / planned)
            bar.total = planned
            bar.set_postfix_str(case, refresh=False)
            bar.update(done - bar.n)

        yield progress


class Progress:
    """Listens to training, tells the watchdog of every step, and says how far it is if that is shown."""

    def __init__(self, watchdog: Unwatched, shown: bool):
        self._watchdog, self._shown = watchdog, shown
        self._kept = 0

    def expect(self, seconds: float) -> None:
        """Let the watchdog wait so long for a step."""
        self._watchdog.expect(seconds)

    def note(self, line: str) -> None:
        """Print a line."""
        if self._shown:
            click.echo(line, err=True)

    @contextlib.contextmanager
    def intervals(self, first: int, last: int) -> Iterator[None]:
        """Show a bar on a terminal, elsewhere a line now and then; after Ctrl-C, say how to go on."""
        self._kept = first
        disable = None if self._shown else True
        with tqdm(total=last, initial=first, unit="it", disable=disable, leave=False) as self._bar:
            self._lines = SpacedLines(self._bar.disable and self._shown)
            try:
                yield
            except KeyboardInterrupt:
                place = f"goes on from iteration {self._kept}" if self._kept else "begins anew"
                self.note(f"interrupted: --resume {place}")
                raise

    def step(self, iteration: int) -> None:
        """Move the bar."""
        self._watchdog.beat()
        self._bar.update(iteration - self._bar.n)

    def measured(self, iteration: int, line: str) -> None:
        """Show a measurement."""
        self._bar.set_postfix_str(line)
        self._lines.say(f"iteration {iteration}: {line}")

    def kept(self, iteration: int) -> None:
        """Remember where --resume goes on."""
        self._kept = iteration
