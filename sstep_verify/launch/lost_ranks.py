"""Ranks to blame when one is gone from a pool or does not start, from what ranks and launcher wrote."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sstep_verify.launch.failures import LaunchError, MismatchError, RankLostError, RankState, dissenters
from sstep_verify.launch.start_monitor import state_and_parent
from sstep_verify.launch.traces import ABORTED as ABORTED_HERE
from sstep_verify.launch.traces import COMPLAINED, CRASHED

ABORTED = re.compile(r"MPI_ABORT was invoked (?:on|by process) rank (\d+)")
"""Words by which Open MPI's launcher names the rank that called MPI_Abort."""

LOG_TAIL = 8000
"""Characters of the ranks' output that an error quotes."""


def lost(
    name: str, first: int, outputs: Mapping[int, str], states: Sequence[RankState], log: str
) -> LaunchError:
    """Name the ranks that crashed or called for the end; the one that vanished first if none did.

    Parameters
    ----------
    name : str
        What was called.
    first : int
        Rank that vanished first.
    outputs : mapping of int to str
        What ranks wrote in this call.
    states : sequence of RankState
        Where every rank stood.
    log : str
        What the launcher wrote.
    """
    said = "".join(f"rank {rank} wrote:\n{text[-LOG_TAIL:]}\n" for rank, text in outputs.items()) + log
    crashed = [rank for rank, text in outputs.items() if CRASHED in text]
    aborted = [rank for rank, text in outputs.items() if ABORTED_HERE.search(text)]
    aborted = aborted or [int(rank) for rank in ABORTED.findall(log)]
    complained = any(COMPLAINED.search(text) for text in outputs.values())
    if complained and not crashed and not aborted and dissenters(states):
        return MismatchError(name, states, log=said)
    return RankLostError(name, crashed or aborted[:1] or [first], said)


def not_started(size: int, pids: Mapping[int, int], gone: Sequence[int]) -> dict[int, str]:
    """Describe the ranks that keep a pool from starting.

    Parameters
    ----------
    size : int
        Ranks that were to start (P).
    pids : mapping of int to int
        Process of each rank that has come to where MPI begins.
    gone : sequence of int
        Those of them that have ended since.
    """
    if gone:
        return dict.fromkeys(gone, "ended before MPI began")
    stopped = [rank for rank, pid in sorted(pids.items()) if state_and_parent(pid)[0] == "T"]
    absent = [rank for rank in range(size) if rank not in pids]
    return {
        **dict.fromkeys(absent, "did not come to where MPI begins: it ended or is stopped"),
        **dict.fromkeys(stopped, "is stopped"),
    }
