"""Processes that a program left, in whichever session: this process becomes their parent, and ends them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Container, Iterator
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36
"""Of Linux: who is orphaned below this process becomes its child, in whichever session it is."""

PATIENCE, POLL = 2.0, 0.002
"""Seconds that those who are ended have to be gone, and between two looks."""


@contextlib.contextmanager
def adopting() -> Iterator[list[int]]:
    """End, when the block ends, all processes that became orphans meanwhile.

    Yields
    ------
    list of int
        Gets the ids of those that were still running. It stays empty where the system knows no such thing.
    """
    found: list[int] = []
    before = _children()
    _adopt(1)
    try:
        yield found
    finally:
        limit = time.monotonic() + PATIENCE
        # One that is ended leaves its own children to us.
        while (left := _children(before)) and time.monotonic() < limit:
            for process, ended in left.items():
                if not ended and process not in found:
                    found.append(process)
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
                    os.waitpid(process, os.WNOHANG)
            time.sleep(POLL)
        _adopt(0)


def _adopt(whether: int) -> None:
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, whether, 0, 0, 0)


def _children(but: Container[int] = ()) -> dict[int, bool]:
    """Children of this process in other sessions than its own, but some, and whether each has ended."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return {}  # Mostly there is none at all, and no need to look at every process.
    found = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent, _, session = place.read_text("ascii", "replace").rpartition(")")[2].split()[:4]
            process = int(place.parent.name)
            if int(parent) == os.getpid() and int(session) != os.getsid(0) and process not in but:
                found[process] = state == "Z"
    return found
