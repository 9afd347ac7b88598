"""Replays one window of a run, from the data and from the solver's own panel, and compares with bounds.

From the data, the bound holds what the declared kernel formulas may be off by (delta_K), which hides
errors of the recurrence where samples are long or distances cancel. From the panel that the solver
exposed, delta_K is zero and only the recurrence is left, provided that its steps are made from the panel:
a solver that may form products from the samples instead is replayed from the data alone. Either fails
alone. What shows from a panel counts only where kernel-entries would have seen every planted kernel defect
in it: a panel taken on faith says nothing of the data.

Both are needed. With samples of 2,000 features a correction that is off by 3e-13 is refused from the panel
alone: from the data, and step by step, it is within the bounds. With an RBF kernel on data far from the
origin (1e5) the smallest relative error of the correction that is certain to show is 2e-14 from the panel,
1e-3 from the data (tests/meta/checks/test_check_window_replay_panel.py).
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sstep_verify.bounds.window.ridge import MOST_COEFFICIENTS
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import (
    Finding,
    Window,
    decisive,
    promising,
    unbounded,
    unknown,
    wrong,
)
from sstep_verify.checks.shared.outcome import finite_promised
from sstep_verify.checks.window.compare import (
    RunWindow,
    bounded,
    compare,
    moved_undrawn,
    resolution,
    settled,
    wide,
)
from sstep_verify.diagnosis.kernel_rows import hides_a_defect
from sstep_verify.oracle.facade import FIRST_BITS, MOST_BITS, Oracle
from sstep_verify.oracle.window import Replay
from sstep_verify.quantities import TAIL, WRITE_BACK
from sstep_verify.rounding.rows_and_clip import may_factor
from sstep_verify.trajectory import Panel, Trajectory
from sstep_verify.verdict import Status

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
        self._state = case.declaration.state[0] if case.declaration.state else ""
        self._others: dict[int, WindowReplays] = {}

    def finding(
        self,
        trajectory: Trajectory,
        window: Window,
        *,
        from_panel: bool = True,
        names: Collection[str] | None = None,
        again: Collection[str] | None = None,
        diagnose: bool = True,
    ) -> Finding:
        """Replay one window and compare; if `from_panel` and the run exposed its panel, from that too.

        Effects are those of the quantities named, of all that act in the window if none are; from the panel
        of those named in `again`, and of what is not seen from the data. Where the window fails, mistakes
        that reproduce it are looked for later if `diagnose`.
        """
        case, carried = self.case, None
        begin, end = trajectory.at(window.begin), trajectory.at(window.end)
        draws = case.stream.blocks(trajectory.start + window.begin, trajectory.start + window.end)
        if self._state:
            if self._state not in trajectory.state:
                what = f"the state {self._state!r} that steps are made from was declared but not recorded"
                return unknown("", window=window, note=what)
            carried = trajectory.state_at(self._state, window.begin)
        if not (np.isfinite(begin).all() and (carried is None or np.isfinite(carried).all())):
            return self._spoiled_before(trajectory, window)
        before = self._before(trajectory, window)
        recorded = RunWindow(window, begin, end, draws, carried, trajectory.s, before)
        if not np.isfinite(end).all():
            return self._not_finite(recorded, "a is not finite at its end")
        moved = moved_undrawn(window, begin, end, draws, apart=case.declaration.level < 2)
        if moved is not None:
            return moved
        finding = self._compared(recorded, None, names, diagnose=diagnose)
        panel = trajectory.panels.get(window.begin)
        # Products that may be formed from the samples are none of a panel's entries.
        aside = may_factor(case.problem, case.declaration)
        if panel is None or not from_panel or aside:
            return finding
        absent = np.setdiff1d(draws, panel.columns)
        if absent.size:
            what = f"the panel that the run exposed holds no row of coordinate {absent[0]}, which is drawn"
            return wrong("", window=window, note=what)
        if not self.usable(panel, draws):
            return finding
        sharp = not hides_a_defect(case.problem, case.declaration, np.unique(draws), self._oracle)
        if again is not None:
            names = [name for name in names or () if name in again or not finding.shows(name)]
        return joined(finding, self._compared(recorded, panel, names, diagnose=diagnose), sharp=sharp)

    def _before(self, trajectory: Trajectory, window: Window) -> tuple[np.ndarray, np.ndarray] | None:
        """The window before one, of which a mistake may use something; None where it is not recorded."""
        begin = window.begin - trajectory.s
        if begin < 0 or begin not in trajectory.iterations or not np.isfinite(trajectory.at(begin)).all():
            return None
        first = trajectory.start + begin
        return trajectory.at(begin), self.case.stream.blocks(first, first + trajectory.s)

    def _spoiled_before(self, trajectory: Trajectory, window: Window) -> Finding:
        """A window that starts from numbers that are not finite: decided by where they came about.

        That is the stretch from the last recorded iteration with finite numbers to the next one. Exact
        steps do not depend on s, so it is bounded as one window; an infinite bound promises nothing.
        """
        what = "a or the state beside it is not finite at its start"
        finite = np.isfinite(trajectory.alphas).all(axis=1)
        if self._state:
            finite &= np.isfinite(trajectory.state[self._state]).all(axis=1)
        first = int(np.argmin(finite))  # the first recorded iteration with one that is not
        if first == 0:  # a state that is formed from a finite a
            finding_of = wrong if finite_promised(self.case, trajectory) else unknown
            return finding_of("", window=window, note=what)
        begin, end = trajectory.iterations[first - 1 : first + 1].tolist()
        draws = self.case.stream.blocks(trajectory.start + begin, trajectory.start + end)
        if self.case.panel_words(end - begin) > self.case.replay_limit:
            what = (
                f"{what}: iterations {begin + 1}..{end}, in which that came about, are too many to replay"
            )
            return unknown("", window=window, note=what)
        carried = trajectory.state[self._state][first - 1] if self._state else None
        before, after = trajectory.alphas[first - 1 : first + 1]
        stretch = RunWindow(window, before, after, draws, carried)
        return self._not_finite(stretch, f"{what}; that came about in iterations {begin + 1}..{end}")

    def _not_finite(self, recorded: RunWindow, note: str) -> Finding:
        """A wrong end, unless the bound itself promises nothing there."""
        # The end does not enter the exact steps that the bound is made of.
        replay = self._replay(replace(recorded, end=recorded.begin), None, FIRST_BITS)
        if replay is not None and np.isfinite(bounded(self.case, replay, recorded)[1]).all():
            return wrong("", window=recorded.window, note=note)
        return unbounded("", math.inf, window=recorded.window, note=note)

    def _compared(
        self, recorded: RunWindow, panel: Panel | None, names: Collection[str] | None, *, diagnose: bool
    ) -> Finding:
        """The comparison, with what could have been seen and, for diagnosis, its end."""
        window, source = recorded.window, "data" if panel is None else "panel"
        replayed = self.replayed(recorded, panel)
        if replayed is None:
            what = "a block system of the panel cannot be proven invertible"
            return unbounded("", window=window, note=what, source=source)
        replay, bound = replayed
        resolved = resolution(self.case.declaration, replay, recorded.begin, recorded.end)
        finding = compare(window, replay, bound, resolved, names)
        if recorded.tail and WRITE_BACK in finding.dropped:
            # A tail that is not made leaves a as it was, as one whose new values are not stored does.
            finding.dropped[TAIL] = finding.dropped[WRITE_BACK]
            finding.detection_limit[TAIL] = finding.detection_limit[WRITE_BACK]
        end = (self, recorded, panel) if diagnose else None
        return replace(finding, source=source, end=end)

    def replayed(self, recorded: RunWindow, panel: Panel | None) -> tuple[Replay, np.ndarray] | None:
        """Replay at rising precision until the enclosure is narrow beside its bound, or surely beyond."""
        bits, before = FIRST_BITS, None
        while True:
            replay, bound = self._replay(recorded, panel, bits), np.empty(0)
            if replay is not None:
                replay, bound = bounded(self.case, replay, recorded, panel)
                if not wide(replay, bound) or (before and settled(replay, bound, before)):
                    break
                before = replay
            if bits >= MOST_BITS:
                break
            bits *= 2
        return None if replay is None else (replay, bound)

    def _replay(self, recorded: RunWindow, panel: Panel | None, bits: int) -> Replay | None:
        problem = self.case.problem
        rest = recorded.begin, recorded.end, recorded.draws, bits, recorded.carried, self._state
        if panel is None:
            return self._oracle.replay(problem, *rest, recorded.before)
        return self._oracle.replay_panel(problem, panel, *rest)

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
        """Whether the recurrence over this panel is defined and its replay affordable.

        Entries that are not finite, or a negative diagonal, are errors of the kernel's entries.
        """
        drawn = np.isin(panel.columns, draws)
        rows = panel.entries[drawn]
        diagonal = rows[np.arange(rows.shape[0]), panel.columns[drawn]]
        affordable = self.case.problem.is_svm or rows.shape[0] * 2 * draws.size <= MOST_COEFFICIENTS
        return bool(affordable and np.isfinite(rows).all() and (diagonal >= 0).all())


def joined(data: Finding, panel: Finding, *, sharp: bool) -> Finding:
    """One finding from the replays of a window from the data and from the solver's panel.

    The worse outcome counts, but where one of them promises nothing (VACUOUS: an infinite bound) the
    other stands. An error of a quantity shows if it exceeds either bound; but what shows from the panel
    counts only if the panel is `sharp`: if a wrong kernel in it would have shown. Else a replay from it
    says nothing of the data, and its PASS does not stand for that of the data.
    """
    if not sharp and panel.status is not Status.FAIL:
        return replace(data, parts=(data, panel))
    parts = (data, panel)
    telling = parts if sharp else (data,)
    names = dict.fromkeys(name for part in telling for name in part.dropped)
    return replace(
        decisive(promising(parts)),
        bits=max(part.bits for part in parts),
        dropped={name: max(part.dropped.get(name, 0.0) for part in telling) for name in names},
        detection_limit={
            name: min(part.detection_limit.get(name, math.inf) for part in telling) for name in names
        },
        parts=parts,
    )
