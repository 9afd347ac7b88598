"""Spreads units over the ranks of a job (``mpiexec -n P sstep-verify run``): rank 0 hands them out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from sstep_verify.campaign.kind import Setting, Unit
from sstep_verify.campaign.loop.messages import Finished
from sstep_verify.campaign.loop.pool import Run
from sstep_verify.errors import InputError, require


@contextmanager
def executor_of_job() -> Iterator[Any]:
    """The ranks above 0 of this job as an executor, on rank 0; None on the others, once all is done.

    Raises
    ------
    InputError
        If the launcher belongs to another MPI than mpi4py.
    MissingExtraError
        If mpi4py is not installed.
    """
    from sstep_verify.launch.environment import world

    require("mpi4py", "mpi")
    communicator = world()
    from mpi4py.futures import MPICommExecutor

    with MPICommExecutor(communicator, root=0) as executor:
        yield executor


def refuse_own_ranks(units: Sequence[Unit]) -> None:
    """Raise InputError if a unit starts ranks of its own, which a rank cannot do."""
    for unit in units:
        if unit.ranks > 1:
            raise InputError(
                f"{unit.keys[0]}: its solver starts {unit.ranks} MPI ranks of its own (ranks = "
                f"{unit.ranks}), which a rank of a job cannot; run this campaign without mpiexec, or leave "
                "such cases out by --only"
            )


def spread_over_ranks(
    executor: Executor, run: Run, units: Sequence[Unit], setting: Setting
) -> Iterator[Finished]:
    """Run units on the ranks of a job and yield their messages as units end, in any order."""
    futures = [executor.submit(_all, run, unit, setting) for unit in units]
    for future in as_completed(futures):
        yield from future.result()


def _all(run: Run, unit: Unit, setting: Setting) -> list[Finished]:
    from mpi4py import MPI

    # Processes of several machines may share their numbers.
    return [replace(message, process=MPI.COMM_WORLD.rank) for message in run(unit, setting)]
