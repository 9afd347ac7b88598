"""What one block step of any correct K-RR implementation may do wrong: shared by the window bounds.

The computed increment D^ solves ``(G + dG) D^ = r + dr`` with the block system ``G = K_BB/lambda + m I``
and the residual r at the solver's own iterate.

    |dr| <= gamma_k (|y| + m |a| + |K| (|a| + sum |D_t|) / lambda) + delta (|a| + sum |D_t|) / lambda,
        k = p + q + j + 8 where the increments are summed per coordinate, else p + j b + 8, with p nonzero
        entries of a at the window's start, q coordinates drawn in the j steps before (exact zeros among
        the terms cost no rounding), or the smaller height of a declared summation tree in the place of p;
    ||dG||_2 <= ||delta_BB||_F / lambda + gamma_3 ||G||_F + backward error of the declared factorisation

(bounds/block_factorisation.py). With eigenvalues of G at least mu and an exact increment known up to a
distance t in norm (what errors made before do to it), the increment errs by at most

    ||D^ - D|| <= (||dr|| + ||dG|| (||D|| + t)) / (mu - ||dG||).

Where a solver in float32 rounds its input first, the targets are off by ``|fl(y) - y|``, which is part
of dr, and ``|K~/fl(lambda) - K/lambda| <= (delta + d |K|) / min(lambda, fl(lambda))`` with
``d = |fl(lambda) - lambda| / min(lambda, fl(lambda))`` takes the place of delta / lambda.

Where a residual or w is carried (bounds/carried.py), its terms take the place of ``|y| + m |a| + |K||a|``
and ``delta |a|``, an entry of it rounds b products, b sums, a quotient and m's own in each of the j steps,
and it does not know of the rounding of the a that is stored, which M spreads to dr.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.bounds.block_factorisation import factorisation_error
from sstep_verify.bounds.rounding import (
    OUTWARD,
    gamma,
    magnitudes,
    smallest,
    stale_roundings,
    stored,
    unit_roundoff,
)
from sstep_verify.solver import Declaration


@dataclass(frozen=True)
class StepErrors:
    """What one block step of any correct implementation may do wrong.

    Parameters
    ----------
    draws : ndarray of int, shape (b,)
        The block, as places among the distinct coordinates.
    residual : ndarray, shape (b,)
        Bound on the error of the right-hand side.
    entries : ndarray, shape (b, b)
        Bound on the errors of the block system's entries.
    solve : float
        Bound on the norm of the backward error of the solve.
    size : ndarray, shape (b,)
        Bound on the computed increment.
    rounding : ndarray, shape (b,)
        Bound on the rounding of the stored value.
    length : float
        Bound on the norm of the increment's error.
    modulus : float
        A number that no eigenvalue of the block system's symmetric part is below (mu).
    """

    draws: np.ndarray
    residual: np.ndarray
    entries: np.ndarray
    solve: float
    size: np.ndarray
    rounding: np.ndarray
    length: float
    modulus: float


class RidgeLocalErrors:
    """The steps of one window, one after the other.

    Parameters
    ----------
    entries, places, start, targets, steps, penalty, declaration, carried
        See `sstep_verify.bounds.window_ridge.ridge_window_errors`.

    Attributes
    ----------
    bounded : bool
        False where nothing can be promised; then no step may be asked for.
    """

    def __init__(self, entries, places, start, targets, steps, penalty, declaration, carried=None):
        self._steps, self._declaration, self._carried = steps, declaration, carried
        self._u, self._samples = unit_roundoff(declaration.precision), entries.values.shape[1]
        least, change, self._targets_error = _input_errors(penalty, targets[places], declaration)
        magnitude, absolute = entries.magnitude, magnitudes(start)
        finite = np.isfinite(change) and np.isfinite(magnitude).all()
        self.bounded = bool(finite and np.isfinite(self._targets_error).all())
        if not self.bounded:
            return
        self._magnitude, self._solver = _quotients(
            magnitude[:, places], entries.solver[:, places], least, change
        )
        self._products = self._magnitude
        self._start = absolute[places]
        self._targets = np.abs(targets[places]) + self._targets_error
        self._moved, self._rounded = np.zeros(places.size), np.zeros(places.size)
        self._drawn, self._made = np.zeros(places.size, dtype=np.int64), 0
        drawn = steps.draws.size
        self._underflow = (self._samples + drawn + 8) * smallest(declaration.precision)
        if carried is None:
            whole, whole_solver = _quotients(magnitude, entries.solver, least, change)
            self._stale, self._stale_error = whole @ absolute * OUTWARD, whole_solver @ absolute * OUTWARD
            support = int(np.count_nonzero(absolute))
            self._roundings = stale_roundings(support, self._samples, drawn, declaration.summation)
            return
        self._roundings, self._stale, self._stale_error = carried.roundings, carried.size, carried.error
        if carried.products is not None:
            self._stale = carried.size / least * OUTWARD
            self._stale_error = (carried.error / least + change * self._stale) * OUTWARD
            self._products = np.maximum(carried.products / least * OUTWARD, self._magnitude)

    def system(self, draws: np.ndarray) -> np.ndarray:
        """Bounds on the absolute values of M's entries on some of the coordinates, shape (b, b)."""
        return self._magnitude[np.ix_(draws, draws)] + self._samples * np.eye(draws.size)

    def spread(self, draws: np.ndarray, radius: np.ndarray) -> float:
        """Bound on the norm of ``(M e)_B`` for errors ``|e| <= radius`` on the window's coordinates."""
        return float(
            np.linalg.norm(self._magnitude[draws] @ radius + self._samples * radius[draws]) * OUTWARD
        )

    def advance(self, modulus: float, change: float) -> StepErrors | None:
        """Errors of the next step; None where its system may be singular.

        Parameters
        ----------
        modulus : float
            A number that no eigenvalue of the block system's symmetric part is below (mu), > 0.
        change : float
            Bound on the norm of what errors made before change in the exact increment (t).
        """
        draws, increment = self._steps.draws[self._made], self._steps.increments[self._made]
        reach = self._start[draws] + self._moved[draws]
        residual = self._residual(draws, reach)
        system, solver = self.system(draws), self._solver[np.ix_(draws, draws)]
        given = float(np.linalg.norm(solver) + gamma(3, self._u) * np.linalg.norm(system))
        solve = factorisation_error(system, given, modulus, self._declaration)
        shrink = 1.0 - (given + solve) / modulus
        if not shrink > 0.0:
            return None
        numerator = np.linalg.norm(residual) + (given + solve) * (np.linalg.norm(increment) + change)
        length = float(numerator / (modulus * shrink) * OUTWARD)
        size = (np.abs(increment) + change + length) * OUTWARD
        rounding = self._u * (reach + size) * OUTWARD
        self._moved[draws] += size
        self._rounded[draws] += rounding
        self._drawn[draws] += 1
        self._made += 1
        entries = solver + gamma(3, self._u) * system
        return StepErrors(draws, residual, entries, solve, size, rounding, length, modulus)

    def _residual(self, draws: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Bound on the error of the right-hand side of a block, shape (b,)."""
        block, made, carried, samples = draws.size, self._made, self._carried, self._samples
        summed = self._declaration.increments == "summed"
        corrections = int(np.count_nonzero(self._drawn)) + made if summed else made * block
        terms = self._stale[draws] + self._products[draws] @ self._moved
        error = self._stale_error[draws] + self._solver[draws] @ self._moved + self._underflow
        if carried is None or not carried.whole:
            terms = terms + self._targets[draws] + samples * reach
            error = error + self._targets_error[draws]
        else:
            terms = terms + samples * self._moved[draws]
        if carried is not None:
            corrections = made * (block + 3)
            error = error + self._magnitude[draws] @ self._rounded + samples * self._rounded[draws]
        return gamma(self._roundings + corrections + 8, self._u) * terms + error

    def landing(self) -> np.ndarray:
        """Rounding of a at the window's end where it was frozen, shape (c,); zeros otherwise."""
        if self._declaration.update != "frozen":
            return np.zeros(self._start.size)
        factors = np.array([gamma(int(times) + 1, self._u) for times in self._drawn])
        return factors * (self._start + self._moved)


def _quotients(magnitude, solver, least: float, change: float) -> tuple[np.ndarray, np.ndarray]:
    """Entries of K over lambda, at most, and how far those used may be off."""
    magnitude = magnitude / least
    return magnitude, (solver / least + change * magnitude) * OUTWARD


def _input_errors(
    penalty: float, targets: np.ndarray, declaration: Declaration
) -> tuple[float, float, np.ndarray]:
    """Smaller of exact and used regularisation, their relative difference, errors of the targets."""
    if not declaration.data_rounding:
        return penalty, 0.0, np.zeros(targets.size)
    used = float(stored(penalty, declaration.precision))
    least = min(penalty, used)
    change = abs(used - penalty) / least * OUTWARD if least > 0.0 else np.inf
    return least, change, np.abs(stored(targets, declaration.precision) - targets)
