"""What a launcher calls on every rank: a run of the production solver."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from sstep_verify.parallel.communicator import communicator_of
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.production.options import Options
from sstep_verify.solvers.production.solver import ProductionSolver
from sstep_verify.trajectory import Trajectory


def run_on_rank(comm: Any, request: RunRequest, options: Options) -> Trajectory:
    """Make a run on an mpi4py communicator.

    Returns
    -------
    Trajectory
        On rank 0 all of it; elsewhere only what differs between ranks, counters and timers.
    """
    trajectory = ProductionSolver(communicator_of(comm), **asdict(options)).run(request)
    if comm.rank == 0:
        return trajectory
    nothing = np.empty((trajectory.iterations.size, 0))
    return replace(trajectory, alphas=nothing, panels={}, state={}, log=None)
