"""Bound B for K-RR: how far one window of any correct implementation may end from the exact one.

An exact block step is an M-orthogonal projection of the error, M = K/lambda + m I, so an error already
made cannot grow in the M-norm ``||e||_M = sqrt(e'Me)`` and the bound is the sum of the local errors:
``||a^ - a||_M <= sum_j ||l_j||_M``.

Local error of a block step. The computed increment D^ solves ``(G + dG) D^ = r + dr`` with the block
system ``G = K_BB/lambda + m I`` and the residual r at the solver's own iterate, so
``G l = dr - dG D^``. K is positive semidefinite (it is a Gram matrix, exactly), so G >= mu I with mu = m
or a larger number that is proved (`smallest_eigenvalue`), and

    ||l||_M = ||G^{-1/2} (dr - dG D^)||_2 <= (||dr||_2 + ||dG||_2 ||D^||_2) / sqrt(mu).

    |dr| <= gamma_k (|y| + m |a| + |K| (|a| + sum |D_t|) / lambda) + delta (|a| + sum |D_t|) / lambda,
        k = p + q + j + 8 where the increments are summed per coordinate, else p + j b + 8, with p nonzero
        entries of a at the window's start, q coordinates drawn in the j steps before (exact zeros among
        the terms cost no rounding);
    ||dG||_2 <= ||delta_BB||_F / lambda + gamma_3 ||G||_F + backward error of the declared factorisation

(bounds/block_factorisation.py). Storing a rounds once more per coordinate.

Where a solver in float32 rounds its input first, the targets are off by ``|fl(y) - y|``, which is part
of dr, and ``|K~/fl(lambda) - K/lambda| <= (delta + d |K|) / min(lambda, fl(lambda))`` with
``d = |fl(lambda) - lambda| / min(lambda, fl(lambda))`` takes the place of delta / lambda.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.bounds.block_factorisation import factorisation_error
from sstep_verify.bounds.kernel_entries import KernelEntries
from sstep_verify.bounds.rounding import OUTWARD, gamma, magnitudes, smallest, stored, unit_roundoff
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


@dataclass(frozen=True)
class LocalErrors:
    """What one block step of any correct implementation may do wrong.

    Parameters
    ----------
    draws : ndarray of int, shape (b,)
        The block, as places among the distinct coordinates.
    residual : ndarray, shape (b,)
        Bound on the error of the right-hand side.
    entries : ndarray, shape (b, b)
        Bound on the errors of the block system's entries.
    solve : float
        Bound on the norm of the backward error of the solve.
    size : ndarray, shape (b,)
        Bound on the computed increment.
    rounding : ndarray, shape (b,)
        Bound on the rounding of the stored value.
    """

    draws: np.ndarray
    residual: np.ndarray
    entries: np.ndarray
    solve: float
    size: np.ndarray
    rounding: np.ndarray


@dataclass(frozen=True)
class RidgeWindowErrors:
    """The M-norm bound of a window, and the local errors it is the sum of.

    Parameters
    ----------
    norm : float
        Bound on ``||computed - exact||_M``; infinite where nothing can be promised.
    steps : list of LocalErrors
        One per block step; shorter than the window if `norm` is infinite.
    landing : ndarray, shape (c,)
        Rounding of a at the window's end where it was frozen; zeros otherwise.
    """

    norm: float
    steps: list[LocalErrors]
    landing: np.ndarray


def ridge_window_bound(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    targets: np.ndarray,
    steps: RidgeSteps,
    penalty: float,
    declaration: Declaration,
) -> float:
    """Bound the error at the end of one K-RR window in the M-norm; see `ridge_window_errors`."""
    return ridge_window_errors(entries, places, start, targets, steps, penalty, declaration).norm


def ridge_window_errors(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    targets: np.ndarray,
    steps: RidgeSteps,
    penalty: float,
    declaration: Declaration,
) -> RidgeWindowErrors:
    """Bound the error at the end of one K-RR window, step by step.

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
        Precision, form of the update, how increments are summed, factorisation of the block
        systems, and whether the input is rounded.

    Returns
    -------
    RidgeWindowErrors
    """
    u = unit_roundoff(declaration.precision)
    samples = entries.values.shape[1]
    size, block = steps.draws.shape
    least, change, targets_error = _input_errors(penalty, targets[places], declaration)
    magnitude, absolute = entries.magnitude, magnitudes(start)
    found: list[LocalErrors] = []
    nothing = RidgeWindowErrors(np.inf, found, np.zeros(places.size))
    if not (np.isfinite(change) and np.isfinite(magnitude).all() and np.isfinite(targets_error).all()):
        return nothing
    magnitude = magnitude / least
    solver = (entries.solver / least + change * magnitude) * OUTWARD
    stale, stale_kernel = magnitude @ absolute * OUTWARD, solver @ absolute * OUTWARD
    magnitude, solver = magnitude[:, places], solver[:, places]
    values, own = entries.values[:, places] / penalty, entries.own[:, places] / penalty * OUTWARD
    own_start, own_targets = absolute[places], np.abs(targets[places]) + targets_error
    support = int(np.count_nonzero(absolute))
    underflow = (samples + size * block + 8) * smallest(declaration.precision)
    moved, drawn = np.zeros(places.size), np.zeros(places.size, dtype=np.int64)
    total = 0.0
    for made, (draws, increment) in enumerate(zip(steps.draws, steps.increments, strict=True)):
        summed = declaration.increments == "summed"
        corrections = int(np.count_nonzero(drawn)) + made if summed else made * block
        factor = gamma(support + corrections + 8, u)
        reach = own_start[draws] + moved[draws]
        terms = own_targets[draws] + samples * reach + stale[draws] + magnitude[draws] @ moved
        residual = factor * terms + stale_kernel[draws] + solver[draws] @ moved + underflow
        residual += targets_error[draws]
        system = magnitude[np.ix_(draws, draws)] + samples * np.eye(block)
        system_entries = solver[np.ix_(draws, draws)] + gamma(3, u) * system
        given = np.linalg.norm(solver[np.ix_(draws, draws)]) + gamma(3, u) * np.linalg.norm(system)
        modulus = smallest_eigenvalue(values[np.ix_(draws, draws)], own[np.ix_(draws, draws)], samples)
        root = np.sqrt(modulus)
        solve = factorisation_error(system, float(given), modulus, declaration)
        system_error = given + solve
        length = float(np.linalg.norm(increment))
        shrink = 1.0 - system_error / modulus
        if not shrink > 0.0:
            return nothing
        numerator = np.linalg.norm(residual) + system_error * (length + 2 * total / root)
        local = numerator / (root * shrink) * OUTWARD
        size_bound = (np.abs(increment) + (2 * total + local) / root) * OUTWARD
        moved[draws] += size_bound
        drawn[draws] += 1
        rounding = u * (reach + size_bound) * OUTWARD
        total += (local + _energy_norm(system, rounding)) * OUTWARD
        found.append(LocalErrors(draws, residual, system_entries, solve, size_bound, rounding))
    landing = np.zeros(places.size)
    if declaration.update == "frozen":
        landing = np.array([gamma(int(times) + 1, u) for times in drawn]) * (own_start + moved)
        total += _energy_norm(magnitude + samples * np.eye(places.size), landing)
    return RidgeWindowErrors(float(total * OUTWARD), found, landing)


def smallest_eigenvalue(kernel: np.ndarray, own: np.ndarray, samples: int) -> float:
    """A number that no eigenvalue of ``G = K_BB / lambda + m I`` is below; at least m.

    K is positive semidefinite, so m is one. A larger one is proved if a float64 Cholesky factorisation
    of ``G - t I`` succeeds: then ``G >= (t - gamma_{b+2} trace(G) / (1 - gamma_{b+2}) - own) I``.
    Source: Rump, Verification of positive definiteness (BIT 46, 2006), Theorem 2.3.

    Parameters
    ----------
    kernel : ndarray, shape (b, b)
        Kernel entries over lambda, in float64.
    own : ndarray, shape (b, b)
        Bound on their errors.
    samples : int
        Number of samples (m).
    """
    block, u = kernel.shape[0], unit_roundoff("float64")
    system = kernel + samples * np.eye(block)
    target = float(np.linalg.eigvalsh(system)[0]) / 2
    if not target > samples:
        return float(samples)
    shifted = system - target * np.eye(block)
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return float(samples)
    slack = gamma(block + 2, u) / (1 - gamma(block + 2, u)) * np.trace(np.abs(shifted))
    slack += np.linalg.norm(own) + gamma(2, u) * np.linalg.norm(system)
    return max(float(samples), target - slack * OUTWARD)


def _energy_norm(magnitude: np.ndarray, vector: np.ndarray) -> float:
    """Largest M-norm of a vector with entries at most `vector`, from |M|."""
    return float(np.sqrt(vector @ magnitude @ vector) * OUTWARD)


def _input_errors(
    penalty: float, targets: np.ndarray, declaration: Declaration
) -> tuple[float, float, np.ndarray]:
    """Smaller of exact and used regularisation, their relative difference, errors of the targets."""
    if not declaration.data_rounding:
        return penalty, 0.0, np.zeros(targets.size)
    used = float(stored(penalty, declaration.precision))
    least = min(penalty, used)
    change = abs(used - penalty) / least * OUTWARD if least > 0.0 else np.inf
    return least, change, np.abs(stored(targets, declaration.precision) - targets)
