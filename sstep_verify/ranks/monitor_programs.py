"""Two programs that stand next to the ranks of a job and name a rank which the ranks themselves cannot.

They are run by the file name of this module and the name of one of them; it imports nothing of the package.

start: one next to each rank, from before ``MPI_Init`` until the ranks have met, ends a job whose ranks do
not come together, and names the rank that the others wait for. What became of the other ranks of this
machine is read from /proc: they are the processes below the launcher that bear a rank in their environment;
one with such a monitor has come.

first-exit: one on each machine sees which rank ends first, since a launcher kills all ranks once one is
gone and does not say which it was. The files of a process that ends are closed one after the other, from
the highest number or from the lowest as the kernel has it, and only then has it ended. The launcher sees
its own connection to that process close, and may have killed other ranks before the first has ended: so
each rank holds a pipe of a lower and one of a higher number than that connection, and the closing of one of
them is seen here before.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterator

START, FIRST_EXIT = "start", "first-exit"
"""Names of the programs."""

TICK = 0.25
"""Seconds between two looks at the clock."""

LONGEST = 2.0
"""Most seconds that count between two looks: in a longer gap the whole job was suspended."""

TURN = 2.0
"""Seconds left to the monitors of lower ranks, and of other machines if nothing is wrong on this one."""

DELIVERY = 0.5
"""Seconds for last words to pass through the launcher, which drops what it holds when a rank is killed."""


def end_slow_start(arguments: list[str]) -> None:
    """Wait for a byte on standard input, or the end of the rank; if that takes too long, end the job.

    Given are the seconds allowed; rank; ranks in all; those on this machine, 0 if not known; the variable
    that holds a process's rank; what to do if the ranks were merely slow.
    """
    seconds, variable, advice = float(arguments[0]), arguments[4], arguments[5]
    own, size, here = map(int, arguments[1:4])
    pid = os.getppid()
    if released(seconds, pid):
        return
    turns = 0
    while True:
        ranks = ranks_of_job(pid, variable)
        said = suspects(ranks, size if here == size else 0)
        waiting = [rank for rank, states in ranks.items() if states.get(True) and not stopped(states)]
        if own == min(waiting, default=own) and (said or turns):
            told = "; ".join(said) or f"the {len(waiting)} rank(s) of this machine wait for others"
            os.write(2, f"\nhang: MPI did not begin within {seconds:g} s: {told}. {advice}\n".encode())
            time.sleep(DELIVERY)
            os.kill(pid, signal.SIGKILL)  # which makes the launcher end all ranks
            return
        turns += 1
        if released(TURN, pid):
            return


def released(seconds: float, pid: int) -> bool:
    """Whether the rank lets this process go, or ends, before it has waited for some seconds."""
    waited = 0.0
    while waited < seconds:
        begin = time.monotonic()
        if select.select([0], [], [], TICK)[0]:
            return True
        if state_and_parent(pid)[0] != "T":  # of a rank that is stopped the others' monitors speak
            waited += min(time.monotonic() - begin, LONGEST)
    return False


def suspects(ranks: dict[int, dict[bool, str]], size: int) -> list[str]:
    """Which ranks of `ranks_of_job` keep the others waiting; those of other machines are not seen.

    `size` are the ranks in all if all are on this machine, else 0.
    """
    said = []
    for rank in sorted({*ranks, *range(size)}):
        states = ranks.get(rank, {})
        if stopped(states):
            said.append(f"rank {rank} is stopped")
        elif not states.get(False):
            said.append(f"rank {rank} has ended")
        elif not states.get(True):
            said.append(f"rank {rank} has not come to MPI_Init")
    return said


def stopped(states: dict[bool, str]) -> bool:
    """Whether a process of a rank is stopped."""
    return "T" in states.get(False, "")


def ranks_of_job(pid: int, variable: str) -> dict[int, dict[bool, str]]:
    """States of the processes of each rank on this machine, apart those of its monitors (True).

    `pid` is a rank's process, `variable` the environment variable that holds a process's rank.
    """
    launcher = pid
    while rank_of(launcher, variable) is not None:
        launcher = state_and_parent(launcher)[1]
    found: dict[int, dict[bool, str]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        rank = rank_of(int(name), variable)
        if rank is not None and launcher in ancestors(int(name)):
            states = found.setdefault(rank, {})
            words = content(int(name), "cmdline").split(b"\0")
            monitor = os.fsencode(__file__) in words and START.encode() in words
            states[monitor] = states.get(monitor, "") + state_and_parent(int(name))[0]
    return found


def ancestors(pid: int) -> Iterator[int]:
    """The processes above one, the nearest first."""
    while pid > 1:
        pid = state_and_parent(pid)[1]
        yield pid


def rank_of(pid: int, variable: str) -> int | None:
    """The rank that a process bears in its environment; None for the launcher, and where it is not seen."""
    for line in content(pid, "environ").split(b"\0"):
        name, _, value = line.partition(b"=")
        if name == variable.encode():
            return int(value)
    return None


def state_and_parent(pid: int | str) -> tuple[str, int]:
    """State of a process or thread, such as "T" for stopped, and its parent; "" and 0 if it is gone."""
    words = content(pid, "stat").decode(errors="replace").rpartition(")")[2].split()
    return (words[0], int(words[1])) if words else ("", 0)


def content(pid: int | str, name: str) -> bytes:
    """A file that the kernel keeps of a process, or of a thread of it; empty if gone or not to be read."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def name_first_exit(arguments: list[str]) -> None:
    """Watch processes until the first of them ends, or until a byte arrives on standard input.

    Given is "rank:pid:pipe:pipe" for every rank of this machine; the last are numbers of descriptors, of
    pipes whose writing ends only that process holds.
    """
    with select.epoll() as events:
        events.register(0, select.EPOLLIN)
        ranks: dict[int, tuple[int, int]] = {}
        gone = set()
        for argument in arguments:
            rank, pid, *pipes = map(int, argument.split(":"))
            try:
                watched = {os.pidfd_open(pid): select.EPOLLIN}
                for pipe in pipes:
                    # Where it may not be opened, the end of the process alone tells.
                    with contextlib.suppress(PermissionError):
                        opened = os.open(f"/proc/{pid}/fd/{pipe}", os.O_RDONLY | os.O_NONBLOCK)
                        watched[opened] = select.EPOLLHUP
            except (ProcessLookupError, FileNotFoundError):
                gone.add((rank, pid))
                continue
            for descriptor, event in watched.items():
                ranks[descriptor] = rank, pid
                events.register(descriptor, event)
        gone |= {ranks[descriptor] for descriptor, _ in events.poll(0) if descriptor in ranks}
        if gone:
            return _say(gone)
        while True:
            # In the order in which they came.
            for descriptor, _ in events.poll():
                if descriptor in ranks:
                    return _say({ranks[descriptor]})
                if os.read(0, 1):
                    return None
                events.unregister(0)  # the rank that would dismiss us is gone: its own end follows


def _say(gone: set[tuple[int, int]]) -> None:
    """Name the rank that ended first, or all of which it may have been."""
    named = ", ".join(f"{rank} (process {pid})" for rank, pid in sorted(gone))
    text = (
        f"lost rank {named}: it ended before all others, crashed or killed "
        "(if MPI_Abort was called, by the launcher: see who called it)"
    )
    # On a busy machine the launcher may have killed the others by now: which was first cannot be told.
    if len(gone) > 1:
        text = f"lost ranks {named}: they had ended when it was first looked, crashed or killed"
    os.write(2, f"\n{text}\n".encode())


if __name__ == "__main__":
    {START: end_slow_start, FIRST_EXIT: name_first_exit}[sys.argv[1]](sys.argv[2:])
