"""A command on all ranks of an MPI job: one message, one exit code, and no rank left waiting."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import click

from sstep_verify.errors import InputError, MissingExtraError
from sstep_verify.ranks.environment import SLOW, promised_size, start_limit, world
from sstep_verify.ranks.monitor_programs import DELIVERY
from sstep_verify.ranks.monitors import start_monitored
from sstep_verify.ranks.progress import observed
from sstep_verify.ranks.watchdog import Unwatched, Watchdog
from sstep_verify.solver.communicator import (
    Communicator,
    ReadingError,
    SelfCommunicator,
    communicator_of,
)
from sstep_verify.solver.packet import IncoherenceError, WindowError

INPUT, FAILED, INTERRUPTED = 2, 4, 130
"""Exit codes: an error of the input; a rank failed, hangs, or was lost; Ctrl-C."""

OPTION = "--hang-limit"
"""Option by which the user sets the seconds without progress."""

NAP = 0.002
"""Seconds between two looks whether all ranks have come."""

GRACE = 10.0
"""Seconds that a rank with an error waits for the others to come to the same end."""


def on_ranks(function: Callable[[Communicator, Unwatched], None], hang_limit: float) -> None:
    """Call a function on every rank of this job, or in this process where there is no job.

    Errors that all ranks raise together are told once, by rank 0. One that a rank raises alone ends the
    job: the others may be waiting for it in a collective, and would for ever. A rank that is killed, or
    that keeps the others waiting, is named, and ends the job as well.

    The function gets the communicator, and the watchdog, to which it announces its work; after `hang_limit`
    seconds, at least, without progress of any rank the job is ended, never if that is 0. On several ranks
    it exits with code 2 for errors of the input, and 4 for others.
    """
    if promised_size() < 2:
        with ended_by(signal.default_int_handler, signal.SIGTERM):
            function(SelfCommunicator(), Unwatched())
        return
    with start_monitored(start_limit(), SLOW):
        whole = world()
        job = _Job(whole, hang_limit)
    # A launcher hands both signals to all ranks. Rank 0 ends the job, once it has kept what there is; until
    # then the others go on, since it may wait for them in a collective.
    ended = signal.default_int_handler if whole.rank == 0 else job.end_soon
    try:
        with ended_by(ended, signal.SIGINT, signal.SIGTERM):
            function(communicator_of(observed(whole)), job.watchdog)
    except (InputError, MissingExtraError) as error:
        job.leave(INPUT, f"error: {error}")
    except (WindowError, IncoherenceError, ReadingError) as error:
        notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
        job.leave(FAILED, f"error: {error}{notes}")
    except KeyboardInterrupt:
        job.abort(INTERRUPTED, "interrupted" if whole.rank == 0 else "")
    except BaseException as error:
        job.abort(FAILED, f"rank {whole.rank} of {whole.size} ends the job:\n{_told(error, job.watchdog)}")
    job.leave()


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


def _told(error: BaseException, watchdog: Watchdog) -> str:
    """Traceback of an error; if MPI complains, with the ranks that it may be about."""
    told = traceback.format_exc()
    if type(error).__module__ == "mpi4py.MPI":
        told += watchdog.mismatch()
    return told


class _Job:
    """How a rank ends: together with all others, or with the whole job."""

    def __init__(self, world: Any, hang_limit: float):
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
        """Say why and end the whole job, once the launcher has had time to pass on what was said."""
        if message:
            click.echo(message, err=True)
        self.watchdog.end_intended()
        time.sleep(DELIVERY)
        self._door.Abort(code)
