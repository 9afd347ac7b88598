"""Part of the ranks in the tests of training: train on their columns, predict, and hand back what they have."""

import time
from dataclasses import fields, replace
from types import SimpleNamespace

import numpy as np

from sstep_verify.costs.tuning import Tuner
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.communicator import communicator_of
from sstep_verify.solver.data.partition import column_nonzeros, local_columns, partition_of
from sstep_verify.solver.settings import Options
from sstep_verify.solver.training.enclosure import Enclosing
from sstep_verify.solver.training.files import read_new_samples
from sstep_verify.solver.training.intervals import Training
from sstep_verify.solver.training.monitor import Monitor
from sstep_verify.solver.training.predictions import predict
from sstep_verify.solver.training.schedule import Schedule


def own(problem, communicator):
    """The problem with this rank's columns."""
    part = partition_of(column_nonzeros(problem.data), communicator.size).columns(communicator.rank)
    return replace(problem, data=local_columns(problem.data, part))


def results(training):
    """What can be handed back of a training that is made, and the places that it comes to."""
    places = []
    for measured in training:
        if measured and training.settings.is_end(training.iteration):
            places.append(training.place)
    result = SimpleNamespace(
        trajectory=training.trajectory, monitoring=training.monitor.counters, history=training.history,
        sequence=training.place.sequence, iteration=training.iteration, values=training.values,
        stated=training.stated(), looks=training.enclosing.looks,
    )  # fmt: skip
    return result, places


def trained(comm, problem, stream, settings, place=None):
    """Result and the places that were kept."""
    communicator = communicator_of(comm)
    return results(Training(own(problem, communicator), stream, settings, communicator, place=place))


def tuned(comm, problem, stream, settings, exchanges, given=(), place=None):
    """Result, places that were kept and segments, of a training that is tuned where nothing is given."""
    communicator = communicator_of(comm)
    begin = place.iteration if place else 0
    tuner = Tuner(exchanges, settings.width, 4, quantum=5e4, settled=5e4)
    schedule = Schedule(tuner, comm.size, given, begin)
    training = Training(
        own(problem, communicator), stream, settings, communicator, place=place, schedule=schedule
    )
    return *results(training), tuner.explored, tuner.best


class Slow:
    """A communicator whose reductions take longer from the moment that `delay` seconds are set."""

    def __init__(self, inner):
        self._inner, self.delay, self.rank, self.size = inner, 0.0, inner.rank, inner.size
        self.kinds, self.first = inner.kinds, inner.first
        self.allgather, self.barrier, self.alltoallv = inner.allgather, inner.barrier, inner.alltoallv

    def allreduce(self, buffer):
        time.sleep(self.delay)
        self._inner.allreduce(buffer)


def slowed(comm, problem, stream, settings, delay):
    """As `tuned`, with reductions that take longer once s is settled, until a segment is cut.

    Returns the result, and of every segment where it begins, the ends asked for and made, and its s.
    """
    communicator, segments = Slow(communicator_of(comm)), []

    class Noted(Schedule):
        def next(self, begin, end):
            self.asked = super().next(begin, end)
            cut = any(made < asked for _, asked, made, _ in segments)
            communicator.delay = 0.0 if cut or self.tuner.exploring else delay
            return self.asked

        def done(self, segment):
            segments.append((self._place, self.asked.end, segment.end, segment.s))
            return super().done(segment)

    schedule = Noted(Tuner((settings.exchange,), settings.width, 4, quantum=5e4, settled=1e7), comm.size)
    training = Training(own(problem, communicator), stream, settings, communicator, schedule=schedule)
    return results(training)[0], segments


def library_solver(comm, settings):
    """The library's solver with these options, for whole problems."""
    options = {field.name: getattr(settings, field.name) for field in fields(Options)}
    return ProductionSolver(communicator_of(comm), **options | {"columns": "whole"})


def by_intervals(comm, problem, stream, settings):
    """The dual vector that the library's solver reaches, called once an interval."""
    solver, alpha = library_solver(comm, settings), None
    for begin in range(0, settings.iterations, settings.interval):
        count = min(settings.interval, settings.iterations - begin)
        alpha = solver.run(RunRequest(problem, stream, settings.s, count, begin, alpha)).final
    return alpha


def at_once(comm, problem, stream, settings):
    """The dual vector that the library's solver reaches in one run."""
    request = RunRequest(problem, stream, settings.s, settings.iterations)
    return library_solver(comm, settings).run(request).final


def diverging(comm, problem, stream, settings, guilty):
    """One rank draws other coordinates than the others, as many different ones in every window."""
    if comm.rank == guilty:
        stream = replace(stream, relabel=1)
    return trained(comm, problem, stream, settings)


def measured(comm, problem, alpha, rbf="norm-expansion"):
    communicator = communicator_of(comm)
    monitor = Monitor(own(problem, communicator), rbf, communicator)
    return monitor.measure(alpha), monitor.counters


def enclosed(comm, problem, alpha):
    """What two looks at a dual vector state, and what was counted after each."""
    communicator = communicator_of(comm)
    enclosing = Enclosing(own(problem, communicator), "norm-expansion", communicator)
    found = []
    for _ in range(2):
        stated = enclosing.enclose(alpha)
        found.append((stated, dict(enclosing.counters)))
    return found


def predicted(comm, problem, alpha, path):
    communicator = communicator_of(comm)
    partition = partition_of(column_nonzeros(problem.data), comm.size)
    new = read_new_samples(path, partition, communicator)
    return predict(own(problem, communicator), alpha, new, "norm-expansion", communicator), new.targets


def failing_to_measure(comm, problem, guilty):
    """One rank has no memory for its share of a measurement."""
    from sstep_verify.solver.panels.panel import Panel

    usual = Panel.partial

    def failing(self, panel, columns):
        raise MemoryError("no room")

    if comm.rank == guilty:
        Panel.partial = failing
    try:
        return measured(comm, problem, np.ones(problem.samples))
    finally:
        Panel.partial = usual
