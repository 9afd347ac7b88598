"""Effect of rounding C on the box and the diagonal shift of a K-SVM.

Where a solver in float32 rounds C first, the upper end of its box is off by ``|fl(C) - C|``, which is
the error of a value clipped there, and omega by ``omega d / (1 - d)``, ``|1 - fl(C)/C| <= d``, in the
gradient and in the curvature. Labels are exact in every precision. Where the recurrence is made in a over a
factor f that is no power of two (bounds/kernel/scaled.py), its upper end is C / f: two roundings of C.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sstep_verify.numerics.rounding import OUTWARD, gamma, smallest_subnormal, stored, unit_roundoff
from sstep_verify.solver import Declaration


def box_errors(upper: float, shift: float, declaration: Declaration) -> tuple[float, float]:
    """Errors of the solver's upper end (nu) and diagonal shift (omega) from rounding C."""
    precision = declaration.precision
    if declaration.scaled and not np.isinf(upper):
        plain, shifted = box_errors(upper, shift, replace(declaration, scaled=False))
        return (plain + gamma(2, unit_roundoff(precision)) * (upper + plain)) * OUTWARD, shifted
    if not declaration.data_rounding or precision != "float32":
        return 0.0, 0.0
    error = 0.0 if np.isinf(upper) else abs(float(stored(upper, precision)) - upper)
    # C = 1/(2 omega) is rounded by u C, or by half the smallest number where it is subnormal.
    relative = (unit_roundoff(precision) + smallest_subnormal(precision) * shift) * OUTWARD
    if not relative < 1.0:
        return error, np.inf
    return error * OUTWARD, shift * relative / (1.0 - relative) * OUTWARD
