"""LIBLINEAR's dual coordinate descent as a peer for linear K-SVM, through scikit-learn's LinearSVC.

Without intercept its problem is ours: primal ``1/2 |w|^2 + C sum max(0, 1 - y_i <w, a_i>)^p``. It returns
w and no dual vector, so it is judged by its primal value.
"""

from __future__ import annotations

import warnings

import numpy as np

from sstep_verify.errors import InputError, require
from sstep_verify.problems import Problem
from sstep_verify.solvers.adapters.peers.solution import EXTRA, PeerSolution, check_tolerance

MOST_PASSES = 1_000_000


def liblinear(problem: Problem, tolerance: float, seed: int = 0) -> PeerSolution:
    """Solve a linear K-SVM.

    Parameters
    ----------
    problem : Problem
        A K-SVM with the linear kernel.
    tolerance : float
        LIBLINEAR's ``tol``: it ends when the projected gradients of one pass over all coordinates, each
        taken just before its own step, span at most that much.
    seed : int
        Seed of the order of coordinates.

    Returns
    -------
    PeerSolution
        With weights; `stated` holds "gradient".

    Raises
    ------
    InputError
        If the kernel is not linear, the problem is a K-RR, or the tolerance is out of range.
    MissingExtraError
        If scikit-learn is not installed.
    """
    if not problem.kernel.linear:
        raise InputError(f"{problem.label}: LIBLINEAR solves linear K-SVM only; use piqp or osqp")
    check_tolerance("liblinear", tolerance)
    loss = "hinge" if problem.hinge.power == 1 else "squared_hinge"
    sklearn = require("sklearn", EXTRA)
    module = require("sklearn.svm", EXTRA)
    model = module.LinearSVC(
        loss=loss,
        dual=True,
        fit_intercept=False,
        C=problem.hinge.C,
        tol=tolerance,
        max_iter=MOST_PASSES,
        random_state=seed,
    )
    with warnings.catch_warnings():
        # Not converged: said by `converged`.
        warnings.simplefilter("ignore", require("sklearn.exceptions", EXTRA).ConvergenceWarning)
        model.fit(problem.dense, problem.targets)
    return PeerSolution(
        name=f"scikit-learn {sklearn.__version__} LinearSVC (LIBLINEAR)",
        alpha=np.zeros(0),
        weights=model.coef_[0],
        stated={"gradient": float(model.get_params()["tol"])},
        iterations=int(model.n_iter_),
        converged=int(model.n_iter_) < MOST_PASSES,
    )
