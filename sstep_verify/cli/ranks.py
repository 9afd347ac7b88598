"""A command on all ranks of an MPI job: one message, one exit code, and no rank left waiting."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

import click

from sstep_verify.cli.doctor_mpi import is_silent_rank
from sstep_verify.errors import InputError, MissingExtraError
from sstep_verify.launch import environment, in_place
from sstep_verify.parallel.communicator import Communicator, MpiCommunicator, SelfCommunicator
from sstep_verify.parallel.packet import IncoherenceError, WindowError
from sstep_verify.parallel.shares import ReadingError

GRACE = 10.0
"""Seconds that a rank with an error waits for the others to come to the same end."""


class RankCommand(click.Command):
    """A command whose usage errors are told by rank 0 alone."""

    def make_context(self, info_name, args, parent=None, **extra):
        """Parse the command line."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except click.UsageError:
            if is_silent_rank():
                sys.exit(2)
            raise


def on_ranks(function: Callable[[Communicator], None]) -> None:
    """Call a function on every rank of this job, or in this process if it is none.

    Errors that all ranks raise together are told once, by rank 0. One that a rank raises alone ends the
    job: the others may be waiting for it in a collective, and would for ever.

    Parameters
    ----------
    function : callable
        Gets the communicator.

    Raises
    ------
    SystemExit
        On several ranks: code 2 for errors of the input, 4 for others.
    InputError
        If this is one of several processes that do not know of each other.
    """
    if not in_place.active():
        _refuse_lone_ranks()
        function(SelfCommunicator())
        return
    try:
        world = environment.world()
    except (InputError, MissingExtraError):
        if is_silent_rank():
            sys.exit(2)
        raise
    door = world.Dup()
    try:
        function(MpiCommunicator(world))
    except (InputError, MissingExtraError) as error:
        _leave(door, 2, f"error: {error}")
    except (WindowError, IncoherenceError, ReadingError) as error:
        notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
        _leave(door, 4, f"error: {error}{notes}")
    except BaseException:
        click.echo(f"rank {door.rank} of {door.size} ends the job:\n{traceback.format_exc()}", err=True)
        _abort(door, 4)


def _refuse_lone_ranks() -> None:
    """Do not let every task of a SLURM step train alone and write the same file."""
    tasks = os.environ.get("SLURM_STEP_NUM_TASKS", "1")
    if tasks == "1" or any(name in os.environ for name in environment.SIZE_VARIABLES):
        return
    if os.environ.get("SLURM_PROCID", "0") != "0":
        sys.exit(2)
    raise InputError(
        f"srun started {tasks} tasks (SLURM_STEP_NUM_TASKS), but no variable of an MPI launcher "
        f"({', '.join(environment.SIZE_VARIABLES)}) says that they are ranks of one job; "
        "start it with mpiexec, or with srun --mpi=pmi2"
    )


def _leave(door: Any, code: int, message: str) -> None:
    """End this rank together with all others, or, if they do not come, the whole job."""
    if door.rank == 0:
        click.echo(message, err=True)
    arrived = door.Ibarrier()
    end = time.monotonic() + GRACE
    while not arrived.Test():
        if time.monotonic() > end:
            click.echo(f"rank {door.rank} of {door.size} alone: {message}", err=True)
            _abort(door, code)
        time.sleep(0.01)
    sys.exit(code)


def _abort(door: Any, code: int) -> None:
    """End the whole job, once the launcher has had time to pass on what was said."""
    time.sleep(in_place.DELIVERY)
    door.Abort(code)
