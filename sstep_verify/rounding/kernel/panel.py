"""A solver's own kernel rows as the truth of a window: what is left of delta_K when they are taken exactly.

A window that is replayed from the panel multiplies row i of it in every step on coordinate i. The panel
need not be symmetric, and between two coordinates of the window a solver may read either of
``K_ij`` and ``K_ji``, so the entry it used is off by at most ``|K_ij - K_ji|``; every other entry it used
is the panel's. None of this holds for a solver that may form products from the samples (`may_factor`): it
need not use the panel's entries, and ``<x_i, x_l>`` of the samples is another number than the panel's.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.rounding.arithmetic import OUTWARD, magnitudes
from sstep_verify.rounding.kernel.entries import KernelEntries


def panel_entries(rows: np.ndarray, places: np.ndarray) -> KernelEntries:
    """Entries of a panel with their bounds.

    Parameters
    ----------
    rows : ndarray, shape (c, m)
        The panel's rows of the window's distinct coordinates, in the solver's precision.
    places : ndarray of int, shape (c,)
        These coordinates, in the same order.

    Returns
    -------
    KernelEntries
        `judge_error` is the rounding of a longdouble panel to float64, `solver_error` the asymmetry.
    """
    exact = rows if rows.dtype == np.longdouble else rows.astype(np.float64)
    values = exact.astype(np.float64)
    solver_error = np.zeros(values.shape)
    with np.errstate(over="ignore"):
        between = exact[:, places]
        solver_error[:, places] = magnitudes(between - between.T) * OUTWARD
    return KernelEntries(values, magnitudes(exact - values), solver_error)
