"""Translation: from a program's a and coordinates to ours and back, for one problem."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sstep_verify.errors import ProgramError

FARTHEST = 64
"""Binary exponents of scales lie between this and its negative."""


@dataclass(frozen=True, eq=False)
class Translation:
    """From a program's a and coordinates to ours, for one problem.

    Parameters
    ----------
    factor : Fraction
        Scale.
    signs : ndarray, shape (m,)
        Sign of each of our coordinates.
    order : ndarray of int64, shape (m,)
        Our number of each of its coordinates.
    """

    factor: Fraction
    signs: np.ndarray
    order: np.ndarray

    @property
    def exact(self) -> bool:
        """Whether the scale is a power of two."""
        top, bottom = self.factor.numerator, self.factor.denominator
        return top & (top - 1) == 0 and bottom & (bottom - 1) == 0

    def ours(self, values: np.ndarray, coordinates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of a program's coordinates, and how far each is from the exact product, of their shape.

        Parameters
        ----------
        values : ndarray
            Its values.
        coordinates : ndarray of int64
            Our numbers of their coordinates; of their shape, or of that of their last axis.

        Raises
        ------
        ProgramError
            If a power of two scales a value beyond the range of float64.
        """
        signed = values * np.broadcast_to(self.signs[coordinates], values.shape)
        if self.factor == 1:
            return signed, np.zeros(values.shape)
        found = np.array([self._times(value) for value in signed.ravel().tolist()]).reshape(values.shape)
        if self.exact:
            back = [self._times(value, 1 / self.factor) for value in found.ravel().tolist()]
            if not np.array_equal(np.array(back).reshape(values.shape), signed, equal_nan=True):
                raise ProgramError(
                    f"a value times scale = {float(self.factor)!r} leaves the range of float64"
                )
            return found, np.zeros(values.shape)
        with np.errstate(invalid="ignore"):
            return found, np.nan_to_num(np.spacing(np.abs(found)), nan=0.0, posinf=0.0)

    def _times(self, value: float, factor: Fraction | None = None) -> float:
        if not math.isfinite(value):
            return value
        try:
            return float(Fraction(value) * (factor or self.factor))
        except OverflowError:
            return math.copysign(math.inf, value)

    def into(self, other: Translation) -> Translation:
        """From what this made of a program's words to what another makes of them.

        Its `order` tells, of each coordinate of the other, which of this it was.
        """
        order = np.empty_like(self.order)
        order[other.order] = self.order
        return Translation(other.factor / self.factor, other.signs * self.signs[order], order)

    def reach(self, rounding: np.ndarray) -> np.ndarray:
        """How far our values may be off where the program's were rounded by so much."""
        return rounding if self.factor == 1 else rounding * (float(self.factor) * (1 + 2.0**-50))

    def theirs(self, alpha: np.ndarray) -> np.ndarray:
        """Our a as the program has it, shape (m,)."""
        scaled = [
            self._times(value, 1 / self.factor) for value in (self.signs * alpha)[self.order].tolist()
        ]
        return np.array(scaled)

    def numbers(self, blocks: np.ndarray) -> np.ndarray:
        """Our coordinates by the program's numbers, of the same shape."""
        return np.argsort(self.order)[blocks]
