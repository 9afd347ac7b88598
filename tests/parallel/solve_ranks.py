"""Part of the ranks in the tests of training: train on their columns, predict, and hand back what they have."""

import time
from dataclasses import asdict, replace

import numpy as np

from sstep_verify.costs.tuning import Tuner
from sstep_verify.parallel.communicator import communicator_of
from sstep_verify.parallel.data.partition import column_nonzeros, local_columns, partition_of
from sstep_verify.solver import RunRequest
from sstep_verify.solvers.production import ProductionSolver
from sstep_verify.solvers.production.monitor import Monitor
from sstep_verify.solvers.production.schedule import Schedule
from sstep_verify.solvers.production.training import train
from sstep_verify.training.prediction import predict
from sstep_verify.training.samples import read_new_samples


def own(problem, communicator):
    """The problem with this rank's columns."""
    part = partition_of(column_nonzeros(problem.data), communicator.size).columns(communicator.rank)
    return replace(problem, data=local_columns(problem.data, part))


def trained(comm, problem, stream, plan, options, place=None):
    """Result and the places that were kept."""
    communicator, places = communicator_of(comm), []
    result = train(
        own(problem, communicator), stream, plan, options, communicator, place=place, keep=places.append
    )
    return result, places


def tuned(comm, problem, stream, plan, options, exchanges, given=(), place=None):
    """Result, places that were kept and stretches, of a training that is tuned where nothing is given."""
    communicator, places = communicator_of(comm), []
    begin = place.iteration if place else 0
    tuner = Tuner(exchanges, plan.s, 4, quantum=5e4, settled=5e4)
    schedule = Schedule(tuner, comm.size, given, begin)
    result = train(
        own(problem, communicator), stream, plan, options, communicator, place=place, schedule=schedule,
        keep=places.append,
    )  # fmt: skip
    return result, places, tuner.explored, tuner.best


class Slow:
    """A communicator whose reductions take longer from the moment that `delay` seconds are set."""

    def __init__(self, inner):
        self._inner, self.delay, self.rank, self.size = inner, 0.0, inner.rank, inner.size
        self.kinds = inner.kinds
        self.allgather, self.barrier, self.alltoallv = inner.allgather, inner.barrier, inner.alltoallv

    def allreduce(self, buffer):
        time.sleep(self.delay)
        self._inner.allreduce(buffer)


def slowed(comm, problem, stream, plan, options, delay):
    """As `tuned`, with reductions that take longer once s is settled, until a stretch is cut.

    Returns the result, and of every stretch where it begins, the ends asked for and made, and its s.
    """
    communicator, stretches = Slow(communicator_of(comm)), []

    class Noted(Schedule):
        def next(self, begin, end):
            self.asked = super().next(begin, end)
            cut = any(made < asked for _, asked, made, _ in stretches)
            communicator.delay = 0.0 if cut or self.tuner.exploring else delay
            return self.asked

        def done(self, stretch):
            stretches.append((self._place, self.asked.end, stretch.end, stretch.s))
            return super().done(stretch)

    schedule = Noted(Tuner((options.exchange,), plan.s, 4, quantum=5e4, settled=1e7), comm.size)
    result = train(own(problem, communicator), stream, plan, options, communicator, schedule=schedule)
    return result, stretches


def by_intervals(comm, problem, stream, plan, options):
    """The dual vector that the library's solver reaches, called once an interval."""
    form = {**asdict(options), "columns": "whole"}
    solver, alpha = ProductionSolver(communicator_of(comm), **form), None
    for begin in range(0, plan.iterations, plan.interval):
        count = min(plan.interval, plan.iterations - begin)
        alpha = solver.run(RunRequest(problem, stream, plan.s, count, begin, alpha)).final
    return alpha


def at_once(comm, problem, stream, plan, options):
    """The dual vector that the library's solver reaches in one run."""
    form = {**asdict(options), "columns": "whole"}
    request = RunRequest(problem, stream, plan.s, plan.iterations)
    return ProductionSolver(communicator_of(comm), **form).run(request).final


def diverging(comm, problem, stream, plan, options, guilty):
    """One rank draws other coordinates than the others, as many different ones in every window."""
    if comm.rank == guilty:
        stream = replace(stream, relabel=1)
    return trained(comm, problem, stream, plan, options)


def measured(comm, problem, alpha, rbf="norm-expansion"):
    communicator = communicator_of(comm)
    monitor = Monitor(own(problem, communicator), rbf, communicator)
    return monitor.measure(alpha), monitor.counters


def predicted(comm, problem, alpha, path):
    communicator = communicator_of(comm)
    partition = partition_of(column_nonzeros(problem.data), comm.size)
    new = read_new_samples(path, partition, communicator)
    return predict(own(problem, communicator), alpha, new, "norm-expansion", communicator), new.targets


def failing_to_measure(comm, problem, guilty):
    """One rank has no memory for its share of a measurement."""
    from sstep_verify.parallel.panels.panel import Panel

    usual = Panel.partial

    def failing(self, panel, columns):
        raise MemoryError("no room")

    if comm.rank == guilty:
        Panel.partial = failing
    try:
        return measured(comm, problem, np.ones(problem.samples))
    finally:
        Panel.partial = usual
