"""A window as its solver began it: from a alone, or from a state carried beside a."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sstep_reference.kernels import Columns

from sstep_verify.problems import Problem
from sstep_verify.recurrence.window import Before, LocalWindow, local_window


def begun_window(
    problem: Problem,
    kernel: Columns,
    alpha: Any,
    draws: np.ndarray,
    carried: np.ndarray | None = None,
    state: str = "",
    before: Before | None = None,
) -> LocalWindow:
    """Restrict a window to its coordinates; of a carried state, with the products that it stands for.

    Parameters
    ----------
    problem : Problem
        The problem.
    kernel : Columns
        Its exact kernel over `Balls`, or a solver's panel.
    alpha : vector of length m
        The dual vector at the window's start (a).
    draws : ndarray of int, shape (s, b)
        Blocks drawn.
    carried : ndarray, shape (m,) or (n,), optional
        State at the window's start, taken exactly, for a solver that makes its steps from it.
    state : {"gradient", "residual", "weights"}
        What is carried, see `Trajectory.state`.
    before : (ndarray, shape (m,), and ndarray of int, shape (s, b)), optional
        The solver's a at the start of the window before, and the blocks drawn in it.

    Returns
    -------
    LocalWindow
        With a carried state its stale products solve ``q_i = y_i p_i - 1 + omega a_i`` (``p_i - y_i`` in
        the place of ``y_i p_i - 1`` where y are no labels) or ``r_i = y_i - m a_i - p_i / lambda``, or
        are ``<x_i, w>``.
    """
    arithmetic: Any = kernel.arithmetic
    targets = arithmetic.vector(problem.targets)
    window: LocalWindow = local_window(
        arithmetic, kernel, targets, alpha, draws.tolist(), signed=problem.loss.labelled
    )
    if before is not None:
        earlier = arithmetic.vector(before[0]), before[1]
        window = window.after(arithmetic, kernel, targets, alpha, earlier, signed=problem.is_svm)
    if carried is None:
        return window
    places = window.coordinates
    with arithmetic.working():
        if state == "weights":
            weights, data = arithmetic.vector(carried), problem.dense[places]
            return replace(window, stale=[arithmetic.dot(arithmetic.vector(x), weights) for x in data])
        triples = zip(arithmetic.vector(carried[places]), window.targets, window.start, strict=True)
        if state == "gradient":
            omega, labelled = problem.boxed.exact_shift(arithmetic), problem.loss.labelled
            stale = [
                label * (q + 1 - omega * a) if labelled else q + label - omega * a
                for q, label, a in triples
            ]
        else:
            penalty = arithmetic.number(problem.ridge.penalty)
            stale = [penalty * (target - problem.samples * a - r) for r, target, a in triples]
        return replace(window, stale=stale)
