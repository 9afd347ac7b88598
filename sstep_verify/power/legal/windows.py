"""A window of a drawn solver in a legal order, as window-replay, step-replay and phases judge it."""

from __future__ import annotations

from sstep_verify.checks import phases, step_replay
from sstep_verify.checks.shared.case import Case, run_key
from sstep_verify.checks.shared.finding import Finding, Window
from sstep_verify.checks.window.replays import WindowReplays
from sstep_verify.oracle.facade import Oracle
from sstep_verify.power.legal.draws import Drawn
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Verdict


def case_of_window(drawn: Drawn) -> Case:
    """The window as a case of one run."""
    s = drawn.stream.length
    return Case("drawn", drawn.problem, drawn.stream, (s,), s, drawn.declaration)


def finding(drawn: Drawn, run: Trajectory) -> Finding:
    """Window-replay's comparison of the window's end."""
    window = Window(0, drawn.stream.length, ())
    return WindowReplays(case_of_window(drawn), Oracle(drawn.problem)).finding(run, window)


def of_steps(drawn: Drawn, run: Trajectory) -> list[Verdict]:
    """The verdicts of step-replay and phases on the window's steps; none of a run that broke down."""
    if run.log is None:
        return []
    case, s = case_of_window(drawn), drawn.stream.length
    oracle, runs = Oracle(drawn.problem), {run_key(s): run, phases.key(case, s): run}
    return [*step_replay.judge(case, runs, oracle), *phases.judge(case, runs, oracle)]
