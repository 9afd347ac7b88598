"""Predictions as text, and their score."""

from __future__ import annotations

import numpy as np

from sstep_verify.problems import Hinge, LinearKernel, Problem, Ridge
from sstep_verify.solver.training.predictions import as_text, score


def test_predictions_as_text_and_their_score():
    labels, data = np.array([1.0, -1.0]), np.eye(2)
    svm = Problem("p", data, labels, LinearKernel(), Hinge(1.0))
    ridge = Problem("p", data, labels, LinearKernel(), Ridge(1.0))
    values = np.array([0.1, -3.0, 0.0])
    assert as_text(svm, values) == b"+1 0.1\n-1 -3.0\n-1 0.0\n"
    assert as_text(ridge, values) == b"0.1\n-3.0\n0.0\n"
    assert as_text(svm, values, (2.0, 7.0)) == b"7 0.1\n2 -3.0\n2 0.0\n"
    assert score(svm, values, np.array([7.0, 7.0, 2.0]), (2.0, 7.0)) == "accuracy 66.67% (2 of 3)"
    assert score(svm, values, np.array([2.0, 2.0, 2.0]), (2.0, 7.0)) == "accuracy 66.67% (2 of 3)"
    told = score(svm, values, np.array([2.0, 3.0, 2.0]), (2.0, 7.0))
    assert told == "accuracy unknown: targets hold 3, the training set 2 and 7"
    assert score(svm, values, np.array([1.0, 1.0, 1.0])) == "accuracy 33.33% (1 of 3)"
    assert score(svm, values, np.array([1.0, 2.0, 3.0])).startswith("accuracy unknown")
    assert score(ridge, values, values + 2.0) == "root mean square error 2"
