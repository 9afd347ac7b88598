"""Processes that a program left, in whichever session: this process becomes their parent, and ends them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
"""Of Linux: who is orphaned below this process becomes its child, in whichever session it is."""

PATIENCE, POLL = 2.0, 0.002
"""Seconds that those who are ended have to be gone, and between two looks."""


@dataclass
class Orphans:
    """The process group of a program, once it is started; whether others were running at its end."""

    group: int = 0
    ended: bool = False


@contextlib.contextmanager
def adopting() -> Iterator[Orphans]:
    """End, when the block ends, all processes that became orphans meanwhile, and say if there were any.

    Of those that ended by themselves, or are of the group that the caller ends, nothing is said; nor is
    anything where the system knows no such thing.
    """
    orphans, before = Orphans(), _children()
    _adopt(1)
    try:
        yield orphans
    finally:
        limit = time.monotonic() + PATIENCE
        while (left := _children(before)) and time.monotonic() < limit:
            for process, (state, group) in left.items():
                orphans.ended |= state != "Z" and group != orphans.group
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
                    os.waitpid(process, os.WNOHANG)
            time.sleep(POLL)  # One that is ended leaves its own children to us.
        _adopt(0)


def _adopt(whether: int) -> None:
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, whether, 0, 0, 0)


def _children(but: Container[int] = ()) -> dict[int, tuple[str, int]]:
    """State and process group of the children of this process in other sessions than its own, but some."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return {}  # Mostly there is none at all, and no need to look at every process.
    found = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent, group, session = (
                place.read_text("ascii", "replace").rpartition(")")[2].split()[:4]
            )
            process = int(place.parent.name)
            if int(parent) == os.getpid() and int(session) != os.getsid(0) and process not in but:
                found[process] = state, int(group)
    return found
