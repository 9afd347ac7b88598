"""The fit to published timings: parameters of the model, and a smooth correction near what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np
from model_timings import Array, Timings, cell_of
from scipy.optimize import least_squares, minimize

from sstep_verify.costs.machine import Machine
from sstep_verify.costs.published import START, times

TIMER_WEIGHT, SCALE, SHRINKAGE = 0.5, 0.5, 0.1
"""Of a timer's residual beside the total's; residual from which the loss grows linearly; of the pull of
each logarithm to where it began."""

LENGTHS, STIFFNESSES = (0.5, 1.0, 2.0, 4.0), (4.0, 8.0, 16.0, 32.0, 64.0)
"""Among which the correction's two numbers are chosen."""

Split = tuple[Array, Array]
"""Indices of what is fitted, and of what is held out."""


def fit(timings: Timings) -> dict[str, float]:
    """Parameters with which the model comes nearest to timings, by a maintained optimiser.

    Of each run the residuals are log(model / measured) of the total and, at half the weight, of each timer,
    to both of which 2 % of the total and a microsecond are added: rank 0's timers may be next to nothing.
    What is fitted are logarithms of the parameters.
    """
    origin = np.log(list(START.values()))
    slack = (0.02 * timings.total + 1.0)[:, None]

    def named(place: Array) -> dict[str, float]:
        return dict(zip(START, np.exp(place).tolist(), strict=True))

    def residuals(place: Array) -> Array:
        modelled = times(named(place), timings)
        timers = np.log((modelled.timers + slack) / (timings.phases + slack))
        whole = np.log(modelled.total / timings.total)
        return np.concatenate([whole, TIMER_WEIGHT * timers.ravel(), SHRINKAGE * (place - origin)])

    return named(least_squares(residuals, origin, loss="soft_l1", f_scale=SCALE).x)


def errors(predicted: Array, measured: Array) -> Array:
    """Relative errors |predicted / measured - 1|."""
    return np.abs(predicted / measured - 1)


class Correction:
    """What the model is off by, near runs that were measured: a curve through log residuals, shape (k,).

    Over logarithms of P, s and b, with Matern 3/2 correlation, in three parts of one size: shared by all
    runs of a data set, by those of a method and kernel on it, and by a cell (data set, method, kernel, b).
    Of all such curves it is the one with the least

        sum |residual - curve| + stiffness / 2 |curve|^2,

    by absolute deviations, since some runs and whole jobs took up to ten times as long as their neighbours.
    It returns to the model away from what was measured, so it interpolates and does not extrapolate. Runs
    tell of each other over a `length` in log2 P, log2 s or log2 b.

    The curve is a sum of correlations with the runs. Its coefficients solve the dual problem, a quadratic
    one in which none is larger than 1 / stiffness: no run pulls harder, however far off it is. Runs of two
    data sets have nothing to do with each other, so each data set is solved for alone.
    """

    def __init__(self, timings: Timings, residuals: Array, length: float, stiffness: float):
        self._timings, self._length = timings, length
        self._pulls = np.zeros(len(timings))
        for name in np.unique(timings.dataset):
            mine = timings.dataset == name
            known = timings[mine]
            self._pulls[mine] = _pulls(self._covariance(known, known), residuals[mine], 1 / stiffness)

    def __call__(self, timings: Timings) -> Array:
        """Logarithm of the factor for runs, shape (k,)."""
        curve = np.zeros(len(timings))
        for name in np.unique(timings.dataset):
            asked, mine = timings.dataset == name, self._timings.dataset == name
            near = self._covariance(timings[asked], self._timings[mine])
            curve[asked] = near @ self._pulls[mine]
        return curve

    def _covariance(self, one: Timings, other: Timings) -> Array:
        """Of runs of one data set."""

        def same(left: Array, right: Array) -> Array:
            return left[:, None] == right[None]

        program = same(one.method, other.method) & same(one.kernel, other.kernel)
        parts = 1.0 + program + (program & same(one.block, other.block))
        for name in ("ranks", "s", "block"):
            left, right = (np.log2(timings[name]) for timings in (one, other))
            gap = np.abs(left[:, None] - right[None]) / self._length
            parts = parts * (1 + gap) * np.exp(-gap)
        return parts


