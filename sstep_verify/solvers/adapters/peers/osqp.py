"""OSQP, an operator splitting method with solution polish, as a peer for the box QP of K-SVM."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import require
from sstep_verify.problems import Problem
from sstep_verify.solvers.adapters.peers.solution import EXTRA, PeerSolution, box_matrix, check_tolerance

MOST_ITERATIONS = 1_000_000


def osqp(problem: Problem, tolerance: float) -> PeerSolution:
    """Solve the dual of a K-SVM, and polish the solution.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    tolerance : float
        Absolute tolerance of both residuals and of the duality gap; the relative one is 0.

    Returns
    -------
    PeerSolution
        `stated` holds "primal", "dual" (max-norms) and "gap".

    Raises
    ------
    InputError
        If the problem is a K-RR or the tolerance is out of range.
    MissingExtraError
        If osqp is not installed.
    """
    check_tolerance("osqp", tolerance)
    matrix = box_matrix(problem)
    module = require("osqp", EXTRA)
    m = problem.samples
    solver = module.OSQP()
    solver.setup(
        sp.csc_matrix(np.triu(matrix)),
        -np.ones(m),
        sp.eye(m, format="csc"),
        np.zeros(m),
        np.full(m, problem.hinge.upper),
        eps_abs=tolerance,
        eps_rel=0.0,
        check_dualgap=True,
        polishing=True,
        max_iter=MOST_ITERATIONS,
        verbose=False,
    )
    result = solver.solve(raise_error=False)
    stated = float(solver.settings.eps_abs)
    return PeerSolution(
        name=f"OSQP {module.__version__}",
        alpha=np.array(result.x),
        stated={"primal": stated, "dual": stated, "gap": stated},
        iterations=int(result.info.iter),
        converged=result.info.status == "solved",
    )
