"""A command at work: its BLAS, the bar that it shows, the signals that end it, all ranks of its job as one.

On ranks there is one message and one exit code, and no rank is left waiting.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from sstep_verify.errors import InputError, MissingExtraError, UnwritableError
from sstep_verify.provenance import THREAD_VARIABLES

if TYPE_CHECKING:
    from sstep_verify.ranks.watchdog import Unwatched, Watchdog
    from sstep_verify.solver.communicator import Communicator

OPENBLAS = "OPENBLAS_NUM_THREADS"
"""Variable that OpenBLAS reads once, when it is loaded."""


def load_with_one_thread() -> None:
    """Import NumPy and SciPy such that no OpenBLAS starts threads, unless a variable asks for some.

    To start a thread for each core that is then not used takes a good part of a short run. Afterwards the
    environment is as before, so that no process that is started from here inherits the variable.
    """
    if any(name in os.environ for name in THREAD_VARIABLES):
        return
    os.environ[OPENBLAS] = "1"
    try:
        import scipy.linalg  # noqa: F401  - loads SciPy's BLAS, and NumPy with its own
    finally:
        del os.environ[OPENBLAS]


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
            lines.say(f"{done:.1f} of {planned} done, {case}", done / planned)
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
        """Show a bar on a terminal, elsewhere a line now and then; after Ctrl-C, say how to continue."""
        self._kept = first
        disable = None if self._shown else True
        with tqdm(total=last, initial=first, unit="it", disable=disable, leave=False) as self._bar:
            self._lines = SpacedLines(self._bar.disable and self._shown)
            try:
                yield
            except KeyboardInterrupt:
                goes_on = f"--resume continues from iteration {self._kept}"
                nothing = "no checkpoint was written, so nothing of this run is kept"
                told = f"interrupted: {goes_on if self._kept else nothing}"
                self.note(told)
                raise KeyboardInterrupt(told) from None

    def step(self, iteration: int) -> None:
        """Move the bar."""
        self._watchdog.beat()
        self._bar.update(iteration - self._bar.n)

    def measured(self, iteration: int, line: str) -> None:
        """Show a measurement."""
        self._bar.set_postfix_str(line)
        self._lines.say(f"iteration {iteration}: {line}")

    def kept(self, iteration: int) -> None:
        """Remember where --resume continues."""
        self._kept = iteration


@contextlib.contextmanager
def ended_by(handler: Any, *signals: signal.Signals) -> Iterator[None]:
    """Have signals handled, where this thread may say so."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    earlier = [signal.signal(one, handler) for one in signals]
    try:
        yield
    finally:
        for one, before in zip(signals, earlier, strict=True):
            signal.signal(one, before)


INPUT, FAILED, INTERRUPTED = 2, 4, 130
"""Exit codes: an error of the input; a rank failed, hangs, or was lost; Ctrl-C."""

OPTION = "--hang-limit"
"""Option by which the user sets the seconds without progress."""

NAP = 0.002
"""Seconds between two looks whether all ranks have come."""

GRACE = 10.0
"""Seconds that a rank with an error waits for the others to come to the same end."""


