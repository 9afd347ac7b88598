"""The s-step solver with a mistake that acts rarely or little, and with changes that no check can see.

What each breaks stands in labelled_set.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from studies.corpus.sstep import SStep

SMALLEST, SHIFT, DAMPING = 1e-4, 1e-8, 1e-6
"""A threshold, an absolute constant, and what is lacking of a step's length."""

REACH = 32
"""Steps of a window that a correction that ends too early reaches back."""

ULP = 1 + 2.0**-52
"""The number next above 1 in float64."""


class TailUncorrected(SStep):
    """The correction is left out in the last window where it is short."""

    def correction(self, r: int, drawn: np.ndarray, increments: np.ndarray) -> Any:
        short = len(self.blocks) < self.s
        return self.type(0) if short else super().correction(r, drawn, increments)


class ThirdDrawMissed(SStep):
    """A coordinate drawn a third time: its gradient has only the first of its own increments."""

    def correction(self, r: int, drawn: np.ndarray, increments: np.ndarray) -> Any:
        own = np.flatnonzero(drawn[: increments.size] == drawn[r])
        increments = increments.copy()
        increments[own[1:]] = 0
        return super().correction(r, drawn, increments)


class ReachesBack(SStep):
    """The correction reaches back 32 steps, however long the window."""

    def correction(self, r: int, drawn: np.ndarray, increments: np.ndarray) -> Any:
        increments = increments.copy()
        increments[:-REACH] = 0
        return super().correction(r, drawn, increments)


class FirstProductOff(SStep):
    """The product of the first row of every window is too large by 1e-9 of it."""

    def products_of(self, drawn: np.ndarray, a: np.ndarray) -> np.ndarray:
        products = super().products_of(drawn, a).copy()
        products[0] *= self.type(1 + 1e-9)
        return products


class StartRounded(SStep):
    """The a that a run begins with is rounded to float32."""

    def solve(
        self, blocks: np.ndarray, s: int, a0: np.ndarray, log: np.ndarray | None = None
    ) -> np.ndarray:
        return super().solve(blocks, s, a0.astype(np.float32), log)


class Bias(SStep):
    """K + 1 in the place of K: a bias that is minimised too."""

    def function(self, value: np.ndarray) -> np.ndarray:
        return super().function(value) + 1


class Jitter(SStep):
    """An absolute constant on the diagonal of the block system, for safety."""

    def diagonal(self, B: np.ndarray) -> np.ndarray:
        return super().diagonal(B) + self.type(SHIFT) * np.eye(B.size, dtype=self.type)


class Damped(SStep):
    """Steps a millionth too short."""

    def step(
        self, B: np.ndarray, now: np.ndarray, product: np.ndarray, square: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        theta, _ = super().step(B, now, product, square)
        theta = theta * self.type(1 - DAMPING)
        return theta, now + theta


class ZeroCurvatureLeft(SStep):
    """A coordinate whose curvature is 0 is left as it is."""

    def step(
        self, B: np.ndarray, now: np.ndarray, product: np.ndarray, square: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if square[0, 0] + self.omega == 0:
            return 0 * now, now
        return super().step(B, now, product, square)


class SmallStepsLeft(SStep):
    """Steps of a coordinate by less than 1e-4 are left out."""

    def step(
        self, B: np.ndarray, now: np.ndarray, product: np.ndarray, square: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        theta, news = super().step(B, now, product, square)
        return (theta, news) if abs(theta[0]) >= SMALLEST else (0 * now, now)


class OffDiagonalDropped(SStep):
    """A block system without the entries between its coordinates."""

    def system(self, G: np.ndarray, r: np.ndarray) -> np.ndarray:
        return super().system(np.diag(np.diag(G)), r)


class CorrectionUlp(SStep):
    """The correction times the number next above 1."""

    def correction(self, r: int, drawn: np.ndarray, increments: np.ndarray) -> Any:
        return super().correction(r, drawn, increments) * self.type(ULP)


class SystemUlp(SStep):
    """The whole block system times the number next above 1."""

    def system(self, G: np.ndarray, r: np.ndarray) -> np.ndarray:
        return super().system(G * self.type(ULP), r)
