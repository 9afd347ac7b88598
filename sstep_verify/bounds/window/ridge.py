"""Bound B for K-RR: how far one window of any correct implementation may end from the exact one.

An exact block step is an M-orthogonal projection of the error, M = K/lambda + m I, so an error already
made cannot grow in the M-norm ``||e||_M = sqrt(e'Me)`` and the bound is the sum of the local errors:
``||a^ - a||_M <= sum_j ||l_j||_M``.

Local error of a block step. The computed increment D^ solves ``(G + dG) D^ = r + dr`` with the block
system ``G = K_BB/lambda + m I`` and the residual r at the solver's own iterate, so
``G l = dr - dG D^``. K is positive semidefinite (it is a Gram matrix, exactly), so G >= mu I with mu = m
or a larger number that is proved (`smallest_eigenvalue`), and

    ||l||_M = ||G^{-1/2} (dr - dG D^)||_2 <= (||dr||_2 + ||dG||_2 ||D^||_2) / sqrt(mu).

The bounds on dr and dG are those of bounds/block/local.py. Storing a rounds once more per coordinate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sstep_verify.bounds.block.local import RidgeLocalErrors, StepErrors
from sstep_verify.bounds.carried import CarriedTerms
from sstep_verify.bounds.kernel.entries import KernelEntries
from sstep_verify.numerics.rounding import OUTWARD, gamma, length, raised, unit_roundoff
from sstep_verify.solver import Declaration
from sstep_verify.steps import RidgeSteps


@dataclass(frozen=True)
class RidgeWindowErrors:
    """The M-norm bound of a window, and the local errors it is the sum of.

    Parameters
    ----------
    norm : float
        Bound on ``||computed - exact||_M``; infinite where nothing can be promised.
    steps : list of StepErrors
        One per block step; shorter than the window if `norm` is infinite.
    landing : ndarray, shape (c,)
        Rounding of a at the window's end where it was frozen; zeros otherwise.
    """

    norm: float
    steps: list[StepErrors]
    landing: np.ndarray


@np.errstate(over="ignore", under="ignore", invalid="ignore")
def ridge_window_errors(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    targets: np.ndarray,
    steps: RidgeSteps,
    penalty: float,
    declaration: Declaration,
    carried: CarriedTerms | None = None,
    windows: int = 1,
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
        systems, order of summation, and whether the input is rounded.
    carried : CarriedTerms, optional
        What the first residuals are made of, for a solver that carries a state.
    windows : int
        Windows of the run that these steps are: a frozen a is stored at the end of each.

    Returns
    -------
    RidgeWindowErrors
    """
    local = RidgeLocalErrors(entries, places, start, targets, steps, penalty, declaration, carried)
    found: list[StepErrors] = []
    nothing = RidgeWindowErrors(np.inf, found, np.zeros(places.size))
    if not local.bounded:
        return nothing
    values, own = entries.values[:, places] / penalty, raised(entries.own[:, places] / penalty)
    total = 0.0
    for draws in steps.draws:
        block = np.ix_(draws, draws)
        modulus = smallest_eigenvalue(values[block], own[block], start.size)
        root = np.sqrt(modulus)
        # A distance of `total` in the M-norm is at most total / root in the 2-norm of a block, before the
        # step and, as the step is a projection, after it: an increment is off by at most the sum of both.
        step = local.advance(modulus, 2 * total / root)
        if step is None:
            return nothing
        total = raised(total + root * step.length + block_energy_norm(local.system(draws), step.rounding))
        found.append(step)
    landing = local.landing()
    if declaration.update == "frozen":
        total += windows * block_energy_norm(local.system(np.arange(places.size)), landing)
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
    return max(float(samples), proven_eigenvalue(kernel, own, samples, float(samples)))


def proven_eigenvalue(kernel: np.ndarray, own: np.ndarray, samples: int, enough: float = 0.0) -> float:
    """The same for any symmetric matrix in the place of K_BB / lambda; at most 0 if nothing is proved.

    Parameters
    ----------
    kernel, own : ndarray, shape (b, b)
        Entries in float64, symmetric, and bounds on their errors.
    samples : int
        Number of samples (m).
    enough : float
        No proof is tried that would yield less.
    """
    block, u = kernel.shape[0], unit_roundoff("float64")
    system = kernel + samples * np.eye(block)
    try:
        target = float(np.linalg.eigvalsh(system)[0]) / 2
        if not target > enough:
            return 0.0
        shifted = system - target * np.eye(block)
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return 0.0
    slack = gamma(block + 2, u) / (1 - gamma(block + 2, u)) * np.trace(np.abs(shifted))
    slack += length(own) + gamma(2, u) * length(system)
    return float(target - slack * OUTWARD)


def block_energy_norm(magnitude: np.ndarray, vector: np.ndarray) -> float:
    """Largest M-norm of a vector with entries at most `vector`, from |M|.

    Evaluated for the vector over its largest entry, so that no square over- or underflows: what is lost of
    smaller entries is far below ``m``, which the square is at least.
    """
    largest = float(np.max(vector, initial=0.0))
    if not 0.0 < largest < np.inf:
        return 0.0 if largest == 0.0 else np.inf
    scaled = vector / largest
    return float(raised(np.sqrt(scaled @ magnitude @ scaled) * largest))
