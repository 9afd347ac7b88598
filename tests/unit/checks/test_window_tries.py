"""Errors that are tried in windows: the bound that tries near each other share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sstep_verify.checks import window_replay
from sstep_verify.checks.shared.case import Case, run_key
from sstep_verify.checks.shared.finding import Window
from sstep_verify.checks.window.compare import bounded
from sstep_verify.checks.window.one_window import WindowReplays
from sstep_verify.checks.window.tries import NEAR, _near
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import IndexStream, Problem, RBFKernel, Ridge
from sstep_verify.solver import ProductionSolver


def tries_of(block: int, *, repeated: bool):
    """Tries in the first window of a K-RR."""
    generator = np.random.Generator(np.random.PCG64(block))
    data, targets = generator.standard_normal((9, 3)), generator.standard_normal(9)
    problem = Problem("near", data, targets, RBFKernel(0.3), Ridge(0.2))
    stream = IndexStream("mt19937", 9, block, 8, seed=1, replacement=repeated)
    solver = ProductionSolver()
    case = Case(problem.name, problem, stream, (4,), 8, solver.declaration)
    run = solver.run(window_replay.runs(case)[run_key(4)])
    return WindowReplays(case, Oracle(problem)).replay_and_compare(run, Window(0, 4)).tried


@pytest.mark.parametrize("repeated", [False, True])
def test_the_shared_bound_holds_of_all_windows_near_each_other(repeated):
    """Increments off by about `NEAR` of the largest, in either direction, have a bound below the shared one."""
    tries = tries_of(3, repeated=repeated)
    increments = tries.replay.steps.increments
    generator = np.random.Generator(np.random.PCG64(2))
    for _ in range(40):
        moved = (
            NEAR * np.abs(increments).max() * generator.choice([-0.999, 0.999, 0.3], size=increments.shape)
        )
        steps = replace(tries.replay.steps, increments=increments + moved)
        assert _near(steps, tries.replay.steps)
        window = replace(tries.replay, steps=steps)
        own = bounded(tries.case, window, tries.window, tries._rounding)[1]
        assert (own <= tries._bound_near).all()
        assert (own < tries._bound_near).any()
