"""Bound C for K-SVM: how far a whole run may be from the exact trajectory of the same stream.

Bound B (bounds/window/svm.py) follows the error through one window: every local error is a symbol, the
error of each coordinate a signed combination of symbols, a free step maps combinations exactly as it maps
errors, a certainly clipped coordinate has none, and a clip that the propagated radius cannot decide,
whose factor lies somewhere in [0, 1], becomes a new symbol of that radius. No step uses that the run
began with no error. So the same propagation goes through all windows of a run, with what changes at the
start of each:

* the stale products are made from the solver's a as it is then, ``|a^_i| <= |a_i| + radius_i``;
* the increments of the window, which enter the corrections, begin anew;
* or from the weights that it carries, whose drift grows beside (bounds/carried_run.py);
* where a was frozen, storing it at the window's end has added a rounding to each drawn coordinate.

Signed symbols are what keeps this of use: with absolute values the radius doubles in every step, while
the true sensitivity hardly grows. A first-order Jacobian of the run would be no bound, for it decides
every clip as the exact run does.

The oracle's run rounds as well, to many digits; the proven error of each of its steps is added to the
local error, so that the radius covers the distance of the two runs.

Underflow of a product or quotient is part of the local error. Where a size overflows float64 the bound is
infinite from that step on.
"""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.carried_run import CarriedWeights
from sstep_verify.bounds.kernel.entries import KernelEntries
from sstep_verify.bounds.trajectory_bound import TrajectoryBound
from sstep_verify.bounds.window.svm_propagation import SvmPropagation
from sstep_verify.numerics.rounding import OUTWARD, gamma, magnitudes
from sstep_verify.solver import Declaration
from sstep_verify.steps import SvmSteps


@np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore")
def svm_trajectory_bound(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    steps: SvmSteps,
    errors: np.ndarray,
    s: int,
    ends: list[int],
    shift: float,
    upper: float,
    declaration: Declaration,
    carried: CarriedWeights | None = None,
) -> dict[int, TrajectoryBound]:
    """Bound the distance of a K-SVM run from the oracle's at chosen window ends.

    Parameters
    ----------
    entries : KernelEntries
        Kernel rows of the distinct coordinates of the run, shape (c, m).
    places : ndarray of int, shape (c,)
        The distinct coordinates.
    start : ndarray, shape (m,)
        The common start vector, exact, within the box.
    steps : SvmSteps
        The H steps of the oracle's run.
    errors : ndarray, shape (H,)
        Bound on the error of the unclipped value of each of them.
    s : int
        Iterations per window of the solver's run.
    ends : list of int
        Window ends.
    shift, upper : float
        Diagonal shift (omega) and upper end of the box (nu).
    declaration : Declaration
        What the solver says it is.
    carried : CarriedWeights, optional
        Drift of the weights, for a solver that carries them.

    Returns
    -------
    dict of int to TrajectoryBound
        By window end; radii of shape (c,).
    """
    state = _RunPropagation(entries, places, start, steps, errors, s, shift, upper, declaration, carried)
    bounds = {0: state.bound()} if 0 in ends else {}
    for begin in range(0, max(ends, default=0), s):
        end = min(begin + s, steps.draws.size)
        state.begin_window(begin, end)
        for step in range(begin, end):
            state.advance(step)
        state.end_window(begin, end)
        if end in ends:
            bounds[end] = state.bound()
    return bounds


class _RunPropagation(SvmPropagation):
    """Error symbols of a whole run, carried from window to window."""

    def __init__(self, entries, places, start, steps, errors, s, shift, upper, declaration, carried=None):
        first = SvmSteps(*(getattr(steps, name)[:s] for name in SvmSteps.__dataclass_fields__))
        super().__init__(entries, places, start, first, shift, upper, declaration)
        count, length = places.size, steps.draws.size
        self._steps, self._errors, self._declaration = steps, errors, declaration
        self._coefficients, self._symbols = np.zeros((count, 2 * length)), np.zeros(2 * length)
        self._places, self._rows, self._row_errors = places, entries.term_sizes, entries.solver
        self._sizes = magnitudes(start)
        self._reached, self._weights = self._sizes[places], carried

    def begin_window(self, begin: int, end: int) -> None:
        """Stale products from the solver's a as it is now; no increments yet."""
        if self._unbounded:
            return
        drawn = np.unique(self._steps.draws[begin:end])
        self._start = (self._reached + self._radius) * OUTWARD
        self._sizes[self._places] = self._start
        if self._weights is not None:
            self._weights.restart(self._sizes)
            self._begin_carried(self._weights.begin(self._sizes, end - begin))
        else:
            reach, errors = self._rows[drawn], self._row_errors[drawn]
            self._multiply(reach, errors, self._sizes, end - begin, self._declaration, drawn)
        self._made = 0
        self._moved[:], self._rounded[:] = 0.0, 0.0
        self._drawn[:] = 0

    def advance(self, step: int) -> None:
        """Propagate the errors through one step, and note where the oracle's run is after it."""
        super().advance(step)
        new = max(float(self._steps.upper[step]), 0.0)
        self._reached[self._steps.draws[step]] = min(new + self._errors[step], self._upper)

    def _local(self, step, i, spread, curvature, smallest_curvature) -> float:
        return (
            super()._local(step, i, spread, curvature, smallest_curvature) + self._errors[step]
        ) * OUTWARD

    def end_window(self, begin: int, end: int) -> None:
        """Store a: where it was frozen, one more local error of every drawn coordinate."""
        if self._weights is not None and not self._unbounded:
            self._weights.end(self._moved, self._drawn, (self._start + self._moved) * OUTWARD)
        if self._update != "frozen" or self._unbounded:
            return
        for i in np.unique(self._steps.draws[begin:end]):
            stored = gamma(1, self._u) * (self._start[i] + self._moved[i] + self._radius[i])
            fresh = (stored + self._landing(i)) * OUTWARD
            self._symbols[self._used] = fresh
            self._coefficients[i, self._used] = 1.0
            self._used += 1
            self._radius[i] = (self._radius[i] + fresh) * OUTWARD

    def bound(self) -> TrajectoryBound:
        """What is known at the end of a window."""
        radius = np.full(self._radius.size, np.inf) if self._unbounded else self._radius * OUTWARD
        return TrajectoryBound(radius, self._amplification, self._undecided)
