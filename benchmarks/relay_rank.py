"""Part of each of two ranks in `relay.py`: what `perf latency` times, over a network that is slow itself.

The first argument is what to time, as JSON; rank 0 prints what was found, as JSON, after a line of its own.
"""

from __future__ import annotations

import json
import sys

from mpi4py import MPI
from relay import MARK

from sstep_verify.problems import kernel_from, loss_from
from sstep_verify.timing import ranks
from sstep_verify.timing.measure import Delay

CALLS = 200


def main() -> None:
    asked, comm = json.loads(sys.argv[1]), MPI.COMM_WORLD
    wanted = ranks.Wanted(asked["data"], asked["directory"], kernel_from("rbf"), loss_from("svm-l1"))
    ranks.load(comm, wanted)
    found: dict[str, list] = {"1 word": []}
    for repeat in range(asked["repeats"] + 1):
        alone = max(comm.allgather(ranks.alone(comm, Delay(), CALLS)))
        if repeat:
            found["1 word"].append(alone)
        for s, windows in asked["windows"].items():
            seconds, calls, words = ranks.stretch(comm, int(s), "allreduce", windows, Delay())
            slowest, iterations = max(comm.allgather(seconds)), windows * int(s)
            # A collective of as many words as a window has on average.
            alone = max(comm.allgather(ranks.alone(comm, Delay(), CALLS, words // calls)))
            if repeat:  # the first compiles
                found.setdefault(s, []).append((slowest / iterations, calls / iterations, alone))
    if comm.rank == 0:
        print(MARK, json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
