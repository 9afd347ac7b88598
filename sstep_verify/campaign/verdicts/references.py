"""Measures of the runs of a group: against the optimum, which is found once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sstep_verify.measures.error import relative_error
from sstep_verify.measures.gap import GapMeasure
from sstep_verify.numerics.kernel_matrix import KernelSums
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Problem
from sstep_verify.reporting.results import ERROR, GAP


@dataclass(frozen=True)
class Reference:
    """The measure of one problem.

    Parameters
    ----------
    name, short : str
        Name of the measure in figures, and in a stop reason.
    measure : callable
        Maps a to (relative value, attainable relative value).
    largest_off_diagonal : float
        Largest absolute off-diagonal kernel entry, in float64.
    facts : dict
        Reference value, enclosure, how it was found.
    """

    name: str
    short: str
    measure: Callable[[np.ndarray], tuple[float, float]]
    largest_off_diagonal: float
    facts: dict[str, object]


class SharedReferences:
    """References of problems that differ only in loss and parameter.

    Parameters
    ----------
    problem : Problem
        Any of them.
    oracle : Oracle
        Finds the optima.
    whole : bool
        Whether kernel matrix and optimum fit into memory. If not, sums over the kernel are made of
        panels, and gaps are relative to the dual value of the vector at hand: it is below the optimal
        value, so they are no smaller than relative to that.
    """

    def __init__(self, problem: Problem, oracle: Oracle, *, whole: bool = True):
        self._oracle, self._whole = oracle, whole
        # The measure of a K-RR whose optimum is known needs no kernel.
        self._kernel = KernelSums(problem, whole=whole and problem.is_svm)
        self._largest = self._kernel.largest_off_diagonal()

    def reference(self, problem: Problem) -> Reference:
        """The reference of one problem of the group."""
        if not self._whole:
            return self._reached(problem)
        return self._svm(problem) if problem.is_svm else self._krr(problem)

    def _reached(self, problem: Problem) -> Reference:
        measure = GapMeasure(problem, self._kernel)

        def relative(alpha: np.ndarray) -> tuple[float, float]:
            found = measure(alpha)
            if not found.dual > 0:
                return float("inf"), 0.0
            attainable = measure.attainable(alpha) if problem.is_svm else 0.0
            return found.gap / found.dual, attainable / found.dual

        facts: dict[str, object] = {
            "optimal value": "not searched, for its memory: gaps over the dual value"
        }
        return Reference(GAP, "gap", relative, self._largest, facts)

    def _krr(self, problem: Problem) -> Reference:
        optimum = self._oracle.ridge_optimum(problem)
        facts = {
            "reference solution": optimum.how,
            "its error, 2-norm, relative (bound)": optimum.relative,
        }

        def error(alpha: np.ndarray) -> tuple[float, float]:
            return relative_error(alpha, optimum.alpha), 0.0

        return Reference(ERROR, "error", error, self._largest, facts)

    def _svm(self, problem: Problem) -> Reference:
        optimum = self._oracle.svm_optimum(problem)
        measure = GapMeasure(problem, self._kernel)
        scale = max(abs(optimum.value_lower), np.finfo(float).tiny)

        def relative(alpha: np.ndarray) -> tuple[float, float]:
            return measure(alpha).gap / scale, measure.attainable(alpha) / scale

        facts = {
            "optimal value, enclosure": [optimum.value_lower, optimum.value_upper],
            "optimal value, relative width": optimum.relative_width,
            "optimal value": optimum.how,
        }
        return Reference(GAP, "gap", relative, self._largest, facts)
