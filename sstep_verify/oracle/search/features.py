"""Leaves features out of a search that no sample has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sstep_verify.problems import LinearKernel, PolynomialKernel, Problem, RBFKernel

OF_PRODUCTS = LinearKernel, PolynomialKernel, RBFKernel
"""Kernels that are functions of inner products: a feature that is 0 everywhere changes none."""


def with_features_that_occur(problem: Problem) -> Problem:
    """The problem without the features that are 0 in every sample; the same where its kernel may use them.

    One feature is kept where all are 0.
    """
    data: Any = problem.data
    if type(problem.kernel) not in OF_PRODUCTS:
        return problem
    occur = np.unique(data.indices) if problem.is_sparse else np.flatnonzero(data.any(axis=0))
    if occur.size == problem.features:
        return problem
    return replace(problem, data=data[:, occur if occur.size else [0]])
