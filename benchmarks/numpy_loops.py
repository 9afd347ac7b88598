"""The solver one would write in plain NumPy: vectorised, s-step, no compiled loop."""

from __future__ import annotations

import numpy as np

from sstep_verify.problems import Kernel, PolynomialKernel, Problem, RBFKernel


def kernel_rows(kernel: Kernel, data: np.ndarray, norms: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Kernel rows of some samples, shape (c, m), in NumPy expressions."""
    products = data[columns] @ data.T
    if isinstance(kernel, RBFKernel):
        distances = norms[columns, None] + norms - 2.0 * products
        return np.exp(-kernel.sigma * np.maximum(distances, 0.0))
    if isinstance(kernel, PolynomialKernel):
        return (products + kernel.offset) ** kernel.degree
    return products


def run(problem: Problem, blocks: np.ndarray, s: int) -> np.ndarray:
    """Run s-step DCD or BDCD from a = 0.

    Parameters
    ----------
    problem : Problem
        What is solved; dense data.
    blocks : ndarray of int64, shape (H, b)
        Drawn blocks.
    s : int
        Iterations per window.

    Returns
    -------
    ndarray, shape (m,)
        The dual vector after H iterations.
    """
    data, norms = problem.dense, np.einsum("ij,ij->i", problem.dense, problem.dense)
    alpha = np.zeros(problem.samples)
    window_of = _svm_window if problem.is_svm else _ridge_window
    for begin in range(0, blocks.shape[0], s):
        window = blocks[begin : begin + s]
        columns, positions = np.unique(window, return_inverse=True)
        panel = kernel_rows(problem.kernel, data, norms, columns)
        window_of(problem, panel, positions.reshape(window.shape), window, alpha)
    return alpha


def _svm_window(problem: Problem, panel, positions, window, alpha) -> None:
    labels, draws, rows = problem.targets, window[:, 0], positions[:, 0]
    shift, upper = problem.hinge.shift, problem.hinge.upper
    signs = labels[draws]
    gradient = signs * (panel @ (labels * alpha))[rows] - 1.0
    coupling = panel[rows][:, draws] * signs[:, None] * signs
    curvature = coupling.diagonal() + shift
    for place, i in enumerate(draws):
        slope = gradient[place] + shift * alpha[i]
        new = upper if curvature[place] == 0 else min(max(alpha[i] - slope / curvature[place], 0.0), upper)
        gradient[place + 1 :] += coupling[place, place + 1 :] * (new - alpha[i])
        alpha[i] = new


def _ridge_window(problem: Problem, panel, positions, window, alpha) -> None:
    samples, penalty = problem.samples, problem.ridge.penalty
    for rows, block in zip(positions, window, strict=True):
        own = panel[rows]
        system = own[:, block] / penalty
        system[np.diag_indices(block.size)] += samples
        rhs = problem.targets[block] - samples * alpha[block] - own @ alpha / penalty
        alpha[block] += np.linalg.solve(system, rhs)
