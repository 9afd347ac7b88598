"""K-RR: a part of the sums that a solver adds twice is no part that it leaves out."""

from __future__ import annotations

import numpy as np
import pytest
from judged import named

from sstep_verify import judge
from sstep_verify.adapters import CallableSolver
from sstep_verify.declaration import Declaration
from sstep_verify.problems import IndexStream, PolynomialKernel, Problem, Ridge
from sstep_verify.verdict import Status

SAMPLES = 12
PARTS = {
    "stale": "stale-product",
    "others": "kernel-correction",
    "same": "same-coordinate",
    "off": "off-diagonal",
}


def solver_with(part: str, factor: float, first: bool):
    """A solver of K-RR that multiplies one part by a factor, in all steps or in the first of each window."""

    def solve(problem, blocks, s, a0, log):
        alpha, samples, penalty = a0.copy(), problem.samples, problem.ridge.penalty
        matrix = (problem.dense @ problem.dense.T + 1.0) ** 2
        for place, block in enumerate(blocks):
            if place % s == 0:
                start = alpha.copy()
            scale = dict.fromkeys(PARTS, 1.0)
            if not first or place % s == 0:
                scale[part] = factor
            rows, moved = matrix[block], alpha - start
            own = np.einsum("ij,j->i", matrix[np.ix_(block, block)], moved[block])
            product = (
                scale["stale"] * rows @ start + scale["others"] * (rows @ moved - own) + scale["same"] * own
            )
            system = matrix[np.ix_(block, block)] / penalty
            system = system * np.where(np.eye(len(block)), 1.0, scale["off"]) + samples * np.eye(len(block))
            right = problem.targets[block] - samples * alpha[block] - product / penalty
            alpha[block] += np.linalg.solve(system, right)
            log[place] = alpha[block]
        return alpha

    return CallableSolver(solve, Declaration(f"{part} times {factor}", log=True))


def verdict_of(part: str, factor: float, s: int, first: bool):
    generator = np.random.Generator(np.random.PCG64(s))
    data = generator.standard_normal((SAMPLES, 3))
    kernel, targets = PolynomialKernel(2, 1.0), generator.standard_normal(SAMPLES)
    problem = Problem("drawn", data, targets, kernel, Ridge(0.4))
    stream = IndexStream("uniform", SAMPLES, 2 if part == "off" else 1, 60, seed=s)
    return judge(solver_with(part, factor, first), problem, stream, s, checks=["step-replay"])[-1]


WHERE = [(part, s, first) for part in ("stale", "off") for s in (1, 4) for first in (False, True)]
WHERE += [("others", 4, False), ("same", 4, False)]
"""The first step of a window has no correction."""


@pytest.mark.parametrize(("part", "s", "first"), WHERE)
def test_a_doubled_part_is_not_named_as_left_out(part, s, first):
    doubled, absent = verdict_of(part, 2.0, s, first), verdict_of(part, 0.0, s, first)
    assert doubled.status is absent.status is Status.FAIL
    assert f"{PARTS[part]} left out" in named(absent)
    assert f"{PARTS[part]} left out" not in named(doubled)
