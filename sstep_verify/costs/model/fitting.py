"""The fit: logarithms of parameters, residuals of logarithms of times, by a maintained optimiser."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import least_squares

from sstep_verify.costs.model.published import START, Times, times
from sstep_verify.costs.model.timings import Runs, Timings

TIMER_WEIGHT, SCALE, SHRINKAGE = 0.5, 0.5, 0.1
"""Of a timer's residual beside the total's; residual from which the loss grows linearly; of the pull of
each logarithm to where it began."""


def fit(
    timings: Timings,
    begin: dict[str, float] | None = None,
    model: Callable[[dict[str, float], Runs], Times] = times,
) -> dict[str, float]:
    """Parameters with which a model comes nearest to timings.

    Parameters
    ----------
    timings : Timings
        What was measured.
    begin : dict, optional
        Where the fit begins, by default `START`.
    model : callable
        Gives `Times` of parameters and runs.

    Returns
    -------
    dict

    Notes
    -----
    Of each run the residuals are log(model / measured) of the total and, at half the weight, of each timer,
    to both of which 2 % of the total and a microsecond are added: rank 0's timers may be next to nothing.
    """
    begin = dict(START if begin is None else begin)
    names = list(begin)
    origin = np.log(list(begin.values()))
    slack = (0.02 * timings.total + 1.0)[:, None]

    def residuals(place: np.ndarray) -> np.ndarray:
        found = model(dict(zip(names, np.exp(place), strict=True)), timings.runs)
        timers = np.log((found.timers + slack) / (timings.phases + slack))
        whole = np.log(found.total / timings.total)
        return np.concatenate([whole, TIMER_WEIGHT * timers.ravel(), SHRINKAGE * (place - origin)])

    best = least_squares(residuals, origin, loss="soft_l1", f_scale=SCALE)
    return dict(zip(names, np.exp(best.x).tolist(), strict=True))


def errors(predicted: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """Relative errors |predicted / measured - 1|."""
    return np.abs(predicted / measured - 1)