def on_ranks(function: Callable[[Communicator, Unwatched], int | None], hang_limit: float) -> None:
    """Call a function on every rank of this job, or in this process where there is no job.

    Errors that all ranks raise together are printed once, by rank 0. One that a rank raises alone ends the
    job: the others may be waiting for it in a collective, and would for ever. A rank that is killed, or
    that keeps the others waiting, is named, and ends the job as well.

    The function gets the communicator, and the watchdog, to which it announces its work; after `hang_limit`
    seconds, at least, without progress of any rank the job is ended, never if that is 0. On several ranks
    it exits with code 2 for errors of the input, and 4 for others; else with the code that the function
    returns, the same on all ranks, if it is not 0.
    """
    from sstep_verify.ranks.environment import SLOW, promised_size, start_limit, world
    from sstep_verify.ranks.watchdog import Unwatched
    from sstep_verify.solver.communicator import ReadingError, SelfCommunicator, communicator_of

    if promised_size() < 2:
        with ended_by(signal.default_int_handler, signal.SIGTERM):
            code = function(SelfCommunicator(), Unwatched())
        if code:
            sys.exit(code)
        return
    from sstep_verify.ranks.heartbeat import observed, start_monitored
    from sstep_verify.solver.packet import IncoherenceError, WindowError

    with start_monitored(start_limit(), SLOW):
        comm = world()
        job = _Job(comm, hang_limit)
    # A launcher hands both signals to all ranks. Rank 0 ends the job, once it has kept what there is; until
    # then the others continue, since it may wait for them in a collective.
    ended = signal.default_int_handler if comm.rank == 0 else job.end_soon
    try:
        with ended_by(ended, signal.SIGINT, signal.SIGTERM):
            code = function(communicator_of(observed(comm)), job.watchdog)
    except (InputError, MissingExtraError) as error:
        job.leave(FAILED if isinstance(error, UnwritableError) else INPUT, f"error: {error}")
    except (WindowError, IncoherenceError, ReadingError) as error:
        notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
        job.leave(FAILED, f"error: {error}{notes}")
    except KeyboardInterrupt as interrupt:  # Whoever says more of it has said so.
        job.abort(INTERRUPTED, "interrupted" if comm.rank == 0 and not interrupt.args else "")
    except BaseException as error:
        job.abort(FAILED, f"rank {comm.rank} of {comm.size} ends the job:\n{_told(error, job.watchdog)}")
    job.leave(code or 0)


def _told(error: BaseException, watchdog: Watchdog) -> str:
    """Traceback of an error; if MPI complains, with the ranks that it may be about."""
    told = traceback.format_exc()
    if type(error).__module__ == "mpi4py.MPI":
        told += watchdog.mismatch()
    return told


class _Job:
    """How a rank ends: together with all others, or with the comm job."""

    def __init__(self, world: Any, hang_limit: float):
        from sstep_verify.ranks.watchdog import Watchdog

        self._door = world.Dup()
        self.watchdog = Watchdog(world, hang_limit, OPTION, FAILED)

    def end_soon(self, *_: Any) -> None:
        """Abort the job, unless rank 0 does so before."""
        late = threading.Timer(GRACE, self.abort, (INTERRUPTED, f"rank {self._door.rank}: interrupted"))
        late.daemon = True
        late.start()

    def leave(self, code: int = 0, message: str = "") -> None:
        """End this rank's part together with all others; after an error, end the job if they do not come.

        Without an error the others may still have work to do, and only the watchdog ends the waiting.
        """
        door = self._door
        if door.rank == 0 and message:
            click.echo(message, err=True)
        self.watchdog.finish()
        if not self._met(GRACE if message else float("inf")):
            self.abort(code, f"rank {door.rank} of {door.size} alone: {message}")
        # Nobody ends before all monitors are gone, which would take it for a loss.
        self.watchdog.dismiss_monitor()
        if not self._met(GRACE):
            self.abort(code or FAILED, f"rank {door.rank} of {door.size}: the others were lost at the end")
        self.watchdog.stop()
        if code:
            sys.exit(code)

    def _met(self, seconds: float) -> bool:
        """Whether all ranks come to this point within some seconds."""
        arrived, end = self._door.Ibarrier(), time.monotonic() + seconds
        while not arrived.Test():
            if time.monotonic() > end:
                return False
            time.sleep(NAP)
        return True

    def abort(self, code: int, message: str) -> None:
        """Say why and end the comm job, once the launcher has had time to pass on what was said."""
        from sstep_verify.ranks.monitor_programs import DELIVERY

        if message:
            click.echo(message, err=True)
        self.watchdog.end_intended()
        time.sleep(DELIVERY)
        self._door.Abort(code)
