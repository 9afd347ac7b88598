"""A drawn case, a trajectory and an artefact to keep."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sstep_verify.campaign.artefact.files import Artefact
from sstep_verify.campaign.verdicts.measured import measuring_points
from sstep_verify.checks.shared.case import Case
from sstep_verify.declaration import Declaration
from sstep_verify.problems import IndexStream, Problem, Ridge
from sstep_verify.solver import ProductionSolver
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Verdict

S_VALUES = (1, 4, 16)


def drawn_case(loss, kernel, block=1, stream=None, sparse=False) -> Case:
    generator = np.random.Generator(np.random.PCG64(5))
    data = generator.standard_normal((12, 4)) * (generator.random((12, 4)) < 0.7)
    targets = np.where(np.arange(12) % 3 == 0, 1.0, -1.0)
    if isinstance(loss, Ridge):
        targets = generator.standard_normal(12)
    problem = Problem("drawn", sp.csr_array(data) if sparse else data, targets, kernel, loss)
    return Case(
        "drawn/1",
        problem,
        stream or IndexStream("uniform", 12, block, 75, seed=1),
        S_VALUES,
        75,
        ProductionSolver().declaration,
        points={s: measuring_points(75, s) for s in S_VALUES},
        variants={"other": Declaration("other", options={"keep": True})},
        claims={"tolerance": 1e-8},
        replay_command="again",
    )


def drawn_trajectory(kind, **more) -> Trajectory:
    alphas = np.array([[0, 0, 0], [1, -2, 3]], dtype=kind) / np.array(3, dtype=kind)
    return Trajectory(2, 0, np.array([0, 2]), alphas, {"words": 7}, {"panel": 0.5}, **more)


def artefact_with(case, **runs) -> Artefact:
    verdict = Verdict(
        "window-replay", case.id, "drawn", 4, case.stream.block, Status.FAIL, 2.0, 2.0, 1.0, "1", 1, 1
    )
    return Artefact("window-replay", 4, case, runs, (verdict.as_dict(),))
