"""The bound of one replayed window, from the data or from the solver's own panel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.bounds.carried import CarriedTerms, carried_terms
from sstep_verify.bounds.kernel.entries import KernelEntries, kernel_entries
from sstep_verify.bounds.kernel.panel import panel_entries
from sstep_verify.bounds.window.ridge import ridge_window_errors
from sstep_verify.bounds.window.ridge_components import ridge_component_bound, ridge_panel_bound
from sstep_verify.bounds.window.svm import svm_window_bound
from sstep_verify.checks.shared.case import Case
from sstep_verify.oracle.replay.window import Replay
from sstep_verify.steps import SvmSteps
from sstep_verify.trajectory import Panel

WHOLE_MATRIX = 1024
"""Samples up to which the float64 kernel rows of all samples are formed once for a case."""


@dataclass(frozen=True)
class Start:
    """What a window begins with: a, the carried state if there is one, and the coordinates drawn; how many
    windows of the run it is, if it is a stretch of some.
    """

    alpha: np.ndarray
    draws: np.ndarray
    carried: np.ndarray | None
    windows: int = 1


class WindowBounds:
    """Bounds of the windows of one case.

    Parameters
    ----------
    case : Case
        The case.
    """

    def __init__(self, case: Case):
        self._case = case
        self._all: KernelEntries | None = None

    def of(
        self, replay: Replay, start: Start, panel: Panel | None, carried: CarriedTerms | None = None
    ) -> tuple[Replay, np.ndarray]:
        """The replay with its bound, shape (k,); with the terms of a state that it does not start from.

        K-SVM, and K-RR from a panel: per distinct coordinate. K-RR from the data: the M-norm, followed by
        the coordinates where the window is small enough to propagate its errors one by one.
        """
        problem, declaration, places = self._case.problem, self._case.declaration, replay.places
        rows = self._rows(places) if panel is None else panel_entries(_rows_of(panel, places), places)
        carried = carried or self._carried_terms(start, places)
        if isinstance(replay.steps, SvmSteps):
            loss = problem.hinge
            bound = svm_window_bound(
                rows, places, start.alpha, replay.steps, loss.shift, loss.upper, declaration, carried,
                windows=start.windows,
            )  # fmt: skip
            return replay, bound.radius
        penalty = problem.ridge.penalty
        arguments = (
            rows,
            places,
            start.alpha,
            problem.targets,
            replay.steps,
            penalty,
            declaration,
            carried,
        )
        if panel is not None:
            return replay, ridge_panel_bound(*arguments)
        errors = ridge_window_errors(*arguments, windows=start.windows)
        stored = start.windows > 1 and declaration.update == "frozen"
        components = None if stored else ridge_component_bound(rows, places, errors, penalty)
        if components is None:
            return replay, np.array([errors.norm])
        return replay.with_components(), np.concatenate([[errors.norm], components])

    def _carried_terms(self, start: Start, places: np.ndarray) -> CarriedTerms | None:
        if start.carried is None:
            return None
        case = self._case
        return carried_terms(case.problem, case.declaration, places, start.draws.size, start.carried)

    def _rows(self, places: np.ndarray) -> KernelEntries:
        """Float64 kernel rows with bounds; of a small problem all rows are formed once."""
        problem, declaration = self._case.problem, self._case.declaration
        if problem.samples > WHOLE_MATRIX:
            return kernel_entries(problem, declaration, places)
        if self._all is None:
            self._all = kernel_entries(problem, declaration, np.arange(problem.samples))
        return self._all.at(places)


def _rows_of(panel: Panel, places: np.ndarray) -> np.ndarray:
    order = np.argsort(panel.columns)
    return panel.entries[order[np.searchsorted(panel.columns, places, sorter=order)]]
