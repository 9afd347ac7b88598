"""Problems whose numbers float64 cannot hold: no correct run says anything about them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sstep_verify.problems import Problem


def out_of_range(problem: Problem) -> str:
    """Why float64 cannot hold the numbers of a problem; empty if it can.

    No correct run says anything where the largest value that the dual objective may take, m^2 K_ii times
    C^2 (K-SVM) or over lambda (K-RR), is beyond the largest number.
    """
    with np.errstate(over="ignore"):
        data: Any = problem.data
        squares = np.asarray((data * data).sum(axis=1))
        largest = np.float64(problem.kernel.largest(float(squares.max())))
        factor = (
            np.float64(problem.hinge.C) ** 2 if problem.is_svm else 1 / np.float64(problem.ridge.penalty)
        )
        reached = largest * factor * float(problem.samples) ** 2
    if np.isfinite(reached):
        return ""
    return (
        f"kernel entries reach {largest:.3g}, so with m = {problem.samples} and the parameter given the "
        "objective is beyond the range of float64 (1.8e308); scale the data or the parameter"
    )
