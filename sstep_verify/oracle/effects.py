"""What a change of one quantity of the recurrence does to a at a window's end."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np

from sstep_verify import quantities
from sstep_verify.problems import Problem
from sstep_verify.recurrence.mutation import LocalWindow, Mutation, left_out, off_by
from sstep_verify.rounding.block.repeats import redrawn

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
    """The effect of a quantity, from the change that a mutation makes.

    As a `secant` the change of leaving it out, by all of it, stands for that per unit relative change too:
    in a recurrence without a clip the window's end is smooth in every quantity.
    """
    dropped, slightly_off = change(left_out(name)), off_by(name, DOSE)
    if secant or slightly_off is None:
        return Effect(dropped, dropped)
    # What is nearly the largest number is infinite per unit.
    with np.errstate(over="ignore"):
        return Effect(dropped, change(slightly_off) / float(DOSE))


class Effects(Mapping[str, Effect]):
    """Effects of the quantities that can act, by name: each is computed when it is first asked for."""

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


def acting(problem: Problem, window: LocalWindow) -> list[str]:
    """Quantities that a window of this shape has at all; the others have no effect."""
    svm, distinct, steps = problem.is_svm, len(window.coordinates), len(window.draws)
    repeated = redrawn(window.draws)  # Within one block no increment corrects another.
    acting = {
        quantities.STALE: True,
        quantities.CURVATURE: True,
        quantities.SAMPLES: not svm,
        quantities.PENALTY: not svm,
        quantities.KERNEL: distinct > 1 if svm else steps > 1,
        quantities.SAME: repeated,
        quantities.OVERLAP: repeated,
        quantities.OMEGA: svm and problem.boxed.shift > 0,
        quantities.UPPER: svm and problem.boxed.upper < math.inf,
        quantities.OFF_DIAGONAL: len(window.draws[0]) > 1,
        quantities.LABELS: problem.loss.labelled,
        quantities.LOWER: svm and problem.boxed.lower > -math.inf,
        quantities.WRITE_BACK: True,
        quantities.BOUNDARY: True,
        quantities.STREAM: True,
    }
    return [name for name, acts in acting.items() if acts]
