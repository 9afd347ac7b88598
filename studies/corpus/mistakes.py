"""The s-step solver with one mistake, each with its label: a table of the methods that it changes.

Some act rarely or little (`RARE`), and some no check can see (`EQUIVALENT`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify.diagnosis import candidates, factors, kernel_rows, other_problems
from sstep_verify.problems import Problem, Ridge, SquaredHinge
from studies.corpus.labelled import (
    BLOCKS,
    CORRECTION,
    LAST,
    LATER,
    LATER_WINDOWS,
    STREAM,
    mistake,
)
from studies.corpus.sstep import Array, SStep, Step

ULP = 1 + 2.0**-52
"""The number next above 1 in float64."""


def other_kernel(name: str, change: Callable[[Any], Any]) -> Callable[..., Problem]:
    """`SStep.given` with another parameter of the kernel."""

    def given(self: SStep, problem: Problem) -> Problem:
        kernel: Any = problem.kernel
        return replace(problem, kernel=replace(kernel, **{name: change(getattr(kernel, name))}))

    return given


def forgotten(lost: Callable[..., Any]) -> Callable[..., Any]:
    """`SStep.correction` without the increments at some places of the window."""

    def correction(self: SStep, r: int, drawn: Array, increments: Array) -> Any:
        left = increments.copy()
        left[lost(r, drawn, increments.size)] = 0
        return SStep.correction(self, r, drawn, left)

    return correction


def _kernel_of_halves(self: SStep, drawn: Array) -> Array:
    A, first = self.A, np.arange(self.A.shape[1]) < self.A.shape[1] // 2
    parts = []
    for features in (first, ~first):
        self.A = np.where(features, A, self.type(0))
        parts.append(SStep.entries(self, drawn))
    self.A = A
    return parts[0] + parts[1]


def _summed_at_start(self: Any, a: Array, blocks: Array) -> tuple[Array, Array]:
    self.total = np.add.reduce(a)
    return SStep.window(self, a, blocks)


def _m_everywhere(self: Any, B: Array, now: Array, product: Array, square: Array) -> Step:
    m = self.type(self.m)
    theta = self.system(square / self.penalty + m, self.y[B] - m * self.total - product / self.penalty)
    self.total = self.total + np.add.reduce(theta)
    return theta, now + theta


def _from_start(self: SStep, B: Array, now: Array, product: Array, square: Array) -> Step:
    theta, _ = SStep.step(self, B, now, product, square)
    return theta, self.a[B] + theta


def _with_old_a(self: Any, drawn: Array, a: Array) -> Array:
    before, self.before = getattr(self, "before", a), a.copy()
    return SStep.products_of(self, drawn, before)


def _with_old_rows(self: Any, drawn: Array, a: Array) -> Array:
    rows, before = self.rows, getattr(self, "old", self.rows)
    self.old = rows
    self.rows = before if before.shape == rows.shape else rows
    products = SStep.products_of(self, drawn, a)
    self.rows = rows
    return products


def _without_last_step(self: SStep, a: Array, blocks: Array) -> tuple[Array, Array]:
    if len(blocks) < 2:
        return SStep.window(self, a, blocks)
    a, values = SStep.window(self, a, blocks[:-1])
    return a, np.vstack([values, a[blocks[-1]][None]])


def _whole_windows(self: SStep, blocks: Array, s: int, a0: Array, log: Array | None = None) -> Array:
    whole = len(blocks) // s * s
    a = SStep.solve(self, blocks[:whole], s, a0, log)
    if log is not None:
        log[whole:] = a[blocks[whole:]]
    return a


def _damped(self: SStep, B: Array, now: Array, product: Array, square: Array) -> Step:
    theta = SStep.step(self, B, now, product, square)[0] * self.type(1 - 1e-6)
    return theta, now + theta


def _large_alone(self: SStep, B: Array, now: Array, product: Array, square: Array) -> Step:
    theta, news = SStep.step(self, B, now, product, square)
    return (theta, news) if abs(theta[0]) >= 1e-4 else (0 * now, now)


L1, L2, RIDGE = "svm-l1 rbf", "svm-l2 rbf", "krr polynomial"

_INSIDE: dict[str, Any] = {
    "given": lambda self, problem: replace(problem, data=problem.targets[:, None] * problem.dense),
    "labels": lambda self: np.ones_like(self.y),
}
_AT_START: dict[str, Any] = {"current": lambda self, a, B, past, theta: self.start[B], "step": _from_start}
OVERLAP = ("overlap-dropped", "overlap left out")
AGAIN = "coordinate drawn again in the window"

WRONG = (
    # Solvers of another problem than they were given.
    mistake("LabelsInside", "K(y_i x_i, y_l x_l) instead of y_i y_l K(x_i, x_l).",
        L1, "S-1.2", named=(kernel_rows.LABELS,), **_INSIDE),
    mistake("LabelsInsidePolynomial", "The same with a polynomial kernel.",
        "svm-l2 polynomial", "S-1.2", named=(kernel_rows.LABELS,), log=False, **_INSIDE),
    mistake("LabelsInBoth", "y_i y_l K(y_i x_i, y_l x_l).",
        L1, "S-1.2", named=(other_problems.BOTH,), log=False, given=_INSIDE["given"]),
    mistake("LabelLost", "The label of the drawn sample is left out of its product.",
        L1, "S-1.2", named=("labels left out",),
        step=lambda self, B, now, product, square: SStep.step(self, B, now, self.y[B] * product, square)),
    mistake("NormsLost", "exp(2 sigma <x, z>): the squared norms are left out.",
        L1, "S-1.7", named=(kernel_rows.NORMS,),
        entries=lambda self, drawn: self.function(-2 * self.inner(self.A[drawn][:, None], self.A[None]))),
    mistake("SigmaHalved", "exp(-sigma/2 |x - z|^2).",
        L1, "S-1.7", named=(other_problems.SIGMA_HALF,), log=False,
        given=other_kernel("sigma", lambda sigma: sigma / 2)),
    mistake("DegreeMore", "One factor too many in the power.",
        RIDGE, "S-1.6", named=(other_problems.DEGREE_MORE,), given=other_kernel("degree", lambda d: d + 1)),
    mistake("OffsetLost", "<x, z>^d.",
        RIDGE, "S-1.6", named=(other_problems.OFFSET,), log=False,
        given=other_kernel("offset", lambda offset: 0.0)),
    mistake("FeatureMissing", "The last feature is on no rank.",
        L1, "S-1.8", named=(kernel_rows.LOST,),
        inner=lambda self, x, z: SStep.inner(self, x[..., :-1], z[..., :-1])),
    mistake("RankMissing", "Only the first half of the features, the first of two ranks, is in the panel.",
        RIDGE, "S-1.8", named=(kernel_rows.LOST,), log=False,
        inner=lambda self, x, z: SStep.inner(self, *(one[..., : one.shape[-1] // 2] for one in (x, z)))),
    mistake("KernelFirst", "The kernel of either half of the features, and then the halves are added up.",
        RIDGE, "S-1.8", named=(kernel_rows.SPLIT,), entries=_kernel_of_halves),
    # The last coordinate of a block is then not updated either.
    mistake("Repeats", "With replacement: the last coordinate of a block is its first again, used twice.",
        RIDGE, "S-2.5", "S-2.2", acts=BLOCKS, named=STREAM,
        taken=lambda self, blocks, s: np.hstack([blocks[:, :-1], blocks[:, :1]])),
    # The matrix solved is M/m: 1 in place of m, and every entry over m too.
    mistake("TimesM", "(K/(lambda m) + I) a = y: the dual vector is m times the right one.",
        RIDGE, "S-1.4", "S-1.5", named=(other_problems.TIMES_M,),
        matrix=lambda self: (self.penalty * self.type(self.m), 1)),
    # The matrix solved is lambda M: entries not over lambda, and lambda m in place of m.
    mistake("OverLambda", "(K + lambda m I) a = y: the dual vector is the right one over lambda.",
        RIDGE, "S-1.5", "S-1.4", named=(other_problems.OVER_LAMBDA,), log=False,
        matrix=lambda self: (1, self.penalty * self.m)),
    mistake("MOnceOnly", "1 instead of m on the diagonal; the right-hand side is right.",
        RIDGE, "S-1.4", named=(factors.M_ON_DIAGONAL,),
        diagonal=lambda self, B: np.eye(B.size, dtype=self.type)),
    mistake("MLost", "K/lambda + I: 1 instead of m, everywhere.",
        RIDGE, "S-1.4", named=(other_problems.M_LOST,), log=False,
        matrix=lambda self: (self.penalty, 1)),
    mistake("MEverywhere", "K/lambda + m in every entry.",
        RIDGE, "S-1.4", named=(kernel_rows.EVERYWHERE,), log=False,
        window=_summed_at_start, step=_m_everywhere),
    mistake("LambdaLost", "Kernel entries as they are, not divided by lambda.",
        RIDGE, "S-1.5", named=(other_problems.LAMBDA_LOST,),
        given=lambda self, problem: replace(problem, loss=Ridge(1.0))),
    # Mistakes in steps, windows or runs.
    mistake("UpperIgnored", "No upper end.",
        L1, "S-3.9", named=("upper-end left out",), clip=lambda self, a: np.maximum(a, self.type(0))),
    mistake("UpperOff", "The box ends at C(1 + 1e-6).",
        L1, "S-3.9", log=False,
        clip=lambda self, a: np.minimum(np.maximum(a, self.type(0)), self.upper * self.type(1 + 1e-6))),
    mistake("LowerIgnored", "No lower end.",
        L1, "S-3.8", named=("lower-end left out",), clip=lambda self, a: np.minimum(a, self.upper)),
    mistake("OmegaDropped", "The gradient lacks omega a; the curvature has omega.",
        "svm-l2 linear", "S-3.7", acts="coordinate drawn before", named=("omega left out",),
        shift=lambda self, now: 0 * now),
    mistake("OmegaDoubled", "1/C instead of 1/(2C), in gradient and curvature.",
        "svm-l2 linear", "S-1.3", named=(other_problems.OMEGA_TWICE,), log=False,
        given=lambda self, problem: replace(problem, loss=SquaredHinge(problem.loss.C / 2))),
    mistake("CorrectionDropped", "The gradient is that of the window's start.",
        L1, "S-3.5", acts=LATER, named=CORRECTION, correction=lambda self, *_: self.type(0)),
    mistake("CorrectionDroppedRidge", "The same for K-RR.",
        RIDGE, "S-3.5", acts=LATER, named=CORRECTION, log=False, correction=lambda self, *_: self.type(0)),
    mistake("CorrectionAtOddPlaces", "The correction is left out in every second step of a window.",
        L1, "S-3.5", acts=LATER, named=CORRECTION,
        correction=lambda self, r, *of:
            self.type(0) if r // self.blocks.shape[1] % 2 else SStep.correction(self, r, *of)),
    mistake("CorrectionOff", "The correction is too large by 1e-9 of it.",
        L1, "S-3.5", acts=LATER, named=CORRECTION,
        correction=lambda self, *of: SStep.correction(self, *of) * self.type(1 + 1e-9)),
    mistake("OverlapDropped", "A coordinate drawn again in a window has its value of the window's start.",
        L1, "S-3.6", acts=AGAIN, named=OVERLAP, log=False, **_AT_START),
    mistake("OverlapDroppedRidge", "The same for K-RR.",
        RIDGE, "S-3.6", acts=AGAIN, named=OVERLAP, **_AT_START),
    # Steps do not see what the window before did: the two sentences say the same of it.
    mistake("StaleA", "Products of a window's rows with a of the start of the window before.",
        L1, "S-3.3", "S-3.12", acts=LATER_WINDOWS, named=(candidates.OLD_A,), products_of=_with_old_a),
    mistake("StalePanel", "Rows of the window before are used again for products, if as many.",
        L1, "S-3.3", acts=LATER_WINDOWS, named=(candidates.OLD_ROWS,), products_of=_with_old_rows),
    mistake("LastOfWindowLost", "The values of a window's last step are not handed on.",
        L1, "S-3.12", acts=LAST, named=("window-boundary left out",), log=False, window=_without_last_step),
    # Of a alone a last step not made, one whose value is not stored, and draws one place late are the same.
    mistake("OneFewer", "H - 1 iterations.",
        L1, "S-2.3", "S-2.2", "S-3.12", acts=LAST, log=False,
        named=(*STREAM, "window-boundary left out", "write-back left out"),
        taken=lambda self, blocks, s: blocks[:-1]),
    # The step too many moves a coordinate at a position where the stream draws another.
    mistake("OneMore", "H + 1 iterations, the last one with the first block again.",
        L1, "S-2.3", "S-2.2", "S-3.12", acts=LAST, named=STREAM, log=False,
        taken=lambda self, blocks, s: np.concatenate([blocks, blocks[:1]])),
    mistake("TailDropped", "The last window is not made where it is short.",
        L1, "S-2.3", acts="last short window", named=("tail-lost", "tail left out"), solve=_whole_windows),
    # Runs of a profile begin from 0 but those that continue another: it is there that a0 matters.
    mistake("StartIgnored", "Every run begins from 0.",
        L1, "S-2.1", "S-2.8", acts="continued run", begun=lambda self, a0: 0 * a0),
    # No known defect is it: what is left out of a stream takes the draw after, not the coordinate after.
    mistake("OtherStream", "After the first window the coordinates are those after the drawn ones.",
        L1, "S-2.2", acts=LATER_WINDOWS,
        taken=lambda self, blocks, s: np.concatenate([blocks[:s], (blocks[s:] + 1) % self.m])),
    mistake("float32 undeclared", "It works in float32, and declares float64.",
        L1, "S-3.1", "S-5.1",
        __init__=lambda self, way, *of: SStep.__init__(self, replace(way, precision="float32"), *of)),
)  # fmt: skip
"""Mistakes in problems, steps, windows or runs."""

RARE = (
    mistake("TailUncorrected", "The correction is left out in the last window where it is short.",
        L2, "S-3.5", acts="last short window", named=CORRECTION,
        correction=lambda self, *of:
            self.type(0) if len(self.blocks) < self.s else SStep.correction(self, *of)),
    # An increment of the same coordinate, and an earlier step's, is missing in the gradient.
    mistake("ThirdDrawMissed", "Drawn a third time, a coordinate's gradient has its first increment alone.",
        L2, "S-3.6", "S-3.5", acts="coordinate drawn a third time in the window",
        named=("only the first own increment used",),
        correction=forgotten(lambda r, drawn, made: np.flatnonzero(drawn[:made] == drawn[r])[1:])),
    mistake("ReachesBack", "The correction reaches back 32 steps, however long the window.",
        L2, "S-3.5", acts=LATER, named=CORRECTION,
        correction=forgotten(lambda r, drawn, made: slice(-32))),
    mistake("FirstProductOff", "The product of the first row of every window is too large by 1e-9 of it.",
        L1, "S-3.3", acts="first step of a window", named=("stale-product off by a factor",),
        products_of=lambda self, drawn, a:
            SStep.products_of(self, drawn, a) * np.where(np.arange(drawn.size), 1, self.type(1 + 1e-9))),
    # A run that continues is then not the rest of the whole one.
    mistake("StartRounded", "The a that a run begins with is rounded to float32.",
        L1, "S-2.1", "S-2.8", acts="continued run", begun=lambda self, a0: a0.astype(np.float32)),
    # An entry with 1 added is no RBF value, nor the kernel function of a distance.
    mistake("Bias", "K + 1 instead of K: a bias that is minimised too.",
        L1, "S-1.1", "S-1.7", "S-1.8", named=(kernel_rows.BIAS,),
        function=lambda self, value: SStep.function(self, value) + 1),
    # The system is not the whole block's: its diagonal holds an absolute constant besides m.
    mistake("Jitter", "An absolute constant on the diagonal of the block system, for safety.",
        RIDGE, "S-3.4", "S-1.4", "S-4.5", named=(factors.M_ON_DIAGONAL,),
        diagonal=lambda self, B:
            SStep.diagonal(self, B) + self.type(1e-8) * np.eye(B.size, dtype=self.type)),
    # a moves by a part of the solution of the system: a step length.
    mistake("Damped", "Steps a millionth too short.",
        RIDGE, "S-3.4", "S-3.2", named=("curvature off by a factor",), step=_damped),
    mistake("ZeroCurvatureLeft", "A coordinate whose curvature is 0 is left as it is.",
        "svm-l1 linear", "S-3.10",
        step=lambda self, B, now, product, square:
            SStep.step(self, B, now, product, square) if square[0, 0] + self.omega else (0 * now, now)),
    # What is too small is left out by an absolute threshold.
    mistake("SmallStepsLeft", "Steps of a coordinate by less than 1e-4 are left out.",
        L2, "S-3.11", "S-4.5", named=(candidates.SMALL,), step=_large_alone),
    mistake("OffDiagonalDropped", "A block system without the entries between its coordinates.",
        RIDGE, "S-3.13", acts=BLOCKS, named=("off-diagonal left out",),
        system=lambda self, G, r: SStep.system(self, np.diag(np.diag(G)), r)),
)  # fmt: skip
"""Mistakes that act rarely or little."""

EQUIVALENT = (
    mistake("CorrectionUlp", "The correction times the number next above 1.", L1, "S-3.5", acts=LATER,
        equivalent="a correction off by 2**-52 of it: its kernel entries may be off by more, by exp alone",
        correction=lambda self, *of: SStep.correction(self, *of) * self.type(ULP)),
    mistake("SystemUlp", "The whole block system times the number next above 1.", RIDGE, "S-3.4",
        equivalent="a solution off by 2**-52 of it: the factorisation of a system may be off by more",
        system=lambda self, G, r: SStep.system(self, G * self.type(ULP), r)),
)  # fmt: skip
"""Mistakes whose exact trajectory stays within the bound: no verdict can be FAIL, and none should be."""
