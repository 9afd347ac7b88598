"""The s-step solver of another problem than it was given, each with its label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify.diagnosis import factors, kernel_rows, other_problems
from sstep_verify.problems import Problem, Ridge
from studies.corpus.labelled import BLOCKS, STREAM, Function, wrong
from studies.corpus.sstep import Array, SStep, Step

WRONG: list[Function] = []


def other_kernel(problem: Problem, name: str, change: Callable[[Any], Any]) -> Problem:
    """The problem with another parameter of its kernel."""
    kernel: Any = problem.kernel
    return replace(problem, kernel=replace(kernel, **{name: change(getattr(kernel, name))}))


@wrong(WRONG, "svm-l2 polynomial", "S-1.2", named=(kernel_rows.LABELS,), log=False, suffix="Polynomial")
@wrong(WRONG, "svm-l1 rbf", "S-1.2", named=(kernel_rows.LABELS,))
class LabelsInside(SStep):
    """K(y_i x_i, y_l x_l) in the place of y_i y_l K(x_i, x_l)."""

    def given(self, problem: Problem) -> Problem:
        return replace(problem, data=problem.targets[:, None] * problem.dense)

    def labels(self) -> Array:
        return np.ones_like(self.y)


@wrong(WRONG, "svm-l1 rbf", "S-1.2", named=(other_problems.BOTH,), log=False)
class LabelsInBoth(LabelsInside):
    """y_i y_l K(y_i x_i, y_l x_l)."""

    labels = SStep.labels


@wrong(WRONG, "svm-l1 rbf", "S-1.2", named=("labels left out",))
class LabelLost(SStep):
    """The label of the drawn sample is left out of its product."""

    def step(self, B: Array, now: Array, product: Array, square: Array) -> Step:
        return super().step(B, now, self.y[B] * product, square)


@wrong(WRONG, "svm-l1 rbf", "S-1.7", named=(kernel_rows.NORMS,))
class NormsLost(SStep):
    """exp(2 sigma <x, z>): the squared norms are left out."""

    def entries(self, drawn: Array) -> Array:
        return self.function(-2 * self.inner(self.A[drawn][:, None], self.A[None]))


@wrong(WRONG, "svm-l1 rbf", "S-1.7", named=(other_problems.SIGMA,), log=False)
class SigmaHalved(SStep):
    """exp(-sigma/2 |x - z|^2)."""

    def given(self, problem: Problem) -> Problem:
        return other_kernel(problem, "sigma", lambda sigma: sigma / 2)


@wrong(WRONG, "krr polynomial", "S-1.6", named=(other_problems.DEGREE,))
class DegreeMore(SStep):
    """One factor too many in the power."""

    def given(self, problem: Problem) -> Problem:
        return other_kernel(problem, "degree", lambda degree: degree + 1)


@wrong(WRONG, "krr polynomial", "S-1.6", named=(other_problems.OFFSET,), log=False)
class OffsetLost(SStep):
    """<x, z>^d."""

    def given(self, problem: Problem) -> Problem:
        return other_kernel(problem, "offset", lambda offset: 0.0)


@wrong(WRONG, "svm-l1 rbf", "S-1.8", named=(kernel_rows.LOST,))
class FeatureMissing(SStep):
    """The last feature is on no rank."""

    def inner(self, x: Array, z: Array) -> Array:
        return super().inner(x[..., :-1], z[..., :-1])


@wrong(WRONG, "krr polynomial", "S-1.8", named=(kernel_rows.LOST,), log=False)
class RankMissing(SStep):
    """Only the first half of the features, the first of two ranks, is in the panel."""

    def inner(self, x: Array, z: Array) -> Array:
        half = x.shape[-1] // 2
        return super().inner(x[..., :half], z[..., :half])


@wrong(WRONG, "krr polynomial", "S-1.8", named=(kernel_rows.SPLIT,))
class KernelFirst(SStep):
    """The kernel is applied to the two halves of the features, and then the halves are added up."""

    def entries(self, drawn: Array) -> Array:
        half, A = self.A.shape[1] // 2, self.A
        parts = []
        for features in (np.arange(half), np.arange(half, A.shape[1])):
            self.A = np.zeros_like(A)
            self.A[:, features] = A[:, features]
            parts.append(super().entries(drawn))
        self.A = A
        return parts[0] + parts[1]


# The last coordinate of a block is then not updated either.
@wrong(WRONG, "krr polynomial", "S-2.5", "S-2.2", acts=BLOCKS, named=STREAM)
class Repeats(SStep):
    """Blocks with replacement: the last coordinate of a block is its first again, and is used twice."""

    def taken(self, blocks: Array, s: int) -> Array:
        return np.hstack([blocks[:, :-1], blocks[:, :1]])


# The matrix solved is M/m: 1 in the place of m, and every entry over m too.
@wrong(WRONG, "krr polynomial", "S-1.4", "S-1.5", named=(other_problems.TIMES_M,))
class TimesM(SStep):
    """(K/(lambda m) + I) a = y: the dual vector is m times the right one."""

    def step(self, B: Array, now: Array, product: Array, square: Array) -> Step:
        m = self.type(self.m)
        residual = self.y[B] - now - product / (self.penalty * m)
        theta = self.system(square / (self.penalty * m) + np.eye(B.size, dtype=self.type), residual)
        return theta, now + theta


# The matrix solved is lambda M: entries not over lambda, and lambda m in the place of m.
@wrong(WRONG, "krr polynomial", "S-1.5", "S-1.4", named=(other_problems.OVER_LAMBDA,), log=False)
class OverLambda(SStep):
    """(K + lambda m I) a = y: the dual vector is the right one over lambda."""

    def step(self, B: Array, now: Array, product: Array, square: Array) -> Step:
        shift = self.penalty * self.m
        residual = self.y[B] - shift * now - product
        theta = self.system(square + shift * np.eye(B.size, dtype=self.type), residual)
        return theta, now + theta


@wrong(WRONG, "krr polynomial", "S-1.4", named=(factors.M_ON_DIAGONAL,))
class MOnceOnly(SStep):
    """The diagonal of the block system has 1 in the place of m; the right-hand side is right."""

    def diagonal(self, B: Array) -> Array:
        return np.eye(B.size, dtype=self.type)


@wrong(WRONG, "krr polynomial", "S-1.4", named=(other_problems.M_LOST,), log=False)
class MLost(SStep):
    """K/lambda + I: 1 in the place of m, everywhere."""

    def step(self, B: Array, now: Array, product: Array, square: Array) -> Step:
        residual = self.y[B] - now - product / self.penalty
        theta = self.system(square / self.penalty + np.eye(B.size, dtype=self.type), residual)
        return theta, now + theta


@wrong(WRONG, "krr polynomial", "S-1.4", named=(kernel_rows.EVERYWHERE,), log=False)
class MEverywhere(SStep):
    """K/lambda + m in every entry."""

    def window(self, a: Array, blocks: Array) -> tuple[Array, Array]:
        self.total = np.add.reduce(a)
        return super().window(a, blocks)

    def step(self, B: Array, now: Array, product: Array, square: Array) -> Step:
        m = self.type(self.m)
        theta = self.system(square / self.penalty + m, self.y[B] - m * self.total - product / self.penalty)
        self.total = self.total + np.add.reduce(theta)
        return theta, now + theta


@wrong(WRONG, "krr polynomial", "S-1.5", named=(other_problems.LAMBDA_LOST,))
class LambdaLost(SStep):
    """Kernel entries as they are, not divided by lambda."""

    def given(self, problem: Problem) -> Problem:
        return replace(problem, loss=Ridge(1.0))
