"""A process that sees which rank of a job ends first.

A launcher kills all ranks once one is gone, and does not say which one it was. One monitor per machine
stands outside the job and names the rank. It is run by its file name and imports nothing of the package.
"""

from __future__ import annotations

import os
import select
import sys


def main(arguments: list[str]) -> None:
    """Watch processes until the first of them ends, or until a byte arrives on standard input.

    Parameters
    ----------
    arguments : list of str
        "rank:pid" for every rank of this machine.
    """
    with select.epoll() as events:
        events.register(0, select.EPOLLIN)
        ranks = {}
        for argument in arguments:
            rank, pid = map(int, argument.split(":"))
            try:
                descriptor = os.pidfd_open(pid)
            except ProcessLookupError:
                return _say(rank, pid)
            ranks[descriptor] = rank, pid
            events.register(descriptor, select.EPOLLIN)
        # On a busy machine the launcher may have killed the others by now: which was first cannot be told.
        gone = [ranks[descriptor] for descriptor, _ in events.poll(0) if descriptor in ranks]
        if len(gone) > 1:
            return _say_several(gone)
        while True:
            # In the order in which they came.
            for descriptor, _ in events.poll():
                if descriptor in ranks:
                    return _say(*ranks[descriptor])
                if os.read(0, 1):
                    return None
                events.unregister(0)  # the rank that would dismiss us is gone: its own end follows


def _say_several(gone: list[tuple[int, int]]) -> None:
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
