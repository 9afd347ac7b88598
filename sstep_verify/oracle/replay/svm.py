"""Exact replay of one K-SVM window in balls, by the reference's classical algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np
from sstep_reference import dcd_ksvm
from sstep_reference.arithmetic import Balls
from sstep_reference.inputs import svm_constants

from sstep_verify.defects.mutation import NONE, Mutation
from sstep_verify.defects.recurrence_svm import mutable_svm_window
from sstep_verify.defects.window import LocalWindow, Step, local_window
from sstep_verify.errors import OracleDisagreementError
from sstep_verify.oracle.balls.enclosure import distances, interval
from sstep_verify.oracle.replay.carried import carried_window
from sstep_verify.oracle.replay.window import Effect, Effects, Replay, effect_of
from sstep_verify.problems import Problem
from sstep_verify.quantities import (
    BOUNDARY,
    CURVATURE,
    KERNEL,
    LABELS,
    LOWER,
    OMEGA,
    OVERLAP,
    SAME,
    STALE,
    STREAM,
    UPPER,
    WRITE_BACK,
)
from sstep_verify.steps import SvmSteps


def replay_svm_window(
    problem: Problem,
    kernel,
    begin: np.ndarray,
    end: np.ndarray,
    draws: np.ndarray,
    carried: np.ndarray | None = None,
    state: str = "gradient",
) -> Replay:
    """Replay a window from the solver's own a and compare at its end.

    The window's exact end comes from the classical reference (Algorithm 1) in balls; the mutable
    s-step recurrence, unmutated, must enclose the same point, or the two oracles disagree. From a carried
    state there is no such run of Algorithm 1; then the exact end is what the s-step recurrence clips.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    kernel
        Exact kernel of the problem over `Balls`, or a solver's panel; its precision is that of the
        replay.
    begin, end : ndarray, shape (m,)
        The solver's a at the window's start and end.
    draws : ndarray of int, shape (s,)
        Coordinates drawn.
    carried : ndarray, shape (m,) or (n,), optional
        State at the window's start, for a solver that makes its steps from it.
    state : {"gradient", "weights"}
        What is carried.

    Returns
    -------
    Replay

    Raises
    ------
    OracleDisagreementError
        If reference and mutable recurrence contradict each other.
    """
    arithmetic: Balls = kernel.arithmetic
    alpha: Any = arithmetic.vector(begin)
    loss, C = problem.loss.task, problem.hinge.C
    labels = arithmetic.vector(problem.targets)
    window = local_window(arithmetic, kernel, labels, alpha, draws[:, None].tolist(), signed=True)
    if carried is not None:
        window = carried_window(problem, arithmetic, window, state, carried)
    upper, omega = svm_constants(arithmetic, loss, C)
    steps: list[Step] = []
    unmutated = mutable_svm_window(arithmetic, window, omega, upper, NONE, steps)
    if carried is None:
        run = dcd_ksvm(arithmetic, kernel, problem.targets.tolist(), alpha, draws.tolist(), loss=loss, C=C)
        exact = [run[coordinate] for coordinate in window.coordinates]
        _must_agree(problem, window, exact, unmutated)
    else:
        exact = _clipped_ends(arithmetic, window, steps, upper)
    places = np.array(window.coordinates, dtype=np.int64)
    reached = [arithmetic.number(end[coordinate]) for coordinate in window.coordinates]

    def mutant(mutation: Mutation):
        return mutable_svm_window(arithmetic, window, omega, upper, mutation)

    def effect(name: str) -> Effect:
        return effect_of(name, lambda mutation: distances(arithmetic, mutant(mutation), unmutated)[0])

    low, high = distances(arithmetic, reached, exact)
    return Replay(
        places,
        low,
        high,
        _float_steps(arithmetic, window, steps),
        Effects(_acting(problem, window), effect),
        arithmetic.bits,
        distance=lambda mutation: distances(arithmetic, reached, mutant(mutation)),
    )


def _must_agree(problem: Problem, window: LocalWindow, exact: list, unmutated) -> None:
    for coordinate, one, other in zip(window.coordinates, exact, unmutated, strict=True):
        if not one.overlaps(other):
            raise OracleDisagreementError(
                f"{problem.label}: coordinate {coordinate} ends a window at {one} by the classical "
                f"reference but at {other} by the s-step recurrence"
            )


def _clipped_ends(arithmetic: Balls, window: LocalWindow, steps: list[Step], upper) -> list:
    """New value of each coordinate's last step: on the box exactly where it is certainly clipped."""
    ends: list = [None] * len(window.coordinates)
    for (place,), step in zip(window.draws, steps, strict=True):
        ends[place] = arithmetic.clip(step.unclipped, arithmetic.number(0), upper)
    return ends


def _acting(problem: Problem, window: LocalWindow) -> list[str]:
    """Quantities that a window of this shape has at all; the others have no effect."""
    names = [STALE, CURVATURE]
    if len(window.coordinates) > 1:
        names.append(KERNEL)
    if len(window.coordinates) < len(window.draws):
        names += [SAME, OVERLAP]
    if problem.hinge.shift:
        names.append(OMEGA)
    if np.isfinite(problem.hinge.upper):
        names.append(UPPER)
    return [*names, LABELS, LOWER, WRITE_BACK, BOUNDARY, STREAM]


def _float_steps(arithmetic, window: LocalWindow, steps: list[Step]) -> SvmSteps:
    bounds = np.array([interval(step.unclipped) for step in steps]).reshape(-1, 2)
    return SvmSteps(
        draws=np.array([block[0] for block in window.draws], dtype=np.int64),
        value=np.array([float(step.value) for step in steps]),
        increment=np.array([float(step.increment) for step in steps]),
        lower=bounds[:, 0],
        upper=bounds[:, 1],
    )
