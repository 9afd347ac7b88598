"""Compares the replay of a window with its bound: status, ratio, what each quantity could have shown."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from sstep_verify.checks.shared.finding import Finding, Window, ratios, wrong
from sstep_verify.numerics.rounding import unit_roundoff
from sstep_verify.oracle.replay.window import Replay
from sstep_verify.quantities import STREAM, WRITE_BACK
from sstep_verify.solver import Declaration
from sstep_verify.steps import SvmSteps
from sstep_verify.verdict import SEEN

SMALL = 2.0**-10
"""Width of an enclosure, over the bound, up to which a ratio is that of the error and not of the width."""


LEAST = unit_roundoff("float64")
"""Least relative error that is told as a detection limit: no factor is off by less than a rounding."""


def resolution(declaration: Declaration, replay: Replay, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Smallest change that the solver's precision resolves: half an ulp of what a coordinate went through.

    Where a value must be exact the bound is 0, but no error of a quantity can show below this.
    """
    u = unit_roundoff(declaration.precision)
    if not isinstance(replay.steps, SvmSteps):
        return np.zeros(replay.lower.size)
    size = np.maximum(np.abs(begin[replay.places]), np.abs(end[replay.places]))
    np.maximum.at(size, replay.steps.draws, np.abs(replay.steps.increment))
    return u * size


def wide(replay: Replay, bound: np.ndarray) -> bool:
    """Whether more bits would make the measured error, or a bound made from wide exact steps, smaller.

    The enclosure of the error must be narrow beside the bound. That of a step's new value is rounded to
    float64, outwards by at most 2 ulp at each end, which is 8 u of the largest value; anything wider
    comes from the balls, and then the bound itself is of their width.
    """
    width = replay.upper - replay.lower
    if not (width <= SMALL * bound)[bound > 0.0].all():
        return True
    if not isinstance(replay.steps, SvmSteps):
        return False
    steps = replay.steps
    if not (np.isfinite(steps.lower).all() and np.isfinite(steps.upper).all()):
        return True
    largest = max(float(np.abs(part).max(initial=0.0)) for part in (steps.value, steps.lower, steps.upper))
    return bool((steps.upper - steps.lower > 8 * unit_roundoff("float64") * largest).any())


def settled(replay: Replay, bound: np.ndarray, before: Replay) -> bool:
    """Whether an error is beyond its bound for certain, and more bits have not told it more exactly.

    Float64 tells a large error with as many digits as a small one, which is never narrow beside the bound.
    """
    width, earlier = replay.upper - replay.lower, before.upper - before.lower
    return bool((replay.lower > bound).any() and (width >= 0.5 * earlier).all())


def compare(
    window: Window,
    replay: Replay,
    bound: np.ndarray,
    resolved: np.ndarray,
    quantities: Iterable[str] | None = None,
) -> Finding:
    """The finding on a window, where measured / bound is largest; on an infinite bound, where there is one.

    Parameters
    ----------
    window, replay, bound, resolved
        The window, its replay, and per measured value its bound and its `resolution`.
    quantities : iterable of str, optional
        Those whose effects are wanted; all if absent.
    """
    low, high = ratios(replay.lower, bound), ratios(replay.upper, bound)
    if not np.isfinite(bound).all():
        place = int(np.argmin(np.isfinite(bound)))
    else:
        place = int(np.argmax(low if low.max() > 1.0 else high))
    names = [
        name for name in (replay.effects if quantities is None else quantities) if name in replay.effects
    ]
    visible = np.maximum(bound, resolved)
    dropped = {name: float(ratios(replay.effects[name].dropped, bound).max()) for name in names}
    effects = {name: float(ratios(replay.effects[name].relative, visible).max()) for name in names}
    return Finding(
        "",
        float(replay.lower[place]),
        float(replay.upper[place]),
        float(bound[place]),
        window,
        dropped=dropped,
        detection_limit={
            name: max(SEEN / effect, LEAST) if effect else math.inf for name, effect in effects.items()
        },
        bits=replay.bits,
    )


def moved_undrawn(window: Window, begin, end, draws: np.ndarray) -> Finding | None:
    """A coordinate that the window does not draw and that moved all the same."""
    outside = np.ones(begin.size, dtype=bool)
    outside[draws] = False
    if np.array_equal(begin[outside], end[outside]):
        return None
    moved = int(np.flatnonzero(outside & (begin != end))[0])
    note = f"coordinate {moved}, not drawn in this window, went from {begin[moved]!s} to {end[moved]!s}"
    size = float(abs(end[moved] - begin[moved]))
    return wrong("", size, window=window, note=note, signs=(STREAM, WRITE_BACK))
