"""Windows between the results of two runs, of a solver that is run again for every length.

Such a window begins with the alpha of the shorter run and ends with that of the longer one. A correct
solver need not begin both alike to the last bit: one that forms the kernel rows of a whole run at once
rounds them otherwise. So what is beyond the bound of a window is taken for wrong only where the longer run
is beyond its bound from its own start too, all its steps taken together. Where it is not, the window is not
decided; one in which a coordinate moved that it does not draw is judged by that longer segment instead.
"""

from __future__ import annotations

from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.comparison import Comparison, Window, unknown
from sstep_verify.checks.window.choose import screenable
from sstep_verify.checks.window.many_windows import REPLAY_WORK, work_of
from sstep_verify.checks.window.one_window import WindowReplays
from sstep_verify.checks.window.screen import bridge
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Why


class EndsApart:
    """Confirms failed windows, of the runs of one case, between the results of two.

    Once one is confirmed, or a window fails that begins where its run does, the solver is faulty, and what
    fails after that stands.

    Parameters
    ----------
    case : Case
        The case.
    replays : WindowReplays
        Replays windows of its runs.
    """

    def __init__(self, case: Case, replays: WindowReplays):
        self._case, self._replays = case, replays
        self._faulty = case.formulas.level >= 2  # There all windows are of one run.

    def confirmed(self, run: Trajectory, comparison: Comparison) -> Comparison:
        """The comparison on a window, or what is known of it in its place where it is not confirmed."""
        if comparison.status is not Status.FAIL or self._faulty:
            return comparison
        whole = self._from_start(run, comparison.window.end) if comparison.window.begin else comparison
        if whole.status is Status.FAIL:
            self._faulty = True
            return comparison
        if whole.status is Status.PASS and not comparison.bits:
            return whole
        return unknown(window=comparison.window, why=Why.ENDS_APART)

    def _from_start(self, run: Trajectory, end: int) -> Comparison:
        """A run from its own start, in float64 or exactly; INCONCLUSIVE where it is too long."""
        case, window = self._case, Window(0, end)
        screened = bridge(case, run, 0, end) if screenable(case) else None
        if screened is not None and screened.status is Status.PASS:
            return screened
        if work_of(case, window) + case.panel_words(end) > REPLAY_WORK:
            return unknown(window=window, why=Why.TOO_LARGE)
        return self._replays.replay_and_compare(run, window, names=(), diagnose=False)
