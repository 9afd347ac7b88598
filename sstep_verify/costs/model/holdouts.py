"""What is held out of the published timings, and how well it is predicted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import numpy as np

from sstep_verify.costs.model.correction import Correction
from sstep_verify.costs.model.fitting import fit
from sstep_verify.costs.model.published import times
from sstep_verify.costs.model.timings import Array, Timings

Split = tuple[Array, Array]
"""Indices of what is fitted, and of what is held out."""

LENGTHS, STIFFNESSES = (0.5, 1.0, 2.0, 4.0), (4.0, 8.0, 16.0, 32.0, 64.0)
"""Among which the correction's two numbers are chosen."""


def beyond(timings: Timings, ranks: int = 64) -> Split:
    """Fitted up to so many ranks, held out above."""
    small = timings.runs.ranks <= ranks
    return np.flatnonzero(small), np.flatnonzero(~small)


def between(timings: Timings, first: int = 1, step: int = 2) -> Split:
    """Of each cell every second rank count is held out, from the second or the third on, never the last.

    Or one of every `step`, from the one numbered `first` on: in `step` splits each is held out once.
    """
    runs, cells = timings.runs, timings.runs.cells()
    held = np.zeros(len(runs), dtype=bool)
    for cell in range(cells.max() + 1):
        ranks = np.unique(runs.ranks[cells == cell])
        held |= (cells == cell) & np.isin(runs.ranks, ranks[first:-1:step])
    return np.flatnonzero(~held), np.flatnonzero(held)


def tenths(timings: Timings) -> Iterator[Split]:
    """A tenth of the runs held out at a time, drawn: of most, the same job at another s is fitted."""
    inner = np.concatenate([between(timings, first)[1] for first in (1, 2)])
    for held in np.array_split(np.random.default_rng(0).permutation(inner), 10):
        yield np.setdiff1d(np.arange(len(timings.runs)), held), held


def without(timings: Timings) -> Iterator[tuple[str, Split]]:
    """Each data set held out in turn."""
    for name in np.unique(timings.runs.data):
        other = timings.runs.data != name
        yield str(name), (np.flatnonzero(other), np.flatnonzero(~other))


def correction(timings: Timings, residuals: Array) -> Correction:
    """The correction with the length and stiffness that tell best of every second rank count of these runs.

    Parameters
    ----------
    timings : Timings
        What is fitted; nothing else is looked at.
    residuals : ndarray, shape (k,)
        Logarithms of measured over modelled.
    """
    splits = [between(timings, first) for first in (1, 2)]

    def off(numbers: tuple[float, float]) -> float:
        """Mean absolute error of the logarithm."""
        left = []
        for known, held in splits:
            made = Correction(timings.runs.take(known), residuals[known], *numbers)
            left.append(np.abs(made(timings.runs.take(held)) - residuals[held]))
        return float(np.concatenate(left).mean())

    return Correction(timings.runs, residuals, *min(product(LENGTHS, STIFFNESSES), key=off))


def modelled(timings: Timings, split: Split, corrected: bool = False) -> Array:
    """Times that the model predicts for what is held out, which it is not given."""
    fitted, runs = timings.take(split[0]), timings.runs.take(split[1])
    parameters = fit(fitted)
    predicted = times(parameters, runs).total
    if corrected:
        residuals = np.log(fitted.total / times(parameters, fitted.runs).total)
        predicted = predicted * np.exp(correction(fitted, residuals)(runs))
    return predicted


def neighbours(timings: Timings, split: Split) -> Array:
    """Power laws through the neighbouring rank counts of the same cell and s, also beyond the last two.

    A cell with no rank count that is fitted gets NaN, with one that one's time.
    """
    runs, cells = timings.runs, timings.runs.cells()
    fitted, found = split[0], []
    for place in split[1]:
        same = fitted[(cells[fitted] == cells[place]) & (runs.s[fitted] == runs.s[place])]
        x, order = np.unique(np.log(runs.ranks[same]), return_index=True)
        y, at = np.log(timings.total[same])[order], np.log(runs.ranks[place])
        if x.size < 2:
            found.append(y[0] if x.size else np.nan)
            continue
        right = int(np.clip(np.searchsorted(x, at), 1, x.size - 1))
        slope = (y[right] - y[right - 1]) / (x[right] - x[right - 1])
        found.append(y[right - 1] + slope * (at - x[right - 1]))
    return np.exp(np.array(found))


def best_s(timings: Timings, held: Array, predicted: Array) -> tuple[Array, Array]:
    """Of each held-out cell and rank count: predicted over measured best s, and what that one costs more.

    Returns
    -------
    ratios, excess : ndarray
        Best s predicted over measured; time measured there over the measured best, less 1. Of s-step runs.
    """
    runs, cells = timings.runs.take(held), timings.runs.cells()[held]
    measured, ratios, excess = timings.total[held], [], []
    for cell, ranks in sorted(set(zip(cells.tolist(), runs.ranks.tolist(), strict=True))):
        which = np.flatnonzero((cells == cell) & (runs.ranks == ranks) & (runs.s > 1))
        if which.size < 3:
            continue
        chosen, best = which[np.argmin(predicted[which])], which[np.argmin(measured[which])]
        ratios.append(runs.s[chosen] / runs.s[best])
        excess.append(measured[chosen] / measured[best] - 1)
    return np.array(ratios), np.array(excess)


def twins(timings: Timings) -> tuple[Array, Array]:
    """What one job is off by, as two tell that do nearly the same: K-SVM and K-RR with b = 1.

    They ran on the same data set, kernel, P and s, in jobs of their own. Of the logarithm of the ratio of
    their times its median over P is taken away: all that the best prediction could know of both.

    Returns
    -------
    which, off : ndarray
        Indices of the runs of K-RR that have a twin; relative errors, one run's share of the difference.
    """
    runs = timings.runs
    single = runs.block == 1
    keys = list(zip(runs.data, runs.kernel, runs.s, runs.ranks, strict=True))
    other = {keys[place]: place for place in np.flatnonzero(single & (runs.method == "ksvm"))}
    which = np.array([k for k in np.flatnonzero(single & (runs.method == "krr")) if keys[k] in other])
    ratio = np.log(timings.total[which] / timings.total[[other[keys[k]] for k in which]])
    curves = np.unique(["|".join(map(str, keys[k][:3])) for k in which], return_inverse=True)[1]
    for curve in np.unique(curves):
        ratio[curves == curve] -= np.median(ratio[curves == curve])
    return which, np.abs(np.expm1(ratio / np.sqrt(2)))
