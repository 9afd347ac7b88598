"""A run on ranks of ours, of which others than the solver tell what each rank holds and communicates.

Each rank hands out digests of its own dual vectors, taken here, and the MPI library is asked, through the
interposer between it and the solver, for the reductions that each rank entered. Where that cannot be built
(no C compiler), or the ranks are those of a job that was started without it, counts are the solver's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sstep_verify.errors import MissingExtraError
from sstep_verify.launch import in_place, run
from sstep_verify.launch.interposer import (
    forget_interposed_counts,
    interposed_counts,
    is_interposed,
    preloaded,
    reductions_after_others,
)
from sstep_verify.runs.floating_point import restore
from sstep_verify.trajectory import AFTER_OTHERS, WITNESSED, Trajectory, fingerprint


@dataclass(frozen=True, eq=False)
class OfRank:
    """What one rank hands out.

    `trajectory` has no vectors elsewhere than on rank 0; `digests` are those of this rank's own a at every
    recorded iteration; `seen` are reductions and words that the MPI library saw, empty where nobody looked.
    """

    trajectory: Trajectory
    digests: dict[int, str]
    seen: dict[str, int]


def run_watched(
    ranks: int, function: Callable[..., Trajectory], *arguments: Any, limit: float
) -> list[Trajectory]:
    """Make a run on P ranks by a function of a communicator and the arguments, within `limit` seconds.

    Trajectories by rank; that of rank 0 has a digest of every rank, and what was seen among its counters.
    RankError, RankLostError, HangError or MismatchError as of `launch.run`.
    """
    # A rank that is alone counts what it would send.
    variables = {} if ranks == 1 or in_place.active() else _witness()
    found = run(ranks, on_rank, function, *arguments, limit=limit, variables=variables)
    whole = found[0].trajectory
    digests = {k: tuple(one.digests.get(k, "") for one in found) for k in found[0].digests}
    seen = {name: max(one.seen[name] for one in found) for name in found[0].seen}
    whole = replace(whole, fingerprints=digests, counters={**whole.counters, **seen})
    return [whole, *(one.trajectory for one in found[1:])]


def on_rank(comm: Any, function: Callable[..., Trajectory], *arguments: Any) -> OfRank:
    """Make a run on an mpi4py communicator, and look at it from outside of the solver."""
    looking = is_interposed()
    if looking:
        forget_interposed_counts()
    found = replace(function(comm, *arguments), altered=restore())
    seen: dict[str, int] = {}
    if looking:
        counts = interposed_counts()
        reductions = counts["allreduce"], counts["reduce_scatter"]
        made = {"collectives": sum(one.calls for one in reductions)}
        made["words"] = sum(one.words for one in reductions)
        seen = {WITNESSED[name]: count for name, count in made.items()}
        seen[AFTER_OTHERS] = reductions_after_others()
    digests = dict(zip(found.iterations.tolist(), map(fingerprint, found.alphas), strict=True))
    if comm.rank:
        nothing = np.empty((found.iterations.size, 0))
        found = replace(found, alphas=nothing, panels={}, state={}, log=None, fingerprints={})
    return OfRank(found, digests, seen)


@functools.cache
def _witness() -> dict[str, str]:
    """Variables by which ranks load the interposer; none where it cannot be built."""
    try:
        return preloaded()
    except MissingExtraError:
        return {}
