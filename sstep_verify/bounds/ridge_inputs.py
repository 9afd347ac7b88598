"""What a solver that rounds its input to its precision makes of lambda and of the targets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.numerics.rounding import OUTWARD, smallest_subnormal, stored


class RidgeInputs(NamedTuple):
    """What rounding its input does to what a solver uses.

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
    underflow_error: float = 0.0


def ridge_inputs(penalty: float, targets: np.ndarray, declaration: Declaration) -> RidgeInputs:
    """Exact and used inputs; exact ones in float64 and where the solver rounds none."""
    underflow_error = smallest_subnormal(declaration.precision)
    if not declaration.data_rounding:
        return RidgeInputs(penalty, np.float64(penalty), 0.0, np.zeros(targets.size), underflow_error)
    used = float(stored(penalty, declaration.precision))
    lower = np.float64(min(penalty, used))
    change = abs(used - penalty) / lower * OUTWARD if lower > 0.0 else np.inf
    with np.errstate(invalid="ignore"):
        errors = np.abs(stored(targets, declaration.precision) - targets) * OUTWARD
        return RidgeInputs(penalty, lower, change, errors, underflow_error)
