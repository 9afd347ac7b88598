"""Result of a window replay: the exact end of a window, and what mistakes would have made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np

from sstep_verify.recurrence.mutation import Mutation, left_out, off_by
from sstep_verify.steps import RidgeSteps, SvmSteps

DOSE = Fraction(1, 2**30)
"""Relative change of a quantity whose effect on the window's end is computed; effects are nearly linear."""


@dataclass(frozen=True)
class Effect:
    """What a change of one quantity does to a at the window's end.

    Parameters
    ----------
    dropped : ndarray, shape (k,)
        Lower bound on the change if the quantity is left out: per distinct coordinate (K-SVM, k = c) or
        in the M-norm (K-RR, k = 1).
    relative : ndarray, shape (k,)
        Lower bound on the change per unit relative change of the quantity, from a change of `DOSE`; that of
        leaving it out where it is a switch or a is linear in it.
    """

    dropped: np.ndarray
    relative: np.ndarray

    def joined(self, other: Effect) -> Effect:
        """The effect followed by another that is measured differently (K-RR: per coordinate)."""
        return Effect(
            np.concatenate([self.dropped, other.dropped]), np.concatenate([self.relative, other.relative])
        )


def effect_of(name: str, change: Callable[[Mutation], np.ndarray], *, secant: bool = False) -> Effect:
    """The effect of a quantity.

    Parameters
    ----------
    name : str
        The quantity.
    change : callable
        Gives the change that a mutation makes.
    secant : bool
        Take the change of leaving it out, by all of it, for that per unit relative change too: in a
        recurrence without a clip the window's end is smooth in every quantity.
    """
    dropped, slightly_off = change(left_out(name)), off_by(name, DOSE)
    if secant or slightly_off is None:
        return Effect(dropped, dropped)
    # What is nearly the largest number is infinite per unit.
    with np.errstate(over="ignore"):
        return Effect(dropped, change(slightly_off) / float(DOSE))


class Effects(Mapping[str, Effect]):
    """Effects by quantity, each computed when it is first asked for and then kept.

    Parameters
    ----------
    names : sequence of str
        Quantities that can act.
    effect : callable
        Maps a name to its `Effect`.
    """

    def __init__(self, names: Iterable[str], effect: Callable[[str], Effect]):
        self._names, self._effect = list(names), cache(effect)

    def __getitem__(self, name: str) -> Effect:
        if name not in self._names:
            raise KeyError(name)
        return self._effect(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


Interval = tuple[np.ndarray, np.ndarray]
"""Lower and upper ends of k float64 intervals."""


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
    effects : mapping of str to Effect
        Per quantity of a step that can act in this window.
    bits : int
        Precision of the balls.
    distance : callable, optional
        Maps a mutation to the distance of the solver's end from its own, as `lower` and `upper`.
    components : Replay, optional
        K-RR only: the same per distinct coordinate, k = c.
    """

    places: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    steps: SvmSteps | RidgeSteps
    effects: Mapping[str, Effect]
    bits: int
    distance: Callable[[Mutation], Interval] | None = None
    components: Replay | None = None

    def with_components(self) -> Replay:
        """The replay with the measures per coordinate behind the M-norm (K-RR)."""
        whole, single = self, self.components
        if single is None:
            return self
        return replace(
            self,
            lower=np.concatenate([whole.lower, single.lower]),
            upper=np.concatenate([whole.upper, single.upper]),
            effects=Effects(whole.effects, lambda name: whole.effects[name].joined(single.effects[name])),
        )
