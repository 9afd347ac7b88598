"""Energy of a block system ``G = K_BB / lambda + m I``: numbers that ``d'Gd`` is proved to lie between.

Below, the smallest eigenvalue. If a float64 Cholesky factorisation of ``G - t I`` succeeds, then with e the
norm of the errors of G's entries ``G >= (t - gamma_{b+2} trace(G - t I) / (1 - gamma_{b+2}) - e) I``.
Source: Rump, Verification of positive definiteness (BIT 46, 2006), Theorem 2.3.

Above, ``d'Gd <= |d|'|G||d|``.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.rounding.arithmetic import OUTWARD, gamma, norm_upper, rounded_up, unit_roundoff


def smallest_eigenvalue(kernel: np.ndarray, error: np.ndarray, samples: int, known: float) -> float:
    """A number that no eigenvalue of the symmetric part of G is below; at least `known`.

    `kernel` and `error`, shape (b, b), are float64 entries of ``K_BB / lambda``, in a panel perhaps not
    symmetric, and bounds on their errors, the rounding of the quotient left out; `samples` is m. `known`
    needs no proof: m where K is positive semidefinite, 0 where nothing is known of it.
    """
    block, u = kernel.shape[0], unit_roundoff("float64")
    system = (kernel + kernel.T) / 2 + samples * np.eye(block)
    if not np.isfinite(system).all():
        return known
    try:
        target = float(np.linalg.eigvalsh(system)[0]) / 2
        if not target > known:
            return known
        shifted = system - target * np.eye(block)
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        return known
    error_bound = gamma(block + 2, u) / (1 - gamma(block + 2, u)) * np.trace(np.abs(shifted))
    # The quotient, the mean and the sum with m round an entry once each; means are at most as long.
    error_bound += norm_upper(error) + gamma(3, u) * (norm_upper(kernel) + samples * np.sqrt(block))
    return max(known, float(target - error_bound * OUTWARD))


def largest_energy(matrix: np.ndarray, sizes: np.ndarray) -> float:
    """Largest ``||d||_M`` of a vector whose entries are at most some sizes, given |M| at most.

    Evaluated for the vector over its largest entry, so that no square over- or underflows: what is lost of
    smaller entries is far below ``m``, which the square is at least.
    """
    largest = float(np.max(sizes, initial=0.0))
    if not 0.0 < largest < np.inf:
        return 0.0 if largest == 0.0 else np.inf
    scaled = sizes / largest
    return float(rounded_up(np.sqrt(scaled @ matrix @ scaled) * largest, 2 * sizes.size + 16))
