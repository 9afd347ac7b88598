"""Predictions of new samples, and how well they agree with their targets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sstep_verify.problems import Problem
from sstep_verify.problems.data.labels import CLASSES
from sstep_verify.solver.communicator import Communicator
from sstep_verify.solver.data.partition import padded, with_zeros
from sstep_verify.solver.training.files import NewSamples
from sstep_verify.solver.training.monitor import kernel_rows, linear_product


def predict(
    problem: Problem, alpha: np.ndarray, new: NewSamples, rbf: str, communicator: Communicator
) -> np.ndarray:
    """Values of new samples x: ``sum a_i y_i K(a_i, x)`` (K-SVM), ``sum a_i K(a_i, x) / lambda`` (K-RR).

    Shape (t,), of this rank's columns of what was trained on and of the new samples, by a dual vector of
    shape (m,). Raises WindowError if a rank could not form its share.
    """
    vector = problem.signs * alpha
    columns: Any = padded(new.data)
    if columns.shape[1] > problem.data.shape[1]:
        problem = replace(problem, data=with_zeros(problem.data))
    used = np.flatnonzero(vector)
    if problem.kernel.linear:
        values = linear_product(columns, problem.data, vector, communicator)
    else:
        values = np.zeros(columns.shape[0])
        # One matrix of both, so that the rows of the used samples hold their kernel with the new ones.
        joined = _joined(problem, used, columns)
        for some, rows in kernel_rows(joined, rbf, np.arange(used.size), communicator):
            values += vector[used[some]] @ rows[:, used.size :]
    return values if problem.is_svm else values / problem.ridge.penalty


def _joined(problem: Problem, used: np.ndarray, new: sp.csr_array) -> Problem:
    """The used samples above the new ones, as a problem whose targets nobody asks for."""
    own: Any = problem.data[used]
    data: Any = (
        sp.vstack([own, new], format="csr") if problem.is_sparse else np.vstack([own, new.toarray()])
    )
    return Problem(problem.name, data, np.ones(data.shape[0]), problem.kernel, problem.loss)


def score(
    problem: Problem, values: np.ndarray, targets: np.ndarray, classes: tuple[float, ...] = CLASSES
) -> str:
    """How well predicted values, shape (t,), agree with targets, in words.

    The targets of a K-SVM are compared with the classes as training found them, `classes`: what -1 and +1
    stand for. Where they hold anything else, no agreement can be told.
    """
    if not problem.is_svm:
        return f"root mean square error {np.sqrt(np.mean((values - targets) ** 2)):.6g}"
    foreign = np.setdiff1d(targets, classes)
    if foreign.size:
        known = " and ".join(f"{value:.17g}" for value in classes)
        return f"accuracy unknown: targets hold {foreign[0]:.17g}, the training set {known}"
    right = int(np.sum(np.where(values > 0, classes[1], classes[0]) == targets))
    return f"accuracy {right / targets.size:.2%} ({right} of {targets.size})"


def as_text(problem: Problem, values: np.ndarray, classes: tuple[float, ...] = CLASSES) -> bytes:
    """One line for a new sample: class and decision value (K-SVM), or value (K-RR), in full precision."""
    if problem.is_svm:
        names = [f"{label:+.17g}" if classes == CLASSES else f"{label:.17g}" for label in classes]
        lines = [f"{names[value > 0]} {value!r}" for value in values.tolist()]
    else:
        lines = [repr(value) for value in values.tolist()]
    return ("\n".join(lines) + "\n").encode("ascii")
