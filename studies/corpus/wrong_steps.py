"""The s-step solver with one mistake in its steps, its windows or its run, each with its label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify.diagnosis import candidates, other_problems
from sstep_verify.problems import Problem, SquaredHinge
from studies.corpus.labelled import AGAIN, CORRECTION, LAST, LATER, LATER_WINDOWS, STREAM, Function, wrong
from studies.corpus.sstep import Array, SStep, Step

WRONG: list[Function] = []


@wrong(WRONG, "svm-l1 rbf", "S-3.9", named=("upper-end left out",))
class UpperIgnored(SStep):
    """No upper end."""

    def clip(self, value: Array) -> Array:
        return np.maximum(value, self.type(0))


@wrong(WRONG, "svm-l1 rbf", "S-3.9", named=(candidates.END,), log=False)
class UpperOff(SStep):
    """The box ends at C(1 + 1e-6)."""

    def clip(self, value: Array) -> Array:
        return np.minimum(np.maximum(value, self.type(0)), self.upper * self.type(1 + 1e-6))


@wrong(WRONG, "svm-l1 rbf", "S-3.8", named=("lower-end left out",))
class LowerIgnored(SStep):
    """No lower end."""

    def clip(self, value: Array) -> Array:
        return np.minimum(value, self.upper)


@wrong(WRONG, "svm-l2 linear", "S-3.7", acts="coordinate drawn before", named=("omega left out",))
class OmegaDropped(SStep):
    """The gradient lacks omega a; the curvature has omega."""

    def shift(self, now: Array) -> Array:
        return 0 * now


@wrong(WRONG, "svm-l2 linear", "S-1.3", named=(other_problems.OMEGA,), log=False)
class OmegaDoubled(SStep):
    """1/C in the place of 1/(2C), in gradient and curvature."""

    def given(self, problem: Problem) -> Problem:
        return replace(problem, loss=SquaredHinge(problem.hinge.C / 2))


@wrong(WRONG, "krr polynomial", "S-3.5", acts=LATER, named=CORRECTION, log=False, suffix="Ridge")
@wrong(WRONG, "svm-l1 rbf", "S-3.5", acts=LATER, named=CORRECTION)
class CorrectionDropped(SStep):
    """The gradient is that of the window's start."""

    def correction(self, r: int, drawn: Array, increments: Array) -> Any:
        return self.type(0)


@wrong(WRONG, "svm-l1 rbf", "S-3.5", acts=LATER, named=CORRECTION)
class CorrectionAtOddPlaces(SStep):
    """The correction is left out in every second step of a window."""

    def correction(self, r: int, drawn: Array, increments: Array) -> Any:
        odd = r // self.blocks.shape[1] % 2
        return self.type(0) if odd else super().correction(r, drawn, increments)


@wrong(WRONG, "svm-l1 rbf", "S-3.5", acts=LATER, named=CORRECTION)
class CorrectionOff(SStep):
    """The correction is too large by 1e-9 of it."""

    def correction(self, r: int, drawn: Array, increments: Array) -> Any:
        return super().correction(r, drawn, increments) * self.type(1 + 1e-9)


OVERLAP = ("overlap-dropped", "overlap left out")


@wrong(WRONG, "krr polynomial", "S-3.6", acts=AGAIN, named=OVERLAP, suffix="Ridge")
@wrong(WRONG, "svm-l1 rbf", "S-3.6", acts=AGAIN, named=OVERLAP, log=False)
class OverlapDropped(SStep):
    """A coordinate drawn again in a window is taken at its value of the window's start."""

    def current(self, a: Array, B: Array, past: Array, increments: Array) -> Array:
        return self.start[B]

    def step(self, B: Array, now: Array, product: Array, square: Array) -> Step:
        theta, _ = super().step(B, now, product, square)
        return theta, self.a[B] + theta


# Steps do not see what the window before did: the two sentences say the same of it.
@wrong(WRONG, "svm-l1 rbf", "S-3.3", "S-3.12", acts=LATER_WINDOWS, named=(candidates.OLD_A,))
class StaleA(SStep):
    """The products of a window's rows are those with a of the start of the window before."""

    def begun(self, a0: Array) -> Array:
        self.before = a0.astype(self.type)
        return a0

    def products_of(self, drawn: Array, a: Array) -> Array:
        before, self.before = self.before, a.copy()
        return super().products_of(drawn, before)


@wrong(WRONG, "svm-l1 rbf", "S-3.3", acts=LATER_WINDOWS, named=(candidates.OLD_ROWS,))
class StalePanel(SStep):
    """Rows of the window before are used again for the products, where there are as many."""

    def products_of(self, drawn: Array, a: Array) -> Array:
        rows, before = self.rows, getattr(self, "old", self.rows)
        self.old = rows
        if before.shape == rows.shape:
            self.rows = before
        try:
            return super().products_of(drawn, a)
        finally:
            self.rows = rows


@wrong(WRONG, "svm-l1 rbf", "S-3.12", acts=LAST, named=("window-boundary left out",), log=False)
class LastOfWindowLost(SStep):
    """The values of a window's last step are not handed on."""

    def window(self, a: Array, blocks: Array) -> tuple[Array, Array]:
        if len(blocks) < 2:
            return super().window(a, blocks)
        a, values = super().window(a, blocks[:-1])
        return a, np.vstack([values, a[blocks[-1]][None]])


LAST_STEP = (*STREAM, "window-boundary left out", "write-back left out")


# Of a alone a last step not made, one whose value is not stored, and draws one place late are the same.
@wrong(WRONG, "svm-l1 rbf", "S-2.3", "S-2.2", "S-3.12", acts=LAST, named=LAST_STEP, log=False)
class OneFewer(SStep):
    """H - 1 iterations."""

    def taken(self, blocks: Array, s: int) -> Array:
        return blocks[:-1]


# The step too many moves a coordinate at a position where the stream draws another.
@wrong(WRONG, "svm-l1 rbf", "S-2.3", "S-2.2", "S-3.12", acts=LAST, named=STREAM, log=False)
class OneMore(SStep):
    """H + 1 iterations, the last one with the first block again."""

    def taken(self, blocks: Array, s: int) -> Array:
        return np.concatenate([blocks, blocks[:1]])


@wrong(WRONG, "svm-l1 rbf", "S-2.3", acts="last short window", named=("tail-lost", "tail left out"))
class TailDropped(SStep):
    """The last window is not made where it is short."""

    def solve(self, blocks: Array, s: int, a0: Array, log: Array | None = None) -> Array:
        whole = len(blocks) // s * s
        a = super().solve(blocks[:whole], s, a0, log)
        if log is not None:
            log[whole:] = a[blocks[whole:]]
        return a


# Runs of a profile begin from 0 but those that continue another: it is there that a0 matters.
@wrong(WRONG, "svm-l1 rbf", "S-2.1", "S-2.8", acts="continued run")
class StartIgnored(SStep):
    """Every run begins from 0."""

    def begun(self, a0: Array) -> Array:
        return 0 * a0


@wrong(WRONG, "svm-l1 rbf", "S-2.2", acts=LATER_WINDOWS, named=STREAM)
class OtherStream(SStep):
    """After the first window the coordinates are those after the drawn ones."""

    def taken(self, blocks: Array, s: int) -> Array:
        return np.concatenate([blocks[:s], (blocks[s:] + 1) % self.m])
