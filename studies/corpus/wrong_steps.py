"""The s-step solver with one mistake in its steps, its windows or its run.

What each breaks stands in labelled_set.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from studies.corpus.sstep import SStep


class LabelLost(SStep):
    """The label of the drawn sample is left out of its product."""

    def step(
        self, B: np.ndarray, now: np.ndarray, product: np.ndarray, square: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        return super().step(B, now, self.y[B] * product, square)


class Repeats(SStep):
    """Blocks with replacement: the last coordinate of a block is its first again, and is used twice."""

    def solve(
        self, blocks: np.ndarray, s: int, a0: np.ndarray, log: np.ndarray | None = None
    ) -> np.ndarray:
        blocks = blocks.copy()
        blocks[:, -1] = blocks[:, 0]
        return super().solve(blocks, s, a0, log)


class MOnceOnly(SStep):
    """The diagonal of the block system has 1 in the place of m; the right-hand side is right."""

    def diagonal(self, B: np.ndarray) -> np.ndarray:
        return np.eye(B.size, dtype=self.type)


class UpperIgnored(SStep):
    """No upper end."""

    def clip(self, value: np.ndarray) -> np.ndarray:
        return np.maximum(value, self.type(0))


class UpperOff(SStep):
    """The box ends at C(1 + 1e-6)."""

    def clip(self, value: np.ndarray) -> np.ndarray:
        return np.minimum(np.maximum(value, self.type(0)), self.upper * self.type(1 + 1e-6))


class LowerIgnored(SStep):
    """No lower end."""

    def clip(self, value: np.ndarray) -> np.ndarray:
        return np.minimum(value, self.upper)


class OmegaDropped(SStep):
    """The gradient lacks omega a; the curvature has omega."""

    def shift(self, now: np.ndarray) -> np.ndarray:
        return 0 * now


class CorrectionDropped(SStep):
    """The gradient is that of the window's start."""

    def correction(self, r: int, drawn: np.ndarray, increments: np.ndarray) -> Any:
        return self.type(0)


class CorrectionAtOddPlaces(SStep):
    """The correction is left out in every second step of a window."""

    def correction(self, r: int, drawn: np.ndarray, increments: np.ndarray) -> Any:
        odd = r // self.blocks.shape[1] % 2
        return self.type(0) if odd else super().correction(r, drawn, increments)


class CorrectionOff(SStep):
    """The correction is too large by 1e-9 of it."""

    def correction(self, r: int, drawn: np.ndarray, increments: np.ndarray) -> Any:
        return super().correction(r, drawn, increments) * self.type(1 + 1e-9)


class OverlapDropped(SStep):
    """A coordinate drawn again in a window is taken at its value of the window's start."""

    def current(self, a: np.ndarray, B: np.ndarray, past: np.ndarray, increments: np.ndarray) -> np.ndarray:
        return self.start[B]

    def step(
        self, B: np.ndarray, now: np.ndarray, product: np.ndarray, square: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        theta, _ = super().step(B, now, product, square)
        return theta, self.a[B] + theta


class StaleA(SStep):
    """The products of a window's rows are those with a of the start of the window before."""

    def solve(
        self, blocks: np.ndarray, s: int, a0: np.ndarray, log: np.ndarray | None = None
    ) -> np.ndarray:
        self.before = a0.astype(self.type)
        return super().solve(blocks, s, a0, log)

    def products_of(self, drawn: np.ndarray, a: np.ndarray) -> np.ndarray:
        before, self.before = self.before, a.copy()
        return super().products_of(drawn, before)


class StalePanel(SStep):
    """Rows of the window before are used again for the products, where there are as many."""

    def products_of(self, drawn: np.ndarray, a: np.ndarray) -> np.ndarray:
        rows, before = self.rows, getattr(self, "old", self.rows)
        self.old = rows
        if before.shape == rows.shape:
            self.rows = before
        try:
            return super().products_of(drawn, a)
        finally:
            self.rows = rows


class LastOfWindowLost(SStep):
    """The values of a window's last step are not handed on."""

    def window(self, a: np.ndarray, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        start = a
        if len(blocks) < 2:
            return super().window(a, blocks)
        a, values = super().window(start, blocks[:-1])
        return a, np.vstack([values, a[blocks[-1]][None]])


class OneFewer(SStep):
    """H - 1 iterations."""

    def solve(
        self, blocks: np.ndarray, s: int, a0: np.ndarray, log: np.ndarray | None = None
    ) -> np.ndarray:
        return super().solve(blocks[:-1], s, a0)


class OneMore(SStep):
    """H + 1 iterations, the last one with the first block again."""

    def solve(
        self, blocks: np.ndarray, s: int, a0: np.ndarray, log: np.ndarray | None = None
    ) -> np.ndarray:
        return super().solve(np.concatenate([blocks, blocks[:1]]), s, a0)


class TailDropped(SStep):
    """The last window is not made where it is short."""

    def solve(
        self, blocks: np.ndarray, s: int, a0: np.ndarray, log: np.ndarray | None = None
    ) -> np.ndarray:
        whole = len(blocks) // s * s
        a = super().solve(blocks[:whole], s, a0, None if log is None else log[:whole])
        if log is not None:
            log[whole:] = a[blocks[whole:]]
        return a


class StartIgnored(SStep):
    """Every run begins from 0."""

    def solve(
        self, blocks: np.ndarray, s: int, a0: np.ndarray, log: np.ndarray | None = None
    ) -> np.ndarray:
        return super().solve(blocks, s, 0 * a0, log)


class OtherStream(SStep):
    """After the first window the coordinates are those after the drawn ones."""

    def solve(
        self, blocks: np.ndarray, s: int, a0: np.ndarray, log: np.ndarray | None = None
    ) -> np.ndarray:
        other = (blocks + 1) % self.m
        other[:s] = blocks[:s]
        return super().solve(other, s, a0, log)
