"""OUTSIDE THE RANKS: one function, `run`, that calls something on P ranks and survives what they do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import IO, Any

from sstep_verify.errors import InputError
from sstep_verify.ranks.environment import promised_size, refuse_too_many
from sstep_verify.ranks.failures import (
    HangError,
    LaunchError,
    MismatchError,
    RankError,
    RankLostError,
    SlowError,
)

__all__ = [
    "HangError",
    "LaunchError",
    "MismatchError",
    "RankError",
    "RankLostError",
    "SlowError",
    "join",
    "run",
]

LIMIT = 50.0
"""Seconds that ranks may live without progress unless told otherwise."""


def run(
    ranks: int,
    function: Callable[..., Any],
    *arguments: Any,
    limit: float = LIMIT,
    variables: dict[str, str] | None = None,
) -> list[Any]:
    """Call ``function(communicator, *arguments)`` on every rank.

    In an ordinary process the ranks are a pool of workers that is started at first use and kept. Under
    ``mpiexec`` they are the first `ranks` processes of this very job, all of which must have called
    `sstep_verify.ranks.join` (the pytest plugin sees to it).

    Parameters
    ----------
    ranks : int
        Number of ranks (P), >= 1.
    function : callable
        A function of an importable module; its first argument is an mpi4py communicator of size `ranks`.
        Where it communicates by `sstep_verify.solver.communicator.MpiCommunicator`, all ranks
        must enter the same collectives: that is checked.
    *arguments
        Passed on to every rank.
    limit : float
        Seconds that the ranks may live without progress, as `sstep_verify.ranks.patience` counts them; ten
        times as many by the clock end the call in any case. In place, seconds by the clock that end it.
    variables : dict, optional
        Environment variables of a pool of its own, such as LD_PRELOAD; not possible in place.

    Returns
    -------
    list
        What each rank returned, by rank.

    Raises
    ------
    InputError
        If `ranks` < 1 or more than this machine can start or the job has, the function cannot be
        imported or the arguments not be sent, or the caller is itself such a call.
    RankError, RankLostError, HangError, MismatchError
        If a rank raised, vanished, hangs, or entered other collectives than the others.
        In place, a lost or a hanging rank ends the whole job, and so does one that raises while others
        wait for it.
    SlowError
        If the call took too long and does not hang; it says nothing of the function.
    """
    from sstep_verify.ranks import in_place, task
    from sstep_verify.ranks.pool import pool_of

    refuse_too_many(ranks)
    if task.under_way():
        raise InputError("run() was called by a function that runs on ranks itself; call it outside")
    if promised_size() > 1:
        if variables:
            raise InputError(f"variables {sorted(variables)} cannot be set inside a running MPI job")
        return in_place.call(ranks, function, arguments, limit)
    return pool_of(ranks, variables or {}).call(function, arguments, limit)


def join(voice: IO[str] | None = None) -> bool:
    """Make this process one of the job's ranks; to be called on all of them.

    True at once on rank 0, which may now use `run`; False on the others when rank 0 has dismissed them,
    which it does when its Python ends. Last words go to `voice`, or to standard error.
    """
    from sstep_verify.ranks import in_place

    return in_place.join(voice or sys.stderr)
