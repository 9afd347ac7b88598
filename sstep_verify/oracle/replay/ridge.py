"""Exact replay of one K-RR window: points of many digits with a proven distance from the exact end.

Balls are not carried from block to block, where their radii would grow by the wrapping effect: every
block solution is a point with a residual in balls, and since an exact block step is a projection in
the M-norm, the distances of the blocks simply add up.
"""

from __future__ import annotations

import math

import numpy as np
from sstep_reference import SingularSystemError
from sstep_reference.arithmetic import Balls

from sstep_verify.defects.mutation import NONE, Mutation
from sstep_verify.defects.recurrence_ridge import mutable_ridge_window, system_part
from sstep_verify.defects.window import LocalWindow, local_window
from sstep_verify.oracle.balls.block_solve import RefinedBlocks
from sstep_verify.oracle.balls.enclosure import DOWN, UP, distances, root_interval, upward
from sstep_verify.oracle.replay.carried import carried_window
from sstep_verify.oracle.replay.window import Effects, Replay, effect_of
from sstep_verify.problems import Problem
from sstep_verify.quantities import (
    BOUNDARY,
    CURVATURE,
    KERNEL,
    OFF_DIAGONAL,
    OVERLAP,
    PENALTY,
    SAME,
    SAMPLES,
    STALE,
    STREAM,
    WRITE_BACK,
)
from sstep_verify.steps import RidgeSteps

LONG = 1 << 14
"""Products in a window above which most effects are read off one mutant."""


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
    distance = upward(_total(solve.residuals) / math.sqrt(samples))
    reach = upward(distance / math.sqrt(samples))  # the 2-norm is at most the M-norm over sqrt(m)
    places = np.array(window.coordinates, dtype=np.int64)
    reached = arithmetic.vector(end[places])
    low, high = _energy_norm(arithmetic, window, reached, exact, penalty, samples)
    component_low, component_high = distances(arithmetic, reached, exact)
    mutant = _Mutants(arithmetic, window, penalty, samples, solve)

    def norm_change(mutation: Mutation) -> np.ndarray:
        try:
            change = _energy_norm(arithmetic, window, mutant(mutation), exact, penalty, samples)[0]
        except SingularSystemError:  # a mutant without an end has no known effect
            return np.zeros(1)
        return _apart(np.array([change]), np.array([change]), 2 * distance)[0]

    def component_change(mutation: Mutation) -> np.ndarray:
        try:
            change = distances(arithmetic, mutant(mutation), exact)[0]
        except SingularSystemError:
            return np.zeros(places.size)
        return _apart(change, change, 2 * reach)[0]

    def distance_from(mutation: Mutation) -> tuple[np.ndarray, np.ndarray]:
        end = mutant(mutation)
        single_low, single_high = distances(arithmetic, reached, end)
        low, high = _energy_norm(arithmetic, window, reached, end, penalty, samples)
        whole, single = _apart(low, high, distance), _apart(single_low, single_high, reach)
        return np.append(whole[0], single[0]), np.append(whole[1], single[1])

    whole_low, whole_high = _apart(low, high, distance)
    single_low, single_high = _apart(component_low, component_high, reach)
    return Replay(
        places,
        np.array([whole_low]),
        np.array([whole_high]),
        _float_steps(window, steps),
        Effects(_acting(window), lambda name: effect_of(name, norm_change, secant=_long(window, name))),
        arithmetic.bits,
        single_low,
        single_high,
        Effects(
            _acting(window), lambda name: effect_of(name, component_change, secant=_long(window, name))
        ),
        distance_from,
    )


def _apart(low, high, off: float) -> tuple[np.ndarray, np.ndarray]:
    """Interval of a distance whose end is known up to `off`, both ends rounded outwards."""
    below, above = (low - off) * DOWN, (high + off) * UP
    return (
        np.fmax(np.nextafter(below, -np.inf), 0.0),
        np.where(above > 0.0, np.nextafter(above, np.inf), above),
    )


def _total(values: list[float]) -> float:
    """Sum of numbers that are not negative; infinite where float64 does not hold it."""
    try:
        return math.fsum(values)
    except OverflowError:
        return math.inf


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
    reached = arithmetic.vector(end[places])
    low, high = distances(arithmetic, reached, exact)

    def mutant(mutation: Mutation):
        return mutable_ridge_window(arithmetic, window, penalty, samples, mutation)

    def change(mutation: Mutation) -> np.ndarray:
        try:
            return distances(arithmetic, mutant(mutation), exact)[0]
        except SingularSystemError:  # a mutant without an end has no known effect
            return np.zeros(places.size)

    return Replay(
        places,
        low,
        high,
        _float_steps(window, steps),
        Effects(_acting(window), lambda name: effect_of(name, change, secant=_long(window, name))),
        arithmetic.bits,
        distance=lambda mutation: distances(arithmetic, reached, mutant(mutation)),
    )


class _Mutants:
    """Ends of a window by mutation, as points, each made once.

    Parameters
    ----------
    arithmetic, window, penalty, samples
        The window.
    solve : RefinedBlocks
        Solver of the right block systems, for the mutations that leave them as they are.
    """

    def __init__(self, arithmetic, window: LocalWindow, penalty, samples: int, solve: RefinedBlocks):
        self._window, self._solvers = (arithmetic, window, penalty, samples), {NONE: solve}
        self._ends: dict[Mutation, list] = {}

    def __call__(self, mutation: Mutation) -> list:
        """The dual vector at the window's end, on the window's coordinates."""
        if mutation not in self._ends:
            system = system_part(mutation)
            if system not in self._solvers:
                self._solvers[system] = RefinedBlocks(*self._window, system, self._solvers[NONE])
            self._ends[mutation] = mutable_ridge_window(*self._window, mutation, self._solvers[system])
        return self._ends[mutation]


def _float_steps(window: LocalWindow, steps: list) -> RidgeSteps:
    increments = np.array([[float(value) for value in step] for step in steps])
    return RidgeSteps(np.array(window.draws, dtype=np.int64), increments)


def _long(window: LocalWindow, name: str) -> bool:
    """Whether a window is so long that only the kernel correction is worth two mutants."""
    drawn = sum(len(block) for block in window.draws)
    return name != KERNEL and drawn * len(window.coordinates) > LONG


def _acting(window: LocalWindow) -> list[str]:
    """Quantities that a window of this shape has at all; the others have no effect."""
    names = [STALE, CURVATURE, SAMPLES, PENALTY]
    if len(window.draws) > 1:
        names.append(KERNEL)
    if len(window.coordinates) < sum(len(block) for block in window.draws):
        names += [SAME, OVERLAP]
    if len(window.draws[0]) > 1:
        names.append(OFF_DIAGONAL)
    return [*names, WRITE_BACK, BOUNDARY, STREAM]


def _energy_norm(arithmetic, window: LocalWindow, one, other, penalty, samples) -> tuple[float, float]:
    """Float64 interval of ``sqrt(d'(K/penalty + m I)d)``, d the difference on the window's coordinates."""
    with arithmetic.working():
        difference = arithmetic.vector([x - y for x, y in zip(one, other, strict=True)])
        products = arithmetic.vector([arithmetic.dot(row, difference) for row in window.gram])
        square = arithmetic.dot(products, difference) / penalty
        square = square + samples * arithmetic.dot(difference, difference)
        return root_interval(square)
