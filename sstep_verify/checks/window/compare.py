"""A window as its run recorded it, the bound of its replay, and how its end compares with that."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sstep_verify.bounds.carried_run import carried_weights
from sstep_verify.bounds.window.ridge import ridge_component_bound, ridge_panel_bound, ridge_window_errors
from sstep_verify.bounds.window.svm import svm_window_bound
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.comparison import Comparison, Window, ratios, wrong
from sstep_verify.checks.shared.signs import FIRST_ALPHA
from sstep_verify.declaration import Declaration
from sstep_verify.oracle.replay import Replay
from sstep_verify.problems.losses import Dual
from sstep_verify.quantities import STREAM, WRITE_BACK, SvmSteps
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.rounding.right_hand_side import CarriedTerms, carried_terms
from sstep_verify.rounding.rows import KernelEntries, panel_entries
from sstep_verify.trajectory import Panel, Trajectory
from sstep_verify.verdict import Place

SMALL = 2.0**-10
"""Width of an enclosure, over the bound, up to which a ratio is that of the error and not of the width."""


@dataclass(frozen=True, eq=False)
class RunWindow:
    """A window of a run, or a segment of several, with what the run recorded of it.

    Parameters
    ----------
    window : Window
        Where it is.
    begin, end : ndarray, shape (m,)
        The run's a at its two ends.
    draws : ndarray of int, shape (k, b)
        Blocks drawn.
    weights : ndarray, shape (n,), or None
        The weights maintained along with a at its start, where steps are made from these; absent where
        they are formed from a there.
    s : int
        Iterations per window of the run; 0 where the window is one of its own length.
    before : (ndarray, shape (m,), and ndarray of int, shape (s, b)), or None
        The run's a at the start of the window before, and the blocks drawn in that, where recorded.
    largest : ndarray, shape (m,), or None
        The largest |a| that the run recorded until its start; |a| there, if absent.
    """

    window: Window
    begin: np.ndarray
    end: np.ndarray
    draws: np.ndarray
    weights: np.ndarray | None = None
    s: int = 0
    before: tuple[np.ndarray, np.ndarray] | None = None
    largest: np.ndarray | None = None

    @property
    def sizes(self) -> np.ndarray:
        """What first gradients are rounded with, shape (m,).

        One that is maintained was rounded when a was larger; maintained weights have a drift of their own.
        """
        return self.begin if self.largest is None or self.weights is not None else self.largest

    @property
    def windows(self) -> int:
        """How many windows of the run it is."""
        return max(-(-self.draws.shape[0] // self.s), 1) if self.s else 1

    @property
    def tail(self) -> bool:
        """Whether it is a short last window, which may not have been made at all."""
        return self.draws.shape[0] < self.s


@dataclass(frozen=True, eq=False)
class Rounding:
    """What the bound of a window is made from, whatever its steps are.

    Parameters
    ----------
    rows : KernelEntries
        Kernel rows of its distinct coordinates, with what they are off by.
    panel : bool
        Whether these are rows that a solver exposed.
    carried : CarriedTerms or None
        What first gradients are made of that come from maintained weights.
    """

    rows: KernelEntries
    panel: bool
    carried: CarriedTerms | None


def largest_until(trajectory: Trajectory, iteration: int) -> np.ndarray:
    """The largest |a| that a run recorded until an iteration, shape (m,).

    A number that is not finite failed where it was stored, and no size is taken from it.
    """
    alphas = trajectory.alphas[trajectory.iterations <= iteration]
    return np.abs(np.where(np.isfinite(alphas), alphas, 0.0)).max(axis=0)


def rounding_of(case: Case, places: np.ndarray, window: RunWindow, panel: Panel | None = None) -> Rounding:
    """What the bound of a window on some distinct coordinates is made from."""
    problem, declaration = case.problem, case.formulas
    if panel is None:
        rows = kernel_entries(problem, declaration, places)
    else:
        rows = panel_entries(_rows_of(panel, places), places)
    carried, drawn = None, window.draws.size
    if window.weights is not None:
        carried = carried_terms(problem, declaration, places, drawn, window.weights)
    elif (formed := carried_weights(problem, declaration, places, window.begin)) is not None:
        carried = formed.begin(np.abs(window.begin), drawn)
    return Rounding(rows, panel is not None, carried)


def bounded(
    case: Case, replay: Replay, window: RunWindow, rounding: Rounding, dual: Dual | None = None
) -> tuple[Replay, np.ndarray]:
    """The replay with its bound, shape (k,); by the box of another dual, if one is given.

    K-SVM, and K-RR from a panel: per distinct coordinate. K-RR from the data: the M-norm, followed by
    the coordinates where the window is small enough to propagate its errors one by one.
    """
    problem, declaration, places = case.problem, case.formulas, replay.places
    start, steps, windows = window.sizes, replay.steps, window.windows
    rows, carried = rounding.rows, rounding.carried
    if isinstance(steps, SvmSteps):
        bound = svm_window_bound(
            rows, places, start, steps, dual or problem.dual, declaration, carried, windows=windows
        )
        return replay, bound.radius
    penalty = problem.ridge.penalty
    arguments = rows, places, start, problem.targets, steps, penalty, declaration, carried
    if rounding.panel:
        return replay, ridge_panel_bound(*arguments[:-1])
    errors = ridge_window_errors(*arguments, windows=windows)
    stored = windows > 1 and declaration.update == "frozen"
    components = None if stored else ridge_component_bound(rows, places, errors, penalty)
    if components is None:
        return replay, np.array([errors.norm])
    return replay.with_components(), np.concatenate([[errors.norm], components])


def _rows_of(panel: Panel, places: np.ndarray) -> np.ndarray:
    order = np.argsort(panel.columns)
    return panel.entries[order[np.searchsorted(panel.columns, places, sorter=order)]]


def resolution(declaration: Declaration, replay: Replay, begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Smallest change that the solver's precision resolves: half an ulp of what a coordinate went through.

    Where a value must be exact the bound is 0, but no error of a quantity can show below this.
    """
    u = unit_roundoff(declaration.precision)
    if not isinstance(replay.steps, SvmSteps):
        return np.zeros(replay.lower.size)
    size = np.maximum(np.abs(begin[replay.places]), np.abs(end[replay.places]))
    np.maximum.at(size, replay.steps.draws, np.abs(replay.steps.increment))
    return u * size


