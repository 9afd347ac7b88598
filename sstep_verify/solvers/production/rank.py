"""Functions that a launcher calls on every rank: a run of the solver, or its training in intervals."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np

from sstep_verify.costs.tuning import Tuner
from sstep_verify.parallel.communicator import Communicator, communicator_of
from sstep_verify.parallel.data.partition import column_nonzeros, local_columns, padded, partition_of
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.production.options import Options
from sstep_verify.solvers.production.schedule import Schedule
from sstep_verify.solvers.production.solver import ProductionSolver
from sstep_verify.solvers.production.training import train
from sstep_verify.solvers.production.training_plan import Place, Plan, Stretch
from sstep_verify.trajectory import Trajectory


def run_on_rank(comm: Any, request: RunRequest, options: Options) -> Trajectory:
    """Make a run on an mpi4py communicator."""
    return ProductionSolver(communicator_of(comm), **asdict(options)).run(request)


def train_on_rank(comm: Any, request: RunRequest, plan: Plan, options: Options) -> Trajectory:
    """Train on an mpi4py communicator; parameters and trajectory are those of `train_request`."""
    return train_request(communicator_of(comm), request, plan, options)


def train_request(
    communicator: Communicator, request: RunRequest, plan: Plan, options: Options
) -> Trajectory:
    """Train as a request says.

    Parameters
    ----------
    communicator : Communicator
        The ranks.
    request : RunRequest
        Its problem holds all features, of which each rank takes its share.
    plan : Plan
        How long, counted from the beginning of the stream; its intervals are those of the request's start.
    options : Options
        How to run; `columns` must be "local".

    Returns
    -------
    Trajectory
        With the first and the last dual vector, those of the recorded iterations that end an interval,
        and the solver's claims.
    """
    problem, stops = request.problem, set(request.stops)
    partition = partition_of(column_nonzeros(problem.data), communicator.size, options.partition)
    own = local_columns(problem.data, partition.columns(communicator.rank))
    problem = replace(problem, data=padded(own))
    place = None
    if request.start or request.initial is not None:
        place = Place(request.start, np.array(request.first))
    kept: dict[int, np.ndarray] = {}

    def keep(found: Place) -> None:
        kept[found.iteration - request.start] = found.alpha

    schedule = None
    if plan.tuned:
        given = tuned_sequence(plan, options)
        tuner = Tuner((options.exchange,), plan.s, plan.s, plan.iterations)
        schedule = Schedule(tuner, communicator.size, given, request.start)
    made = train(
        problem,
        request.stream,
        plan,
        options,
        communicator,
        place=place,
        schedule=schedule,
        log=request.log,
        keep=keep,
    ).trajectory
    ends = dict(zip(made.iterations.tolist(), made.alphas, strict=True))
    ends |= {iteration: alpha for iteration, alpha in kept.items() if iteration in stops}
    iterations = sorted(ends)
    return replace(
        made,
        iterations=np.array(iterations, dtype=np.int64),
        alphas=np.array([ends[iteration] for iteration in iterations]),
    )


def tuned_sequence(plan: Plan, options: Options) -> list[Stretch]:
    """Windows of several s, the same for every run: some of each width that divides the plan's s, in turn.

    Every other width communicates what "allreduce" does, unless the options' exchange carries a state. Each
    lies within one window of the plan's s, whose bounds hold for it: what a window corrects for later
    steps, a shorter one that begins within it takes from the a that it finds. Before the last step of each
    that is whole, one stretch ends and another, alike, begins: a window is cut there, in an interval.
    """
    widths = [width for width in range(1, plan.s + 1) if plan.s % width == 0]
    exchanges = (options.exchange, options.exchange if options.exchange == "gram" else "allreduce")
    made: list[Stretch] = []
    for place, end in enumerate(range(plan.s, plan.iterations + plan.s, plan.s)):
        width, exchange = widths[-1 - place % len(widths)], exchanges[place % 2]
        ends = (end - 1, end) if width > 1 and end <= plan.iterations else (min(end, plan.iterations),)
        made += [Stretch(cut, width, exchange) for cut in ends]
    return made
