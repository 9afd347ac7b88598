"""One comparison and its outcome: enclosure of what was measured, bound on it, what would have shown.

The rule that makes a status of the two stands here, once, for every check.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sstep_verify.verdict import DETECTION_FACTOR, Hint, Place, Status, Why


@dataclass(frozen=True)
class Window:
    """One window of a run, or another segment of it, and why it was chosen.

    Parameters
    ----------
    begin, end : int
        Iterations at which it starts and ends, counted from the run's beginning.
    tags : tuple of str
        first, last, tail, sampled, "<quantity> acts" (one window a quantity), and the events it holds:
        overlap, clip low, clip high, free.
    """

    begin: int
    end: int
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """One comparison: an enclosure of what was measured, and the bound on it.

    Parameters
    ----------
    lower, upper : float
        Enclosure of the measured value, >= 0; of a window, where measured / bound is largest.
    bound : float
        Bound on it; infinite where none can be derived.
    window : Window, optional
        The window or segment that was compared, where it is one.
    dropped : dict of str to float
        Per quantity that can act: effect that leaving it out is certain to have, over the bound.
    detection_limit : dict of str to float
        Per quantity: relative error that was certain to show, whether too large or too small by it.
    tried : object, optional
        Of a window, what tries errors in it (`window.tries.Tries`), as long as that may be wanted.
    least : dict of str to (float, float)
        Of a step, per quantity that it shows best: smallest relative errors that were certain to show, too
        large and too small.
    bits : int
        Precision of the replay; 0 where nothing was replayed.
    source : str
        Of a window, what it was compared with: "data", the exact replay, or "screen", the float64 screen.
    end : tuple or None
        Of a window, the arguments of `WindowEnd` (checks/window/causes.py), if it is to be diagnosed.
    details : dict of str to object
        Further plain values for the report.
    signs : tuple of str
        Names of what is wrong where that is plain without a diagnosis, for the sentences that it breaks.
    hints : tuple of Hint
        What to look at where that is plain without a diagnosis.
    place : Place, optional
        Where the compared value lies in the run, with both values.
    why : Why, optional
        Why nothing can be decided, where that is known.
    """

    lower: float
    upper: float
    bound: float
    window: Window = Window(0, 0)
    dropped: dict[str, float] = field(default_factory=dict)
    detection_limit: dict[str, float] = field(default_factory=dict)
    tried: Any = None
    least: dict[str, tuple[float, float]] = field(default_factory=dict)
    bits: int = 0
    source: str = "data"
    end: Any = None
    details: dict[str, object] = field(default_factory=dict)
    signs: tuple[str, ...] = ()
    hints: tuple[Hint, ...] = ()
    place: Place | None = None
    why: Why | None = None

    @property
    def status(self) -> Status:
        """FAIL iff the lower end exceeds the bound, PASS iff the upper end does not exceed a finite one.

        VACUOUS where something is known of the value and the bound is infinite: no defect could exceed it.
        This comparison decides; the flags of single steps (checks/steps/judged.py) only choose what is
        explained.
        """
        return ORDER[badness(self.lower, self.upper, self.bound)]

    @property
    def decided(self) -> bool:
        """Whether anything was decided: not if the enclosure or the bound was too wide to."""
        return self.status in (Status.PASS, Status.FAIL)

    @property
    def measured(self) -> float:
        """The end of the enclosure that the status depends on."""
        return self.lower if self.status is Status.FAIL else self.upper

    @property
    def ratio(self) -> float:
        """Measured / bound; 0 where the value must be exact and is, and where there is no bound."""
        return float(ratios(self.measured, self.bound))

    def shows(self, name: str) -> bool:
        """Whether leaving a quantity out would have been seen."""
        return self.decided and self.dropped.get(name, 0.0) > DETECTION_FACTOR

    def numbers(self) -> dict[str, object]:
        """Status, ratio, both values and what would have shown, as plain values."""
        return {
            "status": self.status.value,
            "ratio": self.ratio,
            "measured": self.measured,
            "bound": self.bound,
            "bits": self.bits,
            "detection_limit": self.detection_limit,
        }

    def evidence(self) -> dict[str, object]:
        """Plain values for the report on a replayed window, its comparisons among them."""
        return {
            "begin": self.window.begin,
            "end": self.window.end,
            "tags": list(self.window.tags),
            "status": self.status.value,
            "ratio": self.ratio,
            "bits": self.bits,
            "detection_limit": self.detection_limit,
            f"from_{self.source}": self.numbers(),
        }


ORDER = (Status.PASS, Status.VACUOUS, Status.INCONCLUSIVE, Status.FAIL)
"""Statuses from best to worst."""


def badness(lower: Any, upper: Any, bound: Any) -> Any:
    """The place in `ORDER` of one comparison, from numbers, or of each of several, from arrays."""
    unbounded = bound == math.inf
    passed = (upper <= bound) & (lower <= bound) & (bound < math.inf)
    vacuous = unbounded & ((upper != math.inf) | (lower >= upper))
    return 2 - 2 * passed - 1 * vacuous + (lower > bound)


def wrong(size: float = math.inf, **rest: Any) -> Comparison:
    """The comparison that something that must be exact is off by some size."""
    return Comparison(size, size, 0.0, **rest)


def unknown(**rest: Any) -> Comparison:
    """The comparison that could not be made: INCONCLUSIVE."""
    return Comparison(0.0, math.inf, math.inf, **rest)


def unbounded(size: float = 0.0, **rest: Any) -> Comparison:
    """The comparison where nothing is promised: VACUOUS."""
    return Comparison(size, size, math.inf, **rest)


def decisive(comparisons: Sequence[Comparison]) -> Comparison:
    """The comparison that a verdict on all of them rests on: the worst status, then the largest ratio."""
    return max(comparisons, key=lambda comparison: (ORDER.index(comparison.status), comparison.ratio))


def promising(comparisons: Sequence[Comparison]) -> Sequence[Comparison]:
    """Those of which something is promised; all of them where nothing is of any."""
    return [
        comparison for comparison in comparisons if comparison.status is not Status.VACUOUS
    ] or comparisons


def any_tried(comparisons: Sequence[Comparison]) -> bool:
    """Whether there is a failed window in which mistakes are tried: one that is to be diagnosed."""
    return any(
        comparison.status is Status.FAIL and comparison.end is not None for comparison in comparisons
    )


def ratios(measured: Any, bound: Any) -> np.ndarray:
    """Measured / bound with 0 / 0 = 0, a value that must be exact and is; 0 where the bound is infinite."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(
            np.equal(measured, 0.0) | np.isinf(bound), 0.0, np.divide(measured, bound, dtype=np.float64)
        )


def distance_ratios(distance: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """The same of distances, which are infinite where one is no number."""
    return np.nan_to_num(ratios(distance, bound), nan=np.inf, posinf=np.inf)


def worst_entry(ends: np.ndarray, bound: np.ndarray) -> tuple[int, Comparison]:
    """The worst of comparisons, by enclosures, shape (2, n), and bounds, shape (n,): its place, and it."""
    lower, upper = ends
    bad = badness(lower, upper, bound)
    measured = np.where(bad == ORDER.index(Status.FAIL), lower, upper)
    entry = int(np.argmax(np.where(bad == bad.max(), ratios(measured, bound), -1.0)))
    return entry, Comparison(float(lower[entry]), float(upper[entry]), float(bound[entry]))


def executed(comparisons: Iterable[Comparison]) -> int:
    """Comparisons that were made: those of which something is known."""
    return sum(comparison.status is not Status.INCONCLUSIVE for comparison in comparisons)
