"""Local error of one block step of any correct K-RR implementation; shared by the window bounds.

The computed increment D^ solves ``(G + dG) D^ = r + dr`` with the block system ``G = K_BB/lambda + m I``
and the residual r at the solver's own iterate.

    |dr| <= gamma_k (|y| + m |a| + |K| (|a| + sum |D_t|) / lambda) + delta (|a| + sum |D_t|) / lambda,
        k = p + j b + r + 8, p nonzero entries of a at the window's start, one of the coordinates drawn r
        times in the j steps before (exact zeros among the terms cost no rounding); increments that are
        summed per coordinate first round no term more often;
    ||dG||_2 <= ||delta_BB||_F / lambda + gamma_3 ||G||_F + backward error of the declared factorisation

(rounding/block/factorisation.py). With eigenvalues of G at least mu and an exact increment known up to a
distance t in norm (what errors made before do to it), the b increments err by at most

    ||D^ - D|| <= (||dr|| + ||dG|| (||D|| + t)) / (mu - ||dG||).

What products with K and their corrections are summed from, how often they round, what products formed from
the samples and underflow change: rounding/right_hand_side.py. A coordinate that the block holds several
times (rounding/block/repeats.py) is stored as often, or its increments are summed first: no number on the
way is larger than its value and all of its increments together.

Where w is maintained, its terms take the place of ``|K||a|`` and ``delta |a|``. A term of it rounds in a
product, in b sums and in a quotient in each of the j steps, one more to spare. It does not know of the
rounding of the a that is stored, which M spreads to dr. Where a is updated in
place and products with it are stale, corrections hold D where a moved by ``fl(a + D) - a``: then K / lambda
spreads that rounding to dr.

The solve's own underflow is derived in rounding/block/factorisation.py. Overflow: where lambda or its
reciprocal, an entry of K_B/lambda (whatever small number it multiplies, for it may be formed first) or of
G's factors, a sum of terms of r (times lambda as well, for the division may come last), a weight, or a
number in the solve may exceed `largest_normal`, nothing is promised.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.rounding.arithmetic import (
    gamma,
    largest_normal,
    magnitudes,
    norm_upper,
    rounded_up,
    smallest_subnormal,
    unit_roundoff,
)
from sstep_verify.rounding.block.energy import largest_energy, smallest_eigenvalue
from sstep_verify.rounding.block.factorisation import solve_bound
from sstep_verify.rounding.block.repeats import most_often, repeats_of
from sstep_verify.rounding.right_hand_side import Quotient, right_hand_sides


@dataclass(frozen=True)
class StepErrors:
    """What one block step of any correct implementation may do wrong: bounds.

    Parameters
    ----------
    draws : ndarray of int, shape (b,)
        The block, as places among the distinct coordinates of its window.
    residual, entries : ndarray, shape (b,) and (b, b)
        Errors of the right-hand side, and of the block system's entries.
    solve : float
        Norm of the backward error of the solve.
    size, rounding : ndarray, shape (b,)
        Computed increment, and rounding of the stored value.
    length : float
        Norm of the increment's error.
    modulus : float
        A number that no eigenvalue of the block system's symmetric part is below (mu).
    most : int
        How often the coordinate is drawn that the block holds most often (c).
    """

    draws: np.ndarray
    residual: np.ndarray
    entries: np.ndarray
    solve: float
    size: np.ndarray
    rounding: np.ndarray
    length: float
    modulus: float
    most: int = 1


class RidgeLocalErrors:
    """The steps of one window, one after the other.

    Its arguments are those of `sstep_verify.bounds.window.ridge.ridge_window_errors`.
    """

    def __init__(self, entries, places, start, targets, steps, penalty, declaration, carried=None):
        self._steps, self._declaration, self._carried = steps, declaration, carried
        self._u, self._samples = unit_roundoff(declaration.precision), entries.values.shape[1]
        limit, absolute = largest_normal(declaration.precision), magnitudes(start)
        quotient = Quotient(penalty, smallest_subnormal(declaration.precision))
        usable = np.isfinite(entries.magnitude).all() and 1.0 / limit <= penalty <= limit / 2
        self._limit = limit if usable else -np.inf  # then no step is within it
        # The division by lambda may come last.
        self._scale = max(1.0, 2 * penalty)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            self._right = right_hand_sides(
                entries, places, absolute, steps.draws.size, declaration, quotient, carried
            )
            self._values = entries.values[:, places] / penalty
            self._errors = rounded_up(entries.judge_error[:, places] / penalty)
        self._start, self._error = absolute[places], self._right.error
        self._terms = self._right.size + np.abs(targets[places]) + self._samples * self._start
        # Of each coordinate's increments so far: the sum of their sizes, the rounding of what was stored,
        # how many; and the steps so far.
        self._moved, self._rounded = np.zeros(places.size), np.zeros(places.size)
        self._drawn, self._step = np.zeros(places.size, dtype=np.int64), 0
        self.most = most_often(steps.draws)

    def system(self, draws: np.ndarray) -> np.ndarray:
        """Bounds on the absolute values of the entries of a block system, shape (b, b)."""
        return self._right.entries[np.ix_(draws, draws)] + self._samples * np.eye(draws.size)

    def energy(self, draws: np.ndarray, sizes: np.ndarray) -> float:
        """Largest M-norm of an error at most as large as `sizes`, shape (b,), added up by coordinate."""
        same = draws[:, None] == draws
        return largest_energy(self._right.entries[np.ix_(draws, draws)] + self._samples * same, sizes)

    def modulus(self, draws: np.ndarray, known: float) -> float:
        """A number that no eigenvalue of a block system's symmetric part is below; at least `known`."""
        block = np.ix_(draws, draws)
        return smallest_eigenvalue(self._values[block], self._errors[block], self._samples, known)

    def spread(self, draws: np.ndarray, radius: np.ndarray) -> float:
        """Bound on the norm of ``(M e)_B`` for errors ``|e| <= radius`` on the window's coordinates."""
        spread = self._right.entries[draws] @ radius + self._samples * radius[draws]
        return norm_upper(rounded_up(spread, radius.size + 16))

    def advance(self, modulus: float, change: float) -> StepErrors | None:
        """Errors of the next step; None where its system may be singular or a number may overflow.

        No eigenvalue of the block system's symmetric part is below `modulus` (mu), > 0; `change` bounds the
        norm of what errors made before change in the exact increment (t).
        """
        draws, increment = self._steps.draws[self._step], self._steps.increments[self._step]
        system, errors = self.system(draws), self._right.errors[np.ix_(draws, draws)]
        given = norm_upper(errors) + gamma(3, self._u) * norm_upper(system)
        solve = solve_bound(system, given, modulus, self._declaration)
        changed = given + solve.error
        shrink = 1.0 - changed / modulus
        if not shrink > 0.0:
            return None
        terms, error = self._residual(draws)
        residual = rounded_up(error + solve.underflow)
        numerator = norm_upper(residual) + changed * (norm_upper(increment) + change)
        distance = float(rounded_up(numerator / (modulus * shrink)))
        size = rounded_up(np.abs(increment) + change + distance)
        # Entries of G and of its factors are numbers too, however small the right-hand side is.
        numbers = 4.0 * draws.size**2 * solve.largest * max(norm_upper(terms) + norm_upper(size), 1.0)
        numbers = max(numbers, float(np.max(self._right.largest[draws])))
        weights = self._right.weights + float(self._right.heights @ self._moved)
        if not max(numbers, self._scale * float(np.max(terms)), weights) <= self._limit:
            return None
        most, together = int(self.most[self._step]), size
        if most > 1:
            repeats = repeats_of(draws)
            together = rounded_up(repeats.summed(size)[repeats.place], draws.size)
        rounding = rounded_up(self._u * (self._start[draws] + self._moved[draws] + together))
        np.add.at(self._moved, draws, size)
        np.add.at(self._rounded, draws, rounding)
        np.add.at(self._drawn, draws, 1)
        self._step += 1
        entries = errors + gamma(3, self._u) * system
        return StepErrors(draws, residual, entries, solve.error, size, rounding, distance, modulus, most)

    def _residual(self, draws: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bounds on the terms of a block's right-hand side and on its error, each of shape (b,)."""
        block, right, count = draws.size, self._right, self._moved.size
        terms = self._terms[draws] + right.terms[draws] @ self._moved + self._samples * self._moved[draws]
        error = self._error[draws] + right.errors[draws] @ self._moved
        rounded = right.entries[draws] @ self._rounded
        if self._declaration.update != "frozen":
            error = error + rounded
        if self._carried is not None:
            corrections = self._step * (block + 3)
            error = error + rounded + self._samples * self._rounded[draws]
        else:
            corrections = int(self._drawn.max(initial=0)) + self._step * block
        terms = rounded_up(terms, count + 16)
        error = error + gamma(right.roundings + corrections + 8, self._u) * terms
        return terms, rounded_up(error, 3 * count + 32)

    def accumulation_error(self) -> np.ndarray:
        """Rounding of a at the window's end where it was frozen, shape (c,); zeros otherwise."""
        if self._declaration.update != "frozen":
            return np.zeros(self._start.size)
        factors = np.array([gamma(int(times) + 1, self._u) for times in self._drawn])
        return factors * (self._start + self._moved)
