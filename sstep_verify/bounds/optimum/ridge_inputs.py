"""What rounding makes of lambda and of the targets of a given problem, whose optimum is asked for.

Runs are judged on the problem that their solver holds (rounding/held.py). Values that it reports of the
given problem may come from either.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import OUTWARD, smallest_subnormal, stored


class RidgeInputs(NamedTuple):
    """What rounding its input does to what an evaluation uses.

    Parameters
    ----------
    penalty : float
        Regularisation (lambda).
    lower : float64
        The smaller of lambda and its rounded value, by which 0 / 0 is no number and 1 / 0 infinite.
    change : float
        Their relative difference.
    targets : ndarray, shape (m,)
        Errors of the targets.
    underflow_error : float
        What an entry over lambda that underflows may be off by: the smallest number of the solver's type.
    """

    penalty: float
    lower: np.float64
    change: float
    targets: np.ndarray
    underflow_error: float


def ridge_inputs(problem: Problem, precision: str) -> RidgeInputs:
    """Lambda and targets as an evaluation in a precision may hold them, whether or not a run does."""
    penalty, targets = problem.ridge.penalty, problem.targets
    underflow_error = smallest_subnormal(precision)
    if precision != "float32":
        return RidgeInputs(penalty, np.float64(penalty), 0.0, np.zeros(targets.size), underflow_error)
    used = float(stored(penalty, precision))
    lower = np.float64(min(penalty, used))
    change = abs(used - penalty) / lower * OUTWARD if lower > 0.0 else np.inf
    with np.errstate(invalid="ignore"):
        errors = np.abs(stored(targets, precision) - targets) * OUTWARD
        return RidgeInputs(penalty, lower, change, errors, underflow_error)
