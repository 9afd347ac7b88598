"""Parts of all adapters: start vector in a precision, trajectory from states made one by one, observers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.protocol import Observer, RunRequest
from sstep_verify.trajectory import Trajectory

PRECISIONS = ("float32", "float64", "longdouble")


def start_vector(request: RunRequest, precision: str) -> np.ndarray:
    """Start vector as a solver of this precision holds it, shape (m,).

    Float64, or longdouble where the precision is; for float32 the values are float32 numbers. InputError if
    an entry is beyond the range of the precision.
    """
    initial = request.first
    with np.errstate(over="ignore"):
        held = initial.astype(precision)
    if not np.isfinite(held).all():
        worst = initial[~np.isfinite(held)][0]
        raise InputError(f"a0 holds {worst!r}, which is beyond the range of {precision}")
    return kept(held)


def kept(alpha: np.ndarray) -> np.ndarray:
    """Copy of a state without any rounding: longdouble stays so, all else becomes float64."""
    return np.array(alpha, dtype=np.longdouble if alpha.dtype == np.longdouble else np.float64)


def record(
    request: RunRequest,
    initial: np.ndarray,
    advance: Callable[[np.ndarray, int, int], np.ndarray],
    observe: Observer | None,
) -> Trajectory:
    """Make a run from one recorded iteration to the next.

    `initial` (m,) is the state at iteration 0; ``advance(a, begin, end)`` returns the state at
    iteration `end`, given the one at `begin`. `observe` is called at every recorded iteration;
    returning True ends the run there.
    """
    states, stops, seconds, stopped = [initial], request.stops, 0.0, "iterations"
    for place, stop in enumerate(stops):
        if place:
            clock = perf_counter()
            states.append(kept(advance(states[-1], stops[place - 1], stop)))
            seconds += perf_counter() - clock
        if observe is not None and observe(stop, states[-1]):
            stopped = "observer"
            break
    made = stops[: len(states)]
    return Trajectory(
        s=request.s,
        start=request.start,
        iterations=np.array(made, dtype=np.int64),
        alphas=np.array(states),
        counters={"windows": -(-made[-1] // request.s)},
        timers={"run": seconds},
        stopped=stopped,
    )


def observed(
    whole: Trajectory,
    request: RunRequest,
    observe: Observer | None,
    again: Callable[[RunRequest], Trajectory],
) -> Trajectory:
    """Let an observer look at a run that is over.

    `again` makes another run: up to where the observer would have ended this one, so that its counts
    are its own.
    """
    if observe is None:
        return whole
    for iteration, alpha in zip(whole.iterations.tolist(), whole.alphas, strict=True):
        if observe(iteration, alpha):
            if iteration < whole.length:
                record = tuple(stop for stop in request.stops if stop <= iteration)
                whole = again(replace(request, iterations=iteration, record=record))
            return replace(whole, stopped="observer")
    return whole
