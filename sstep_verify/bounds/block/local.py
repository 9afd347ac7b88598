"""Local error of one block step of any correct K-RR implementation; shared by the window bounds.

The computed increment D^ solves ``(G + dG) D^ = r + dr`` with the block system ``G = K_BB/lambda + m I``
and the residual r at the solver's own iterate.

    |dr| <= gamma_k (|y| + m |a| + |K| (|a| + sum |D_t|) / lambda) + delta (|a| + sum |D_t|) / lambda,
        k = p + q + r + 8 where the increments are summed per coordinate, else p + j b + r + 8, p nonzero
        entries of a at the window's start, q coordinates drawn in the j steps before, one of them r times
        (exact zeros among the terms cost no rounding), or the smaller height of a declared summation
        tree in the place of p;
    ||dG||_2 <= ||delta_BB||_F / lambda + gamma_3 ||G||_F + backward error of the declared factorisation

(bounds/block/factorisation.py). With eigenvalues of G at least mu and an exact increment known up to a
distance t in norm (what errors made before do to it), the increment errs by at most

    ||D^ - D|| <= (||dr|| + ||dG|| (||D|| + t)) / (mu - ||dG||).

Where a solver in float32 rounds its input first, the targets are off by ``|fl(y) - y|``, which is part
of dr, and ``|K~/fl(lambda) - K/lambda| <= (delta + d |K|) / min(lambda, fl(lambda))`` with
``d = |fl(lambda) - lambda| / min(lambda, fl(lambda))`` takes the place of delta / lambda.

Where a residual or w is carried (bounds/carried.py), its terms take the place of ``|y| + m |a| + |K||a|``
and ``delta |a|``, an entry of it rounds b products, b sums, a quotient and m's own in each of the j steps,
and it does not know of the rounding of the a that is stored, which M spreads to dr. Where a is updated in
place and products with it are stale, corrections hold D where a moved by ``fl(a + D) - a``: then K / lambda
spreads that rounding to dr.

With the linear kernel and products formed from the samples, ``|x_i|'|x_l|`` takes the place of ``|K_il|``
in the roundings of the products, of which there are n more (bounds/kernel/entries.py).

Underflow: with t the smallest number, a product with K is off by t (before the division by lambda), a
quotient by lambda by t, be it of an entry, a product or the sum; the solve adds what
bounds/block/factorisation.py derives. Overflow: where lambda or its reciprocal, an entry of K_B/lambda
(whatever small number it multiplies, for it may be formed first) or of G's factors, a sum of terms of r
(times lambda as well, for the division may come last), a weight, or a number in the solve may exceed
`largest_normal`, nothing is promised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.bounds.block.factorisation import factorisation_error, factors_size, solve_lost
from sstep_verify.numerics.rounding import (
    OUTWARD,
    gamma,
    largest_normal,
    length,
    magnitudes,
    raised,
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
        See `sstep_verify.bounds.window.ridge.ridge_window_errors`.

    Attributes
    ----------
    bounded : bool
        False where nothing can be promised; then no step may be asked for.
    """

    def __init__(self, entries, places, start, targets, steps, penalty, declaration, carried=None):
        self._steps, self._declaration, self._carried = steps, declaration, carried
        self._u, self._samples = unit_roundoff(declaration.precision), entries.values.shape[1]
        self._limit, tiny = largest_normal(declaration.precision), smallest(declaration.precision)
        least, change, self._targets_error = _input_errors(penalty, targets[places], declaration)
        magnitude, reach, absolute = entries.magnitude, entries.term_sizes, magnitudes(start)
        usable = np.isfinite(magnitude).all() and np.isfinite(self._targets_error).all()
        self.bounded = bool(usable and 1.0 / self._limit <= least and penalty <= self._limit / 2)
        if not self.bounded:
            return
        # The division by lambda may come last.
        self._scale = max(1.0, 2 * penalty)
        self._magnitude, self._solver = _quotients(
            magnitude[:, places], entries.solver[:, places], least, change, tiny
        )
        self._products = raised(reach[:, places] / least)
        self._largest = raised(reach.max(axis=1, initial=0.0) / least)
        self._heights, self._weights = entries.heights[places], float(entries.heights @ absolute)
        self._start = absolute[places]
        self._targets = np.abs(targets[places]) + self._targets_error
        self._moved, self._rounded = np.zeros(places.size), np.zeros(places.size)
        self._drawn, self._made = np.zeros(places.size, dtype=np.int64), 0
        drawn = steps.draws.size
        terms = self._samples + drawn + 16
        lost = raised(entries.lost(self._samples + drawn, declaration.precision) / least + terms * tiny)
        self._underflow = np.broadcast_to(lost, places.size)
        if carried is None:
            whole_solver = _quotients(magnitude, entries.solver, least, change, tiny)[1]
            self._stale = raised((reach / least) @ absolute, terms)
            self._stale_error = raised(whole_solver @ absolute, terms)
            support = int(np.count_nonzero(absolute))
            stale = stale_roundings(support, self._samples, drawn, declaration.summation)
            self._roundings = stale + entries.more_roundings
            return
        self._weights = 0.0
        self._roundings, self._stale, self._stale_error = carried.roundings, carried.size, carried.error
        if carried.products is not None:
            self._stale = carried.size / least * OUTWARD
            self._stale_error = (carried.error / least + change * self._stale) * OUTWARD
            self._products = np.maximum(raised(carried.products / least), self._products)

    def system(self, draws: np.ndarray) -> np.ndarray:
        """Bounds on the absolute values of M's entries on some of the coordinates, shape (b, b)."""
        return self._magnitude[np.ix_(draws, draws)] + self._samples * np.eye(draws.size)

    def spread(self, draws: np.ndarray, radius: np.ndarray) -> float:
        """Bound on the norm of ``(M e)_B`` for errors ``|e| <= radius`` on the window's coordinates."""
        spread = self._magnitude[draws] @ radius + self._samples * radius[draws]
        return length(raised(spread, radius.size + 16))

    def advance(self, modulus: float, change: float) -> StepErrors | None:
        """Errors of the next step; None where its system may be singular or a number may overflow.

        Parameters
        ----------
        modulus : float
            A number that no eigenvalue of the block system's symmetric part is below (mu), > 0.
        change : float
            Bound on the norm of what errors made before change in the exact increment (t).
        """
        draws, increment = self._steps.draws[self._made], self._steps.increments[self._made]
        reach = self._start[draws] + self._moved[draws]
        system, solver = self.system(draws), self._solver[np.ix_(draws, draws)]
        given = length(solver) + gamma(3, self._u) * length(system)
        solve = factorisation_error(system, given, modulus, self._declaration)
        shrink = 1.0 - (given + solve) / modulus
        if not shrink > 0.0:
            return None
        terms, error = self._residual(draws, reach)
        residual = raised(error + solve_lost(system, given, self._declaration))
        numerator = length(residual) + (given + solve) * (length(increment) + change)
        distance = float(raised(numerator / (modulus * shrink)))
        size = raised(np.abs(increment) + change + distance)
        factors = factors_size(system, given, self._declaration)
        # Entries of G and of its factors are numbers too, however small the right-hand side is.
        numbers = 4.0 * draws.size**2 * factors * max(length(terms) + length(size), 1.0)
        numbers = max(numbers, float(np.max(self._largest[draws])))
        weights = self._weights + float(self._heights @ self._moved)
        if not max(numbers, self._scale * float(np.max(terms)), weights) <= self._limit:
            return None
        rounding = raised(self._u * (reach + size))
        self._moved[draws] += size
        self._rounded[draws] += rounding
        self._drawn[draws] += 1
        self._made += 1
        entries = solver + gamma(3, self._u) * system
        return StepErrors(draws, residual, entries, solve, size, rounding, distance, modulus)

    def _residual(self, draws: np.ndarray, reach: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bounds on the terms of a block's right-hand side and on its error, each of shape (b,)."""
        block, made, carried, samples = draws.size, self._made, self._carried, self._samples
        summed = self._declaration.increments == "summed"
        most = int(self._drawn.max(initial=0))
        corrections = most + (int(np.count_nonzero(self._drawn)) if summed else made * block)
        terms = self._stale[draws] + self._products[draws] @ self._moved
        error = self._stale_error[draws] + self._solver[draws] @ self._moved + self._underflow[draws]
        if self._declaration.update != "frozen":
            error = error + self._magnitude[draws] @ self._rounded
        if carried is None or not carried.whole:
            terms = terms + self._targets[draws] + samples * reach
            error = error + self._targets_error[draws]
        else:
            terms = terms + samples * self._moved[draws]
        if carried is not None:
            corrections = made * (block + 3)
            error = error + self._magnitude[draws] @ self._rounded + samples * self._rounded[draws]
        terms = raised(terms, self._moved.size + 16)
        rounded = gamma(self._roundings + corrections + 8, self._u) * terms
        return terms, raised(rounded + error, 3 * self._moved.size + 32)

    def landing(self) -> np.ndarray:
        """Rounding of a at the window's end where it was frozen, shape (c,); zeros otherwise."""
        if self._declaration.update != "frozen":
            return np.zeros(self._start.size)
        factors = np.array([gamma(int(times) + 1, self._u) for times in self._drawn])
        return factors * (self._start + self._moved)


def _quotients(
    magnitude, solver, least: float, change: float, tiny: float
) -> tuple[np.ndarray, np.ndarray]:
    """Entries of K over lambda, at most, and how far those used may be off, be it by underflow."""
    magnitude = raised(magnitude / least)
    return magnitude, raised(solver / least + change * magnitude + tiny)


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
