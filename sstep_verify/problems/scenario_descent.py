"""Coordinate descent in float64 for the design of scenarios: near-converged starts, and which terms act.

Nothing is judged by these numbers: they choose inputs. A wrong one makes an input less telling, never a
verdict wrong.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sstep_verify.problems.kernels import PolynomialKernel, RBFKernel
from sstep_verify.problems.problem import Problem
from sstep_verify.problems.streams import IndexStream

SWEEPS = 64
"""Passes over all coordinates behind a near-converged start of a K-SVM."""

SHARE = 0.01
"""Part of a gradient's size that a term must make up, and part of its effect that must last, to act."""

CHANGE = 2.0**-10
"""Relative change of a term, either way, whose effect at the window's end is looked at."""

TERMS = ("kernel-correction", "overlap", "omega")


def design_kernel(problem: Problem) -> np.ndarray:
    """Kernel matrix (K), shape (m, m), float64, distances by direct difference."""
    data = problem.dense
    if isinstance(problem.kernel, RBFKernel):
        distances = np.zeros((problem.samples, problem.samples))
        for feature in data.T:
            distances += np.square(feature[:, None] - feature)
        return np.exp(-problem.kernel.sigma * distances)
    products = np.zeros((problem.samples, problem.samples))
    for feature in data.T:
        products += feature[:, None] * feature
    if isinstance(problem.kernel, PolynomialKernel):
        return (products + problem.kernel.offset) ** problem.kernel.degree
    return products


def near_converged(problem: Problem, precision: str) -> np.ndarray:
    """A start vector close to the optimum (a0), shape (m,), feasible, rounded to 24 bits.

    K-SVM: the result of `SWEEPS` cyclic sweeps of coordinate descent from zero. K-RR: the solution of
    ``(K/lambda + m I) a = y`` in float64. Rounding leaves it a distance of about 2**-24 from there, and
    hides most of what differs between linear algebra libraries.

    Parameters
    ----------
    problem : Problem
        The problem.
    precision : {"float64", "float32"}
        With float32 the vector is representable there.
    """
    kernel = design_kernel(problem)
    upper = np.inf
    if problem.is_svm:
        upper = problem.hinge.upper
        vector = _swept(problem, kernel)
    else:
        vector = _ridge_solution(problem, kernel, problem.targets)
    mantissas, exponents = np.frexp(vector)
    vector = np.minimum(np.ldexp(np.rint(np.ldexp(mantissas, 24)), exponents - 24), upper)
    return vector.astype(np.float32).astype(np.float64) if precision == "float32" else vector


