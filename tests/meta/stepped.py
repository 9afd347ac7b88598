"""An s-step solver of a few lines with a factor on every quantity of a step; it logs its steps."""

from __future__ import annotations

import numpy as np

from sstep_verify.adapters import CallableSolver
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem
from sstep_verify.quantities import (
    CURVATURE,
    KERNEL,
    LABELS,
    LOWER,
    OFF_DIAGONAL,
    OMEGA,
    OVERLAP,
    PENALTY,
    SAME,
    SAMPLES,
    STALE,
    STREAM,
    TAIL,
    UPPER,
)

DROPPED = {CURVATURE: 2.0, PENALTY: 2.0, LABELS: -1.0, UPPER: np.inf}
"""Factors that stand for leaving a quantity out, where that is not 0."""


def stepped_solver(frozen: bool = False, **factors: float) -> CallableSolver:
    """The solver; `factors` are by quantity, names with underscores, 1 where not named."""
    named = {name.replace("_", "-"): factor for name, factor in factors.items()}

    def solve(problem, blocks, s, a0, log):
        one = _ridge if not problem.is_svm else _svm
        return one(problem, blocks, s, a0, log, frozen, lambda name: named.get(name, 1.0))

    update = "frozen" if frozen else "in-place"
    return CallableSolver(
        solve, Declaration("stepped", update=update, rbf="difference", log=True, factorisation="lu")
    )


def kernel_matrix(problem: Problem) -> np.ndarray:
    """Kernel entries by differences (RBF), or the products."""
    data, kernel = problem.dense, problem.kernel
    if kernel.name == "linear":
        return data @ data.T
    difference = data[:, None] - data[None]
    return np.exp(-kernel.sigma * (difference**2).sum(axis=2))


def _svm(problem, blocks, s, a0, log, frozen, factor):
    labels, alpha = problem.targets, a0.copy()
    hessian = kernel_matrix(problem) * labels[:, None] * labels
    loss = problem.hinge
    upper = loss.upper * factor(UPPER) if np.isfinite(loss.upper) else np.inf
    for begin in range(0, len(blocks), s):
        window = blocks[begin : begin + s, 0]
        if factor(TAIL) == 0.0 and window.size < s:
            log[begin:, 0] = alpha[window]
            continue
        start, moved = alpha.copy(), np.zeros(alpha.size)
        for place, drawn in enumerate(window):
            late = factor(STREAM) == 0.0 and begin + place > 0
            i = blocks[begin + place - 1, 0] if late else drawn
            stale = factor(STALE) * (hessian[i] @ start)
            own = factor(SAME) * hessian[i, i] * moved[i]
            correction = factor(KERNEL) * (hessian[i] @ moved - hessian[i, i] * moved[i])
            product = factor(LABELS) * (stale + own + correction)
            value = start[i] + (factor(OVERLAP) if frozen else 1.0) * moved[i]
            gradient = product - 1.0 + factor(OMEGA) * loss.shift * (start[i] + moved[i])
            new = value - gradient / (factor(CURVATURE) * (hessian[i, i] + loss.shift))
            new = max(new, factor(LOWER) * 0.0 if factor(LOWER) == 1.0 else new * (1.0 - factor(LOWER)))
            new = min(new, upper)
            moved[i] += new - value
            if not frozen:
                alpha[i] = new
            log[begin + place, 0] = (start[drawn] + moved[drawn]) if frozen or late else new
        if frozen:
            alpha = start + moved
    return alpha


def _ridge(problem, blocks, s, a0, log, frozen, factor):
    alpha, samples = a0.copy(), problem.samples * factor(SAMPLES)
    kernel = kernel_matrix(problem) / (problem.ridge.penalty * factor(PENALTY))
    for begin in range(0, len(blocks), s):
        window = blocks[begin : begin + s]
        if factor(TAIL) == 0.0 and len(window) < s:
            log[begin:] = alpha[window]
            continue
        start, moved = alpha.copy(), np.zeros(alpha.size)
        for place, drawn in enumerate(window):
            late = factor(STREAM) == 0.0 and begin + place > 0
            block = blocks[begin + place - 1] if late else drawn
            rows = kernel[block]
            own = rows[np.arange(block.size), block] * moved[block]
            product = factor(STALE) * (rows @ start) + factor(SAME) * own
            product = product + factor(KERNEL) * (rows @ moved - own)
            value = start[block] + (factor(OVERLAP) if frozen else 1.0) * moved[block]
            system = rows[:, block] * factor(OFF_DIAGONAL)
            np.fill_diagonal(system, rows[np.arange(block.size), block])
            system = factor(CURVATURE) * (system + samples * np.eye(block.size))
            moved[block] += np.linalg.solve(system, problem.targets[block] - samples * value - product)
            alpha = start + moved
            log[begin + place] = alpha[drawn]
    return alpha
