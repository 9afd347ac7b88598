"""What a window replay yields: the exact end of a window, and what dropping or scaling a term does."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np

from sstep_verify.steps import RidgeSteps, SvmSteps

DOSE = Fraction(1, 2**30)
"""Relative change of a term whose effect on the window's end is computed; effects are nearly linear."""


@dataclass(frozen=True)
class Effect:
    """What a change of one term does to a at the window's end.

    Parameters
    ----------
    dropped : ndarray, shape (k,)
        Lower bound on the change if the term is left out: per distinct coordinate (K-SVM, k = c) or
        in the M-norm (K-RR, k = 1).
    relative : ndarray, shape (k,)
        Lower bound on the change per unit relative change of the term, from a change of `DOSE`.
    """

    dropped: np.ndarray
    relative: np.ndarray

    def joined(self, other: Effect | None) -> Effect:
        """The effect followed by another that is measured differently (K-RR: per coordinate)."""
        if other is None:
            return self
        return Effect(
            np.concatenate([self.dropped, other.dropped]), np.concatenate([self.relative, other.relative])
        )


@dataclass(frozen=True)
class Replay:
    """The exact replay of one window from the solver's own a.

    Parameters
    ----------
    places : ndarray of int, shape (c,)
        Distinct coordinates of the window.
    lower, upper : ndarray, shape (k,)
        Enclosure of the solver's error: per distinct coordinate (K-SVM) or in the M-norm (K-RR).
    steps : SvmSteps or RidgeSteps
        The exact steps, for the bound.
    effects : dict of str to Effect
        Per term of the recurrence that can act in this window.
    bits : int
        Precision of the balls.
    component_lower, component_upper, component_effects
        K-RR only: the same per distinct coordinate, shape (c,).
    """

    places: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    steps: SvmSteps | RidgeSteps
    effects: dict[str, Effect]
    bits: int
    component_lower: np.ndarray = field(default_factory=lambda: np.empty(0))
    component_upper: np.ndarray = field(default_factory=lambda: np.empty(0))
    component_effects: dict[str, Effect] = field(default_factory=dict)

    def with_components(self) -> Replay:
        """The replay with the measures per coordinate behind the M-norm (K-RR)."""
        effects = {
            term: effect.joined(self.component_effects.get(term)) for term, effect in self.effects.items()
        }
        lower = np.concatenate([self.lower, self.component_lower])
        return replace(
            self, lower=lower, upper=np.concatenate([self.upper, self.component_upper]), effects=effects
        )
