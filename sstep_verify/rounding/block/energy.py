"""Energy of a block system ``G = K_BB / lambda + m I``: numbers that ``d'Gd`` is proved to lie between.

Below, the smallest eigenvalue. If a float64 Cholesky factorisation of ``G - t I`` succeeds, then with e the
norm of the errors of G's entries ``G >= (t - gamma_{b+2} trace(G - t I) / (1 - gamma_{b+2}) - e) I``.
Source: Rump, Verification of positive definiteness (BIT 46, 2006), Theorem 2.3.

Above, ``d'Gd <= |d|'|G||d|``. Of a known difference d, `energy_norm` has both, close together.
"""

from __future__ import annotations

import math

import numpy as np

from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, norm_upper, rounded_up, unit_roundoff
from sstep_verify.rounding.kernel.entries import KernelEntries


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
    return max(known, float(target - error_bound * ROUND_UP))


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


def energy_norm(
    entries: KernelEntries, places: np.ndarray, difference: np.ndarray, samples: int, penalty: float
) -> tuple[float, float]:
    """Float64 interval that contains ``||d||_M``, ``||d||_M^2 = d'Kd/lambda + m d'd``.

    `difference`, shape (c,), is d on the coordinates `places`, whose kernel rows are `entries`; it is 0 on
    all others. K is off by `entries.judge_error`, every entry of d by up to 4u, and the quadratic form of c
    coordinates by gamma_{2c+3} of its absolute value; gamma_{2c+16} covers all of the roundings. The exact
    K is positive semidefinite, so the square is at least ``m d'd`` whatever is lost by cancellation. The
    interval is (0, infinity) if the square overflows, (infinity, infinity) if an entry is not finite.
    """
    scale = float(np.max(np.abs(difference), initial=0.0))
    if scale == 0.0:
        return 0.0, 0.0
    if not scale < math.inf:
        return math.inf, math.inf
    # Scaled so that no square underflows; entries lost to underflow are far below the largest, which is 1.
    d = difference / scale
    values, judge_error = entries.values[:, places], entries.judge_error[:, places]
    absolute = np.abs(d)
    with np.errstate(over="ignore", invalid="ignore"):
        identity = samples * float(d @ d)
        square = float(d @ (values @ d)) / penalty + identity
        size = float(absolute @ (np.abs(values) @ absolute)) / penalty + identity
        off = float(absolute @ (judge_error @ absolute)) / penalty
        factor = gamma(2 * d.size + 16, unit_roundoff("float64"))
        error_bound = (off + factor * size) * ROUND_UP
        low = max(square - error_bound, identity * (1.0 - 2 * factor)) / ROUND_UP
        high = (square + error_bound) * ROUND_UP
    if not high < math.inf:
        return 0.0, math.inf
    lower = math.nextafter(math.sqrt(max(low, 0.0)) * scale / ROUND_UP, 0.0)
    return lower, float(rounded_up(math.sqrt(high) * scale))


def energy_reach(
    entries: KernelEntries, places: np.ndarray, sizes: np.ndarray, samples: int, penalty: float
) -> float:
    """Largest ``||d||_M`` of a difference whose entries are at most `sizes`, shape (c,); see `energy_norm`.

    ``d'Md <= |d|'|M||d| = |d|'|K||d|/lambda + m |d|'|d|``.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        kernel = np.abs(entries.values[:, places]) + entries.judge_error[:, places]
        return largest_energy(rounded_up(kernel / penalty) + samples * np.eye(places.size), sizes)


def without_kernel(entries: KernelEntries) -> KernelEntries:
    """Rows of zeros, with which the norm of the entries that are known bounds that of a whole difference.

    ``||d||_M^2 = d'Kd/lambda + m d'd >= m d_S'd_S`` for any part S of the coordinates, K being positive
    semidefinite: what is known of d is at most as long, with K = 0, as all of it may be.
    """
    nothing = np.zeros_like(entries.values)
    return KernelEntries(nothing, nothing, nothing)
