"""Watches a run: measures at chosen iterations, and ends it for a stated reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

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


@dataclass
class Monitor:
    """Observer of one run.

    Parameters
    ----------
    points : frozenset of int
        Iterations at which to measure.
    measure : callable
        Maps a to (relative value, attainable relative value); the latter 0 if there is no floor.
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
