"""Planted final vectors: each the certified optimum in another convention, or of another problem."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sstep_verify.oracle.certificate.optimum import ridge_optimum, svm_optimum
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.problems.data.embedded import read
from sstep_verify.problems.transforms import with_constant_feature
from sstep_verify.verdict import ReadingKind

L1, L2, KRR = Hinge(0.7), SquaredHinge(0.7), Ridge(0.15)
RBF, POLY, LINEAR = RBFKernel(0.3), PolynomialKernel(2, 0.5), LinearKernel()


def small(loss, kernel) -> Problem:
    """A problem of 32 samples."""
    data, targets, _, _ = read("small" if loss.boxed else "small_regression")
    return Problem("small", data, targets, kernel, loss)


def optimum(problem: Problem) -> np.ndarray:
    """Its certified optimum."""
    found = svm_optimum(problem) if problem.is_svm else ridge_optimum(problem)
    return found.alpha


def with_free_bias(problem: Problem, penalties: np.ndarray | None = None) -> np.ndarray:
    """The optimum with a bias that is not regularised, by SMO steps on the most violating pair."""
    y, shift = problem.targets, problem.hinge.shift
    C = np.full(y.size, problem.hinge.upper) if penalties is None else penalties
    distances = ((problem.dense[:, None] - problem.dense) ** 2).sum(axis=2)
    matrix = y[:, None] * y * np.exp(-problem.kernel.sigma * distances) + shift * np.eye(y.size)
    alpha, gradient = np.zeros(y.size), -np.ones(y.size)
    for _ in range(20_000):
        score = -y * gradient
        up = ((y > 0) & (alpha < C)) | ((y < 0) & (alpha > 0))
        down = ((y < 0) & (alpha < C)) | ((y > 0) & (alpha > 0))
        i, j = int(np.where(up, score, -np.inf).argmax()), int(np.where(down, score, np.inf).argmin())
        if score[i] - score[j] < 1e-12:
            break
        curvature = matrix[i, i] + matrix[j, j] - 2 * y[i] * y[j] * matrix[i, j]
        step = (score[i] - score[j]) / curvature
        room_i = C[i] - alpha[i] if y[i] > 0 else alpha[i]
        room_j = alpha[j] if y[j] > 0 else C[j] - alpha[j]
        step = min(step, room_i, room_j)
        alpha[i] += y[i] * step
        alpha[j] -= y[j] * step
        gradient += step * (y[i] * matrix[:, i] - y[j] * matrix[:, j])
    return alpha


def with_penalties(problem: Problem, penalties: np.ndarray, passes: int = 20_000) -> np.ndarray:
    """The optimum where each sample has a C of its own, by passes of coordinate descent."""
    y, alpha, squared = problem.targets, np.zeros(problem.samples), problem.hinge.power == 2
    signed = y[:, None] * problem.dense
    matrix = signed @ signed.T
    if isinstance(problem.kernel, RBFKernel):
        distances = ((problem.dense[:, None] - problem.dense) ** 2).sum(axis=2)
        matrix = y[:, None] * y * np.exp(-problem.kernel.sigma * distances)
    shift = 1 / (2 * penalties) if squared else np.zeros(y.size)
    for _ in range(passes):
        before = alpha.copy()
        for i in range(y.size):
            slope, curvature = matrix[i] @ alpha - 1 + shift[i] * alpha[i], matrix[i, i] + shift[i]
            free = alpha[i] - slope / curvature if curvature else np.inf
            alpha[i] = min(max(free, 0.0), np.inf if squared else penalties[i])
        if np.array_equal(alpha, before):
            break
    return alpha


def _classes(problem: Problem) -> np.ndarray:
    return np.where(problem.targets > 0, 0.7, 0.2)


def _by_class(problem: Problem) -> np.ndarray:
    return with_penalties(problem, _classes(problem))


def _by_sample(problem: Problem) -> np.ndarray:
    generator = np.random.Generator(np.random.PCG64(5))
    return with_penalties(problem, generator.uniform(0.2, 3.0, problem.samples))


def _grouped(problem: Problem) -> np.ndarray:
    return optimum(problem)[np.argsort(problem.targets != problem.targets[0], kind="stable")]


def _shuffled(problem: Problem) -> np.ndarray:
    return np.random.Generator(np.random.PCG64(3)).permutation(optimum(problem))


def _changed(problem: Problem, **changes) -> np.ndarray:
    return optimum(replace(problem, **changes))


PLANTED = {
    "m": (KRR, RBF, ReadingKind.SCALED, "c = m = 32", lambda p: 32 * optimum(p)),
    "1/lambda": (KRR, POLY, ReadingKind.SCALED, "c = 1/lambda", lambda p: optimum(p) / 0.15),
    "m lambda": (KRR, LINEAR, ReadingKind.SCALED, "c = m*lambda", lambda p: 32 * 0.15 * optimum(p)),
    "-1": (L2, RBF, ReadingKind.SCALED, "c = -1 (undo", lambda p: -optimum(p)),
    "1/C": (L1, RBF, ReadingKind.SCALED, "c = 1/C", lambda p: optimum(p) / 0.7),
    "1/(m C)": (L2, LINEAR, ReadingKind.SCALED, "c = 1/(m*C)", lambda p: optimum(p) / 0.7 / 32),
    "half": (KRR, RBF, ReadingKind.SCALED, "c = 1/2", lambda p: optimum(p) / 2),
    "any": (KRR, RBF, ReadingKind.SCALED, "no known scale", lambda p: 0.377 * optimum(p)),
    "signed": (L1, RBF, ReadingKind.SIGNED, "y_i a_i", lambda p: p.targets * optimum(p)),
    "signed-": (L2, POLY, ReadingKind.SIGNED, "-y_i a_i", lambda p: -p.targets * optimum(p)),
    "grouped": (L1, RBF, ReadingKind.GROUPED, "order of first appearance", _grouped),
    "shuffled": (L2, RBF, ReadingKind.REORDERED, "permutation", _shuffled),
    "shuffled-krr": (KRR, RBF, ReadingKind.REORDERED, "permutation", _shuffled),
    "shifted": (KRR, RBF, ReadingKind.SHIFTED, "late", lambda p: np.append(0.0, optimum(p)[:-1])),
    "no mean": (KRR, RBF, ReadingKind.NO_MEAN, "(K + lambda I) d = y",
                lambda p: _changed(p, loss=Ridge(0.15 / 32)) * 32 / 0.15),
    "m lost": (KRR, POLY, ReadingKind.M_AS_ONE, "K/lambda + I", lambda p: 32 * _changed(p, loss=Ridge(0.15 / 32))),
    "upper": (L1, RBF, ReadingKind.NO_UPPER, "without the upper limit", lambda p: _changed(p, loss=Hinge(1e9))),
    "L2 for L1": (L1, RBF, ReadingKind.OTHER_LOSS, "svm-l2", lambda p: _changed(p, loss=L2)),
    "L1 for L2": (L2, RBF, ReadingKind.OTHER_LOSS, "svm-l1", lambda p: _changed(p, loss=L1)),
    "C doubled": (L2, RBF, ReadingKind.OTHER_PENALTY, "2*C", lambda p: _changed(p, loss=SquaredHinge(1.4))),
    "C / m": (L1, RBF, ReadingKind.OTHER_PENALTY, "C/m", lambda p: _changed(p, loss=Hinge(0.7 / 32))),
    "lambda m": (KRR, RBF, ReadingKind.OTHER_PENALTY, "m*lambda", lambda p: _changed(p, loss=Ridge(0.15 * 32))),
    "inside": (L1, RBF, ReadingKind.LABELS_INSIDE, "K(y_i x_i, y_j x_j)",
               lambda p: _changed(p, data=p.targets[:, None] * p.dense, targets=np.ones(32))),
    "labels out": (L2, RBF, ReadingKind.LABELS_LEFT_OUT, "K instead of Q", lambda p: _changed(p, targets=np.ones(32))),
    "width": (L1, RBFKernel(1.5), ReadingKind.OTHER_KERNEL, "1/(2*sigma^2)", lambda p: _changed(p, kernel=RBFKernel(2 / 9))),
    "degree": (KRR, POLY, ReadingKind.OTHER_KERNEL, "degree 3 instead of 2", lambda p: _changed(p, kernel=PolynomialKernel(3, 0.5))),
    "offset": (L2, POLY, ReadingKind.OTHER_KERNEL, "offset 0 instead of 0.5", lambda p: _changed(p, kernel=PolynomialKernel(2, 0.0))),
    "bias": (L1, LINEAR, ReadingKind.REGULARISED_BIAS, "--bias 1",
             lambda p: _changed(p, data=with_constant_feature(p.data, 1.0))),
    "LIBSVM": (L1, RBF, ReadingKind.FREE_BIAS, "LIBSVM", with_free_bias),
    "LIBSVM, signed": (L2, RBF, ReadingKind.FREE_BIAS, "y_i a_i", lambda p: p.targets * with_free_bias(p)),
    "classes": (L1, RBF, ReadingKind.C_BY_CLASS, "at least 0.7 for label 1 and at least 0.2 for label -1", _by_class),
    "classes L2": (L2, RBF, ReadingKind.C_BY_CLASS, "by class, 0.7 for label 1 and 0.2 for label -1", _by_class),
    "classes, signed": (L1, LINEAR, ReadingKind.C_BY_CLASS, "by class", lambda p: p.targets * _by_class(p)),
    "classes, LIBSVM": (L1, RBF, ReadingKind.C_BY_CLASS, "label -1, with a bias that is not regularised",
                        lambda p: with_free_bias(p, _classes(p))),
    "weighted": (L1, RBF, ReadingKind.C_BY_SAMPLE, "of weighted samples", _by_sample),
    "feature": (KRR, RBF, ReadingKind.FEATURE_LOST, "first feature", lambda p: _changed(p, data=p.dense[:, 1:])),
}  # fmt: skip
"""By name: loss, kernel, the hint that must be given, words of its message, and the vector."""
