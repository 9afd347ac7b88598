"""A K-SVM run whose errors go on from window to window; derived in bounds/{window,trajectory}/svm.py."""

from __future__ import annotations

import numpy as np

from sstep_verify.bounds.carried_run import CarriedWeights
from sstep_verify.bounds.trajectory_bound import TrajectoryBound
from sstep_verify.bounds.window.svm_errors import carry
from sstep_verify.bounds.window.svm_state import (
    AMPLIFICATION,
    NO_EMPHASIS,
    UNDECIDED,
    Emphasis,
    State,
    new_state,
    svm_arithmetic,
    svm_rows,
)
from sstep_verify.problems.losses import Dual
from sstep_verify.rounding.arithmetic import OUTWARD, magnitudes
from sstep_verify.rounding.carried import CarriedTerms
from sstep_verify.rounding.kernel.entries import KernelEntries
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
    dual: Dual,
    declaration: Declaration,
    carried: CarriedWeights | CarriedTerms | None = None,
    windows: int = 1,
    emphasis: Emphasis = NO_EMPHASIS,
) -> dict[int, TrajectoryBound]:
    """Bound the distance of a K-SVM run from the oracle's at chosen window ends.

    Parameters
    ----------
    entries, places, dual, declaration, windows, emphasis
        As for `sstep_verify.bounds.window.svm.svm_window_bound`, of the whole run.
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
    carried : CarriedWeights or CarriedTerms, optional
        For a solver that carries a state: the drift of its weights, or the terms of all first gradients.

    Returns
    -------
    dict of int to TrajectoryBound
        By window end; radii of shape (c,), 0 where the computed value must be exact.
    """
    length, sizes = steps.draws.size, magnitudes(start)
    rows = svm_rows(entries, declaration.precision, min(s, length), dual)
    place = np.ascontiguousarray(places, dtype=np.int64)
    state = new_state(np.empty(sizes.size), np.empty(sizes.size), place, np.arange(place.size), 2 * length)
    reached, bounded, bounds = sizes[places], True, {0: _bound(state, True)}
    for begin in range(0, max(ends, default=0), s):
        part = slice(begin, min(begin + s, length))
        draws, found = np.ascontiguousarray(steps.draws[part], dtype=np.int64), errors[part] * OUTWARD
        exact = [step[part] for step in (steps.value, steps.increment, steps.lower, steps.upper)]
        sizes[places] = (reached + state.radius) * OUTWARD
        if isinstance(carried, CarriedWeights):
            carried.restart(sizes)
        terms = carried.begin(sizes, draws.size) if isinstance(carried, CarriedWeights) else carried
        solver = svm_arithmetic(entries, draws.size, dual, declaration, terms, windows, emphasis)
        if terms is not None:
            state.carried_size[:], state.carried_error[:] = terms.size, terms.error
            if terms.products is not None and begin == 0:
                rows.terms[:, places] = np.maximum(terms.products, rows.terms[:, places])
        bounded = bounded and carry(rows, solver, np.array([*exact, found]), sizes, draws, state)
        if isinstance(carried, CarriedWeights):
            carried.end(state.moved, state.drawn, (sizes[places] + state.moved) * OUTWARD)
        # Of a coordinate drawn more than once the last value holds.
        reached[draws] = np.maximum(
            np.minimum(np.maximum(exact[3], 0.0) + found, dual.upper),
            np.minimum(np.maximum(-exact[2], 0.0) + found, -dual.lower),
        )
        bounds[part.stop] = _bound(state, bounded)
    return {end: bounds[end] for end in ends}


def _bound(state: State, bounded: bool) -> TrajectoryBound:
    radius = state.radius * OUTWARD if bounded else np.full(state.radius.size, np.inf)
    return TrajectoryBound(radius, float(state.totals[AMPLIFICATION]), int(state.counts[UNDECIDED]))
