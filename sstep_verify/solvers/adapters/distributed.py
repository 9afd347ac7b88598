"""The production solver on P ranks, driven from outside the ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from sstep_verify.errors import DivergedError, InputError, RunError
from sstep_verify.launch.environment import refuse_too_many
from sstep_verify.launch.failures import RankError
from sstep_verify.launch.run import LIMIT
from sstep_verify.parallel.communicator import communicator_of
from sstep_verify.parallel.packet import IncoherenceError
from sstep_verify.solver import Observer, RunRequest
from sstep_verify.solvers.adapters.recording import observed
from sstep_verify.solvers.adapters.watched import run_watched
from sstep_verify.solvers.production.options import Options
from sstep_verify.solvers.production.solver import ProductionSolver
from sstep_verify.trajectory import Trajectory


def run_on_rank(comm: Any, request: RunRequest, options: Options) -> Trajectory:
    """Make a run on an mpi4py communicator."""
    return ProductionSolver(communicator_of(comm), **asdict(options)).run(request)


class DistributedSolver:
    """A solver for checks and campaigns: every run is one call on `ranks` ranks.

    Parameters
    ----------
    ranks : int
        Number of ranks (P).
    limit : float
        Seconds that a run may take before it counts as hanging.
    **options
        See `sstep_verify.solvers.production.options.Options`.

    Raises
    ------
    InputError
        If an option is unusable, or this machine cannot start so many ranks.
    """

    def __init__(self, ranks: int, *, limit: float = LIMIT, **options: Any):
        refuse_too_many(ranks)
        self._ranks, self._limit, self._options = ranks, limit, Options(**options)
        self.declaration = self._options.declaration(ranks)

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Make the run on all ranks.

        The observer lives out here, where no rank can ask it, so all iterations are made; where it would
        have ended the run, the run is made again up to there, so that its counts are its own.

        Raises
        ------
        InputError, MemoryError
            If the ranks refuse the request, or have no room for it.
        RunError
            If the ranks ended the run, because they no longer held the same dual vector.
        RankError, RankLostError, HangError
            If a rank raised anything else, vanished, or did not end in time.
        """
        whole = whole_run(self._ranks, run_on_rank, request, self._options, limit=self._limit)
        return observed(whole, request, observe, self.run)


def of_ranks(error: RankError) -> Exception:
    """What an error of ranks says of a run: see `DistributedSolver.run`."""
    kind, message, _ = error.failures[error.ranks[0]]
    if kind in (IncoherenceError.__name__, DivergedError.__name__):
        return RunError(message, kind)
    for passed in (InputError, MemoryError):
        if kind == passed.__name__:
            return passed(message)
    return error


def whole_run(ranks: int, function: Callable[..., Trajectory], *arguments: Any, limit: float) -> Trajectory:
    """The run that the ranks make together: that of rank 0, with the timers and alterations of all.

    Parameters and errors are those of `run_watched`, and the latter as `of_ranks` tells them.
    """
    try:
        found = run_watched(ranks, function, *arguments, limit=limit)
    except RankError as error:
        raise of_ranks(error) from error
    altered = {word for one in found for word in one.altered}
    timers = over_ranks([one.timers for one in found])
    return replace(found[0], timers=timers, altered=tuple(sorted(altered)))


def over_ranks(timers: Sequence[dict[str, float]]) -> dict[str, float]:
    """Largest seconds of each phase over the ranks; mean and smallest under names that say so."""
    merged: dict[str, float] = {}
    for phase in timers[0]:
        seconds = [one[phase] for one in timers]
        merged[phase] = max(seconds)
        merged[f"{phase}, mean"] = float(np.mean(seconds))
        merged[f"{phase}, min"] = min(seconds)
    return merged
