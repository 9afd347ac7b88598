"""Bounds B and C for K-SVM: how far a window, or a run, of any correct implementation may end from exact.

`svm_trajectory_bound` goes through the windows of a run; `svm_window_bound` is the same for one window. The
recurrence that carries the errors through a window is `carry` in bounds/window/svm_formulas.py.

*Bound B: one window.* The exact run and the solver start from the same vector a. Let e be the error of the
iterate on the window's c distinct coordinates. The exact new value of coordinate i does not depend on its
old value, ``z_i = (1 - sum_{l != i} Q_il a_l) / eta_i``. So an error enters step j only through the others:
``z^ - z = -(sum_{l != i} Q_il e_l) / eta_i + local``. Errors are carried as signed combinations of symbols,
one per local error, so that they may cancel as they do in the recurrence. The clip is 1-Lipschitz: a step
certainly free keeps its combination, a step certainly clipped has none left, and an undecided one becomes
a new symbol of the propagated radius.

Local error of a step, all in IEEE arithmetic with unit roundoff u (Higham 2002, Lemma 3.1, section 3.1).
The gradient is a sum of the stale products, the corrections, 1 and the shift, in any order. Increments may
first be summed per coordinate. Terms that are exact zeros cost no rounding. With p nonzero
entries of a at the window's start and q earlier steps of the window that may have moved,

    |g^ - g| <= gamma_k (sum |K_il| |a_l| + sum_t |K(i, i_t)| |theta_t| + 1 + omega |a_i|)
                + sum delta_il |a_l| + sum_t delta(i, i_t) |theta_t|,   k = p + q + 6 + r,

r = 0 where omega = 0 or i was drawn at most once before, else one less than how often (`State.drawn`):
omega may multiply each of these increments by itself. The terms are p products, q corrections, the
constant, omega times the stale a_i and r + 1 of its increments: p + q + r + 2 additions, the product, the
difference that an increment is, omega's own rounding, and one to spare. The quotient, the curvature ``eta =
K_ii + omega`` and the subtraction add their roundings.
Where w is maintained, the stale products are its terms and a correction rounds in its product, its sum and
its own shift's (rounding/right_hand_side.py). With the linear kernel the products may be formed from the
samples, ``<x_i, A'(y a) + sum_t y_t theta_t x_t>``: then k is larger by n and ``|x_i|'|x_l|`` takes the
place of ``|K_il|``, in both sums. These bounds hold for products from entries as well.

What is stored. In place the clipped value itself; frozen, the iterate is a plus the exact sum of the
increments, off by the rounding of the value subtracted and by u |theta|. Added, ``fl(a + theta)``,
``theta = fl(new - a)``: off by at most ``u |theta| + u |a + theta| <= gamma_2 (|a| + 2 |theta|)``, and
exact where new is 0, for -a is a number of the type. Corrections hold theta where a moved by
``fl(a + theta) - a``; until the products are formed again, every gradient is off by |K(i, i_t)| times the
rounding of that sum, for each such step. Of several windows a frozen a is stored at the end of each: what
later steps are made from has landed twice, in the value that was subtracted and at the end of its window,
and what the last window drew lands at its end.

Underflow: a product that underflows is off by at most half the smallest number, a quotient as well, after
the division by eta. Overflow: where a sum of terms, a weight or eta may exceed
`largest_normal`, nothing is promised; nor where the quotient may, of a box without an upper end.

Of a loss with another linear term than 1, or with a threshold, the constant 1 above is
``|p_i| + threshold``, and the clip the monotone 1-Lipschitz map of rounding/box.py, free between
two corners.

*Bound C: a whole run*, and how far it may be from the exact trajectory of the same stream. Bound B follows
the error through one window, and no step of that uses that the window began with no error. So the same
propagation goes through all windows of a run, with what changes at the start of each:

* the stale products are made from the solver's a as it is then, ``|a^_i| <= |a_i| + radius_i``;
* the increments of the window, which enter the corrections, begin again;
* or from the weights that it carries, whose drift grows along with them (bounds/carried_run.py);
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

from typing import Any, NamedTuple

import numpy as np

from sstep_verify.bounds.carried_run import CarriedWeights
from sstep_verify.bounds.window import TrajectoryBound
from sstep_verify.bounds.window.svm_formulas import AMPLIFICATION, UNDECIDED, carry
from sstep_verify.declaration import Declaration
from sstep_verify.problems.losses import Dual
from sstep_verify.quantities import SvmSteps
from sstep_verify.rounding.arithmetic import (
    ROUND_UP,
    counted,
    largest_normal,
    magnitudes,
    smallest_subnormal,
    unit_roundoff,
)
from sstep_verify.rounding.box import Box, box_of, end_error
from sstep_verify.rounding.right_hand_side import CarriedTerms
from sstep_verify.rounding.rows import KernelEntries, compiled_rows
from sstep_verify.rounding.sums import FORMS


class Arithmetic(NamedTuple):
    """The arithmetic of a solver in a window.

    Parameters
    ----------
    u : float
        Unit roundoff.
    limit : float
        Size that no number may exceed, or nothing is promised.
    shift : float
        Diagonal shift (omega).
    box : Box
        Limits of the box, and the threshold.
    end_error : float
        What the solver's limits of the box are off by.
    form : int
        How a step is stored: `IN_PLACE`, `ADDED` or `FROZEN` of rounding/sums.py.
    others : int
        Roundings of a term besides those of the additions.
    from_a : bool
        Whether first gradients are made from a; else from maintained weights.
    accumulations : int
        Sums of increments that a frozen value has been through before a step is made from it: 1 or 2.
    smallest_subnormal, float64_subnormal : float
        Smallest numbers of the solver's type and of float64.
    judge_underflow : float
        What the products of the judge's gradient lose to underflow.
    stale, corrections, accumulation : float
        Factors that make sizes larger: of products with a, of corrections, of summed increments. They are
        1, but for bounds/window/split.py.
    """

    u: float
    limit: float
    shift: float
    box: Box
    end_error: float
    form: int
    others: int
    from_a: bool
    accumulations: int
    smallest_subnormal: float
    float64_subnormal: float
    judge_underflow: float
    stale: float = 1.0
    corrections: float = 1.0
    accumulation: float = 1.0


class State(NamedTuple):
    """What goes on from step to step, m samples and c distinct coordinates of the windows.

    Parameters
    ----------
    now : ndarray, shape (m,)
        ``y a`` of the judge.
    reach : ndarray, shape (m,)
        Sizes that gradients are made from: of a at the window's start, and of the increments since.
    sample, row : ndarray of int64, shape (c,)
        The sample that each coordinate is, and its kernel row.
    radius : ndarray, shape (c,)
        Bound on the error of each coordinate: ``|coefficients| @ symbols``.
    start : ndarray, shape (c,)
        |a| at the window's start.
    moved, rounded : ndarray, shape (c,)
        Since then, sums of the sizes of the increments and of the roundings of stored sums.
    drawn : ndarray of int64, shape (c,)
        How often each was drawn in the window before the step.
    carried_size, carried_error : ndarray, shape (c,)
        Size and error of a first gradient that is carried.
    coefficients : ndarray, shape (c, k)
        They make each error a signed combination of the symbols.
    symbols : ndarray, shape (k,)
        The local errors made so far.
    counts : ndarray of int64, shape (5,)
        By `SUPPORT`, `MADE`, `USED`, `UNDECIDED` and `EVENTS` of bounds/window/svm_formulas.py.
    totals : ndarray, shape (2,)
        By `WEIGHT` and `AMPLIFICATION` of the same module.
    """

    now: np.ndarray
    reach: np.ndarray
    sample: np.ndarray
    row: np.ndarray
    radius: np.ndarray
    start: np.ndarray
    moved: np.ndarray
    rounded: np.ndarray
    drawn: np.ndarray
    carried_size: np.ndarray
    carried_error: np.ndarray
    coefficients: np.ndarray
    symbols: np.ndarray
    counts: np.ndarray
    totals: np.ndarray


def new_state(now, reach, sample, row, symbols):
    """The state of a run before its first window. Every window fills `now` and `reach`, shape (m,) each."""
    count = sample.size
    return State(
        now, reach, sample, row, np.zeros(count), np.zeros(count),
        np.zeros(count), np.zeros(count), np.zeros(count, dtype=np.int64), np.zeros(count), np.zeros(count),
        np.zeros((count, symbols)), np.zeros(symbols), np.zeros(5, dtype=np.int64), np.ones(2),
    )  # fmt: skip


def svm_arithmetic(
    entries: KernelEntries,
    width: int,
    dual: Dual,
    declaration: Declaration,
    carried: CarriedTerms | None = None,
    windows: int = 1,
) -> Arithmetic:
    """A solver's arithmetic in a window of `width` steps; see `svm_window_bound` for the rest."""
    precision, samples = declaration.precision, entries.values.shape[1]
    subnormal = smallest_subnormal("float64")
    others = entries.more_roundings if carried is None else carried.roundings
    others = counted(others + int(dual.threshold > 0.0), samples, width)
    return Arithmetic(
        unit_roundoff(precision), largest_normal(precision), dual.shift, box_of(dual),
        end_error(dual, declaration), FORMS[declaration.update], others, carried is None, min(windows, 2),
        smallest_subnormal(precision), subnormal,
        (samples + 2 * width + 6) * subnormal,
    )  # fmt: skip


