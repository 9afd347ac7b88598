"""A process that sees which rank of a job ends first.

A launcher kills all ranks once one is gone, and does not say which one it was. One monitor per machine
stands outside the job and names the rank. It is run by its file name and imports nothing of the package.

The files of a process that ends are closed in the order of their numbers, and only then has it ended. The
launcher sees its own connection to that process close, and may have killed other ranks before the first has
ended: so each rank holds a pipe of a lower number than that connection, whose closing is seen here before.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys


def main(arguments: list[str]) -> None:
    """Watch processes until the first of them ends, or until a byte arrives on standard input.

    Parameters
    ----------
    arguments : list of str
        "rank:pid:pipe" for every rank of this machine; the last is the number of a descriptor: the writing
        end, which only that process holds.
    """
    with select.epoll() as events:
        events.register(0, select.EPOLLIN)
        ranks: dict[int, tuple[int, int]] = {}
        gone = set()
        for argument in arguments:
            rank, pid, pipe = map(int, argument.split(":"))
            try:
                watched = {os.pidfd_open(pid): select.EPOLLIN}
                # Where it may not be opened, the end of the process alone tells.
                with contextlib.suppress(PermissionError):
                    watched[os.open(f"/proc/{pid}/fd/{pipe}", os.O_RDONLY | os.O_NONBLOCK)] = (
                        select.EPOLLHUP
                    )
            except (ProcessLookupError, FileNotFoundError):
                gone.add((rank, pid))
                continue
            for descriptor, event in watched.items():
                ranks[descriptor] = rank, pid
                events.register(descriptor, event)
        gone |= {ranks[descriptor] for descriptor, _ in events.poll(0) if descriptor in ranks}
        if len(gone) == 1:
            return _say(*gone.pop())
        # On a busy machine the launcher may have killed the others by now: which was first cannot be told.
        if gone:
            return _say_several(gone)
        while True:
            # In the order in which they came.
            for descriptor, _ in events.poll():
                if descriptor in ranks:
                    return _say(*ranks[descriptor])
                if os.read(0, 1):
                    return None
                events.unregister(0)  # the rank that would dismiss us is gone: its own end follows


def _say_several(gone: set[tuple[int, int]]) -> None:
    named = ", ".join(f"{rank} (process {pid})" for rank, pid in sorted(gone))
    os.write(
        2, f"\nlost ranks {named}: they had ended when it was first looked, crashed or killed\n".encode()
    )


def _say(rank: int, pid: int) -> None:
    text = (
        f"\nlost rank {rank} (process {pid}): it ended before all others, crashed or killed "
        "(if MPI_Abort was called, by the launcher: see who called it)\n"
    )
    os.write(2, text.encode())


if __name__ == "__main__":
    main(sys.argv[1:])
