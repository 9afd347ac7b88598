"""Final vectors of K-SVM whose samples have several C: by class, or each its own, as weighted samples have.

Such problems are not judged; a vector that is the optimum of one is named so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sstep_verify.diagnosis.conventions import SAME, Answer, Reading, as_it_is
from sstep_verify.numerics import kernel_matrix
from sstep_verify.problems import Hinge, Problem, SquaredHinge

ON_MARGIN = 1e-3
"""How far from 1 the margin of a sample may be that is said to lie on it."""

FEWEST = 3
"""Samples on the margin without which weights of samples could explain nearly any vector."""


def by_class(answer: Answer) -> Iterator[Reading]:
    """A C for each class, as ``class_weight`` of scikit-learn and ``-wi`` of LIBSVM give it."""
    problem = answer.problem
    if not problem.is_svm or np.unique(problem.targets).size < 2:
        return
    read = as_it_is(answer)
    members = [problem.targets > 0, problem.targets < 0]
    for free in (False, True):
        if isinstance(problem.loss, Hinge):
            both = [float(read.vector[some].max()) for some in members]
        elif free:
            return  # LIBSVM, which has such a bias, has no squared hinge loss.
        else:
            lost = np.maximum(1.0 - _margins(problem, read.vector), 0.0)
            with np.errstate(all="ignore"):
                both = [float(read.vector[some].sum() / (2.0 * lost[some].sum())) for some in members]
        if min(both) > 0 and abs(both[0] - both[1]) > SAME * max(both) and np.isfinite(both).all():
            least = "at least " if isinstance(problem.loss, Hinge) else ""
            yield _with(read, np.where(members[0], *both), free, least, *both)


def by_sample(answer: Answer) -> Iterator[Reading]:
    """A C for each sample, as ``sample_weight`` of scikit-learn gives it; K-SVM-L1.

    Any C explains a sample within the margin, so some must lie on it, and others beyond it.
    """
    problem = answer.problem
    if not isinstance(problem.loss, Hinge):
        return
    read = as_it_is(answer)
    margins, size = _margins(problem, read.vector), answer.largest
    held = read.vector > SAME * size
    biases = np.sort((problem.targets * (1.0 - margins))[held])
    for free in (False, True):
        near = biases if free else biases[np.abs(biases) <= ON_MARGIN]
        ends = np.searchsorted(near, near + 2 * ON_MARGIN, side="right") - np.arange(near.size)
        on_it = int(ends.max(initial=0))
        if on_it >= FEWEST + free and 8 * (on_it + int((~held).sum())) >= problem.samples:
            yield _with(read, np.where(held, read.vector, problem.hinge.C), free)


def _margins(problem: Problem, vector: np.ndarray) -> np.ndarray:
    """``(Q a)_i``, of the kernel without omega."""
    labels = problem.targets
    margins: np.ndarray = labels * (kernel_matrix(problem) @ (labels * vector))
    return margins


def _with(read: Reading, penalties: np.ndarray, free: bool, *detail: str | float) -> Reading:
    """A reading as the optimum of a problem whose samples have these C."""
    kind = Hinge if isinstance(read.problem.loss, Hinge) else SquaredHinge
    largest = replace(read.problem, loss=kind(float(penalties.max())))
    told = (*detail, "free" if free else "")
    return replace(read, problem=largest, detail=told, free_bias=free, penalties=penalties)
