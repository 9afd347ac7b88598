"""Which rank ended first, as far as that can be known."""

from __future__ import annotations

import os
import select
import subprocess
import sys

import pytest

from sstep_verify.ranks import monitor_programs

MONITOR = [monitor_programs.__file__, monitor_programs.FIRST_EXIT]
pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system has no pidfd_open")


def started(
    program: str = "import os; print(os.pipe()[1], flush=True); input()",
) -> tuple[subprocess.Popen, int]:
    """Start a process that holds the writing end of a pipe of its own; it, and the number of that end."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    return process, int(process.stdout.readline())


def ended(process: subprocess.Popen) -> None:
    """Kill it, and wait until it is gone but not yet fetched, as a rank is whose launcher is slow."""
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


def watched(processes) -> list[str]:
    arguments = [f"{rank}:{process.pid}:{pipe}" for rank, (process, pipe) in enumerate(processes)]
    return [sys.executable, "-I", "-S", *MONITOR, *arguments]


@pytest.mark.parametrize("lost", [(1,), (2, 0), (0, 1, 2)])
def test_no_rank_is_called_the_first_where_several_were_gone(lost):
    processes = [started() for _ in range(3)]
    ranks = [process for process, _ in processes]
    for rank in lost:
        ended(ranks[rank])
    told = subprocess.run(
        watched(processes), input="", stderr=subprocess.PIPE, text=True, timeout=60, check=True,
    ).stderr  # fmt: skip
    for one in ranks:
        one.kill()
        one.communicate()
    if len(lost) == 1:
        assert f"lost rank {lost[0]} (process {ranks[lost[0]].pid}): it ended before all others" in told
    else:
        named = ", ".join(f"{rank} (process {ranks[rank].pid})" for rank in sorted(lost))
        assert f"lost ranks {named}: they had ended" in told
        assert "before all others" not in told


def test_a_rank_is_lost_once_its_files_are_closed_before_it_has_ended():
    """A launcher that sees a rank's connection close kills the others, and those may *end* before it."""
    program = (
        "import os, time; print(pipe := os.pipe()[1], flush=True); input(); os.close(pipe); time.sleep(60)"
    )
    processes = [started(), started(program), started()]
    slow, _ = processes[1]
    monitor = subprocess.Popen(watched(processes), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    print(file=slow.stdin, flush=True)
    _, told = monitor.communicate(timeout=60)
    for process, _ in processes:
        assert process.poll() is None
        process.kill()
        process.communicate()
    assert f"lost rank 1 (process {slow.pid}): it ended before all others" in told


CONNECTED = """
import os
from sstep_verify.ranks.heartbeat import signs_of_life
signs = signs_of_life()
print(*signs, os.pipe()[1], flush=True)
input()
"""


def test_a_sign_of_life_closes_before_the_launchers_connection():
    """Kernels close the files of a process that ends from the highest number or from the lowest."""
    process = subprocess.Popen(
        [sys.executable, "-c", CONNECTED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    *signs, connection = process.stdout.readline().split()
    with select.epoll() as events:
        opened = {}
        for number in (*signs, connection):
            path = f"/proc/{process.pid}/fd/{number}"
            opened[os.open(path, os.O_RDONLY | os.O_NONBLOCK)] = number
            events.register(max(opened), select.EPOLLHUP)
        assert not events.poll(0)
        ended(process)
        closed = [opened[descriptor] for descriptor, _ in events.poll(10)]
    for descriptor in opened:
        os.close(descriptor)
    process.communicate()
    assert sorted(closed) == sorted(opened.values())
    assert closed[0] in signs
