"""Vectors from which runs begin that go on late in a stream: seeded, feasible, and not zero."""

from __future__ import annotations

import numpy as np

from sstep_verify.problems import Problem


def seeded_start(problem: Problem, seed: int) -> np.ndarray:
    """A feasible dual vector of the size of a solution.

    K-SVM: a third of the coordinates at 0, a third in between, and a third at C, which is the upper end of
    the box (L1) or a value inside it (L2). K-RR: values up to ``max |y| / m``, since ``m a`` is a residual
    of the targets.

    Parameters
    ----------
    problem : Problem
        The problem.
    seed : int
        Seed of NumPy's PCG64 generator.

    Returns
    -------
    ndarray, shape (m,)
    """
    drawn = np.random.Generator(np.random.PCG64(seed)).random(problem.samples)
    if problem.is_svm:
        return problem.hinge.C * np.clip(3.0 * drawn - 1.0, 0.0, 1.0)
    return (2.0 * drawn - 1.0) * float(np.abs(problem.targets).max()) / problem.samples
