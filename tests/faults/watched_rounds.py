"""Rounds of collectives under the watchdog of commands; a program for every rank.

Called as: watched_rounds.py FAULT GUILTY LIMIT [THREADS]
"""

import sys
import time

import mpi4py

fault, guilty, limit, *threads = sys.argv[1:]
if threads:
    mpi4py.rc.thread_level = threads[0]

from launch_faults import rounds  # noqa: E402

from sstep_verify.cli.work import on_ranks  # noqa: E402

LIMIT = 1.0
"""Seconds that are allowed where work is slow."""


def part(communicator, watchdog):
    mine = communicator.rank == int(guilty)
    communicator.barrier()
    if fault == "late" and mine:
        time.sleep(10**6)
    if fault != "slow":
        return rounds(communicator._comm, "" if fault == "late" else fault, int(guilty))
    watchdog.expect(LIMIT)  # announced
    communicator.barrier()
    for seconds in (1.0, 2.2):  # growing, to more than limit and announcement
        time.sleep(seconds * LIMIT if mine else 0.0)
        communicator.barrier()
    watchdog.expect(0.0)
    for _ in range(3 if mine else 0):  # steps without a collective, for which the other rank waits
        time.sleep(0.5 * LIMIT)
        watchdog.beat()
    return communicator.barrier()


on_ranks(part, float(limit))
