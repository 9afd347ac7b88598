"""Bound B for K-RR per coordinate: sharper than the M-norm where few coordinates carry an error.

The local errors are those of the M-norm bound (`bounds/window/ridge.py`); here they are propagated as
signed combinations of symbols. With e the error of the iterate on the window's coordinates, an exact
step on block B makes ``e_B <- -G^{-1} (K_{B,rest} / lambda) e_rest``, and a computed one adds
``G^{-1} (dr - dG D^)`` and the rounding of the stored values. One symbol stands for each component of
``dr - dG D^`` and for each stored value.

The float64 inverse X of G is off by ``(I - X G) G^{-1}``, so, with ``||G^{-1}||_2 <= 1/mu``, by at most
``rho / mu`` per entry, ``rho = ||I - X G||_F`` bounded from its computed value. What is lost in forming the
combinations in float64 enters the symbol of the stored value; so does what underflow may take off the
coefficients (a sum of c, then of b products each) and off the radius (a product for each symbol).

A panel is a solver's own rounded Gram matrix, perhaps not symmetric and not positive semidefinite, so
nothing is known of its M-norm and this is its only bound. What elsewhere follows from the M-norm follows
there from the radii r of the errors made so far and from a mu that is proved for the panel itself:

* eigenvalues of the symmetric part of G are at least mu, so ``||G^{-1}||_2 <= 1/mu``;
* the exact increment changes by ``-G^{-1} (M e)_B``, of norm at most ``|| |M_B| r ||_2 / mu``.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.window.ridge import RidgeWindowErrors
from sstep_verify.declaration import Declaration
from sstep_verify.rounding.arithmetic import (
    OUTWARD,
    gamma,
    norm,
    rounded_up,
    smallest_subnormal,
    unit_roundoff,
)
from sstep_verify.rounding.block.local import RidgeLocalErrors, StepErrors
from sstep_verify.rounding.kernel.entries import KernelEntries
from sstep_verify.rounding.right_hand_side import CarriedTerms
from sstep_verify.steps import RidgeSteps

MOST_COEFFICIENTS = 1 << 20
"""Coefficients (coordinates times symbols) up to which errors are propagated per coordinate."""


def ridge_component_bound(
    entries: KernelEntries, places: np.ndarray, errors: RidgeWindowErrors, penalty: float
) -> np.ndarray | None:
    """Bound ``|computed - exact|`` per coordinate at the end of one K-RR window, shape (c,).

    None where the window is too large or nothing can be promised. `errors` are the window's local ones; the
    rest is as for `ridge_window_errors`.
    """
    drawn = sum(step.draws.size for step in errors.steps)
    if not np.isfinite(errors.norm) or places.size * 2 * drawn > MOST_COEFFICIENTS:
        return None
    state = RidgePropagation(entries, places, penalty)
    # Radii that overflow are infinite or undefined: then nothing is promised per coordinate.
    with np.errstate(over="ignore", invalid="ignore"):
        for step in errors.steps:
            state.advance(step)
    return (state.radius + errors.accumulation_error) * OUTWARD if np.isfinite(state.radius).all() else None


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
    """Bound ``|computed - exact|`` per coordinate at the end of one K-RR window over a panel, shape (c,).

    `entries` are those of `panel_entries`, the steps exact over this panel, the rest as for
    `ridge_window_errors`. Infinite where nothing can be promised.
    """
    local = RidgeLocalErrors(entries, places, start, targets, steps, penalty, declaration, carried)
    propagation = RidgePropagation(entries, places, penalty)
    # Sizes that overflow make the radii infinite or undefined: then nothing is promised.
    with np.errstate(over="ignore", invalid="ignore"):
        for draws in steps.draws:
            modulus = local.modulus(draws, 0.0)
            change = local.spread(draws, propagation.radius) / modulus if modulus > 0.0 else np.inf
            step = local.advance(modulus, float(rounded_up(change))) if change < np.inf else None
            if step is None:
                return np.full(places.size, np.inf)
            propagation.advance(step)
        radius = (propagation.radius + local.accumulation_error()) * OUTWARD
    return radius if np.isfinite(radius).all() else np.full(places.size, np.inf)


class RidgePropagation:
    """Error symbols of one window and their signed coefficients on its coordinates.

    `radius`, shape (c,), bounds the error per coordinate after the steps made so far.
    """

    def __init__(self, entries: KernelEntries, places: np.ndarray, penalty: float):
        self._u = unit_roundoff("float64")
        self._samples = entries.values.shape[1]
        with np.errstate(over="ignore", invalid="ignore"):
            self._values = entries.values[:, places] / penalty
            # The quotient by lambda rounds once more.
            self._errors = rounded_up(
                entries.judge_error[:, places] / penalty + self._u * np.abs(self._values)
            )
        self._coefficients, self._symbols = np.zeros((places.size, 0)), np.zeros(0)
        self.radius = np.zeros(places.size)

    def advance(self, step: StepErrors) -> None:
        """Propagate the errors through one block step."""
        draws, block, used, u = step.draws, step.draws.size, self._symbols.size, self._u
        system = self._values[np.ix_(draws, draws)] + self._samples * np.eye(block)
        system_errors = self._errors[np.ix_(draws, draws)] + u * np.abs(system)
        inverse = np.linalg.inv(system)
        defect = np.abs(np.eye(block) - inverse @ system)
        defect += gamma(block + 1, u) * (np.abs(inverse) @ np.abs(system) + np.eye(block))
        rho = norm(defect + np.abs(inverse) @ system_errors) * OUTWARD
        spread = rho / step.modulus if rho < 1.0 else np.inf
        inverse_size = np.abs(inverse) + spread
        coupling = self._values[draws].copy()
        coupling[:, draws] = 0.0
        rest = self.radius.copy()
        rest[draws] = 0.0
        # Each stage of -X (K e) loses a relative gamma of its terms' sizes, X and K their own errors: sums
        # of at most c and b products, then of the symbols used so far; the quotient, the sign's copy and
        # the two products before them are the 4.
        pushed = np.abs(coupling) @ rest
        rounding_error = gamma(rest.size + used + block + 4, u) * (np.abs(inverse) @ pushed)
        rounding_error += spread * pushed.sum() + inverse_size @ (self._errors[draws] @ rest)
        sources = step.residual + step.entries @ step.size + step.solve * norm(step.size)
        rounding_error += spread * sources.sum() + step.rounding
        underflow = (rest.size * inverse_size.sum() + block + 1) * smallest_subnormal("float64")
        rounding_error += underflow * (self._symbols.sum() + sources.sum())
        # The block's combinations; its 2 b new symbols are the sources and what was lost.
        new = np.hstack([-inverse @ (coupling @ self._coefficients), inverse, np.eye(block)])
        self._symbols = np.concatenate(
            [
                self._symbols,
                rounded_up(sources, block + 16),
                rounded_up(rounding_error, 4 * rest.size + 2 * used + 32),
            ]
        )
        self._coefficients = np.hstack([self._coefficients, np.zeros((rest.size, 2 * block))])
        self._coefficients[draws] = new
        self.radius[draws] = rounded_up(np.abs(new) @ self._symbols, used + 2 * block + 16)
