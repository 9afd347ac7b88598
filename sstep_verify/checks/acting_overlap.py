"""How much an overlap acts in a window of a K-SVM run, from running the window in float64.

Where a step is free, what its coordinate was before cancels, and a later clip may swallow what is left. So
whether a window with an overlap could show an error in it cannot be read off its two ends. Nothing is
judged by these numbers: they choose windows.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.problems import PolynomialKernel, Problem, RBFKernel

CHANGE = 2.0**-10
"""Relative change of the overlap term whose effect at the window's end is looked at."""


def overlap_weight(problem: Problem, begin: np.ndarray, draws: np.ndarray) -> tuple[float, float]:
    """What the overlap term changes in a at a window's end, over the largest value there.

    Parameters
    ----------
    problem : Problem
        A K-SVM.
    begin : ndarray, shape (m,)
        The dual vector at the window's start (a).
    draws : ndarray of int, shape (s,)
        Coordinates drawn.

    Returns
    -------
    scaled, dropped : float
        Largest change of a coordinate per unit relative change of the term, and if it is left out; 0 where
        no overlap acts.
    """
    places, order = np.unique(draws, return_inverse=True)
    if places.size == draws.size:
        return 0.0, 0.0
    # A kernel that overflows gives steps that are not numbers, and no weight.
    with np.errstate(over="ignore", invalid="ignore"):
        labels = problem.targets
        hessian = labels[places, None] * _kernel_rows(problem, places) * labels
        window = (hessian @ begin, hessian[:, places], begin[places], order.ravel().tolist())
        end, more, none = (_end(problem, *window, factor) for factor in (1.0, 1.0 + CHANGE, 0.0))
        largest = float(np.abs(end).max())
        scaled, dropped = np.abs(more - end).max() / CHANGE, np.abs(none - end).max()
    return (float(scaled / largest), float(dropped / largest)) if 0.0 < largest < np.inf else (0.0, 0.0)


def _end(problem: Problem, stale, hessian, start, order: list[int], factor: float) -> np.ndarray:
    """The drawn coordinates at the window's end, the overlap term multiplied by `factor`."""
    shift, upper = problem.hinge.shift, problem.hinge.upper
    moved = np.zeros(start.size)
    for i in order:
        value, curvature = start[i] + factor * moved[i], hessian[i, i] + shift
        gradient = stale[i] + hessian[i] @ moved - 1.0 + shift * (start[i] + moved[i])
        updated = min(max(value - gradient / curvature, 0.0), upper) if curvature else upper
        moved[i] += updated - value
    return start + moved


def _kernel_rows(problem: Problem, places: np.ndarray) -> np.ndarray:
    """Kernel rows in float64, shape (c, m)."""
    data, kernel = problem.dense, problem.kernel
    products = data[places] @ data.T
    if isinstance(kernel, RBFKernel):
        norms = np.einsum("ij,ij->i", data, data)
        return np.exp(-kernel.sigma * np.maximum(norms[places, None] + norms - 2 * products, 0.0))
    return (products + kernel.offset) ** kernel.degree if isinstance(kernel, PolynomialKernel) else products