def _pulls(covariance: Array, residuals: Array, most: float) -> Array:
    """The coefficients, each between -most and most."""

    def objective(pulls: Array) -> tuple[float, Array]:
        curve = covariance @ pulls
        return float(0.5 * pulls @ curve - residuals @ pulls), curve - residuals

    bounds = [(-most, most)] * residuals.size
    return minimize(objective, np.zeros(residuals.size), jac=True, method="L-BFGS-B", bounds=bounds).x


def correction(timings: Timings, residuals: Array) -> Correction:
    """The correction with the length and stiffness that tell best of every second rank count of these runs.

    Nothing else than what is fitted is looked at: residuals are logarithms of measured over modelled.
    """
    splits = [between(timings, first) for first in (1, 2)]

    def off(numbers: tuple[float, float]) -> float:
        """Mean absolute error of the logarithm."""
        left = []
        for known, held in splits:
            curve = Correction(timings[known], residuals[known], *numbers)
            left.append(np.abs(curve(timings[held]) - residuals[held]))
        return float(np.concatenate(left).mean())

    return Correction(timings, residuals, *min(product(LENGTHS, STIFFNESSES), key=off))


def modelled(timings: Timings, split: Split, corrected: bool = False) -> Array:
    """Times that the model predicts for what is held out, which it is not given."""
    fitted, held = (timings[which] for which in split)
    parameters = fit(fitted)
    predicted = times(parameters, held).total
    if corrected:
        residuals = np.log(fitted.total / times(parameters, fitted).total)
        predicted = predicted * np.exp(correction(fitted, residuals)(held))
    return predicted


def beyond(timings: Timings) -> Split:
    """Fitted up to 64 ranks, held out above."""
    small = timings.ranks <= 64
    return np.flatnonzero(small), np.flatnonzero(~small)


def between(timings: Timings, first: int = 1, step: int = 2) -> Split:
    """Of each cell every second rank count is held out, from the second or the third on, never the last.

    Or one of every `step`, from the one numbered `first` on: in `step` splits each is held out once.
    """
    ranks, cells = timings.ranks, cell_of(timings)
    held = np.zeros(len(timings), dtype=bool)
    for cell in range(cells.max() + 1):
        mine = cells == cell
        held |= mine & np.isin(ranks, np.unique(ranks[mine])[first:-1:step])
    return np.flatnonzero(~held), np.flatnonzero(held)


def tenths(timings: Timings) -> Iterator[Split]:
    """A tenth of the runs held out at a time, drawn: of most, the same job at another s is fitted."""
    inner = np.concatenate([between(timings, first)[1] for first in (1, 2)])
    for held in np.array_split(np.random.default_rng(0).permutation(inner), 10):
        yield np.setdiff1d(np.arange(len(timings)), held), held


def without(timings: Timings) -> Iterator[tuple[str, Split]]:
    """Each data set held out in turn."""
    for name in np.unique(timings.dataset):
        other = timings.dataset != name
        yield str(name), (np.flatnonzero(other), np.flatnonzero(~other))


def published_machine(parameters: dict[str, float], stated: dict[str, float]) -> Machine:
    """The machine of parameters that were fitted to the published timings, with errors by its `ERRORS`.

    Its rates for the production solver are those of the published s-step programs without the transpose,
    and with no time of a window's own: what they leave open is said in docs/model.md.
    """
    own = {name: float(f"{value:.4g}") for name, value in parameters.items()}
    return Machine(
        name="perlmutter",
        source="published timings of the paper's C/MPI programs on a Cray EX",
        error=(
            f"median {stated['classical']:g} % (classical) and {stated['s_step']:g} % (s-step) for the "
            "published programs on more ranks than were fitted; on data not fitted "
            f"{stated['unfitted_least']:g} to {stated['unfitted_most']:g} %; for other programs not "
            "validated"
        ),
        dense=[[1, 1e3 * own["pair"]]],
        sparse=[[1, 1e3 * own["pair"]]],
        polynomial=1e3 * own["polynomial"],
        rbf=1e3 * own["rbf"],
        gradient=1e3 * (own["gradient"] + own["out"] + own["clear"]),
        step=own["step"],
        correction=1e3 * own["solve"],
        solve=1e3 * own["solve"],
        window=own["call"],
        published=own,
        errors=stated,
    )
