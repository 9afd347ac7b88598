"""What the runs of a group are measured against: the optimum, found once, and the measure made of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sstep_verify.measures.error import ErrorMeasure
from sstep_verify.measures.gap import GapMeasure, kernel_matrix
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
    """

    def __init__(self, problem: Problem, oracle: Oracle):
        self._oracle = oracle
        self._matrix = kernel_matrix(problem)
        off_diagonal = np.abs(self._matrix)
        np.fill_diagonal(off_diagonal, 0.0)
        self._largest = float(off_diagonal.max(initial=0.0))

    def reference(self, problem: Problem) -> Reference:
        """The reference of one problem of the group."""
        return self._svm(problem) if problem.is_svm else self._krr(problem)

    def _krr(self, problem: Problem) -> Reference:
        optimum = self._oracle.ridge_optimum(problem)
        measure = ErrorMeasure(optimum)
        facts = {
            "reference solution": optimum.how,
            "its error, 2-norm, relative (bound)": optimum.relative,
        }
        return Reference(ERROR, "error", lambda alpha: (measure(alpha), 0.0), self._largest, facts)

    def _svm(self, problem: Problem) -> Reference:
        optimum = self._oracle.svm_optimum(problem)
        measure = GapMeasure(problem, self._matrix)
        scale = max(abs(optimum.value_lower), np.finfo(float).tiny)

        def relative(alpha: np.ndarray) -> tuple[float, float]:
            return measure(alpha).gap / scale, measure.attainable(alpha) / scale

        facts = {
            "optimal value, enclosure": [optimum.value_lower, optimum.value_upper],
            "optimal value, relative width": optimum.relative_width,
            "optimal value": optimum.how,
        }
        return Reference(GAP, "gap", relative, self._largest, facts)
