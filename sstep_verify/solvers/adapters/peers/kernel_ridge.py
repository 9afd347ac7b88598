"""scikit-learn's KernelRidge as a peer for K-RR.

It solves ``(K + alpha_sk I) c = y``. Ours is ``(K/lambda + m I) a = y``, which multiplied by lambda reads
``(K + lambda m I) (a / lambda) = y``: so ``alpha_sk = lambda m`` and ``a = lambda c``.
"""

from __future__ import annotations

from typing import Any

from sstep_verify.errors import InputError, require
from sstep_verify.problems import PolynomialKernel, Problem, RBFKernel
from sstep_verify.solvers.adapters.peers.solution import EXTRA, PeerSolution


def kernel_ridge(problem: Problem) -> PeerSolution:
    """Solve a K-RR by scikit-learn's Cholesky factorisation of the whole system.

    Parameters
    ----------
    problem : Problem
        A K-RR.

    Returns
    -------
    PeerSolution
        A direct solver states no tolerance: `stated` is empty.

    Raises
    ------
    InputError
        If the problem is a K-SVM.
    MissingExtraError
        If scikit-learn is not installed.
    """
    penalty = problem.ridge.penalty
    sklearn = require("sklearn", EXTRA)
    module = require("sklearn.kernel_ridge", EXTRA)
    model = module.KernelRidge(alpha=penalty * problem.samples, **_kernel(problem))
    model.fit(problem.dense, problem.targets)
    return PeerSolution(f"scikit-learn {sklearn.__version__} KernelRidge", penalty * model.dual_coef_)


def _kernel(problem: Problem) -> dict[str, Any]:
    """The kernel in scikit-learn's words: ``(gamma <x, z> + coef0)^degree``, ``exp(-gamma |x - z|^2)``."""
    kernel = problem.kernel
    if kernel.linear:
        return {"kernel": "linear"}
    if isinstance(kernel, PolynomialKernel):
        return {"kernel": "poly", "gamma": 1.0, "coef0": kernel.offset, "degree": kernel.degree}
    if isinstance(kernel, RBFKernel):
        return {"kernel": "rbf", "gamma": kernel.sigma}
    raise InputError(f"{problem.label}: KernelRidge has no word for this kernel; use another referee")
