"""A window of a drawn solver in a legal order, judged as window-replay and step-replay judge it."""

from __future__ import annotations

import numpy as np

from sstep_verify.checks.shared.case import Case, run_key
from sstep_verify.checks.shared.finding import Finding, Window
from sstep_verify.checks.step_replay import judge as judge_steps
from sstep_verify.checks.window.replays import WindowReplays
from sstep_verify.numerics.rounding import stored
from sstep_verify.oracle.facade import Oracle
from sstep_verify.power.alarms.legal_draws import Drawn
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Verdict


def case_of_window(drawn: Drawn) -> Case:
    """The window as a case of one run."""
    s = drawn.stream.length
    return Case("drawn", drawn.problem, drawn.stream, (s,), s, drawn.declaration)


def _run(drawn: Drawn, end: np.ndarray, log: np.ndarray | None = None) -> Trajectory:
    s = drawn.stream.length
    return Trajectory(s, 0, np.array([0, s]), np.array([drawn.start, end]), log=log)


def finding(drawn: Drawn, end: np.ndarray) -> Finding:
    """Window-replay's comparison of the window's end."""
    window = Window(0, drawn.stream.length, ())
    return WindowReplays(case_of_window(drawn), Oracle(drawn.problem)).finding(_run(drawn, end), window)


def steps_verdict(drawn: Drawn, end: np.ndarray, log: np.ndarray) -> Verdict:
    """Step-replay's verdict on the window's steps."""
    case = case_of_window(drawn)
    runs = {run_key(drawn.stream.length): _run(drawn, end, log)}
    (verdict,) = judge_steps(case, runs, Oracle(drawn.problem))
    return verdict


def attained(drawn: Drawn, bound: float) -> bool:
    """Whether correct runs meet a bound exactly: the width of the box, or ``|fl(C) - C|`` at its end."""
    if not drawn.problem.is_svm:
        return False
    C, upper = drawn.problem.hinge.C, drawn.problem.hinge.upper
    rounded = drawn.declaration.precision == "float32" and float(stored(C, "float32")) != C
    return rounded or bound >= upper
