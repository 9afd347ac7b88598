"""What is measured of a run, at which iterations, and what ends it: gap or error against the optimum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sstep_verify.measures.error import relative_error
from sstep_verify.measures.gap import GapMeasure
from sstep_verify.numerics.kernel_matrix import KernelSums
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Problem
from sstep_verify.report.results import ERROR, GAP

GROWTH = 1.2
"""Ratio of successive iterations at which a run is measured, once they exceed a window."""

PATIENCE = 8
"""Measurements over which a gap at the attainable level must not have halved for a run to end."""


def measuring_points(iterations: int, s: int) -> tuple[int, ...]:
    """Window ends at which a run of `iterations` is measured: geometric, the last included."""
    points, point = [], s
    while point < iterations:
        points.append(point)
        point = max(point + s, -(-int(point * GROWTH) // s) * s)
    return (*points, iterations)


@dataclass(frozen=True)
class Reference:
    """The measure of one problem.

    Parameters
    ----------
    name, short : str
        Name of the measure in figures, and in a stop reason.
    measure : callable
        Maps a to (relative value, attainable relative value); the latter 0 if there is no floor.
    largest_off_diagonal : float
        Largest absolute off-diagonal kernel entry, in float64.
    facts : dict
        Reference value, enclosure, how it was found.
    """

    name: str
    short: str
    measure: Callable[[np.ndarray], tuple[float, float]]
    largest_off_diagonal: float
    facts: dict[str, object]


class SharedReferences:
    """References of problems that differ only in loss and parameter from one, whose optima an oracle finds.

    Where kernel matrix and optimum do not fit into memory (`whole` is False), sums over the kernel are made
    of panels, and gaps are relative to the dual value of the vector at hand: it is below the optimal value,
    so they are no smaller than relative to that.
    """

    def __init__(self, problem: Problem, oracle: Oracle, *, whole: bool = True):
        self.oracle, self._whole = oracle, whole
        # The measure of a K-RR whose optimum is known needs no kernel.
        self._kernel = KernelSums(problem, whole=whole and problem.is_svm)
        self._largest = self._kernel.largest_off_diagonal()

    def reference(self, problem: Problem) -> Reference:
        """The reference of one problem of the group."""
        if not self._whole:
            return self._gap(problem, "not searched, for its memory: gaps over the dual value")
        if problem.is_svm:
            optimum = self.oracle.svm_optimum(problem)
            return self._gap(
                problem,
                optimum.how,
                max(abs(optimum.value_lower), np.finfo(float).tiny),
                {
                    "optimal value, enclosure": [optimum.value_lower, optimum.value_upper],
                    "optimal value, relative width": optimum.relative_width,
                },
            )
        solution = self.oracle.ridge_optimum(problem)

        def error(alpha: np.ndarray) -> tuple[float, float]:
            return relative_error(alpha, solution.alpha), 0.0

        facts: dict[str, object] = {
            "reference solution": solution.how,
            "its error, 2-norm, relative (bound)": solution.relative,
        }
        return Reference(ERROR, "error", error, self._largest, facts)

    def _gap(
        self, problem: Problem, how: str, scale: float = 0.0, facts: dict[str, object] | None = None
    ) -> Reference:
        """The gap over the optimal value, or over the dual value reached where that is not known."""
        measure = GapMeasure(problem, self._kernel)

        def relative(alpha: np.ndarray) -> tuple[float, float]:
            found = measure(alpha)
            size = scale or found.dual
            if not size > 0:
                return float("inf"), 0.0
            attainable = measure.attainable(alpha) if problem.is_svm else 0.0
            return found.gap / size, attainable / size

        return Reference(GAP, "gap", relative, self._largest, {**(facts or {}), "optimal value": how})


@dataclass
class Monitor:
    """Observer of one run.

    Parameters
    ----------
    points : frozenset of int
        Iterations at which to measure.
    measure : callable
        Of a `Reference`.
    tolerance : float
        Value at which the run ends.
    name : str
        Name of the measure, for the stop reason.
    least : int
        Iterations before which the run does not end: in a single window from zero no stale product shows.
    samples : int, optional
        Length that a must have; not looked at if absent.
    """

    points: frozenset[int]
    measure: Callable[[np.ndarray], tuple[float, float]]
    tolerance: float
    name: str
    least: int = 0
    samples: int | None = None
    iterations: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    attainable: float = 0.0
    reason: str = ""

    def __call__(self, iteration: int, alpha: np.ndarray) -> bool:
        """Measure; True ends the run."""
        if iteration not in self.points or (self.samples and np.shape(alpha) != (self.samples,)):
            return False  # What has another shape is for the check contract to say.
        if not np.isfinite(alpha).all():
            self.reason = f"a is not finite at iteration {iteration}"
            return True
        value, self.attainable = self.measure(alpha)
        self.iterations.append(iteration)
        self.values.append(value)
        earlier = self.values[:-PATIENCE]
        if iteration < self.least:
            return False
        if value <= self.tolerance:
            self.reason = "tolerance reached"
        elif value <= self.attainable and earlier and value > min(earlier) / 2:
            self.reason = f"attainable gap of float64 reached, {self.name} = {value:.2g}"
        return bool(self.reason)

    def close(self, iteration: int, alpha: np.ndarray) -> None:
        """Measure where a run ended by its solver's own rule, which need not be one of the points."""
        if iteration not in self.iterations:
            self.points |= {iteration}
            self(iteration, alpha)
        if iteration in self.iterations:
            self.reason = f"the solver's own tolerance reached, {self.name} = {self.values[-1]:.2g}"

    @property
    def stop(self) -> str:
        """Why the run ended, in words."""
        last = f"{self.values[-1]:.2g}" if self.values else "not measured"
        return self.reason or f"cap reached, {self.name} = {last}"
