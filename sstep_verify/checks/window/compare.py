"""Compares the replay of a window with its bound: status, ratio, what each quantity could have shown."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from sstep_verify.bounds.rounding import unit_roundoff
from sstep_verify.checks.window.choose import Window
from sstep_verify.checks.window.terms import WindowFinding
from sstep_verify.oracle.replay.window import Replay
from sstep_verify.solver import Declaration
from sstep_verify.steps import SvmSteps
from sstep_verify.verdict import Status

SMALL = 2.0**-10
"""Width of an enclosure, over the bound, up to which a ratio is that of the error and not of the width."""


LEAST = unit_roundoff("float64")
"""Least relative error that is told as detectable: no factor is off by less than a rounding."""


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


def compare(
    window: Window,
    replay: Replay,
    bound: np.ndarray,
    resolved: np.ndarray,
    quantities: Iterable[str] | None = None,
) -> WindowFinding:
    """FAIL iff the enclosure's lower end exceeds the bound, PASS iff its upper end does not.

    VACUOUS where the bound is infinite: no defect could exceed it.

    Parameters
    ----------
    window, replay, bound, resolved
        The window, its replay, and per measured value its bound and its `resolution`.
    quantities : iterable of str, optional
        Those whose effects are wanted; all if absent.
    """
    low, high = ratios(replay.lower, bound), ratios(replay.upper, bound)
    place = int(np.argmax(high))
    if not np.isfinite(bound).all():
        status = Status.VACUOUS
    elif low.max() > 1.0:
        place, status = int(np.argmax(low)), Status.FAIL
    elif not high.max() <= 1.0:
        status = Status.INCONCLUSIVE
    else:
        status = Status.PASS
    names = [
        name for name in (replay.effects if quantities is None else quantities) if name in replay.effects
    ]
    visible = np.maximum(bound, resolved)
    dropped = {name: float(ratios(replay.effects[name].dropped, bound).max()) for name in names}
    reaches = {name: float(ratios(replay.effects[name].relative, visible).max()) for name in names}
    return WindowFinding(
        window,
        status,
        float(low[place] if status is Status.FAIL else high[place]),
        float(replay.upper[place]),
        float(bound[place]),
        "",
        dropped,
        {name: max(1.0 / reach, LEAST) if reach else math.inf for name, reach in reaches.items()},
        replay.bits,
    )


def ratios(measured: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Measured / bound with 0 / 0 = 0, a value that must be exact and is; 0 where the bound is infinite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where((measured == 0.0) | np.isinf(bound), 0.0, measured / bound)
