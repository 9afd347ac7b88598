"""Published solvers on our problems, in our convention, with the tolerance that they are run to."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sstep_verify.numerics import kernel_matrix
from sstep_verify.problems import PolynomialKernel, Problem, RBFKernel

MOST_ITERATIONS = 1_000_000


class Found(NamedTuple):
    """The end of a run: a, or w of LIBLINEAR; tolerances as its options have them; whether they were met."""

    vector: np.ndarray
    stated: dict[str, float]
    converged: bool


def kernel_ridge(problem: Problem) -> np.ndarray:
    """A of a K-RR by scikit-learn's Cholesky factorisation: ``(K + lambda m I)(a / lambda) = y``."""
    from sklearn.kernel_ridge import KernelRidge

    kernel, penalty = problem.kernel, problem.ridge.penalty
    words: dict[str, Any] = {"kernel": "linear"}
    if isinstance(kernel, PolynomialKernel):
        words = {"kernel": "poly", "gamma": 1.0, "coef0": kernel.offset, "degree": kernel.degree}
    if isinstance(kernel, RBFKernel):
        words = {"kernel": "rbf", "gamma": kernel.sigma}
    model = KernelRidge(alpha=penalty * problem.samples, **words).fit(problem.dense, problem.targets)
    return penalty * model.dual_coef_


def liblinear(problem: Problem, tolerance: float) -> Found:
    """W of a linear K-SVM; it ends when the projected gradients of one pass span at most the tolerance."""
    from sklearn.svm import LinearSVC

    model = LinearSVC(
        loss="hinge" if problem.hinge.power == 1 else "squared_hinge", dual=True, fit_intercept=False,
        C=problem.hinge.C, tol=tolerance, max_iter=MOST_ITERATIONS, random_state=0,
    ).fit(problem.dense, problem.targets)  # fmt: skip
    return Found(model.coef_[0], {"gradient": model.tol}, int(model.n_iter_) < MOST_ITERATIONS)


def osqp(problem: Problem, tolerance: float) -> Found:
    """A of a K-SVM by operator splitting, polished; absolute tolerances of both residuals and the gap."""
    import osqp as module

    matrix, linear, upper = _box_qp(problem)
    solver, identity = module.OSQP(), sp.eye(problem.samples, format="csc")
    solver.setup(
        sp.csc_matrix(np.triu(matrix)), linear, identity, np.zeros_like(upper), upper, eps_abs=tolerance, eps_rel=0.0,
        check_dualgap=True, polishing=True, max_iter=MOST_ITERATIONS, verbose=False,
    )  # fmt: skip
    result, stated = solver.solve(raise_error=False), float(solver.settings.eps_abs)
    named = dict.fromkeys(("primal", "dual", "gap"), stated)
    return Found(np.array(result.x), named, result.info.status == "solved")


def piqp(problem: Problem, tolerance: float) -> Found:
    """A of a K-SVM by a proximal interior point method, to the same tolerances."""
    import piqp as module

    matrix, linear, upper = _box_qp(problem)
    solver = module.DenseSolver()
    settings = solver.settings
    settings.eps_abs = settings.eps_duality_gap_abs = tolerance
    settings.eps_rel = settings.eps_duality_gap_rel = 0.0
    settings.check_duality_gap = True
    solver.setup(np.asfortranarray(matrix), linear, x_l=np.zeros_like(upper), x_u=upper)
    status = solver.solve()
    stated = {"primal": settings.eps_abs, "dual": settings.eps_abs, "gap": settings.eps_duality_gap_abs}
    return Found(np.array(solver.result.x), stated, status == module.PIQP_SOLVED)


def _box_qp(problem: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """``Q + omega I`` of a K-SVM in float64, the linear term and the upper ends."""
    matrix = kernel_matrix(problem) * np.outer(problem.targets, problem.targets)
    matrix.flat[:: problem.samples + 1] += problem.hinge.shift
    return matrix, -np.ones(problem.samples), np.full(problem.samples, problem.hinge.upper)
