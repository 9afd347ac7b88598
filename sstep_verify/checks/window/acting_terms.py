"""How much each term acts in a window of a K-SVM run, from running the window in float64.

Where a step is free, what its coordinate was before cancels; where it is clipped, nothing that came before
counts. So whether a window could show an error in a term cannot be read off its two ends. Nothing is judged
by these numbers: they choose windows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

import numpy as np

from sstep_verify.problems import LinearKernel, PolynomialKernel, Problem, RBFKernel

CHANGE = 2.0**-10
"""Relative change of a term whose effect at the window's end is looked at."""

KERNEL, OVERLAP, OMEGA = TERMS = ("kernel-correction", "overlap", "omega")


def term_weights(problem: Problem, begin: np.ndarray, draws: np.ndarray) -> dict[str, tuple[float, float]]:
    """What each term of the recurrence changes in a at a window's end, over the largest value there.

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
    dict of str to (float, float)
        Per term that the window has: the largest change of a coordinate per unit relative change of the
        term, and if the term is left out.
    """
    places, order = np.unique(draws, return_inverse=True)
    present = {KERNEL: places.size > 1, OVERLAP: places.size < draws.size, OMEGA: problem.hinge.shift > 0}
    found = dict.fromkeys((term for term in TERMS if present[term]), (0.0, 0.0))
    # A kernel that overflows gives steps that are not numbers, and no weight.
    with np.errstate(over="ignore", invalid="ignore"):
        labels = problem.targets
        hessian = labels[places, None] * _kernel_rows(problem, places) * labels
        window = (hessian @ begin, hessian[:, places], begin[places], order.ravel().tolist())
        end = _end(problem, *window, {})
        largest = float(np.abs(end).max())
        if not 0.0 < largest < np.inf:
            return found
        for term in found:
            changed, dropped = (_end(problem, *window, {term: factor}) for factor in (1.0 + CHANGE, 0.0))
            scaled = float(np.abs(changed - end).max()) / CHANGE
            found[term] = (scaled / largest, float(np.abs(dropped - end).max()) / largest)
    return found


def _end(
    problem: Problem, stale, hessian, start, order: list[int], factors: Mapping[str, float]
) -> np.ndarray:
    """The drawn coordinates at the window's end, terms multiplied by `factors` (1 where not named)."""
    shift, upper = problem.hinge.shift, problem.hinge.upper
    correct, overlap, omega = (factors.get(term, 1.0) for term in TERMS)
    moved = np.zeros(start.size)
    for i in order:
        value, curvature = start[i] + overlap * moved[i], hessian[i, i] + shift
        own = hessian[i, i] * moved[i]
        gradient = stale[i] + own + correct * (hessian[i] @ moved - own) - 1.0
        gradient += omega * shift * (start[i] + moved[i])
        updated = min(max(value - gradient / curvature, 0.0), upper) if curvature else upper
        moved[i] += updated - value
    return start + moved


def _kernel_rows(problem: Problem, places: np.ndarray) -> np.ndarray:
    """Kernel rows in float64, shape (c, m)."""
    data, kernel = problem.dense, problem.kernel
    products = data[places] @ data.T
    match kernel:
        case LinearKernel():
            return products
        case PolynomialKernel():
            return (products + kernel.offset) ** kernel.degree
        case RBFKernel():
            norms = np.einsum("ij,ij->i", data, data)
            return np.exp(-kernel.sigma * np.maximum(norms[places, None] + norms - 2 * products, 0.0))
        case _:
            assert_never(kernel)
