"""Drift of carried weights along a run, kept while steps of that run are judged again."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from sstep_verify.bounds.step.drift import WeightsDrift, sized_samples
from sstep_verify.checks.shared.case import Case
from sstep_verify.trajectory import Trajectory


class DriftErrors:
    """What the drift of carried weights adds to the error of each step of a run.

    It is followed from the first step of the run: any later step alone costs as much as all of them.

    Parameters
    ----------
    case : Case
        The case of the runs.
    """

    def __init__(self, case: Case):
        self._case, self._errors = case, np.zeros(0)
        self._run: Trajectory | None = None

    def along(
        self, trajectory: Trajectory, logged: Callable[[int, int], tuple[np.ndarray, np.ndarray]]
    ) -> np.ndarray:
        """Errors of all steps of a run, shape (H,), in the units of `WeightsDrift.along`.

        Those of the run asked for last are kept. `logged` gives coordinates drawn and values logged of a
        range of iterations, as `StepJudge.logged`.
        """
        if self._run is not trajectory:
            case, begun = self._case, (trajectory.alphas[0], trajectory.start, trajectory.s)
            drift = WeightsDrift(case.problem, case.formulas, *begun, self._samples)
            self._errors, self._run = drift.along(*logged(0, trajectory.length)), trajectory
        return self._errors

    @cached_property
    def _samples(self) -> tuple[Any, Any]:
        return sized_samples(self._case.problem)
