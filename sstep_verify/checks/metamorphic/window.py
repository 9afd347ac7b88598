"""One window of an original run, its exact steps and bound, beside the same window of transformed runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sstep_verify.bounds.carried_run import carried_weights
from sstep_verify.bounds.kernel.entries import kernel_entries
from sstep_verify.bounds.trajectory.norm import energy_norm
from sstep_verify.checks.metamorphic.bounded_relations import Relation
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding, Window, ratios, wrong
from sstep_verify.checks.window.compare import RunWindow, WindowBounds, compare, moved_undrawn
from sstep_verify.numerics.rounding import OUTWARD, magnitudes
from sstep_verify.oracle.facade import FIRST_BITS, MOST_BITS, Oracle
from sstep_verify.oracle.replay.window import Effect, Replay

LOST = "lost contributions"
"""The planted defect, as a quantity of the window: what samples not drawn, or earlier steps, contribute."""


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
    bounds : WindowBounds
        Bounds of the case's windows.
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
        bounds: WindowBounds,
        state: np.ndarray | None = None,
    ):
        self._case, self._window, self._oracle = case, window, oracle
        self._begin, self._end = begin, end
        self._draws = case.stream.blocks(window.begin, window.end)
        bits = FIRST_BITS
        while True:
            replay = self._replayed(begin, bits)
            self._replay, self._bound = self._bounded(case, bounds, replay, begin, state)
            if np.isfinite(self._bound).all() or bits >= MOST_BITS:
                break
            bits *= 2
        # Transformed runs begin with a, whatever the original one carried.
        self._afresh = self._bound if state is None else self._bounded(case, bounds, replay, begin)[1]
        effect = self._planted()
        self._replay = replace(self._replay, effects={LOST: Effect(effect, effect)})

    def _replayed(self, begin: np.ndarray, bits: int) -> Replay:
        end = np.where(np.isfinite(self._end), self._end, 0.0)
        return self._oracle.replay(self._case.problem, begin, end, self._draws, bits)

    def _bounded(
        self,
        case: Case,
        bounds: WindowBounds,
        replay: Replay,
        begin: np.ndarray,
        state: np.ndarray | None = None,
    ) -> tuple[Replay, np.ndarray]:
        """What window-replay allows; a carried state is formed from `begin` unless it is given."""
        weights = carried_weights(case.problem, case.declaration, replay.places, begin, state)
        carried = weights.begin(np.abs(begin), self._draws.size) if weights else None
        return bounds.of(replay, RunWindow(self._window, begin, begin, self._draws), None, carried)

    def _planted(self) -> np.ndarray:
        """Lower bound on what lost contributions change: of samples not drawn, or of earlier steps."""
        lost = np.zeros_like(self._begin)
        lost[self._replay.places] = self._begin[self._replay.places]
        replay = self._replayed(lost, self._replay.bits)
        if replay.lower.size < self._bound.size:
            replay = replay.with_components()
        correction = self._replay.effects.get("kernel-correction")
        return replay.lower if correction is None else np.maximum(replay.lower, correction.dropped)

    def _other(self, relation: Relation) -> np.ndarray:
        """Bound of the transformed run's window, carried back to the original problem."""
        case, exponent = relation.case, relation.transformed.exponent
        if relation.scales:
            problem = case.problem
            begin, end = relation.transformed.forward(self._begin), np.zeros_like(self._begin)
            oracle = self._oracle.kept(f"scaled {problem.digest}", lambda: Oracle(problem))
            replay = oracle.replay(problem, begin, end, self._draws, self._replay.bits)
            return np.ldexp(self._bounded(case, relation.bounds, replay, begin)[1], -exponent)
        if case.declaration is self._case.declaration:
            return self._afresh
        return self._bounded(case, relation.bounds, self._replay, self._begin)[1]

    def compare(self, relation: Relation, ended: np.ndarray) -> Finding:
        """Compare the original end with that of a transformed run, mapped back."""
        what = (
            f"{relation.name} ({relation.claim}): the two ends of the window of iterations "
            f"{self._window.begin + 1}..{self._window.end}"
        )
        state = relation.transformed.back(ended)
        moved = moved_undrawn(self._window, self._end, state, self._draws)
        if moved is not None:
            return wrong(f"{what}: {moved.note}", window=self._window)
        allowed = (self._bound + self._other(relation)) * OUTWARD
        low, high = self._difference(state)
        if self._case.problem.is_svm:
            what += f", coordinate {self._replay.places[np.argmax(ratios(high, allowed))]}"
        replay = replace(self._replay, lower=low, upper=high)
        return replace(compare(self._window, replay, allowed, np.zeros(low.size)), what=what)

    def _difference(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Interval of the distance of the two ends, as the bound has it: K-RR in the M-norm first."""
        problem, places = self._case.problem, self._replay.places
        with np.errstate(invalid="ignore"):
            difference = self._end[places] - state[places]
        difference = np.where(np.isfinite(difference), difference, np.inf)
        low = magnitudes(difference) / OUTWARD
        high = magnitudes(difference) * OUTWARD
        if problem.is_svm:
            return low, high
        entries = kernel_entries(problem, self._case.declaration, places)
        norm = energy_norm(
            entries, places, difference.astype(np.float64), problem.samples, problem.ridge.penalty
        )
        count = self._bound.size
        return np.array([norm[0], *low])[:count], np.array([norm[1], *high])[:count]
