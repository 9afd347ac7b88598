"""HOW GOOD: series for figures (gap, relative error, drift); never verdicts.

They are duality gaps of one problem in float64, and what float64 can attain; errors of a run against a
solution or the exact trajectory, and what s-step loses on classical steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sstep_verify.errors import InputError
from sstep_verify.numerics import KernelSums, dual_value, duality_gap, primal_value
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import norm, unit_roundoff

if TYPE_CHECKING:
    from sstep_verify.oracle.trajectories import EnclosedTrajectory
    from sstep_verify.trajectory import Trajectory


def relative_error(alpha: np.ndarray, exact: np.ndarray) -> float:
    """``||a - a'||_2 / ||a'||_2``, a' the solution or exact; where a' is 0: 0 if a is 0, else infinite."""
    distance, size = norm(alpha - exact), norm(exact)
    if size == 0:
        return 0.0 if distance == 0 else math.inf
    return distance / size


def drift(trajectory: Trajectory, exact: EnclosedTrajectory, at: Sequence[int] = ()) -> dict[int, float]:
    """`relative_error` of a trajectory by iteration, ascending, wherever the exact one was recorded too.

    The exact vector is held in float64, so values below about 2**-53 mean "none that float64 can show".
    Both are runs of the same problem that began at the same place of the same stream. An InputError says
    that one of `at` is not common.
    """
    common, mine, theirs = np.intersect1d(trajectory.iterations, exact.iterations, return_indices=True)
    if missing := sorted({*at} - {*common.tolist()}):
        raise InputError(f"error at iteration {missing[0]} asked, but it was not recorded on both sides")
    return dict(
        zip(
            common.tolist(), map(relative_error, trajectory.alphas[mine], exact.alphas[theirs]), strict=True
        )
    )


def loss_factor(error: float, classical: float, roundoff: float) -> float:
    """Stability loss factor: the s-step error over the classical error, relative and >= 0.

    1 for a run as good as the classical one; infinite if only the s-step run broke down, its error infinite
    or undefined, undefined if the classical one did. An error below one unit `roundoff` counts as one:
    which of two vectors happens to round better there says nothing about a method.
    """
    if not math.isfinite(classical):
        return math.nan
    return max(error, roundoff) / max(classical, roundoff) if math.isfinite(error) else math.inf


class StabilityLoss(NamedTuple):
    """An s-step run next to the classical one.

    Parameters
    ----------
    iteration : int
        The last iteration at which both were recorded.
    error, classical : float
        Their relative errors there.
    loss : float
        `loss_factor` of these.
    largest, largest_loss : float
        Largest s-step error over all iterations at which both were recorded; its factor over the largest
        classical one at the same iterations.
    """

    iteration: int
    error: float
    classical: float
    loss: float
    largest: float
    largest_loss: float


def against_classical(
    errors: Mapping[int, float], classical: Mapping[int, float], roundoff: float
) -> StabilityLoss | None:
    """What an s-step run loses on the classical one; None if no iteration is recorded of both.

    Relative errors of both by iteration, >= 0; infinite or undefined where one broke down.
    """
    common = [iteration for iteration in errors if iteration in classical]
    if not common:
        return None
    last = max(common)
    largest, same = (max(series[iteration] for iteration in common) for series in (errors, classical))
    return StabilityLoss(
        last,
        errors[last],
        classical[last],
        loss_factor(errors[last], classical[last], roundoff),
        largest,
        loss_factor(largest, same, roundoff),
    )


def significant_bits(error: float, roundoff: float) -> float:
    """Bits of a that a relative error leaves right, ``-log2(error)``: at least 0, at most those of u."""
    return max(0.0, -math.log2(max(error, roundoff)))


class Gap(NamedTuple):
    """Duality gap, primal value and dual value at one a."""

    gap: float
    primal: float
    dual: float


class GapMeasure:
    """Duality gaps of one problem, one matrix-vector product each, by sums over its kernel matrix.

    Without these the matrix is formed and kept (8 m^2 bytes).
    """

    def __init__(self, problem: Problem, kernel: KernelSums | None = None):
        self.problem = problem
        self._kernel = kernel or KernelSums(problem)

    def __call__(self, alpha: np.ndarray) -> Gap:
        """Gap, primal and dual value at a dual vector of shape (m,)."""
        products = self.products(alpha)
        return Gap(
            duality_gap(self.problem, products, alpha),
            primal_value(self.problem, products, alpha),
            dual_value(self.problem, products, alpha),
        )

    def products(self, alpha: np.ndarray) -> np.ndarray:
        """``Q a`` (K-SVM) or ``K a`` (K-RR), shape (m,)."""
        signs = self.problem.signs
        return signs * self._kernel.product(signs * alpha)

    def attainable(self, alpha: np.ndarray) -> float:
        """Gap of a K-SVM that float64 cannot be expected to get below: ``C u sum_ij |Q_ij| |a_j|``.

        The rounding error of the m margins at an a of shape (m,) near the optimum, times C; InputError for
        a K-RR.
        """
        sums = self._kernel.absolute_product(np.abs(alpha))
        return self.problem.hinge.C * unit_roundoff("float64") * sums
