"""Recorded values of one quantity against the judge's, step by step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sstep_verify.checks.shared.finding import Finding, distance_ratios
from sstep_verify.errors import counted
from sstep_verify.verdict import SEEN

ROWS, GRADIENT, CURVATURE, INCREMENT, STORED = (
    "kernel rows",
    "gradient",
    "curvature",
    "increment",
    "new value of a",
)
"""Quantities, in the order in which a step forms them."""

ORDER = (ROWS, GRADIENT, CURVATURE, INCREMENT, STORED)

CAUSES = {
    ROWS: "the kernel function, the data, the reduction or the declared precision is wrong",
    CURVATURE: "the diagonal, its shift or (K-RR) the block's matrix is wrong",
    INCREMENT: "the quotient, the clip or (K-RR) the solve is wrong",
    STORED: "the update of a is wrong",
}
"""What is wrong where this quantity is the first."""

SHARE = 0.9
"""Share of the steps out of their bound that leaving a quantity out must reproduce to be named."""


@dataclass(frozen=True, eq=False)
class Compared:
    """One quantity of a run of H steps, k values a step.

    Parameters
    ----------
    name : str
        One of `ORDER`.
    distance, bound : ndarray, shape (H, k)
        Of each value from the judge's; infinite and finite where a number should be and is none.
    recorded, expected : ndarray, shape (H, k), or None
        The values, and the judge's; none of an increment of K-RR, which is judged by what it leaves.
    effects : dict of str to ndarray, shape (H,)
        What leaving a part out changes, over the bound: of each step where it shows most.
    explained : dict of str to ndarray of bool, shape (H,)
        Whether the recorded values of a step are those without that part.
    """

    name: str
    distance: np.ndarray
    bound: np.ndarray
    recorded: np.ndarray | None = None
    expected: np.ndarray | None = None
    effects: Mapping[str, np.ndarray] = field(default_factory=dict)
    explained: Mapping[str, np.ndarray] = field(default_factory=dict)

    @cached_property
    def ratios(self) -> np.ndarray:
        """Distance / bound, shape (H, k)."""
        return distance_ratios(self.distance, self.bound)

    @cached_property
    def place(self) -> np.ndarray:
        """Which value of each step has the largest ratio, shape (H,)."""
        return self.ratios.argmax(axis=1)

    @property
    def ratio(self) -> np.ndarray:
        """Largest ratio of each step, shape (H,)."""
        return self.ratios.max(axis=1)

    @property
    def judged(self) -> int:
        """Values with a finite bound."""
        return int(np.isfinite(self.bound).sum())

    @property
    def out(self) -> int:
        """Values out of their bound."""
        return int((self.ratios > 1.0).sum())

    @property
    def decided(self) -> int:
        """Steps whose value with the largest ratio has a finite bound."""
        return int(np.isfinite(self.bound[np.arange(len(self.place)), self.place]).sum())

    @property
    def wrong(self) -> np.ndarray:
        """Steps out of their bound, ascending."""
        return np.flatnonzero(self.ratio > 1.0)

    def finding(self, step: int) -> Finding:
        """The value of a step with the largest ratio."""
        at = step, self.place[step]
        return Finding("", float(self.distance[at]), float(self.distance[at]), float(self.bound[at]))

    def without(self) -> list[str]:
        """Parts whose absence reproduces the values out of their bound, the best first."""
        wrong = self.wrong
        shares = {name: float(steps[wrong].mean()) for name, steps in self.explained.items() if wrong.size}
        return [name for name in sorted(shares, key=lambda name: -shares[name]) if shares[name] >= SHARE]


def compared(
    name: str,
    recorded: np.ndarray,
    expected: np.ndarray,
    bound: np.ndarray,
    left_out: Mapping[str, np.ndarray] | None = None,
) -> Compared:
    """Compare values of one quantity; all arrays of k numbers for each of H steps, in any shape.

    `expected` are the judge's, `bound` those on the difference, `left_out` what leaving a part out adds to
    the judge's value.
    """
    flat = len(recorded), -1
    recorded, expected, bound = recorded.reshape(flat), expected.reshape(flat), bound.reshape(flat)
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(recorded - expected)
    distance = np.where(np.isnan(distance) & ~np.isinf(bound), np.inf, np.nan_to_num(distance, nan=0.0))
    effects, explained = {}, {}
    for part, change in (left_out or {}).items():
        change = change.reshape(flat)
        with np.errstate(invalid="ignore", over="ignore"):
            effects[part] = distance_ratios(np.abs(change), bound).max(axis=1)
            near = (np.abs(recorded - (expected + change)) <= bound) | np.isinf(bound)
        explained[part] = near.all(axis=1) & (effects[part] > SEEN)
    return Compared(name, distance, bound, recorded, expected, effects, explained)


def first_out(quantities: Sequence[Compared], width: int) -> tuple[Compared, int] | None:
    """The quantity that is out of its bound first, in the order in which a run forms them, and its step.

    Kernel rows are formed for a whole window of `width` steps, when it begins.
    """
    wrong = [(quantity, int(quantity.wrong[0])) for quantity in quantities if quantity.wrong.size]

    def when(first: tuple[Compared, int]) -> tuple[int, int]:
        name, step = first[0].name, first[1]
        return step - step % width if name == ROWS else step, ORDER.index(name)

    return min(wrong, key=when, default=None)


def first_in_words(
    quantities: Sequence[Compared], out: tuple[Compared, int], draws: np.ndarray, width: int
) -> str:
    """Sentences on the first quantity out of its bound: where, how far, and what is likely wrong.

    `draws` are the coordinates of all steps, shape (H, b), `width` is s.
    """
    first, step = out
    place, name = first.place[step], {ROWS: "kernel row", STORED: "new value"}.get(first.name, first.name)
    # Every coordinate of a block has as many values; the one of an increment of K-RR is the block's.
    coordinate = draws[step, place // max(first.bound.shape[1] // draws.shape[1], 1)]
    values = ""
    if first.recorded is not None and first.expected is not None:
        recorded, expected = (float(values[step, place]) for values in (first.recorded, first.expected))
        if math.isfinite(recorded) or math.isfinite(expected):
            values = f": recorded {recorded!r}, the judge's own {expected!r}"
    finding, before = first.finding(step), "Nothing"
    if first.name != ROWS:
        before = "No kernel row, and nothing else"
    return (
        f"The first quantity that is out of its bound is the {name} of iteration {step + 1}, counted from "
        f"1 (step {step % width + 1} of its window, coordinate {coordinate}){values}; difference "
        f"{finding.measured:.3g}, bound {finding.bound:.3g} (sstep_verify/bounds/step/probed.py). "
        f"{before} recorded before it is: {_cause(first, step, len(draws), width)}. Out of their bounds: "
        f"{first.out} of {first.distance.size} values of the {name}, in "
        f"{counted(first.wrong.size, 'step')}."
    )


def _cause(first: Compared, step: int, steps: int, width: int) -> str:
    named = first.without()
    if named:
        most = f"leaving out one part reproduces at least {SHARE:.0%} of the steps out of their bound"
        return f"{most} ({', '.join(named)})"
    if first.name != GRADIENT:
        return CAUSES[first.name]
    if step % width == 0:
        return (
            "no correction acts in the first step of a window, so the product with a, or what is added "
            "to it, is wrong"
        )
    from sstep_verify.checks.steps.causes import never_first

    if never_first(first.wrong, width):
        windows = -(-steps // width)
        return (
            f"those of the first steps of all {windows} windows are not out, so what only later steps have "
            "is wrong, such as the correction"
        )
    return "the correction, the stale product or what is added to them is wrong"
