"""Peers for the box QP of K-SVM: OSQP, an operator splitting method with solution polish, and PIQP, a
proximal interior point method.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.errors import require
from sstep_verify.numerics.kernel_matrix import kernel_matrix
from sstep_verify.problems import Problem
from sstep_verify.solvers.adapters.peers.solution import EXTRA, PeerSolution, check_tolerance

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
    module, matrix, linear, upper = _box_qp("osqp", problem, tolerance)
    solver = module.OSQP()
    solver.setup(
        sp.csc_matrix(np.triu(matrix)),
        linear,
        sp.eye(problem.samples, format="csc"),
        np.zeros(problem.samples),
        upper,
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


def piqp(problem: Problem, tolerance: float) -> PeerSolution:
    """Solve the dual of a K-SVM as a dense QP.

    Parameters, result and errors are those of `osqp`, without a polish.
    """
    module, matrix, linear, upper = _box_qp("piqp", problem, tolerance)
    solver = module.DenseSolver()
    settings = solver.settings
    settings.eps_abs = settings.eps_duality_gap_abs = tolerance
    settings.eps_rel = settings.eps_duality_gap_rel = 0.0
    settings.check_duality_gap = True
    solver.setup(np.asfortranarray(matrix), linear, x_l=np.zeros(problem.samples), x_u=upper)
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


def _box_qp(
    name: str, problem: Problem, tolerance: float
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """The package, ``Q + omega I`` of a K-SVM in float64, the linear term and the upper ends."""
    check_tolerance(name, tolerance)
    shift, labels = problem.hinge.shift, problem.targets
    matrix = kernel_matrix(problem)
    matrix *= labels[:, None]
    matrix *= labels
    matrix.flat[:: problem.samples + 1] += shift
    return (
        require(name, EXTRA),
        matrix,
        -np.ones(problem.samples),
        np.full(problem.samples, problem.hinge.upper),
    )
