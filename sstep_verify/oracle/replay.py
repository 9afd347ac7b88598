"""Replays a window exactly from the solver's own alpha: how far it ended from the exact end."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sstep_reference import SingularSystemError  # the package in reference/
from sstep_reference.kernels import Columns

from sstep_verify.oracle.balls.exact_kernel import (
    DOWN,
    UP,
    PanelColumns,
    distances,
    root_interval,
    upward,
)
from sstep_verify.oracle.effects import Effects, acting
from sstep_verify.oracle.window_ends import Ends, begun_window, float_steps
from sstep_verify.problems import Problem
from sstep_verify.quantities import RidgeSteps, SvmSteps
from sstep_verify.recurrence.mutation import Before, LocalWindow, Mutation, left_out

Interval = tuple[np.ndarray, np.ndarray]
"""Lower and upper ends of k float64 intervals."""

Tried = tuple[np.ndarray, SvmSteps | RidgeSteps]
"""What a mutation changes, and its steps."""

Measure = Callable[[Any, Any, int], Interval]
"""Enclosure, two arrays of shape (k,), of the distance of two ends; so many of them are those of `Ends`."""


@dataclass(frozen=True)
class Replay:
    """The exact replay of one window from the solver's own alpha.

    Parameters
    ----------
    places : ndarray of int, shape (c,)
        Distinct coordinates of the window.
    lower, upper : ndarray, shape (k,)
        Enclosure of the solver's error: per distinct coordinate (K-SVM) or in the M-norm (K-RR).
    steps : SvmSteps or RidgeSteps
        The exact steps, for the bound.
    effects : mapping of str to ndarray, shape (k,)
        Per quantity of a step that can act in this window: lower bound on what leaving it out changes.
    bits : int
        Precision of the balls.
    tried : callable, optional
        Maps a mutation to a lower bound on what it changes, as `lower`, of a K-RR followed by that per
        coordinate, and to its steps; to None where it has no end.
    distance : callable, optional
        Maps a mutation to the distance of the solver's end from its own, as `lower` and `upper`.
    components : Replay, optional
        K-RR only: the same per distinct coordinate, k = c.
    """

    places: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    steps: SvmSteps | RidgeSteps
    effects: Mapping[str, np.ndarray]
    bits: int
    tried: Callable[[Mutation], Tried | None] | None = None
    distance: Callable[[Mutation], Interval] | None = None
    components: Replay | None = None

    def exact_end(self, problem: Problem, begin: np.ndarray, coordinate: int) -> float:
        """The exact end of a coordinate that is drawn, begun at `begin`, (m,), rounded to float64."""
        steps, place = self.steps, int(np.flatnonzero(self.places == coordinate)[0])
        if isinstance(steps, RidgeSteps):
            return math.fsum([begin[coordinate], *steps.increments[steps.draws == place]])
        dual, last = problem.dual, int(np.flatnonzero(steps.draws == place)[-1])
        if not dual.threshold and steps.lower[last] >= dual.upper:
            return float(dual.upper)
        if not dual.threshold and steps.upper[last] <= dual.lower:
            return float(dual.lower)
        return float(np.clip(steps.value[last] + steps.increment[last], dual.lower, dual.upper))

    def with_components(self) -> Replay:
        """The replay with the measures per coordinate behind the M-norm (K-RR)."""
        whole, single = self, self.components
        if single is None:
            return self
        return replace(
            self,
            lower=np.concatenate([whole.lower, single.lower]),
            upper=np.concatenate([whole.upper, single.upper]),
            effects=Effects(
                whole.effects, lambda name: np.concatenate([whole.effects[name], single.effects[name]])
            ),
        )


def replay_window(
    problem: Problem,
    kernel: Columns,
    begin: np.ndarray,
    end: np.ndarray,
    draws: np.ndarray,
    weights: np.ndarray | None = None,
    before: Before | None = None,
) -> Replay:
    """Replay a window from the solver's own a and compare at its end.

    The exact end is made by `Ends` (oracle/window_ends.py):

    * K-SVM: the end of the classical reference (Algorithm 1) in balls, compared per coordinate. The balls
      of the mutable s-step recurrence, unmutated, must overlap them, or the two oracles disagree.
    * K-SVM from maintained weights: Algorithm 1 has no such run. The exact end is what the s-step
      recurrence clips.
    * K-RR: points of many digits with a proven distance from the exact end, compared in the M-norm.
      Maintained weights move the point that the exact steps project to, not the projections.
    * K-RR where numbers are evaluated and not enclosed: the end of the classical reference (Algorithm 3),
      or from maintained weights that of the recurrence.
    * K-RR over a panel, of which no definiteness is known: balls are carried and compared per coordinate.

    Begin and end are the solver's a at both ends of the window, (m,); all else is as in `begun_window`. The
    precision of the kernel is that of the replay.
    It is an OracleDisagreementError if reference and mutable recurrence contradict each other, and a
    SingularSystemError if a block system cannot be proven invertible at this precision.
    """
    arithmetic: Any = kernel.arithmetic
    alpha = arithmetic.vector(begin)
    window = begun_window(problem, kernel, alpha, draws, weights, before)
    ends, measures = Ends(problem, kernel, window), [_per_coordinate(arithmetic)]
    exact = ends.unmutated  # K-RR: the points of many digits, or over a panel the balls
    definite = not (problem.is_svm or isinstance(kernel, PanelColumns))
    if problem.is_svm and weights is not None:
        exact = ends.clipped()  # what the recurrence clips
    elif problem.is_svm or (definite and weights is None and not ends.refined):
        exact = ends.by_reference(kernel, alpha)  # the classical run
    if definite:
        # The 2-norm is at most the M-norm over sqrt(m).
        reach = upward(ends.off / math.sqrt(problem.samples))
        energy = _energy_norm(problem, arithmetic, window, ends.off)
        measures = [energy, _per_coordinate(arithmetic, reach)]
    places = np.array(window.coordinates, dtype=np.int64)
    reached = arithmetic.vector(end[places])
    names, steps = acting(problem, window), float_steps(problem, window.draws, ends.log)

    def measured(measure: Measure) -> Replay:
        lower, upper = measure(reached, exact, 1)

        def effect(name: str) -> np.ndarray:
            try:
                return measure(ends(left_out(name)), ends.unmutated, 2)[0]
            except SingularSystemError:  # a mutant without an end has no known effect
                return np.zeros_like(lower)

        return Replay(places, lower, upper, steps, Effects(names, effect), arithmetic.bits)

    def distance(mutation: Mutation) -> Interval:
        low, high = zip(*(measure(reached, ends(mutation), 1) for measure in measures), strict=True)
        return np.concatenate(low), np.concatenate(high)

    def tried(mutation: Mutation) -> Tried | None:
        try:
            end, made = ends.tried(mutation)
        except SingularSystemError:
            return None
        return np.concatenate([measure(end, ends.unmutated, 2)[0] for measure in measures]), made

    replay, *components = map(measured, measures)
    single = components[0] if components else None
    return replace(replay, tried=tried, distance=distance, components=single)


def _per_coordinate(arithmetic: Any, off: float | None = None) -> Measure:
    """Distances of each coordinate of ends that enclose the exact ones, or are up to `off` from them."""

    def measure(one: Any, other: Any, points: int) -> Interval:
        low, high = distances(arithmetic, one, other)
        return (low, high) if off is None else _apart(low, high, points * off)

    return measure


def _energy_norm(problem: Problem, arithmetic: Any, window: LocalWindow, off: float) -> Measure:
    """``sqrt(d'(K/lambda + m I)d)``, d the difference on the window's coordinates of two ends."""
    penalty = arithmetic.number(problem.ridge.penalty)

    def measure(one: Any, other: Any, points: int) -> Interval:
        with arithmetic.working():
            difference = arithmetic.vector([x - y for x, y in zip(one, other, strict=True)])
            products = arithmetic.vector([arithmetic.dot(row, difference) for row in window.gram])
            square = arithmetic.dot(products, difference) / penalty
            low, high = root_interval(square + problem.samples * arithmetic.dot(difference, difference))
        return _apart(np.array([low]), np.array([high]), points * off)

    return measure


def _apart(low: np.ndarray, high: np.ndarray, off: float) -> Interval:
    """Interval of a distance whose end is known up to `off`, both ends rounded outwards."""
    below, above = (low - off) * DOWN, (high + off) * UP
    return (
        np.fmax(np.nextafter(below, -np.inf), 0.0),
        np.where(above > 0.0, np.nextafter(above, np.inf), above),
    )
