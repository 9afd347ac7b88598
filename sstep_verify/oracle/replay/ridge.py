"""Exact replay of one K-RR window: points of many digits with a proven distance from the exact end.

Balls are not carried from block to block, where their radii would grow by the wrapping effect: every
block solution is a point with a residual in balls, and since an exact block step is a projection in
the M-norm, the distances of the blocks simply add up.
"""

from __future__ import annotations

import math

import numpy as np
from sstep_reference.arithmetic import Balls

from sstep_verify.defects.mutation import NONE, TERMS
from sstep_verify.defects.recurrence_ridge import mutable_ridge_window
from sstep_verify.defects.window import LocalWindow, local_window
from sstep_verify.oracle.balls.block_solve import RefinedBlocks
from sstep_verify.oracle.balls.enclosure import magnitude_interval, root_interval, upward
from sstep_verify.oracle.replay.carried import carried_window
from sstep_verify.oracle.replay.window import DOSE, Effect, Replay
from sstep_verify.problems import Problem
from sstep_verify.steps import RidgeSteps


def replay_ridge_window(
    problem: Problem,
    kernel,
    begin: np.ndarray,
    end: np.ndarray,
    draws: np.ndarray,
    carried: np.ndarray | None = None,
    state: str = "residual",
) -> Replay:
    """Replay a window from the solver's own a and compare at its end, in the M-norm.

    Parameters
    ----------
    problem : Problem
        A K-RR.
    kernel
        Exact kernel of the problem over `Balls`.
    begin, end : ndarray, shape (m,)
        The solver's a at the window's start and end.
    draws : ndarray of int, shape (s, b)
        Blocks drawn.
    carried : ndarray, shape (m,) or (n,), optional
        State at the window's start, for a solver that makes its steps from it. It moves the point that
        the exact steps project to, not the projections.
    state : {"residual", "weights"}
        What is carried.

    Returns
    -------
    Replay
        Its measured value is the M-norm of the error; the components are those per coordinate.
    """
    arithmetic: Balls = kernel.arithmetic
    samples = problem.samples
    penalty = arithmetic.number(problem.ridge.penalty)
    targets = arithmetic.vector(problem.targets)
    window = local_window(
        arithmetic, kernel, targets, arithmetic.vector(begin), draws.tolist(), signed=False
    )
    if carried is not None:
        window = carried_window(problem, arithmetic, window, state, carried)
    solve = RefinedBlocks(arithmetic, window, penalty, samples)
    steps: list = []
    exact = mutable_ridge_window(arithmetic, window, penalty, samples, NONE, solve, steps)
    distance = upward(math.fsum(solve.residuals) / math.sqrt(samples))
    reach = upward(distance / math.sqrt(samples))  # the 2-norm is at most the M-norm over sqrt(m)
    places = np.array(window.coordinates, dtype=np.int64)
    reached = arithmetic.vector(end[places])
    low, high = _energy_norm(arithmetic, window, reached, exact, penalty, samples)
    component_low, component_high = _components(arithmetic, reached, exact)
    effects, component_effects = {}, {}
    for term in _acting_terms(window):
        changes, component_changes = [], []
        for factor in (0, 1 + DOSE):
            mutation = NONE.scaled(TERMS[term], factor, term)
            mutated = mutable_ridge_window(arithmetic, window, penalty, samples, mutation, solve)
            change = _energy_norm(arithmetic, window, mutated, exact, penalty, samples)[0]
            changes.append(np.array([max(change - 2 * distance, 0.0)]))
            component_change = _components(arithmetic, mutated, exact)[0]
            component_changes.append(np.maximum(component_change - 2 * reach, 0.0))
        effects[term] = Effect(changes[0], changes[1] / float(DOSE))
        component_effects[term] = Effect(component_changes[0], component_changes[1] / float(DOSE))
    return Replay(
        places,
        np.array([max(low - distance, 0.0)]),
        np.array([upward(high + distance)]),
        _float_steps(window, steps),
        effects,
        arithmetic.bits,
        np.maximum(component_low - reach, 0.0),
        np.array([upward(value) for value in component_high + reach]),
        component_effects,
    )


def replay_ridge_panel(
    problem: Problem,
    kernel,
    begin: np.ndarray,
    end: np.ndarray,
    draws: np.ndarray,
    carried: np.ndarray | None = None,
    state: str = "residual",
) -> Replay:
    """Replay a window over a kernel of which no definiteness is known, and compare per coordinate.

    Balls are carried from block to block, so that wider ones need more bits.

    Parameters
    ----------
    problem, begin, end, draws, carried, state
        See `replay_ridge_window`.
    kernel
        A solver's panel over `Balls`; row i of it is used in steps on coordinate i.

    Returns
    -------
    Replay
        Its measured values are those per distinct coordinate, shape (c,).

    Raises
    ------
    SingularSystemError
        If a block system cannot be proven invertible at this precision.
    """
    arithmetic: Balls = kernel.arithmetic
    penalty, samples = arithmetic.number(problem.ridge.penalty), problem.samples
    targets, alpha = arithmetic.vector(problem.targets), arithmetic.vector(begin)
    window = local_window(arithmetic, kernel, targets, alpha, draws.tolist(), signed=False)
    if carried is not None:
        window = carried_window(problem, arithmetic, window, state, carried)
    steps: list = []
    exact = mutable_ridge_window(arithmetic, window, penalty, samples, steps=steps)
    places = np.array(window.coordinates, dtype=np.int64)
    low, high = _components(arithmetic, arithmetic.vector(end[places]), exact)
    effects = {}
    for term in _acting_terms(window):
        changes = []
        for factor in (0, 1 + DOSE):
            mutation = NONE.scaled(TERMS[term], factor, term)
            mutated = mutable_ridge_window(arithmetic, window, penalty, samples, mutation)
            changes.append(_components(arithmetic, mutated, exact)[0])
        effects[term] = Effect(changes[0], changes[1] / float(DOSE))
    return Replay(places, low, high, _float_steps(window, steps), effects, arithmetic.bits)


def _float_steps(window: LocalWindow, steps: list) -> RidgeSteps:
    increments = np.array([[float(value) for value in step] for step in steps])
    return RidgeSteps(np.array(window.draws, dtype=np.int64), increments)


def _components(arithmetic, one, other) -> tuple[np.ndarray, np.ndarray]:
    """Float64 intervals of the absolute differences per coordinate, lower and upper ends."""
    with arithmetic.working():
        ends = [magnitude_interval(x - y) for x, y in zip(one, other, strict=True)]
    low, high = np.array(ends).reshape(-1, 2).T
    return low, high


def _acting_terms(window: LocalWindow) -> list[str]:
    """Terms that a window of this shape has at all; the others have no effect."""
    if len(window.draws) == 1:
        return []
    drawn = sum(len(block) for block in window.draws)
    terms = ["kernel-correction"]
    return [*terms, "overlap"] if len(window.coordinates) < drawn else terms


def _energy_norm(arithmetic, window: LocalWindow, one, other, penalty, samples) -> tuple[float, float]:
    """Float64 interval of ``sqrt(d'(K/penalty + m I)d)``, d the difference on the window's coordinates."""
    with arithmetic.working():
        difference = arithmetic.vector([x - y for x, y in zip(one, other, strict=True)])
        products = arithmetic.vector([arithmetic.dot(row, difference) for row in window.gram])
        square = arithmetic.dot(products, difference) / penalty
        square = square + samples * arithmetic.dot(difference, difference)
        return root_interval(square)
