"""What is expected of a vector: exact a at every window end, bounds, and the mistakes it shows.

A mistake is every defect of the catalogue, and every quantity of a step left out that is none of them,
planted in the one mutable recurrence, in balls. No midpoint is taken on the way: at every window end the
balls hold the exact a of a solver that makes the mistake and no rounding error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from sstep_reference import Kernel
from sstep_reference.arithmetic import Balls

from sstep_verify.declaration import Precision
from sstep_verify.errors import InputError, OracleDisagreementError
from sstep_verify.oracle.balls.exact_kernel import (
    classical_run,
    distances,
    exact_kernel,
    magnitude_interval,
)
from sstep_verify.oracle.trajectories import EnclosedTrajectory, enclosed_trajectory
from sstep_verify.protocol import RunRequest
from sstep_verify.quantities import KERNEL, QUANTITIES, SAME, SvmSteps
from sstep_verify.recurrence.mutants import CATALOGUE, Defect, run_mutant
from sstep_verify.recurrence.mutation import NONE, TERMS, Mutation, left_out
from sstep_verify.recurrence.steps import finisher_of
from sstep_verify.rounding.arithmetic import norm
from sstep_verify.vectors import record
from sstep_verify.vectors.allowed import allowed, bound_of, encloses, enclosing, least, same_bound
from sstep_verify.vectors.record import Bounds, Expected, Point, Shown

EFFECTS: dict[str, str] = {
    "correction": "iterates depend on s: convergence is slower or fails as s grows; for s = 1 all is well",
    "step": "steps do not minimise along their coordinates: convergence is slower, or to another point",
    "box": "alpha leaves the box or cannot reach its limit: the answer is that of another problem",
    "parameter": "another problem is solved, to its own correct answer",
    "stream": "other steps are made than asked for: the limit is correct, "
    "no run can be compared step by step",
    "store": "a part of what was computed is not stored in alpha: iterates depend on s, or nothing moves",
}
"""What becomes of a solver, by the type of its mistake."""

LEFT_OUT = "-left-out"
"""Ends the name of the mistake that a quantity of a step is left out."""


def _quantities_left_out() -> Iterator[Defect]:
    """A defect for each quantity of a step whose leaving out is none of the catalogue."""
    known = {replace(defect.mutation, name="") for defect in CATALOGUE}
    for quantity in QUANTITIES:
        mutation = left_out(quantity.name)
        if quantity.name in TERMS and replace(mutation, name="") not in known:
            bug_type = "correction" if quantity.name in (KERNEL, SAME) else "step"
            named = replace(mutation, name=f"{quantity.name}{LEFT_OUT}")
            yield Defect(named, bug_type, quantity.tasks)


MISTAKES = (*CATALOGUE, *_quantities_left_out())
"""All of them: the catalogue in its order, then quantities of a step."""


def mistaken_states(request: RunRequest, kernel: Kernel, mutation: Mutation) -> dict[int, list[Any]]:
    """Run the mutable s-step recurrence in the balls of an exact kernel; `NONE` is the right run.

    Gives the dual vector, m balls, by window end from 0 to H.
    """
    problem, initial = request.problem, request.first
    blocks = request.blocks().tolist()
    finisher = finisher_of(problem, kernel.arithmetic)
    windows = run_mutant(kernel, problem.targets, finisher, initial, blocks, request.s, mutation)
    states = {window.end: list(window.alpha) for window in windows}
    return {0: list(kernel.arithmetic.vector(initial))} | states


BITS = 384
"""Precision of the balls that vectors are made in; a run loses about a bit an iteration."""

PRECISIONS: tuple[Precision, ...] = ("float64", "float32")

LEAST = 2.0**-100
"""Least bound but 0, relative to the largest number of a point.

