"""On every rank of a job whose ranks are of other kinds: make the runs of a file, and leave them in another."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from sstep_verify.adapters.ours import joined, on_rank
from sstep_verify.ranks.environment import world
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.communicator import communicator_of


def main(asked: Path, answer: Path) -> None:
    """Make them; rank 0 tells what all found."""
    comm, made = world(), {}
    communicator = communicator_of(comm)
    kinds, ends = communicator.kinds, {}

    def run(_comm, request, options):
        return ProductionSolver(communicator, **options).run(request)

    for name, (options, request) in pickle.loads(asked.read_bytes()).items():
        found = on_rank(comm, run, request, options)
        ends[name] = found[0].fingerprints
        made[name] = joined(communicator.allgather(found))
    every = communicator.allgather(ends)
    if communicator.rank == 0:
        answer.write_bytes(pickle.dumps((kinds, made, every)))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
