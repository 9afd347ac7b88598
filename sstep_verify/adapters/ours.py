"""The production solver on P ranks, driven from outside the ranks, and a run of which others tell as well.

Each rank hands out digests of its own dual vectors, taken here, and the MPI library is asked, through the
interposer between it and the solver, for all by which each rank communicated. Where that cannot be built
(no C compiler), or the ranks are those of a job that was started without it, counts are the solver's own.
Whether the ranks' arithmetic differs is measured here, where that is said or something is broadcast.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from sstep_verify.adapters.arithmetic import arithmetic_of_process
from sstep_verify.adapters.callable import observed
from sstep_verify.adapters.shares import require_shares
from sstep_verify.errors import (
    ConductError,
    DivergedError,
    InputError,
    MissingExtraError,
    NotMadeError,
    RunError,
)
from sstep_verify.floating_point import restore
from sstep_verify.problems.problem import fingerprint
from sstep_verify.protocol import Observer, RunRequest
from sstep_verify.ranks import LIMIT, run
from sstep_verify.ranks.environment import promised_size, refuse_too_many
from sstep_verify.ranks.failures import RankError
from sstep_verify.ranks.interposer import (
    forget_interposed_counts,
    interposed_counts,
    is_interposed,
    preloaded,
    reductions_after_others,
)
from sstep_verify.solver.communicator import communicator_of
from sstep_verify.solver.packet import IncoherenceError
from sstep_verify.solver.run import ProductionSolver
from sstep_verify.solver.settings import Options
from sstep_verify.trajectory import BROADCAST, BROADCASTS, Trajectory, Witnessed, most_traffic


def run_on_rank(comm: Any, request: RunRequest, options: Options) -> Trajectory:
    """Make a run on an mpi4py communicator; ConductError where shares are less even than promised."""
    solver = ProductionSolver(communicator_of(comm), **asdict(options))
    made = solver.run(request)
    if solver.columns is not None:
        require_shares(request.problem.data, comm.allgather(solver.columns), options.partition)
    return made


class DistributedSolver:
    """A solver for checks and campaigns: every run is one call on P ranks.

    A run whose ranks live `limit` seconds without progress hangs; the options are those of `Options`.
    InputError if one is unusable, or this machine cannot start so many ranks.
    """

    def __init__(self, ranks: int, *, limit: float = LIMIT, **options: Any):
        refuse_too_many(ranks)
        self._ranks, self._limit, self._options = ranks, limit, Options(**options)
        self.declaration = self._options.declaration(ranks)

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        """Make the run on all ranks.

        The observer lives out here, where no rank can ask it, so all iterations are made; where it would
        have ended the run, the run is made again up to there, so that its counts are its own. InputError or
        MemoryError if the ranks refuse the request, or have no room for it; NotMadeError if the operating
        system of a rank prevented it, or it took too long and does not hang (`SlowError`); RunError if they
        ended the run, because they no longer held the same dual vector; RankError, RankLostError or
        HangError if a rank raised anything else, vanished, or hangs (`sstep_verify.ranks.patience`).
        """
        whole = whole_run(self._ranks, run_on_rank, request, self._options, limit=self._limit)
        return observed(whole, request, observe, self.run)


def of_ranks(error: RankError) -> Exception:
    """What an error of ranks says of a run: see `DistributedSolver.run`."""
    kind, message, _ = error.failures[error.ranks[0]]
    if kind in (IncoherenceError.__name__, DivergedError.__name__):
        return RunError(message, kind)
    if kind == ConductError.__name__:
        return ConductError(message)
    if isinstance(of := getattr(builtins, kind, None), type) and issubclass(of, OSError):
        return NotMadeError(f"rank {error.ranks[0]}: {kind}: {message}, which is no error of the solver")
    for passed in (InputError, MemoryError):
        if kind == passed.__name__:
            return passed(message)
    return error


def whole_run(ranks: int, function: Callable[..., Trajectory], *arguments: Any, limit: float) -> Trajectory:
    """Make a run on P ranks by a function of a communicator and the arguments, within `limit` seconds.

    It is `joined` of what all ranks made; errors are those of `DistributedSolver.run`.
    """
    # A rank that is alone counts what it would send.
    variables = {} if ranks == 1 or promised_size() > 1 else _witness()
    try:
        found = run(ranks, on_rank, function, *arguments, limit=limit, variables=variables)
    except RankError as error:
        raise of_ranks(error) from error
    return joined(found)


def joined(ranks: Sequence[tuple[Trajectory, str]]) -> Trajectory:
    """The run of rank 0, with what all ranks found, by `on_rank`.

    That are alterations and timers: of each phase the largest seconds, and mean and smallest under names
    that say so; digests of a; and what was seen, of each kind the most of any rank.
    """
    found, arithmetic_kinds = [one for one, _ in ranks], {digest for _, digest in ranks if digest}
    whole = found[0]
    digests = {k: tuple("".join(one.fingerprints.get(k, ())) for one in found) for k in whole.fingerprints}
    timers: dict[str, float] = {}
    for phase in whole.timers:
        seconds = [one.timers[phase] for one in found]
        more = {f"{phase}, mean": float(np.mean(seconds)), f"{phase}, min": min(seconds)}
        timers |= {phase: max(seconds), **more}
    return replace(
        whole,
        fingerprints=digests,
        seen=_most([one.seen for one in found if one.seen is not None], len(arithmetic_kinds)),
        timers=timers,
        altered=tuple(sorted({word for one in found for word in one.altered})),
    )


def _most(seen: Sequence[Witnessed], arithmetic_kinds: int) -> Witnessed | None:
    """Of each kind the most that any rank handed over; None where nobody looked at anything."""
    if not seen:
        return Witnessed(arithmetic_kinds=arithmetic_kinds) if arithmetic_kinds else None
    return Witnessed(
        most_traffic([one.traffic for one in seen]),
        max(one.after_others or 0 for one in seen),
        arithmetic_kinds,
    )


def on_rank(comm: Any, function: Callable[..., Trajectory], *arguments: Any) -> tuple[Trajectory, str]:
    """Make a run on an mpi4py communicator, and look at it from outside of the solver.

    The trajectory of a rank has digests of its own a, and what the MPI library was asked for, where
    somebody looked; elsewhere than on rank 0 it has no vectors. Next to it stands what decides the last
    bits of this rank's arithmetic, where something was broadcast, or the run says so; else it is empty.
    """
    looking = is_interposed()
    if looking:
        forget_interposed_counts()
    found = replace(function(comm, *arguments), altered=restore())
    seen = Witnessed(interposed_counts(), reductions_after_others()) if looking else None
    sent = found.counters.get(BROADCASTS, 0) or (seen is not None and seen.traffic[BROADCAST].calls)
    arithmetic = arithmetic_of_process() if sent else ""
    own = {k: (fingerprint(a),) for k, a in zip(found.iterations.tolist(), found.alphas, strict=True)}
    found = replace(found, seen=seen, fingerprints=own)
    if comm.rank:
        nothing = np.empty((found.iterations.size, 0))
        found = replace(found, alphas=nothing, panels={}, weights=None, log=None)
    return found, arithmetic


@functools.cache
def _witness() -> dict[str, str]:
    """Variables by which ranks load the interposer; none where it cannot be built."""
    try:
        return preloaded()
    except MissingExtraError:
        return {}
