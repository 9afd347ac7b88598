"""Which known defects end the failed windows of a run where its solver ended them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sstep_reference import SingularSystemError

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.comparison import Comparison
from sstep_verify.checks.window.compare import RunWindow
from sstep_verify.checks.window.one_window import WindowReplays
from sstep_verify.diagnosis.candidates import Candidate, Suspects, suspects_of
from sstep_verify.diagnosis.factors import at_end
from sstep_verify.diagnosis.kernel_rows import rows_of
from sstep_verify.diagnosis.search import explanations, mistaken_reach
from sstep_verify.oracle.replay import Replay
from sstep_verify.quantities import STREAM, WRITE_BACK, RidgeSteps
from sstep_verify.recurrence.mutation import NONE, left_out
from sstep_verify.rounding.box import box_of
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.trajectory import Panel
from sstep_verify.verdict import Status

RIGHT, RIGHT_STEPS = 3, 64
"""Windows without a wrong step in which a mistake is tried that explains the wrong ones: at least as many,
and as many steps. A mistake in some steps only may look like another one, which few right steps refute."""

NOT_STORED = left_out(WRITE_BACK)
"""What a lost tail is, seen from the last window: its new values are not stored."""


@dataclass(frozen=True, eq=False)
class WindowEnd:
    """Where a solver ended a window.

    Parameters
    ----------
    replays : WindowReplays
        Replays windows of the case.
    window : RunWindow
        The window as its run recorded it.
    """

    replays: WindowReplays
    window: RunWindow

    def work(self, candidate: Candidate) -> int:
        """Products of the steps, and of the kernel's entries where these are others."""
        problem, count = candidate.problem, np.unique(self.window.draws).size
        entries = 0 if candidate.mutation is not NONE else problem.samples * problem.features
        return count * (self.window.draws.size + entries)

    def ended_by(self, alike: Sequence[Candidate]) -> list[bool]:
        """Whether each candidate ends the window there."""
        replayed = self._replayed(alike[0])
        return [self._ends(replayed, candidate) for candidate in alike]

    def at_ends(self) -> bool:
        """Whether every value that is wrong is an end of the box, up to the bound."""
        problem = self.replays.case.problem
        replayed = self._replayed(Candidate((), problem)) if problem.is_svm else None
        if replayed is None:
            return False
        (replay, bound), box = replayed, box_of(problem.dual)
        values = zip(self.window.end[replay.places], replay.lower, bound, strict=True)
        return all(at_end(box, value, off) for value, low, off in values if low > off)

    def _replayed(self, candidate: Candidate) -> tuple[Replay, np.ndarray] | None:
        """The replay of what the candidate solves, and the bound on it; None where there is none."""
        case, window = self.replays.case, self.window
        columns = np.unique(window.draws)
        other = candidate.problem is not case.problem or candidate.rows
        if other and window.weights is not None:
            return None
        replays, panel = self.replays.of(candidate), None
        if candidate.rows:
            values = rows_of(candidate.problem, case.formulas, columns, candidate.rows).values
            panel = Panel(columns, values)
            if not replays.usable(panel, window.draws):
                return None
        return replays.replayed(window, panel)

    def _ends(self, replayed: tuple[Replay, np.ndarray] | None, candidate: Candidate) -> bool:
        mutation = candidate.mutation
        if mutation.lose_tail:
            mutation = NOT_STORED if self.window.tail else NONE
        if replayed is None or not np.isfinite(replayed[1]).all():
            return False
        replay, bound = replayed
        wrong = bool((replay.lower[: bound.size] > bound).any())
        if mutation.threshold and wrong and not _leaves_out(replay, self.window):
            return False
        try:
            distance = None if mutation is NONE else replay.distance
            high = replay.upper if distance is None else distance(mutation)[1]
        except SingularSystemError:
            return False
        if mutation is not NONE:
            # Right steps that are clipped round by nothing where the mistaken ones may; elsewhere what the
            # bound tells apart is named apart.
            bound = np.where(bound > 0, bound, self._allowed(candidate.problem, replay.places))
        return bool((high[: bound.size] <= bound).all())

    def _allowed(self, problem, places: np.ndarray) -> np.ndarray | float:
        """What is allowed a K-SVM besides its bound, which is that of the right steps; nothing a K-RR."""
        if not problem.is_svm:
            return 0.0
        declaration, window = self.replays.case.formulas, self.window
        largest = np.maximum(np.abs(window.begin), np.abs(window.end)).astype(np.float64)
        entries, steps = kernel_entries(problem, declaration, places), window.draws.shape[0]
        return mistaken_reach(problem, declaration, entries, places, largest, steps, steps)


def _leaves_out(replay: Replay, window: RunWindow) -> bool:
    """Whether a window may lack a step: one that would move a coordinate, which is just as it was before.

    A coordinate that is drawn again may have been moved by its other steps.
    """
    steps = replay.steps
    increments = steps.increments if isinstance(steps, RidgeSteps) else steps.increment
    drawn = np.bincount(steps.draws.ravel(), minlength=replay.places.size)
    moves = np.unique(steps.draws[increments != 0.0])
    places = replay.places[moves]
    return bool(((window.begin[places] == window.end[places]) | (drawn[moves] > 1)).any())


def suspects_in(case: Case, s: int, *, between: bool) -> Suspects:
    """The candidates for runs of a case with this s; see `suspects_of`."""
    problem, form, block = case.problem, case.formulas.update, case.stream.block
    repeated = case.stream.replacement
    return suspects_of(problem, form, s, block, between=between, replacement=repeated)


def right_asked(s: int) -> int:
    """How many windows without a wrong step are asked, of so many steps."""
    return max(RIGHT, RIGHT_STEPS // s)


def correct_ends(comparisons: Sequence[Comparison]) -> list[WindowEnd]:
    """The ends of the windows that are correct, of those that are diagnosed."""
    return [WindowEnd(*one.end) for one in comparisons if one.end is not None and one.status is Status.PASS]


def causes_of(
    case: Case,
    s: int,
    comparisons: Sequence[Comparison],
    *,
    between: bool,
    further: Callable[[], Sequence[Comparison]] = tuple,
) -> list[Candidate]:
    """What ends every failed window that is diagnosed where the solver ended it.

    Where several mistakes do, and end the correct windows too, `further` correct ones are asked. Only what
    relates the steps of a window can be wrong `between` them, where the run of s = 1 is right.
    """
    ended = [comparison for comparison in comparisons if comparison.end is not None]
    places = [WindowEnd(*one.end) for one in ended if one.status is Status.FAIL]
    right = correct_ends(comparisons)
    suspects = suspects_in(case, s, between=between)
    causes = explanations(suspects, places, right[: right_asked(s)], lambda: correct_ends(further()))
    # No step moves what its window does not draw: only other draws explain windows in which that happened.
    moved = any(
        STREAM in comparison.signs and comparison.status is Status.FAIL for comparison in comparisons
    )
    return [cause for cause in causes if cause.mutation.early] if moved else causes
