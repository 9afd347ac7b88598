"""Kernel rows that the judge of steps multiplies, with weights of their errors: all, or of a stretch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.bounds.kernel.entries import KernelEntries, kernel_entries
from sstep_verify.bounds.kernel.factored import longest_sample, may_factor
from sstep_verify.bounds.step.ridge import RidgeInputs, ridge_weights
from sstep_verify.bounds.step.svm_constants import NOT_FACTORED, Factored, step_weights
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.kept_entries import kept_entries
from sstep_verify.oracle.facade import Oracle

WHOLE_WORDS = 1 << 25
"""Entries of a kernel matrix up to which all rows are formed once: up to five arrays of 256 MiB."""

STRETCH_WORDS = 1 << 22
"""Kernel entries of the rows of a stretch, where the matrix is larger than that."""


class Rows(NamedTuple):
    """Rows of some coordinates.

    Parameters
    ----------
    kernel : ndarray, shape (c, m)
        Kernel entries in float64.
    weight : ndarray, shape (c, m)
        Error per unit of what they multiply (K-RR: over lambda).
    error : ndarray, shape (m,)
        Bound on the error of each coordinate's diagonal entry, solver's and judge's (K-SVM).
    system : ndarray, shape (c, m)
        Bound on the errors of the solver's entries over lambda (K-RR; else empty).
    slot : ndarray of int64, shape (m,)
        Row of each coordinate.
    """

    kernel: np.ndarray
    weight: np.ndarray
    error: np.ndarray
    system: np.ndarray
    slot: np.ndarray


class JudgeRows:
    """Rows of the coordinates of a case.

    Parameters
    ----------
    case : Case
        The case.
    oracle : Oracle
        Keeps the entries of a whole matrix for all cases that share data and kernel.
    inputs : RidgeInputs or None
        K-RR: lambda and what rounding it does.
    judge : bool
        Whether the judge's own errors are part of the weights; False to compare with exact steps.
    """

    def __init__(self, case: Case, oracle: Oracle, inputs: RidgeInputs | None, *, judge: bool = True):
        self._case, self._oracle, self._inputs, self._judge = case, oracle, inputs, judge
        self.whole = case.problem.samples**2 <= WHOLE_WORDS
        self.factored = _factored(case)
        self._made: tuple[float, Rows] | None = None

    @property
    def most(self) -> int:
        """Distinct coordinates that a stretch should not exceed; m where all rows are kept."""
        samples = self._case.problem.samples
        return samples if self.whole else max(STRETCH_WORDS // samples, 1)

    def of(self, draws: np.ndarray, gradient: float) -> Rows:
        """Rows of at least the coordinates drawn, weighted for a gamma of the gradient's sum."""
        samples = self._case.problem.samples
        if not self.whole:
            columns = np.unique(draws)
            slot = np.zeros(samples, dtype=np.int64)
            slot[columns] = np.arange(columns.size)
            entries = kernel_entries(self._case.problem, self._case.declaration, columns)
            return self._weighted(entries, columns, slot, gradient)
        if self._made is None or self._made[0] != gradient:
            every = np.arange(samples, dtype=np.int64)
            self._made = (gradient, self._weighted(self._entries(), every, every, gradient))
        return self._made[1]

    def _entries(self) -> KernelEntries:
        return kept_entries(self._oracle, self._case.problem, self._case.declaration)

    def _weighted(
        self, entries: KernelEntries, columns: np.ndarray, slot: np.ndarray, gradient: float
    ) -> Rows:
        kernel = np.ascontiguousarray(entries.values)
        error = np.zeros(slot.size)
        nothing = np.zeros((0, 0))
        if self._inputs is not None:
            weight, system = ridge_weights(entries, self._inputs, gradient, judge=self._judge)
            return Rows(kernel, weight, error, system, slot)
        own = entries.own if self._judge else 0.0
        places = np.arange(columns.size)
        error[columns] = (entries.solver + own)[places, columns]
        return Rows(kernel, step_weights(entries, gradient, judge=self._judge), error, nothing, slot)


def _factored(case: Case) -> Factored:
    """What products formed from the samples cost, where the solver may form them so."""
    problem, declaration = case.problem, case.declaration
    if not may_factor(problem, declaration):
        return NOT_FACTORED
    return Factored(problem.features, longest_sample(problem, declaration))
