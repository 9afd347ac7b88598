"""Compares the replay of a window with its bound: status, ratio, what each term could have shown."""

from __future__ import annotations

import math

import numpy as np

from sstep_verify.bounds.rounding import unit_roundoff
from sstep_verify.checks.window.choose import Window
from sstep_verify.checks.window.terms import WindowFinding
from sstep_verify.oracle.replay.window import Replay
from sstep_verify.solver import Declaration
from sstep_verify.steps import SvmSteps
from sstep_verify.verdict import Status


def resolution(declaration: Declaration, replay: Replay, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Smallest change that the solver's precision resolves: half an ulp of what a coordinate went through.

    Where a value must be exact the bound is 0, but no error of a term can show below this.
    """
    u = unit_roundoff(declaration.precision)
    if not isinstance(replay.steps, SvmSteps):
        return np.zeros(replay.lower.size)
    size = np.maximum(np.abs(begin[replay.places]), np.abs(end[replay.places]))
    np.maximum.at(size, replay.steps.draws, np.abs(replay.steps.increment))
    return u * size


def compare(window: Window, replay: Replay, bound: np.ndarray, resolved: np.ndarray) -> WindowFinding:
    """FAIL iff the enclosure's lower end exceeds the bound, PASS iff its upper end does not.

    VACUOUS where the bound is infinite: no defect could exceed it.
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
    visible = np.maximum(bound, resolved)
    dropped = {name: float(ratios(effect.dropped, bound).max()) for name, effect in replay.effects.items()}
    detectable = {
        name: 1.0 / reach if (reach := float(ratios(effect.relative, visible).max())) else math.inf
        for name, effect in replay.effects.items()
    }
    return WindowFinding(
        window,
        status,
        float(low[place] if status is Status.FAIL else high[place]),
        float(replay.upper[place]),
        float(bound[place]),
        "",
        dropped,
        detectable,
        replay.bits,
    )


def ratios(measured: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Measured / bound with 0 / 0 = 0, a value that must be exact and is; 0 where the bound is infinite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where((measured == 0.0) | np.isinf(bound), 0.0, measured / bound)