def _ridge_solution(problem: Problem, kernel: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solution of ``(K/lambda + m I) x = right`` for a positive semidefinite K, however large.

    By eigenvalues: m would be lost in the sum if K/lambda is large, and elimination meet a zero pivot.
    """
    values, vectors = np.linalg.eigh(kernel / problem.ridge.penalty)
    return vectors @ ((vectors.T @ right) / (np.maximum(values, 0.0) + problem.samples))


def _swept(problem: Problem, kernel: np.ndarray) -> np.ndarray:
    hessian = problem.targets[:, None] * kernel * problem.targets
    shift, upper = problem.hinge.shift, problem.hinge.upper
    vector = np.zeros(problem.samples)
    for _ in range(SWEEPS):
        for i, row in enumerate(hessian):
            gradient = np.add.reduce(row * vector) - 1.0 + shift * vector[i]
            vector[i] = _step(vector[i], gradient, row[i] + shift, upper)
    return vector


def _step(value: float, gradient: float, curvature: float, upper: float) -> float:
    """One clipped coordinate step; a coordinate without curvature goes to the end of the box."""
    if not curvature:
        return upper
    with np.errstate(over="ignore"):  # a step beyond the range of numbers ends at the box all the same
        return float(np.clip(value - gradient / np.float64(curvature), 0.0, upper))


def acting_terms(
    problem: Problem, stream: IndexStream, s: int, initial: np.ndarray | None = None
) -> frozenset[str]:
    """Terms of the s-step recurrence (the paper's form) that carry weight somewhere in a run.

    A term carries weight in a window if in some step it makes up at least `SHARE` of the size of the
    gradient (K-RR: of the right-hand side; by largest coordinates), and making it larger or smaller by
    `CHANGE` throughout the window moves a at the window's end, either way, by at least ``SHARE CHANGE``
    times what the window moved it. The second is needed: an overlap that only moves a free K-SVM step has
    size but no effect, and a clip may swallow any effect. Sizes are sums of the parts' absolute values:
    near the optimum the parts cancel, and what is left is rounding error.

    Parameters
    ----------
    problem : Problem
        The problem, small.
    stream : IndexStream
        Its index stream; the run goes through all of it.
    s : int
        Steps per window.
    initial : ndarray, shape (m,), optional
        Start vector (a0).

    Returns
    -------
    frozenset of str
        Some of `TERMS`.
    """
    kernel = design_kernel(problem)
    vector = np.zeros(problem.samples) if initial is None else initial.copy()
    window = _svm_window if problem.is_svm else _ridge_window
    acting: set[str] = set()
    for begin in range(0, stream.length, s):
        draws = stream.blocks(begin, min(begin + s, stream.length))
        moved, shares = window(problem, kernel, vector, draws, {})
        for term, share in shares.items():
            if term in acting or share < SHARE or not moved.any():
                continue
            ends = [
                window(problem, kernel, vector, draws, {term: factor})[0]
                for factor in (1.0 - CHANGE, 1.0 + CHANGE)
            ]
            effect = min(np.abs(end - moved).max() for end in ends)
            if effect >= SHARE * CHANGE * np.abs(moved).max():
                acting.add(term)
        vector += moved
    return frozenset(acting)


def _svm_window(
    problem: Problem,
    kernel: np.ndarray,
    vector: np.ndarray,
    draws: np.ndarray,
    factors: Mapping[str, float],
) -> tuple[np.ndarray, dict[str, float]]:
    """What a window adds to a, its terms multiplied by `factors`, and the largest share of each term."""
    shift, upper = problem.hinge.shift, problem.hinge.upper
    correct, overlap, omega = (factors.get(term, 1.0) for term in TERMS)
    increments, shares = np.zeros(problem.samples), dict.fromkeys(TERMS, 0.0)
    for i in draws.ravel().tolist():
        row = problem.targets[i] * problem.targets * kernel[i]
        product, own = float(row @ vector), float(row[i] * increments[i])
        correction = correct * float(row @ increments - own)
        shifted = omega * shift * float(vector[i] + increments[i])
        value, curvature = float(vector[i] + overlap * increments[i]), float(row[i] + shift)
        size = abs(product) + 1.0 + abs(own) + abs(correction) + abs(shifted)
        for term, part in zip(TERMS, (correction, curvature * increments[i], shifted), strict=True):
            shares[term] = max(shares[term], abs(part) / size)
        gradient = product - 1.0 + own + correction + shifted
        increments[i] += _step(value, gradient, curvature, upper) - value
    return increments, shares


def _ridge_window(
    problem: Problem,
    kernel: np.ndarray,
    vector: np.ndarray,
    draws: np.ndarray,
    factors: Mapping[str, float],
) -> tuple[np.ndarray, dict[str, float]]:
    """What a window adds to a, its terms multiplied by `factors`, and the largest share of each term."""
    m, penalty = problem.samples, problem.ridge.penalty
    increments, shares = np.zeros(m), dict.fromkeys(TERMS[:2], 0.0)
    for block in draws:
        own = np.diag(kernel)[block] * increments[block]
        correction = (kernel[block] @ increments - own) / penalty * factors.get(TERMS[0], 1.0)
        overlap = m * increments[block] * factors.get(TERMS[1], 1.0)
        product, decay = kernel[block] @ vector / penalty, m * vector[block]
        parts = [problem.targets[block], decay, product, own / penalty, correction, overlap]
        size = np.abs(parts).sum(axis=0).max()
        for term, part in zip(shares, (correction, overlap), strict=True):
            shares[term] = max(shares[term], float(np.abs(part).max() / size))
        right = parts[0] - sum(parts[1:])
        increments[block] += _ridge_solution(problem, kernel[np.ix_(block, block)], right)
    return increments, shares
