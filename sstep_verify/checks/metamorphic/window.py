"""One window of an original run: its exact steps and bound, and how far a transformed run's end may be."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sstep_verify.bounds.kernel.entries import kernel_entries
from sstep_verify.bounds.trajectory.norm import energy_norm
from sstep_verify.checks.metamorphic.bounded_relations import Relation, window_bound
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding, Window, ratios
from sstep_verify.numerics.rounding import OUTWARD, magnitudes
from sstep_verify.oracle.facade import FIRST_BITS, MOST_BITS, Oracle
from sstep_verify.oracle.replay.window import Replay


@dataclass(frozen=True)
class Pair:
    """The two ends of one window under one relation.

    Parameters
    ----------
    finding : Finding
        The comparison of the two ends.
    effect, allowed : float
        Effect of the planted defect, and the bound, where it shows most.
    """

    finding: Finding
    effect: float
    allowed: float


class ExactWindow:
    """A window of the original run: exact steps, bound, effect of the planted defect.

    Parameters
    ----------
    case : Case
        The case.
    window : Window
        The window.
    begin, end : ndarray, shape (m,)
        The original run's a at its two ends.
    oracle : Oracle
        Replays the window.
    state : ndarray, optional
        What the original run carried beside a at the window's start; None if it began there.
    """

    def __init__(
        self,
        case: Case,
        window: Window,
        begin: np.ndarray,
        end: np.ndarray,
        oracle: Oracle,
        state: np.ndarray | None = None,
    ):
        self._case, self._window, self._oracle = case, window, oracle
        self._begin, self._end = begin, end
        self._draws = case.stream.blocks(window.begin, window.end)
        bits = FIRST_BITS
        while True:
            self._replay = self._replayed(self._begin, bits)
            self._bound = window_bound(case.problem, case.declaration, self._replay, self._begin, state)
            if np.isfinite(self._bound).all() or bits >= MOST_BITS:
                break
            bits *= 2
        self._afresh = self._bound
        if state is not None:  # Transformed runs begin with a, whatever the original one carried.
            self._afresh = window_bound(case.problem, case.declaration, self._replay, self._begin)
        self._effect = self._planted()

    def _replayed(self, begin: np.ndarray, bits: int) -> Replay:
        end = np.where(np.isfinite(self._end), self._end, 0.0)
        return self._oracle.replay(self._case.problem, begin, end, self._draws, bits)

    def _planted(self) -> np.ndarray:
        """Lower bound on what lost contributions change: of samples not drawn, or of earlier steps."""
        lost = np.zeros_like(self._begin)
        lost[self._replay.places] = self._begin[self._replay.places]
        effect = self._replayed(lost, self._replay.bits).lower
        correction = self._replay.effects.get("kernel-correction")
        return effect if correction is None else np.maximum(effect, correction.dropped)

    def compare(self, relation: Relation, ended: np.ndarray) -> Pair:
        """Compare the original end with that of a transformed run, mapped back."""
        problem, places = self._case.problem, self._replay.places
        other = self._afresh
        if relation.scales or relation.declaration is not self._case.declaration:
            other = relation.bound(problem, self._replay, self._begin)
        allowed = (self._bound + other) * OUTWARD
        state = relation.transformed.back(ended)
        low, high = self._difference(state)
        worst = int(np.argmax(ratios(low, allowed) if (low > allowed).any() else ratios(high, allowed)))
        where = f", coordinate {places[worst]}" if problem.is_svm else ""
        what = (
            f"{relation.name} ({relation.claim}): the two ends of the window of iterations "
            f"{self._window.begin + 1}..{self._window.end}{where}"
        )
        compared = float(low[worst]), float(high[worst]), float(allowed[worst])
        outside = np.ones(problem.samples, dtype=bool)
        outside[places] = False
        if not np.array_equal(state[outside], self._end[outside]):
            moved = int(np.flatnonzero(outside & (state != self._end))[0])
            what += f": coordinate {moved}, not drawn, is {self._end[moved]!r} and {state[moved]!r}"
            compared = math.inf, math.inf, 0.0
        most = int(np.argmax(ratios(self._effect, allowed)))
        return Pair(Finding(what, *compared, self._window), float(self._effect[most]), float(allowed[most]))

    def _difference(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Interval of the distance of the two ends: per distinct coordinate, or in the M-norm."""
        problem, places = self._case.problem, self._replay.places
        with np.errstate(invalid="ignore"):
            difference = self._end[places] - state[places]
        difference = np.where(np.isfinite(difference), difference, np.inf)
        if problem.is_svm:
            size = magnitudes(difference)
            return size / OUTWARD, size * OUTWARD
        entries = kernel_entries(problem, self._case.declaration, places)
        low, high = energy_norm(
            entries, places, difference.astype(np.float64), problem.samples, problem.ridge.penalty
        )
        return np.array([low]), np.array([high])
