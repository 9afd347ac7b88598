"""Runs in which every rank hears which columns it holds, or counts what it sends; called on every rank."""

from __future__ import annotations

from dataclasses import asdict
from unittest import mock

import numpy as np

from sstep_verify.ranks.interposer import forget_interposed_counts, interposed_counts
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver import run as run_module
from sstep_verify.solver.communicator import communicator_of
from sstep_verify.solver.data.partition import Partition
from sstep_verify.trajectory import Traffic


def final_on_columns(comm, request, options, starts) -> np.ndarray:
    """The end of a run in which rank p holds columns ``starts[p]``, ..., ``starts[p + 1] - 1``."""

    def given(nonzeros: np.ndarray, ranks: int, how: str) -> Partition:
        loads = [int(nonzeros[starts[rank] : starts[rank + 1]].sum()) for rank in range(ranks)]
        return Partition(np.array(starts), np.array(loads), np.array(loads, dtype=np.float64))

    solver = ProductionSolver(communicator_of(comm), **asdict(options))
    with mock.patch.object(run_module, "partition_of", given):
        return solver.run(request).final


def witnessed(comm, request, options) -> tuple[dict[str, int], dict[str, Traffic]]:
    """Counters of a run, and what the interposer counted meanwhile."""
    solver = ProductionSolver(communicator_of(comm), **asdict(options))
    forget_interposed_counts()
    counters = solver.run(request).counters
    return counters, interposed_counts()
