"""First gradients of a window from a carried state, in the form in which a window holds them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sstep_reference.arithmetic import Balls
from sstep_reference.inputs import svm_constants

from sstep_verify.defects.window import LocalWindow
from sstep_verify.problems import Problem


def carried_window(
    problem: Problem, arithmetic: Balls, window: LocalWindow, name: str, values: np.ndarray
) -> LocalWindow:
    """Replace the stale products of a window by those that a carried state stands for.

    Parameters
    ----------
    problem : Problem
        The problem.
    arithmetic : Balls
        Ball arithmetic of the window.
    window : LocalWindow
        The window from a alone.
    name : {"gradient", "residual", "weights"}
        What is carried, see `Trajectory.state`.
    values : ndarray, shape (m,) or (n,)
        The state at the window's start, taken exactly.

    Returns
    -------
    LocalWindow
        Its stale products solve ``q_i = y_i p_i - 1 + omega a_i`` or ``r_i = y_i - m a_i - p_i / lambda``,
        or are ``<x_i, w>``.
    """
    places = window.coordinates
    with arithmetic.working():
        if name == "weights":
            weights, data = arithmetic.vector(values), problem.dense[places]
            return replace(window, stale=[arithmetic.dot(arithmetic.vector(x), weights) for x in data])
        given = arithmetic.vector(values[places])
        triples = zip(given, window.targets, window.start, strict=True)
        if name == "gradient":
            _, omega = svm_constants(arithmetic, problem.loss.task, problem.hinge.C)
            stale = [label * (q + 1 - omega * a) for q, label, a in triples]
        else:
            penalty = arithmetic.number(problem.ridge.penalty)
            stale = [penalty * (target - problem.samples * a - r) for r, target, a in triples]
        return replace(window, stale=stale)
