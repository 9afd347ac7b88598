"""Replays one window of a run from the data, and compares it with its bound.

The oracle replays (oracle/replay.py), checks/window/compare.py picks the bound and compares.

The bound holds what the declared kernel formulas may be off by (delta_K), which hides errors of the
recurrence where samples are long or distances cancel. No panel that a solver exposes takes the place of
the data: it need not be the only source of K, as squared norms kept apart, a diagonal that is known, or a
block formed by itself are as good.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sstep_verify.bounds.window.ridge import MOST_COEFFICIENTS
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.comparison import Comparison, Window, unbounded, unknown, wrong
from sstep_verify.checks.shared.overflow import finite_promised
from sstep_verify.checks.window.compare import (
    RunWindow,
    bounded,
    compare,
    largest_until,
    moved_undrawn,
    resolution,
    rounding_of,
    settled,
    wide,
)
from sstep_verify.checks.window.tries import Tries
from sstep_verify.oracle.facade import FIRST_BITS, MOST_BITS, Oracle
from sstep_verify.oracle.replay import Replay
from sstep_verify.problems import Problem
from sstep_verify.quantities import TAIL, WRITE_BACK
from sstep_verify.trajectory import Panel, Trajectory
from sstep_verify.verdict import MAINTAINED_WEIGHTS, Place, Status, Why

if TYPE_CHECKING:
    from sstep_verify.diagnosis.candidates import Candidate


class WindowReplays:
    """Replays windows of the runs of one case.

    Parameters
    ----------
    case : Case
        The case.
    oracle : Oracle
        Replays windows exactly.
    """

    def __init__(self, case: Case, oracle: Oracle):
        self.case, self._oracle = case, oracle
        self._others: dict[int, WindowReplays] = {}

    def replay_and_compare(
        self,
        trajectory: Trajectory,
        window: Window,
        *,
        names: Collection[str] | None = None,
        diagnose: bool = True,
        afresh: bool = False,
    ) -> Comparison:
        """Replay one window and compare.

        Effects are those of the quantities named: of all that act in the window if `names` is None, of none
        if it is empty. Where the window fails, mistakes that reproduce it are looked for later if
        `diagnose`. Maintained weights are formed from a where the run begins `afresh` with the window.
        """
        case, weights = self.case, None
        begin, end = trajectory.at(window.begin), trajectory.at(window.end)
        draws = case.stream.blocks(trajectory.start + window.begin, trajectory.start + window.end)
        if case.formulas.weights is not None and not afresh:
            weights = trajectory.weights_at(window.begin)
            if weights is None:
                return unknown(window=window, place=_weights(window), why=Why.NOT_RECORDED)
        if not (np.isfinite(begin).all() and (weights is None or np.isfinite(weights).all())):
            return self._spoiled_before(trajectory, window)
        before = self._before(trajectory, window)
        largest = largest_until(trajectory, window.begin)
        recorded = RunWindow(window, begin, end, draws, weights, trajectory.s, before, largest)
        if not np.isfinite(end).all():
            return self._not_finite(recorded, window)
        moved = moved_undrawn(window, begin, end, draws, apart=case.formulas.level < 2)
        if moved is not None:
            return moved
        return self._compared(recorded, names, diagnose=diagnose)

    def _before(self, trajectory: Trajectory, window: Window) -> tuple[np.ndarray, np.ndarray] | None:
        """The window before one, of which a mistake may use something; None where it is not recorded."""
        begin = window.begin - trajectory.s
        if begin < 0 or begin not in trajectory.iterations or not np.isfinite(trajectory.at(begin)).all():
            return None
        first = trajectory.start + begin
        return trajectory.at(begin), self.case.stream.blocks(first, first + trajectory.s)

    def _spoiled_before(self, trajectory: Trajectory, window: Window) -> Comparison:
        """A window that starts from numbers that are not finite: decided by where they came about.

        That is the segment from the last recorded iteration with finite numbers to the next one. Exact
        steps do not depend on s, so it is bounded as one window; an infinite bound promises nothing.
        """
        finite, recorded = np.isfinite(trajectory.alphas).all(axis=1), None
        if self.case.formulas.weights is not None and trajectory.weights is not None:
            recorded = trajectory.weights
            finite &= np.isfinite(recorded).all(axis=1)
        first = int(np.argmin(finite))  # the first recorded iteration with one that is not
        if first == 0:  # weights that are formed from a finite a
            place = _weights(window)
            if finite_promised(self.case, trajectory):
                return wrong(window=window, place=place)
            return unknown(window=window, place=place, why=Why.OVERFLOW)
        begin, end = trajectory.iterations[first - 1 : first + 1].tolist()
        draws = self.case.stream.blocks(trajectory.start + begin, trajectory.start + end)
        if self.case.panel_words(end - begin) > self.case.replay_limit:
            return unknown(window=window, place=Place(begin, end), why=Why.TOO_LARGE)
        weights = None if recorded is None else recorded[first - 1]
        before, after = trajectory.alphas[first - 1 : first + 1]
        segment = RunWindow(window, before, after, draws, weights)
        return self._not_finite(segment, Window(begin, end))

    def _not_finite(self, recorded: RunWindow, segment: Window) -> Comparison:
        """A wrong end, unless nothing is promised of the segment in which numbers ceased to be finite."""
        spoiled, place = np.flatnonzero(~np.isfinite(recorded.end)), _weights(segment)
        if spoiled.size:
            first = int(spoiled[0])
            place = Place(segment.begin, segment.end, first, found=float(recorded.end[first]))
        # The end does not enter the exact steps that the bound is made of.
        replay = self._replay(replace(recorded, end=recorded.begin), FIRST_BITS)
        if replay is not None:
            rounding = rounding_of(self.case, replay.places, recorded)
            if np.isfinite(bounded(self.case, replay, recorded, rounding)[1]).all():
                return wrong(window=recorded.window, place=place)
        return unbounded(math.inf, window=recorded.window, place=place, why=Why.OVERFLOW)

    def _compared(
        self, recorded: RunWindow, names: Collection[str] | None, *, diagnose: bool
    ) -> Comparison:
        """The comparison, with what could have been seen and, for diagnosis, its end."""
        replayed = self.replayed(recorded)
        assert replayed is not None  # Of the data every block system is proven invertible.
        replay, bound = replayed
        resolved = resolution(self.case.formulas, replay, recorded.begin, recorded.end)
        comparison = compare(recorded.window, replay, bound, resolved, names)
        if recorded.tail and WRITE_BACK in comparison.dropped:
            # A tail that is not made leaves a as it was, as one whose new values are not stored does.
            comparison.dropped[TAIL] = comparison.dropped[WRITE_BACK]
        place = _with_values(self.case.problem, comparison.place, replay, recorded)
        tried = Tries(self.case, recorded, replay, bound, resolved) if comparison.dropped else None
        unmade = recorded.tail and np.array_equal(recorded.begin, recorded.end)
        signs = (TAIL,) if unmade and comparison.status is Status.FAIL else ()
        end = (self, recorded) if diagnose else None
        return replace(comparison, place=place, tried=tried, end=end, signs=signs)

    def replayed(self, recorded: RunWindow, panel: Panel | None = None) -> tuple[Replay, np.ndarray] | None:
        """Replay at rising precision until the enclosure is narrow relative to its bound, or surely beyond.

        The kernel is that of the data, or a panel of mistaken rows; None where of these a block system
        cannot be proven invertible.
        """
        bits, before, rounding = FIRST_BITS, None, None
        while True:
            replay, bound = self._replay(recorded, bits, panel), np.empty(0)
            if replay is not None:
                rounding = rounding or rounding_of(self.case, replay.places, recorded, panel)
                replay, bound = bounded(self.case, replay, recorded, rounding)
                if not wide(replay, bound) or (before and settled(replay, bound, before)):
                    break
                before = replay
            if bits >= MOST_BITS:
                break
            bits *= 2
        return None if replay is None else (replay, bound)

    def _replay(self, recorded: RunWindow, bits: int, panel: Panel | None = None) -> Replay | None:
        problem, window = self.case.problem, (recorded.begin, recorded.end, recorded.draws, bits)
        if panel is None:
            return self._oracle.replay(problem, *window, recorded.weights, recorded.before)
        return self._oracle.replay_panel(problem, panel, *window)

    def of(self, candidate: Candidate) -> WindowReplays:
        """Replays of the same windows as of a right solver of what a candidate solves."""
        problem = candidate.problem
        if problem is self.case.problem:
            return self
        if id(problem) not in self._others:  # The replays hold the problem, so that none takes its id.
            case = replace(self.case, problem=problem)
            self._others[id(problem)] = WindowReplays(case, self._oracle.of(problem))
        return self._others[id(problem)]

    def usable(self, panel: Panel, draws: np.ndarray) -> bool:
        """Whether the recurrence over these rows is defined and its replay affordable.

        It is not over entries that are not finite, or with a negative diagonal.
        """
        drawn = np.isin(panel.columns, draws)
        rows = panel.entries[drawn]
        diagonal = rows[np.arange(rows.shape[0]), panel.columns[drawn]]
        affordable = self.case.problem.is_svm or rows.shape[0] * 2 * draws.size <= MOST_COEFFICIENTS
        return bool(affordable and np.isfinite(rows).all() and (diagonal >= 0).all())


def _weights(window: Window) -> Place:
    """The weights that a window is made from, which are wrong or missing."""
    return Place(window.begin, window.end, item=MAINTAINED_WEIGHTS)


def _with_values(
    problem: Problem, place: Place | None, replay: Replay, recorded: RunWindow
) -> Place | None:
    """The place of a comparison with both values of its coordinate; the exact one rounded to float64."""
    if place is None or place.coordinate is None:
        return place
    exact = replay.exact_end(problem, recorded.begin, place.coordinate)
    return replace(place, found=float(recorded.end[place.coordinate]), expected=exact)