def wide(replay: Replay, bound: np.ndarray) -> bool:
    """Whether more bits would make the measured error, or a bound made from wide exact steps, smaller.

    The enclosure of the error must be narrow relative to the bound. That of a step's new value is rounded
    to float64, outwards by at most 2 ulp at each end, which is 8 u of the largest value; anything wider
    comes from the balls, and then the bound itself is of their width.
    """
    width = replay.upper - replay.lower
    if not (width <= SMALL * bound)[bound > 0.0].all():
        return True
    if not isinstance(replay.steps, SvmSteps):
        return False
    steps = replay.steps
    if not (np.isfinite(steps.lower).all() and np.isfinite(steps.upper).all()):
        return True
    largest = max(float(np.abs(part).max(initial=0.0)) for part in (steps.value, steps.lower, steps.upper))
    return bool((steps.upper - steps.lower > 8 * unit_roundoff("float64") * largest).any())


def settled(replay: Replay, bound: np.ndarray, before: Replay) -> bool:
    """Whether an error is beyond its bound for certain, and more bits have not told it more exactly.

    Float64 states a large error with as many digits as a small one. That is never narrow relative to
    the bound.
    """
    width, earlier = replay.upper - replay.lower, before.upper - before.lower
    return bool((replay.lower > bound).any() and (width >= 0.5 * earlier).all())


def compare(
    window: Window,
    replay: Replay,
    bound: np.ndarray,
    resolved: np.ndarray,
    quantities: Iterable[str] | None = None,
) -> Comparison:
    """The comparison on a window, where measured / bound is largest; on an infinite bound, where there is
    one.

    Each measured value comes with its bound and its `resolution`. Effects are those of leaving out the
    quantities named: of all if `quantities` is None, of none if it is empty.
    """
    low, high = ratios(replay.lower, bound), ratios(replay.upper, bound)
    if not np.isfinite(bound).all():
        place = int(np.argmin(np.isfinite(bound)))
    else:
        place = int(np.argmax(low if low.max() > 1.0 else high))
    visible, names = np.maximum(bound, resolved), replay.effects if quantities is None else quantities
    dropped = {
        name: float(ratios(replay.effects[name], visible).max()) for name in names if name in replay.effects
    }
    row = place if isinstance(replay.steps, SvmSteps) else place - 1  # The M-norm comes before coordinates.
    coordinate = int(replay.places[row]) if row >= 0 else None
    # Where nothing is promised it does not matter how wide an enclosure is that overflowed.
    upper = replay.upper if bound[place] < math.inf else replay.lower
    return Comparison(
        float(replay.lower[place]),
        float(upper[place]),
        float(bound[place]),
        window,
        place=Place(window.begin, window.end, coordinate),
        dropped=dropped,
        bits=replay.bits,
    )


def undrawn_apart(one: np.ndarray, other: np.ndarray, draws: np.ndarray) -> int | None:
    """The first coordinate that is not drawn, and is not the same in two vectors."""
    outside = np.ones(one.size, dtype=bool)
    outside[draws] = False
    apart = np.flatnonzero(outside & (one != other))
    return int(apart[0]) if apart.size else None


def moved_undrawn(
    window: Window, begin, end, draws: np.ndarray, *, apart: bool = False
) -> Comparison | None:
    """A coordinate that the window does not draw and that moved all the same.

    Where the two ends may be those of runs `apart`, another reason is that a run began elsewhere than at
    the a0 that stands for its result before any step.
    """
    moved = undrawn_apart(begin, end, draws)
    if moved is None:
        return None
    signs = [STREAM, WRITE_BACK]
    if apart and not window.begin:
        signs.append(FIRST_ALPHA)
    size = float(abs(end[moved] - begin[moved]))
    found, expected = float(end[moved]), float(begin[moved])
    place = Place(window.begin, window.end, moved, found=found, expected=expected)
    return wrong(size, window=window, place=place, signs=tuple(signs))
