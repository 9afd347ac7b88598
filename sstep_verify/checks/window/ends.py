"""The end of one window, as diagnosis asks about it: whether a mistake would have ended it there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from sstep_reference import SingularSystemError

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding
from sstep_verify.checks.window.compare import RunWindow
from sstep_verify.diagnosis.candidates import Candidate, suspects_of
from sstep_verify.diagnosis.kernel_rows import rows_of
from sstep_verify.diagnosis.search import explanations, mistaken_reach
from sstep_verify.oracle.window import Replay
from sstep_verify.quantities import WRITE_BACK
from sstep_verify.recurrence.mutation import NONE, left_out
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.trajectory import Panel
from sstep_verify.verdict import Status

if TYPE_CHECKING:
    from sstep_verify.checks.window.replays import WindowReplays

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
    panel : Panel or None
        The solver's own kernel rows, where it failed from these; None where from the data.
    alone : bool
        Whether the window failed from the panel alone.
    """

    replays: WindowReplays
    window: RunWindow
    panel: Panel | None
    alone: bool = False

    def work(self, candidate: Candidate) -> int:
        """Products of the steps, and of the kernel's entries where these are others."""
        problem, count = candidate.problem, np.unique(self.window.draws).size
        entries = 0 if candidate.mutation is not NONE else problem.samples * problem.features
        return count * (self.window.draws.size + entries)

    def ended_by(self, alike: Sequence[Candidate]) -> list[bool]:
        """Whether each candidate ends the window there."""
        # Of what is solved the solver's own panel says nothing; what failed from it alone does.
        silent = [self.panel is not None and candidate.mutation is NONE for candidate in alike]
        replayed = None if all(silent) else self._replayed(alike[0])
        return [
            not self.alone if says_nothing else self._ends(replayed, candidate)
            for candidate, says_nothing in zip(alike, silent, strict=True)
        ]

    def _replayed(self, candidate: Candidate) -> tuple[Replay, np.ndarray] | None:
        """The replay of what the candidate solves, and the bound on it; None where there is none."""
        case, window = self.replays.case, self.window
        columns = np.unique(window.draws)
        if not candidate.holds(window.end[columns]):
            return None
        other = candidate.problem is not case.problem or candidate.rows or candidate.precision
        if other and window.carried is not None:
            return None
        replays, panel = self.replays.of(candidate), self.panel
        if candidate.rows:
            values = rows_of(candidate.problem, case.declaration, columns, candidate.rows).values
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
        try:
            distance = None if mutation is NONE else replay.distance
            high = replay.upper if distance is None else distance(mutation)[1]
        except SingularSystemError:
            return False
        if mutation is not NONE:
            bound = np.maximum(bound, self._allowed(candidate.problem, replay.places))
        return bool((high[: bound.size] <= bound).all())

    def _allowed(self, problem, places: np.ndarray) -> np.ndarray | float:
        """What is allowed a K-SVM beside its bound, which is that of the right steps; nothing a K-RR."""
        if not problem.is_svm:
            return 0.0
        declaration, window = self.replays.case.declaration, self.window
        largest = np.maximum(np.abs(window.begin), np.abs(window.end)).astype(np.float64)
        entries, steps = kernel_entries(problem, declaration, places), window.draws.shape[0]
        return mistaken_reach(problem, declaration, entries, places, largest, steps, steps)


def causes_of(
    case: Case, s: int, findings: Sequence[Finding], *, between: bool, pairs: bool = True
) -> list[Candidate]:
    """What ends every failed window that is diagnosed where the solver ended it.

    Only what relates the steps of a window can be wrong `between` them, where the run of s = 1 is right;
    two mistakes at once are tried too where `pairs` says so.
    """
    places: list[WindowEnd] = []
    right: list[WindowEnd] = []
    for finding in findings:
        parts = [part for part in finding.parts or (finding,) if part.end is not None]
        wrong = [part.end for part in parts if part.status is Status.FAIL]
        places += [replace(end, alone=len(wrong) == 1) for end in wrong]
        right += [part.end for part in parts if part.status is Status.PASS and part.source == "data"]
    ends = [place.window.end for place in places]
    suspects = suspects_of(
        case.problem, case.declaration.update, s, case.stream.block, between=between, ends=ends
    )
    return explanations(suspects, places, right, pairs=pairs)
