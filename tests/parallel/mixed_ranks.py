"""On every rank of a job whose ranks are of other kinds: make the runs of a file, and leave them in another."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from sstep_verify.ranks.environment import world
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver.communicator import communicator_of


def main(asked: Path, answer: Path) -> None:
    """Make them; rank 0 tells what all found."""
    communicator, made = communicator_of(world()), {}
    kinds = communicator.kinds
    for name, (options, request) in pickle.loads(asked.read_bytes()).items():
        made[name] = ProductionSolver(communicator, **options).run(request)
    ends = communicator.allgather({name: found.final.tobytes() for name, found in made.items()})
    if communicator.rank == 0:
        answer.write_bytes(pickle.dumps((kinds, made, ends)))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
