"""The s-step solver of another problem than it was given.

What each breaks stands in labelled_set.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem
from studies.corpus.sstep import SStep


class LabelsInBoth(SStep):
    """y_i y_l K(y_i x_i, y_l x_l)."""

    def __init__(self, declared: Declaration, order: str, problem: Problem) -> None:
        super().__init__(declared, order, problem)
        self.A = self.y[:, None] * self.A


class LabelsInside(LabelsInBoth):
    """K(y_i x_i, y_l x_l) in the place of y_i y_l K(x_i, x_l)."""

    def labels(self) -> np.ndarray:
        return np.ones_like(self.y)


class NormsLost(SStep):
    """exp(2 sigma <x, z>): the squared norms are left out."""

    def entries(self, drawn: np.ndarray) -> np.ndarray:
        return self.function(-2 * self.inner(self.A[drawn][:, None], self.A[None]))


class OtherKernel(SStep):
    """Another parameter of the kernel."""

    changed: ClassVar[dict[str, Callable[[Any], Any]]]

    def __init__(self, declared: Declaration, order: str, problem: Problem) -> None:
        changes = {name: change(getattr(problem.kernel, name)) for name, change in self.changed.items()}
        super().__init__(declared, order, replace(problem, kernel=replace(problem.kernel, **changes)))


class SigmaHalved(OtherKernel):
    """exp(-sigma/2 |x - z|^2)."""

    changed: ClassVar = {"sigma": lambda sigma: sigma / 2}


class DegreeMore(OtherKernel):
    """One factor too many in the power."""

    changed: ClassVar = {"degree": lambda degree: degree + 1}


class OffsetLost(OtherKernel):
    """<x, z>^d."""

    changed: ClassVar = {"offset": lambda offset: 0.0}


class FeatureMissing(SStep):
    """The last feature is on no rank."""

    def inner(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        return super().inner(x[..., :-1], z[..., :-1])


class RankMissing(SStep):
    """Only the first half of the features, the first of two ranks, is in the panel."""

    def inner(self, x: np.ndarray, z: np.ndarray) -> np.ndarray:
        half = x.shape[-1] // 2
        return super().inner(x[..., :half], z[..., :half])


class KernelFirst(SStep):
    """The kernel is applied to the two halves of the features, and then the halves are added up."""

    def entries(self, drawn: np.ndarray) -> np.ndarray:
        half, A = self.A.shape[1] // 2, self.A
        parts = []
        for features in (np.arange(half), np.arange(half, A.shape[1])):
            self.A = np.zeros_like(A)
            self.A[:, features] = A[:, features]
            parts.append(super().entries(drawn))
        self.A = A
        return parts[0] + parts[1]


class TimesM(SStep):
    """(K/(lambda m) + I) a = y: the dual vector is m times the right one."""

    def step(
        self, B: np.ndarray, now: np.ndarray, product: np.ndarray, square: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        m = self.type(self.m)
        residual = self.y[B] - now - product / (self.penalty * m)
        theta = self.system(square / (self.penalty * m) + np.eye(B.size, dtype=self.type), residual)
        return theta, now + theta


class OverLambda(SStep):
    """(K + lambda m I) a = y: the dual vector is the right one over lambda."""

    def step(
        self, B: np.ndarray, now: np.ndarray, product: np.ndarray, square: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        shift = self.penalty * self.m
        theta = self.system(
            square + shift * np.eye(B.size, dtype=self.type), self.y[B] - shift * now - product
        )
        return theta, now + theta


class MEverywhere(SStep):
    """K/lambda + m in every entry."""

    def window(self, a: np.ndarray, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.total = np.add.reduce(a)
        return super().window(a, blocks)

    def step(
        self, B: np.ndarray, now: np.ndarray, product: np.ndarray, square: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        m = self.type(self.m)
        theta = self.system(square / self.penalty + m, self.y[B] - m * self.total - product / self.penalty)
        self.total = self.total + np.add.reduce(theta)
        return theta, now + theta


class MLost(SStep):
    """K/lambda + I: 1 in the place of m, everywhere."""

    def step(
        self, B: np.ndarray, now: np.ndarray, product: np.ndarray, square: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        residual = self.y[B] - now - product / self.penalty
        theta = self.system(square / self.penalty + np.eye(B.size, dtype=self.type), residual)
        return theta, now + theta


class LambdaLost(SStep):
    """Kernel entries as they are, not divided by lambda."""

    def __init__(self, declared: Declaration, order: str, problem: Problem) -> None:
        super().__init__(declared, order, problem)
        self.penalty = self.type(1)


class OmegaDoubled(SStep):
    """1/C in the place of 1/(2C), in gradient and curvature."""

    def __init__(self, declared: Declaration, order: str, problem: Problem) -> None:
        super().__init__(declared, order, problem)
        self.omega = 2 * self.omega
