"""Part of the ranks in the tests of reading: read or load, and hand back what each of them holds."""

import numpy as np

from sstep_verify.problems.data.datasets import DataSet
from sstep_verify.solver.communicator import communicator_of
from sstep_verify.solver.data import reading
from sstep_verify.solver.data.reading import load_local, read_local


def read(comm, path):
    return read_local(path, communicator_of(comm))


def load(comm, name, directory=None, task=None):
    return load_local(name, communicator_of(comm), directory=directory, task=task)


def load_given(comm, data, targets):
    """The way of a named set: the first rank alone has it."""
    usual = reading.load
    reading.load = lambda name, **_: DataSet(name, data, targets, "regression", "given", "")
    try:
        return load_local("breast_cancer", communicator_of(comm))
    finally:
        reading.load = usual


def read_own(comm, paths):
    """Each rank reads a file of its own."""
    return read_local(paths[comm.rank], communicator_of(comm))


def read_without_memory(comm, path, guilty):
    """One rank runs out of memory while it parses."""

    parse = reading.read_block

    def failing(*arguments, **options):
        raise MemoryError("no room")

    if comm.rank == guilty:
        reading.read_block = failing
    try:
        return read_local(path, communicator_of(comm))
    finally:
        reading.read_block = parse


def all_to_all(comm, seed):
    """Every rank sends numbers that tell from whom and to whom they go."""
    counts = np.random.default_rng([seed, comm.rank]).integers(0, 4, comm.size)
    send = np.concatenate([np.full(count, 100 * comm.rank + to) for to, count in enumerate(counts)])
    return counts, communicator_of(comm).alltoallv(send.astype(np.int32), counts)