Where a solver has nothing to round, only the oracle's own errors are left, which tell its precision alone.
"""

FAR = 2.0
"""Means of the data, in standard deviations, from which on they count as offset."""


@dataclass(frozen=True, eq=False)
class Proved:
    """What is known of a run, before it is written.

    `classical` is the exact a, m balls, by window end, by Algorithm 1 or 3; `enclosures` the same in
    decimals, middles and radius. The bounds are made from `exact`, the oracle's run, by precision and
    window end as `allowed` has them, shape (m + 1,), not yet rounded; see `LEAST`. The kernel is the exact
    one in balls.
    """

    classical: dict[int, list[Any]]
    enclosures: dict[int, tuple[tuple[str, ...], str]]
    exact: EnclosedTrajectory
    bounds: dict[Precision, dict[int, np.ndarray]]
    kernel: Any


def prove(request: RunRequest, bits: int = BITS) -> Proved:
    """Enclose the run of a request twice, and bound how far correct solvers may be from it.

    OracleDisagreementError if the classical and the s-step recurrence contradict each other, InputError if
    there is no finite bound.
    """
    problem, initial = request.problem, request.first
    kernel = exact_kernel(problem, Balls(bits))
    blocks = request.stream.blocks(0, request.iterations)
    classical = _classical(request, kernel, blocks)
    sstep = mistaken_states(request, kernel, NONE)
    enclosures = {end: enclosing(classical[end]) for end in request.stops}
    for end, (middles, radius) in enclosures.items():
        pairs = zip(classical[end], sstep[end], strict=True)
        # The s-step recurrence reaches an end of the box by a sum, never exactly.
        within = radius == "0" or encloses(middles, radius, sstep[end])
        if not within or not all(one.overlaps(other) for one, other in pairs):
            raise OracleDisagreementError(
                f"{problem.label}: after {end} iterations the classical and the s-step recurrence "
                "contradict each other"
            )
    exact = enclosed_trajectory(problem, kernel, initial, blocks, request.stops)
    apart = {
        end: _apart(request, classical[end], exact.states[end], enclosures[end][0]) for end in request.stops
    }
    bounds: dict[Precision, dict[int, np.ndarray]] = {name: {} for name in PRECISIONS}
    for name, by_end in bounds.items():
        for end, values in allowed(request, exact, name, apart).items():
            if not np.isfinite(values).all():
                raise InputError(f"{problem.label}: no finite bound for {name} after {end} iterations")
            smallest = LEAST * (float(np.max(np.abs(nearest(enclosures[end][0])))) or 1.0)
            by_end[end] = np.where(values > 0, np.maximum(values, smallest), 0.0)
    return Proved(classical, enclosures, exact, bounds, kernel)


def expected_of(id: str, request: RunRequest, proved: Proved, stated: Expected | None = None) -> Expected:
    """What is written of a proved run; bounds as stated where those are the same up to rounding."""
    said = {point.iteration: point for point in stated.points} if stated else {}
    points = []
    for end in request.stops:
        given = [
            _written(request, proved.bounds[name][end], getattr(said.get(end), name, None))
            for name in PRECISIONS
        ]
        points.append(Point(end, *proved.enclosures[end], *given))
    flags = tuple(flags_of(request, proved, points))
    return Expected(id, has_of(request, proved.exact), tuple(points), flags)


def _written(request: RunRequest, values: np.ndarray, stated: Bounds | None) -> Bounds:
    """Bounds as they are written."""
    given = [*stated.entries, stated.norm or 0.0] if stated else []
    if len(given) != values.size:
        given = [math.nan] * values.size
    *entries, norm = (
        said if same_bound(said, value) else bound_of(value)
        for said, value in zip(given, values.tolist(), strict=True)
    )
    return Bounds(tuple(entries), None if request.problem.is_svm else norm)


def nearest(middles: tuple[str, ...]) -> np.ndarray:
    """Float64 numbers nearest to decimals, shape (m,)."""
    return np.array([float(Fraction(middle)) for middle in middles])


def has_of(request: RunRequest, exact: EnclosedTrajectory) -> tuple[str, ...]:
    """What is out of the ordinary in a run."""
    problem, s = request.problem, request.s
    draws = request.stream.blocks(0, request.iterations)
    windows = [draws[begin : begin + s] for begin in range(0, request.iterations, s)]
    data, steps = problem.dense, exact.steps
    clipped = isinstance(steps, SvmSteps)
    facts = {
        record.REPEATED: any(np.unique(window).size < window.size for window in windows),
        record.AT_ZERO: clipped and bool((steps.upper < 0).any()),  # type: ignore[union-attr]
        record.AT_C: clipped and bool((steps.lower > problem.hinge.upper).any()),  # type: ignore[union-attr]
        record.SHORT: request.iterations % s != 0,
        record.STARTED: bool(request.first.any()),
        record.ZERO_ROW: bool((~data[np.unique(draws)].any(axis=1)).any()),
        record.OFFSET: bool(abs(data.mean()) > FAR * data.std()),
    }
    return tuple(name for name, fact in facts.items() if fact)


def flags_of(request: RunRequest, proved: Proved, points: list[Point]) -> Iterator[Shown]:
    """The mistakes that put a coordinate further from the exact one than twice its float64 bound."""
    limits = [2 * np.array(point.float64.entries) for point in points]
    wider = [2 * np.array(point.float32.entries) for point in points]
    for mistake in MISTAKES:
        if request.problem.loss.task not in mistake.tasks:
            continue
        states = mistaken_states(request, proved.kernel, mistake.mutation)
        effects = [_effects(proved, states[end], end) for end in request.stops]
        far = [off > limit for off, limit in zip(effects, limits, strict=True)]
        place = next((place for place, seen in enumerate(far) if seen.any()), None)
        if place is None:
            continue
        # By what is written: of two that are equally far off it is the first, whatever the last bits.
        pairs = zip(effects[place].tolist(), far[place], strict=True)
        digits = [least(value) if seen else "-1" for value, seen in pairs]
        coordinate = int(np.argmax([float(text) for text in digits]))
        single = any((off > limit).any() for off, limit in zip(effects, wider, strict=True))
        yield Shown(mistake.name, request.stops[place], coordinate, digits[coordinate], single)


def _effects(proved: Proved, states: list[Any], end: int) -> np.ndarray:
    with proved.kernel.arithmetic.working():
        pairs = zip(states, proved.classical[end], strict=True)
        return np.array([magnitude_interval(one - other)[0] for one, other in pairs])


def _classical(request: RunRequest, kernel: Any, blocks: np.ndarray) -> dict[int, list[Any]]:
    """Algorithm 1 or 3 in balls, at the ends of windows."""
    states: list[Any] = [kernel.arithmetic.vector(request.first)]
    classical_run(request.problem, kernel, states[0], blocks.tolist(), states)
    return {end: list(states[end]) for end in request.stops}


def _apart(
    request: RunRequest, balls: list[Any], oracle: Any, middles: tuple[str, ...]
) -> tuple[np.ndarray, float]:
    """Distances of the oracle's a and of the nearest float64 numbers from the exact a; see `allowed`."""
    problem = request.problem
    arithmetic = Balls(BITS)
    own = distances(arithmetic, balls, oracle)[1]
    single = own + distances(arithmetic, balls, nearest(middles).tolist())[1]
    if problem.is_svm or not own.any():
        return single, 0.0
    # ||d||_M <= sqrt(trace(M)) ||d||_2; the factor covers the roundings of the trace.
    norms = (problem.dense * problem.dense).sum(axis=1)
    trace = float(problem.kernel.diagonal(norms).sum()) / problem.ridge.penalty + problem.samples**2
    return single, math.sqrt(2 * trace) * norm(own) * 2
