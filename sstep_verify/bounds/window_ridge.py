"""Bound B for K-RR: how far one window of any correct implementation may end from the exact one.

An exact block step is an M-orthogonal projection of the error, M = K/lambda + m I, so an error already
made cannot grow in the M-norm ``||e||_M = sqrt(e'Me)`` and the bound is the sum of the local errors:
``||a^ - a||_M <= sum_j ||l_j||_M``.

Local error of a block step. The computed increment D^ solves ``(G + dG) D^ = r + dr`` with the block
system ``G = K_BB/lambda + m I`` and the residual r at the solver's own iterate, so
``G l = dr - dG D^``. K is positive semidefinite (it is a Gram matrix, exactly), so G >= m I and

    ||l||_M = ||G^{-1/2} (dr - dG D^)||_2 <= (||dr||_2 + ||dG||_2 ||D^||_2) / sqrt(m).

    |dr| <= gamma_k (|y| + m |a| + |K| (|a| + sum |D_t|) / lambda) + delta (|a| + sum |D_t|) / lambda,
        k = m + min(m, s b) + s + 8 where the increments are summed per coordinate, else m + s b + s + 8;
    ||dG||_2 <= ||delta_BB||_F / lambda + gamma_3 ||G||_F + gamma_{3b+4} / (1 - gamma_{b+2}) trace(G),

the last term being the backward error of a Cholesky solve (Higham 2002, Theorems 10.3 and 10.4, with
``|R'||R| <= d d' / (1 - gamma)``, d_i = sqrt(G_ii)). Storing a rounds once more per coordinate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.bounds.kernel_entries import KernelEntries
from sstep_verify.bounds.rounding import OUTWARD, gamma, smallest, unit_roundoff
from sstep_verify.solver import Declaration


@dataclass(frozen=True)
class RidgeSteps:
    """The exact block steps of a window, rounded to float64.

    Parameters
    ----------
    draws : ndarray of int, shape (s, b)
        Drawn blocks as places among the distinct coordinates.
    increments : ndarray, shape (s, b)
        Exact increment of each block.
    """

    draws: np.ndarray
    increments: np.ndarray


def ridge_window_bound(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    targets: np.ndarray,
    steps: RidgeSteps,
    penalty: float,
    declaration: Declaration,
) -> float:
    """Bound the error at the end of one K-RR window in the M-norm.

    Parameters
    ----------
    entries : KernelEntries
        Kernel rows of the distinct coordinates, shape (c, m).
    places : ndarray of int, shape (c,)
        The distinct coordinates.
    start, targets : ndarray, shape (m,)
        The solver's a at the window's start, exact, and the targets.
    steps : RidgeSteps
        The exact steps.
    penalty : float
        Regularisation (lambda).
    declaration : Declaration
        Precision, form of the update, and how increments are summed.

    Returns
    -------
    float
        Bound on ``||computed - exact||_M``.
    """
    u = unit_roundoff(declaration.precision)
    samples = entries.values.shape[1]
    size, block = steps.draws.shape
    magnitude = entries.magnitude
    absolute = np.abs(start)
    stale = magnitude @ absolute * OUTWARD / penalty
    stale_kernel = entries.solver @ absolute * OUTWARD / penalty
    magnitude, solver = magnitude[:, places] / penalty, entries.solver[:, places] / penalty
    own_start, own_targets = absolute[places], np.abs(targets[places])
    corrections = min(samples, size * block) if declaration.increments == "summed" else size * block
    factor = gamma(samples + corrections + size + 8, u)
    underflow = (samples + corrections + 8) * smallest(declaration.precision)
    solve_factor = gamma(3 * block + 4, u) / (1 - gamma(block + 2, u))
    moved, drawn = np.zeros(places.size), np.zeros(places.size, dtype=np.int64)
    root = np.sqrt(samples)
    total = 0.0
    for draws, increment in zip(steps.draws, steps.increments, strict=True):
        reach = own_start[draws] + moved[draws]
        terms = own_targets[draws] + samples * reach + stale[draws] + magnitude[draws] @ moved
        residual = factor * terms + stale_kernel[draws] + solver[draws] @ moved + underflow
        system = magnitude[np.ix_(draws, draws)] + samples * np.eye(block)
        system_error = np.linalg.norm(solver[np.ix_(draws, draws)]) + gamma(3, u) * np.linalg.norm(system)
        system_error += solve_factor * np.trace(system)
        length = float(np.linalg.norm(increment))
        shrink = 1.0 - system_error / samples
        if not shrink > 0.0:
            return np.inf
        numerator = np.linalg.norm(residual) + system_error * (length + 2 * total / root)
        local = numerator / (root * shrink) * OUTWARD
        size_bound = np.abs(increment) + (2 * total + local) / root
        moved[draws] += size_bound * OUTWARD
        drawn[draws] += 1
        rounding = u * (reach + size_bound) * OUTWARD
        total += (local + _energy_norm(system, rounding)) * OUTWARD
    if declaration.update == "frozen":
        rounding = np.array([gamma(int(times) + 1, u) for times in drawn]) * (own_start + moved)
        total += _energy_norm(magnitude + samples * np.eye(places.size), rounding)
    return float(total * OUTWARD)


def _energy_norm(magnitude: np.ndarray, vector: np.ndarray) -> float:
    """Largest M-norm of a vector with entries at most `vector`, from |M|."""
    return float(np.sqrt(vector @ magnitude @ vector) * OUTWARD)
