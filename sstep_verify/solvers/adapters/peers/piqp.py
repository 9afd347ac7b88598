"""PIQP, a proximal interior point method, as a peer for the box QP of K-SVM."""

from __future__ import annotations

import numpy as np

from sstep_verify.errors import require
from sstep_verify.problems import Problem
from sstep_verify.solvers.adapters.peers.solution import EXTRA, PeerSolution, box_matrix, check_tolerance


def piqp(problem: Problem, tolerance: float) -> PeerSolution:
    """Solve the dual of a K-SVM as a dense QP.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    tolerance : float
        Absolute tolerance of both residuals and of the duality gap; the relative ones are 0.

    Returns
    -------
    PeerSolution
        `stated` holds "primal", "dual" (max-norms) and "gap".

    Raises
    ------
    InputError
        If the problem is a K-RR or the tolerance is out of range.
    MissingExtraError
        If piqp is not installed.
    """
    check_tolerance("piqp", tolerance)
    matrix = box_matrix(problem)
    module = require("piqp", EXTRA)
    m = problem.samples
    solver = module.DenseSolver()
    settings = solver.settings
    settings.eps_abs = settings.eps_duality_gap_abs = tolerance
    settings.eps_rel = settings.eps_duality_gap_rel = 0.0
    settings.check_duality_gap = True
    upper = np.full(m, problem.hinge.upper)
    solver.setup(np.asfortranarray(matrix), -np.ones(m), x_l=np.zeros(m), x_u=upper)
    status = solver.solve()
    return PeerSolution(
        name=f"PIQP {module.__version__}",
        alpha=np.array(solver.result.x),
        stated={
            "primal": settings.eps_abs,
            "dual": settings.eps_abs,
            "gap": settings.eps_duality_gap_abs,
        },
        iterations=int(solver.result.info.iter),
        converged=status == module.PIQP_SOLVED,
    )
