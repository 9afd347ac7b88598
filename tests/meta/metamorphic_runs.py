"""Cases and runs for the tests of the check metamorphic-exact."""

from __future__ import annotations

import numpy as np

from sstep_verify.checks.shared.case import Case
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import IndexStream, LinearKernel, Problem, Ridge
from sstep_verify.solver import ProductionSolver

S_VALUES = (1, 4, 16)


def make_case(loss, kernel=None, block=1, solver=None, scale=1.0, samples=12, sparse=False, **changes):
    """A drawn problem; 75 iterations, so that the last window of s = 4 and 16 is short."""
    generator = np.random.Generator(np.random.PCG64(3))
    data = generator.standard_normal((samples, 4)) * scale
    if sparse:
        data[generator.random(data.shape) < 0.5] = 0.0
    targets = np.where(np.arange(samples) % 3 == 0, 1.0, -1.0)
    if isinstance(loss, Ridge):
        targets = generator.standard_normal(samples)
    if sparse:
        import scipy.sparse as sp

        data = sp.csr_array(data)
    problem = Problem("drawn", data, targets, kernel or LinearKernel(), loss)
    stream = IndexStream("uniform", samples, block, 75, seed=1)
    declaration = (solver or ProductionSolver()).declaration
    arguments = {"windows": 6, "replay_command": "again", "diagnose": False, **changes}
    return Case("drawn", problem, stream, S_VALUES, 75, declaration, **arguments)


def make_runs(check, case, make=ProductionSolver):
    """All runs of a check, each by a solver of its own: no run fills a cache for another."""

    def run(request):
        return make().run(request)

    return {key: run(request) for key, request in check.runs(case).items()}


def judged(check, case, make=ProductionSolver):
    """Verdicts by s."""
    trajectories = make_runs(check, case, make)
    return {verdict.s: verdict for verdict in check.judge(case, trajectories, Oracle(case.problem))}


def statuses(verdict):
    """Status of every term by name."""
    return {term.name: term.status for term in verdict.terms}
