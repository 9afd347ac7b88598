"""Which branches of the solver the shipped campaigns run that need no download.

``python tests/branches/solver_branches.py`` makes the runs of these campaigns, shortened, with the solver's inner
loops as plain Python, and writes ``reports/solver-branches/``.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path

HERE = Path(__file__).parent
CAMPAIGNS = ("embedded", "parallel", "varied")
MOST = 150
"""Most iterations of a run but for two windows and a shorter one: inner loops are a hundred times slower."""


def on_thread_ranks(ranks, function, *arguments, limit=0.0):
    """What each rank returns, the ranks being threads, which wait for each other at no cost."""
    from sstep_verify.power import thread_ranks

    thread_ranks.SECONDS = 900.0
    found = thread_ranks.on_threads(ranks, function, *arguments)
    for one in found:
        if isinstance(one, Exception):
            raise one
    return found


def make_runs(name: str) -> None:
    """Make the plain runs of the shortest and the longest windows of every case, logged and as a user does."""
    from sstep_verify.campaign.data import load_data
    from sstep_verify.campaign.definition import read_definition
    from sstep_verify.campaign.verdicts.expand import expand, make_case
    from sstep_verify.checks.shared.case import plain_request
    from sstep_verify.made import make_run
    from sstep_verify.solvers.adapters import distributed, training
    from sstep_verify.solvers.production import rank

    distributed.run = training.run = on_thread_ranks
    rank.communicator_of = lambda communicator: communicator
    for group in expand(read_definition(name)):
        data = load_data(group.data, None, None)
        for spec in group.specs:
            begin = time.perf_counter()
            ends = sorted({min(spec.family.s), max(spec.family.s)})
            most = min(spec.family.iterations, max(MOST // spec.block, 2 * ends[-1] + 1))
            family = replace(spec.family, iterations=most)
            solvers = family.solvers()
            declared = {name: solver.declaration for name, solver in solvers.items()}
            case = make_case(replace(spec, family=family), data, declared, "", "")
            made = []
            for s in ends:
                request = replace(plain_request(case, s), log=True, expose_panels=True)
                made.append(make_run(solvers[""], request))
                bare = replace(request, record=(), log=False, expose_panels=False)
                made += [make_run(solvers[name], bare) for name in ("as-used",) if name in solvers]
            raised = [run.stopped for run in made if run.stopped.startswith("raised")]
            print(f"{time.perf_counter() - begin:6.1f} {spec.id} {len(made)} {raised}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        for campaign in sys.argv[1:]:
            make_runs(campaign)
