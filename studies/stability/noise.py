"""What reordered sums alone do to the error of a classical run."""

from __future__ import annotations

import math
from collections.abc import Sequence


def noise_factor(errors: Sequence[float], roundoff: float) -> float:
    """Largest over smallest error of runs that differ only in the order of their sums.

    What a loss factor may be without any loss. As in `measures.stability.loss_factor`, an error below one
    unit roundoff counts as one.

    Parameters
    ----------
    errors : sequence of float
        Relative errors of classical runs on the same problem, at least one; infinite or undefined for a
        run that broke down.
    roundoff : float
        Unit roundoff (u) of the precision of the runs.

    Returns
    -------
    float
        At least 1; infinite if a run broke down.
    """
    if not all(math.isfinite(error) for error in errors):
        return math.inf
    return max(max(errors), roundoff) / max(min(errors), roundoff)
