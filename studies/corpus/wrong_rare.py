"""The s-step solver with a mistake that acts rarely or little, and with changes that no check can see.

Each has its label.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sstep_verify.diagnosis import candidates, factors, kernel_rows
from studies.corpus.labelled import BLOCKS, CORRECTION, LATER, THIRD, Function, wrong
from studies.corpus.sstep import Array, SStep, Step

SMALLEST, SHIFT, DAMPING = 1e-4, 1e-8, 1e-6
"""A threshold, an absolute constant, and what is lacking of a step's length."""

REACH = 32
"""Steps of a window that a correction that ends too early reaches back."""

ULP = 1 + 2.0**-52
"""The number next above 1 in float64."""

RARE: list[Function] = []

EQUIVALENT: list[Function] = []
"""Mistakes whose exact trajectory stays within the bound: no verdict can be FAIL, and none should be."""


@wrong(RARE, "svm-l2 rbf", "S-3.5", acts="last short window", named=CORRECTION)
class TailUncorrected(SStep):
    """The correction is left out in the last window where it is short."""

    def correction(self, r: int, drawn: Array, increments: Array) -> Any:
        short = len(self.blocks) < self.s
        return self.type(0) if short else super().correction(r, drawn, increments)


# An increment of the same coordinate, and an earlier step's, is missing in the gradient.
@wrong(RARE, "svm-l2 rbf", "S-3.6", "S-3.5", acts=THIRD, named=("of own increments the first alone seen",))
class ThirdDrawMissed(SStep):
    """A coordinate drawn a third time: its gradient has only the first of its own increments."""

    def correction(self, r: int, drawn: Array, increments: Array) -> Any:
        own = np.flatnonzero(drawn[: increments.size] == drawn[r])
        increments = increments.copy()
        increments[own[1:]] = 0
        return super().correction(r, drawn, increments)


@wrong(RARE, "svm-l2 rbf", "S-3.5", acts=LATER, named=CORRECTION)
class ReachesBack(SStep):
    """The correction reaches back 32 steps, however long the window."""

    def correction(self, r: int, drawn: Array, increments: Array) -> Any:
        increments = increments.copy()
        increments[:-REACH] = 0
        return super().correction(r, drawn, increments)


@wrong(RARE, "svm-l1 rbf", "S-3.3", acts="first step of a window", named=("stale-product off by a factor",))
class FirstProductOff(SStep):
    """The product of the first row of every window is too large by 1e-9 of it."""

    def products_of(self, drawn: Array, a: Array) -> Array:
        products = super().products_of(drawn, a).copy()
        products[0] *= self.type(1 + 1e-9)
        return products


# A run that goes on is then not the rest of the whole one.
@wrong(RARE, "svm-l1 rbf", "S-2.1", "S-2.8", acts="continued run")
class StartRounded(SStep):
    """The a that a run begins with is rounded to float32."""

    def begun(self, a0: Array) -> Array:
        return a0.astype(np.float32)


# An entry with 1 added is no RBF value, nor the kernel function of a distance.
@wrong(RARE, "svm-l1 rbf", "S-1.1", "S-1.7", "S-1.8", named=(kernel_rows.BIAS,))
class Bias(SStep):
    """K + 1 in the place of K: a bias that is minimised too."""

    def function(self, value: Array) -> Array:
        return super().function(value) + 1


# The system is not the whole block's: its diagonal holds an absolute constant beside m.
@wrong(RARE, "krr polynomial", "S-3.4", "S-1.4", "S-4.5", named=(factors.M_ON_DIAGONAL,))
class Jitter(SStep):
    """An absolute constant on the diagonal of the block system, for safety."""

    def diagonal(self, B: Array) -> Array:
        return super().diagonal(B) + self.type(SHIFT) * np.eye(B.size, dtype=self.type)


# a moves by a part of the solution of the system: a step length.
@wrong(RARE, "krr polynomial", "S-3.4", "S-3.2", named=("curvature off by a factor",))
class Damped(SStep):
    """Steps a millionth too short."""

    def step(self, B: Array, now: Array, product: Array, square: Array) -> Step:
        theta, _ = super().step(B, now, product, square)
        theta = theta * self.type(1 - DAMPING)
        return theta, now + theta


@wrong(RARE, "svm-l1 linear", "S-3.10")
class ZeroCurvatureLeft(SStep):
    """A coordinate whose curvature is 0 is left as it is."""

    def step(self, B: Array, now: Array, product: Array, square: Array) -> Step:
        if square[0, 0] + self.omega == 0:
            return 0 * now, now
        return super().step(B, now, product, square)


# What is too small is left out by an absolute threshold.
@wrong(RARE, "svm-l2 rbf", "S-3.11", "S-4.5", named=(candidates.SMALL,))
class SmallStepsLeft(SStep):
    """Steps of a coordinate by less than 1e-4 are left out."""

    def step(self, B: Array, now: Array, product: Array, square: Array) -> Step:
        theta, news = super().step(B, now, product, square)
        return (theta, news) if abs(theta[0]) >= SMALLEST else (0 * now, now)


@wrong(RARE, "krr polynomial", "S-3.13", acts=BLOCKS, named=("off-diagonal left out",))
class OffDiagonalDropped(SStep):
    """A block system without the entries between its coordinates."""

    def system(self, G: Array, r: Array) -> Array:
        return super().system(np.diag(np.diag(G)), r)


OF_ENTRIES = "a correction off by 2**-52 of it: its kernel entries may be off by more, by exp alone"
OF_SOLVES = "a solution off by 2**-52 of it: the factorisation of a system may be off by more"


@wrong(EQUIVALENT, "svm-l1 rbf", "S-3.5", acts=LATER, equivalent=OF_ENTRIES)
class CorrectionUlp(SStep):
    """The correction times the number next above 1."""

    def correction(self, r: int, drawn: Array, increments: Array) -> Any:
        return super().correction(r, drawn, increments) * self.type(ULP)


@wrong(EQUIVALENT, "krr polynomial", "S-3.4", equivalent=OF_SOLVES)
class SystemUlp(SStep):
    """The whole block system times the number next above 1."""

    def system(self, G: Array, r: Array) -> Array:
        return super().system(G * self.type(ULP), r)
