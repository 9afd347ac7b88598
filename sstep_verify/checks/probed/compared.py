"""Recorded values of one quantity against the judge's, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sstep_verify.checks.shared.finding import Finding, distance_ratios
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
    recorded, own : ndarray, shape (H, k), or None
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
    own: np.ndarray | None = None
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
        shares = {name: float(said[wrong].mean()) for name, said in self.explained.items() if wrong.size}
        return [name for name in sorted(shares, key=lambda name: -shares[name]) if shares[name] >= SHARE]


def compared(
    name: str,
    recorded: np.ndarray,
    own: np.ndarray,
    bound: np.ndarray,
    left_out: Mapping[str, np.ndarray] | None = None,
) -> Compared:
    """Compare values of one quantity; all arrays of k numbers for each of H steps, in any shape.

    Parameters
    ----------
    name : str
        One of `ORDER`.
    recorded, own, bound : ndarray
        The run's values, the judge's, and bounds on their difference.
    left_out : dict of str to ndarray
        What leaving a part out adds to the judge's value.
    """
    flat = len(recorded), -1
    recorded, own, bound = recorded.reshape(flat), own.reshape(flat), bound.reshape(flat)
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(recorded - own)
    distance = np.where(np.isnan(distance) & ~np.isinf(bound), np.inf, np.nan_to_num(distance, nan=0.0))
    effects, explained = {}, {}
    for part, change in (left_out or {}).items():
        change = change.reshape(flat)
        with np.errstate(invalid="ignore", over="ignore"):
            effects[part] = distance_ratios(np.abs(change), bound).max(axis=1)
            near = (np.abs(recorded - (own + change)) <= bound) | np.isinf(bound)
        explained[part] = near.all(axis=1) & (effects[part] > SEEN)
    return Compared(name, distance, bound, recorded, own, effects, explained)


def first_out(quantities: Sequence[Compared], width: int) -> tuple[Compared, int] | None:
    """The quantity that is out of its bound first, in the order in which a run forms them, and its step.

    Kernel rows are formed for a whole window of `width` steps, when it begins.
    """
    wrong = [(quantity, int(quantity.wrong[0])) for quantity in quantities if quantity.wrong.size]

    def when(first: tuple[Compared, int]) -> tuple[int, int]:
        name, step = first[0].name, first[1]
        return step - step % width if name == ROWS else step, ORDER.index(name)

    return min(wrong, key=when, default=None)
