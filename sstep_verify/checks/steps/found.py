"""Result of judging the steps of a run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.checks.shared.finding import ratios
from sstep_verify.checks.steps.tally import Tally


@dataclass(frozen=True)
class JudgedStep:
    """One step and its bound.

    Parameters
    ----------
    iteration : int
        Iterations made before it.
    distance, bound : float
        Distance of the logged step from the judge's, and the bound on it: of the value (K-SVM), or the
        entry of the residual that is largest beside its bound (K-RR).
    """

    iteration: int
    distance: float
    bound: float

    @property
    def ratio(self) -> float:
        """Distance / bound; 0 for a value that must be exact and is, infinite for a NaN."""
        return float(_ratios(self.distance, self.bound))


@dataclass(frozen=True)
class JudgedRun:
    """What judging the steps of a run found.

    Parameters
    ----------
    steps, judged, decided : int
        Steps of the run, those judged, and those of them with a finite bound.
    worst, first_wrong : JudgedStep or None
        Where the ratio is largest; the first step over its bound.
    tally : Tally
        Events and quantities.
    wrong : ndarray of int64
        Iterations made before each step over its bound, ascending.
    """

    steps: int
    judged: int
    decided: int
    worst: JudgedStep | None
    first_wrong: JudgedStep | None
    tally: Tally
    wrong: np.ndarray


def judged_step(tally: Tally, place: int, first: int) -> JudgedStep:
    """The step at a place of the stretch judged last, which begins after `first` iterations."""
    return JudgedStep(first + place, float(tally.distance[place]), float(tally.bound[place]))


def largest_step(tally: Tally, finite, first: int) -> JudgedStep | None:
    """The step with the largest ratio among those with a finite bound."""
    if not finite.any():
        return None
    count = finite.size
    ratio = np.where(finite, _ratios(tally.distance[:count], tally.bound[:count]), -1.0)
    return judged_step(tally, int(np.argmax(ratio)), first)


def _ratios(distance, bound) -> np.ndarray:
    return np.nan_to_num(ratios(distance, bound), nan=np.inf, posinf=np.inf)
