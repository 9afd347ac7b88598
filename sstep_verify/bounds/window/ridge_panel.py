"""Bound B for K-RR over a solver's own panel, per coordinate.

A panel is a rounded Gram matrix, perhaps not symmetric and not positive semidefinite, so nothing is known
of the M-norm and the errors are propagated as in bounds/window/ridge_components.py. What there follows
from the M-norm follows here from the radii r of the errors made so far and from a mu that is proved for the
panel itself:

* eigenvalues of the symmetric part of G are at least mu, so ``||G^{-1}||_2 <= 1/mu``;
* the exact increment changes by ``-G^{-1} (M e)_B``, of norm at most ``|| |M_B| r ||_2 / mu``.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.block.local import RidgeLocalErrors
from sstep_verify.bounds.carried import CarriedTerms
from sstep_verify.bounds.kernel.entries import KernelEntries
from sstep_verify.bounds.window.ridge import proven_eigenvalue
from sstep_verify.bounds.window.ridge_components import RidgePropagation
from sstep_verify.numerics.rounding import OUTWARD, raised, unit_roundoff
from sstep_verify.solver import Declaration
from sstep_verify.steps import RidgeSteps


def ridge_panel_bound(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    targets: np.ndarray,
    steps: RidgeSteps,
    penalty: float,
    declaration: Declaration,
    carried: CarriedTerms | None = None,
) -> np.ndarray:
    """Bound ``|computed - exact|`` per coordinate at the end of one K-RR window over a given panel.

    Parameters
    ----------
    entries : KernelEntries
        Rows of the panel, shape (c, m), from `sstep_verify.bounds.kernel.panel.panel_entries`.
    places : ndarray of int, shape (c,)
        The distinct coordinates.
    start, targets : ndarray, shape (m,)
        The solver's a at the window's start, exact, and the targets.
    steps : RidgeSteps
        The exact steps over this panel.
    penalty : float
        Regularisation (lambda).
    declaration : Declaration
        What the solver says it is.
    carried : CarriedTerms, optional
        What the first residuals are made of, for a solver that carries a state.

    Returns
    -------
    ndarray, shape (c,)
        Infinite where nothing can be promised.
    """
    nothing = np.full(places.size, np.inf)
    # Sizes that overflow make the radii infinite or undefined: then nothing is promised.
    with np.errstate(over="ignore", invalid="ignore"):
        local = RidgeLocalErrors(entries, places, start, targets, steps, penalty, declaration, carried)
        if not local.bounded:
            return nothing
        propagation = RidgePropagation(entries, places, penalty, 2 * steps.draws.size)
        for draws in steps.draws:
            modulus = _modulus(entries, places[draws], draws, penalty)
            if not modulus > 0.0:
                return nothing
            step = local.advance(modulus, float(raised(local.spread(draws, propagation.radius) / modulus)))
            if step is None:
                return nothing
            propagation.advance(step)
            if not np.isfinite(propagation.radius).all():
                return nothing
        return (propagation.radius + local.landing()) * OUTWARD


def _modulus(entries: KernelEntries, block: np.ndarray, draws: np.ndarray, penalty: float) -> float:
    """A number that no eigenvalue of the symmetric part of a block system is below; <= 0 if unproved."""
    u, samples = unit_roundoff("float64"), entries.values.shape[1]
    kernel = entries.values[np.ix_(draws, block)] / penalty
    own = raised(entries.own[np.ix_(draws, block)] / penalty)
    symmetric, size = (kernel + kernel.T) / 2, (np.abs(kernel) + np.abs(kernel).T) / 2
    if not np.isfinite(size).all():
        return 0.0
    # The quotient and the mean round once each.
    error = ((own + own.T) / 2 + 2 * u * size) * OUTWARD
    return proven_eigenvalue(symmetric, error, samples)