def svm_window_bound(
    entries: KernelEntries,
    places: np.ndarray,
    start: np.ndarray,
    steps: SvmSteps,
    dual: Dual,
    declaration: Declaration,
    carried: CarriedTerms | None = None,
    windows: int = 1,
    emphasis: dict[str, Any] | None = None,
) -> TrajectoryBound:
    """Bound the error at the end of one K-SVM window: radii of shape (c,), 0 where a value must be exact.

    `entries` are the kernel rows of the distinct coordinates `places`, shape (c, m), `start`, shape (m,),
    is the solver's a, exact, `steps` are the exact ones. `carried` says what the first gradients are made
    of, for a solver that maintains weights. Where the steps are `windows` windows of the run, a frozen a is
    stored at the end of each, so that a value which steps are made from has landed twice. `emphasis` makes
    sources of error larger: fields of `Arithmetic` by name.
    """
    size = steps.draws.size
    return svm_trajectory_bound(
        entries, places, start, steps, np.zeros(size), size, [size], dual, declaration, carried,
        windows, emphasis,
    )[size]  # fmt: skip


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
    emphasis: dict[str, Any] | None = None,
) -> dict[int, TrajectoryBound]:
    """Bound the distance of a K-SVM run from the oracle's at chosen window ends.

    `steps` are the H of the oracle's run from the common `start`, exact and within the box, `errors`, shape
    (H,), bound the errors of their unclipped values, `s` is the solver's iterations per window. `carried`
    is, for a solver that maintains weights, their drift, or the terms of all first gradients.
    The rest is as for `svm_window_bound`, of the whole run.
    """
    length, sizes = steps.draws.size, magnitudes(start)
    drift = carried if isinstance(carried, CarriedWeights) else None
    terms = None if isinstance(carried, CarriedWeights) else carried
    rows = compiled_rows(entries, declaration.precision, min(s, length), dual)
    place = np.ascontiguousarray(places, dtype=np.int64)
    state = new_state(np.empty(sizes.size), np.empty(sizes.size), place, np.arange(place.size), 2 * length)
    reached, bounded, bounds = sizes[places], True, {0: _bound(state, True)}
    for begin in range(0, max(ends, default=0), s):
        part = slice(begin, min(begin + s, length))
        draws, found = np.ascontiguousarray(steps.draws[part], dtype=np.int64), errors[part] * ROUND_UP
        exact = [step[part] for step in (steps.value, steps.increment, steps.lower, steps.upper)]
        sizes[places] = (reached + state.radius) * ROUND_UP
        if drift is not None:
            drift.restart(sizes)
            terms = drift.begin(sizes, draws.size)
        solver = svm_arithmetic(entries, draws.size, dual, declaration, terms, windows)
        solver = solver._replace(**(emphasis or {}))
        if terms is not None:
            state.carried_size[:], state.carried_error[:] = terms.size, terms.error
            if begin == 0:
                rows.terms[:, places] = np.maximum(terms.products, rows.terms[:, places])
        bounded = bounded and carry(rows, solver, np.array([*exact, found]), sizes, sizes, draws, state)
        if drift is not None:
            drift.end(state.moved, state.drawn, (sizes[places] + state.moved) * ROUND_UP)
        # Of a coordinate drawn more than once the last value holds.
        reached[draws] = np.maximum(
            np.minimum(np.maximum(exact[3], 0.0) + found, dual.upper),
            np.minimum(np.maximum(-exact[2], 0.0) + found, -dual.lower),
        )
        bounds[part.stop] = _bound(state, bounded)
    return {end: bounds[end] for end in ends}


def _bound(state: State, bounded: bool) -> TrajectoryBound:
    radius = state.radius * ROUND_UP if bounded else np.full(state.radius.size, np.inf)
    return TrajectoryBound(radius, float(state.totals[AMPLIFICATION]), int(state.counts[UNDECIDED]))
