"""Recorded values of one quantity against the judge's, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sstep_verify.checks.shared.finding import ratios
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
    """One quantity of a run.

    Parameters
    ----------
    name : str
        One of `ORDER`.
    formed : ndarray of int64, shape (H,)
        Iteration at which the values of each step were formed: of kernel rows the window's first.
    distance, bound : ndarray, shape (H,)
        Of the value of each step with the largest ratio.
    place : ndarray of int64, shape (H,)
        Which value that is.
    recorded, own : ndarray, shape (H,)
        That value, and the judge's; of an increment of K-RR, which is judged by what it leaves, NaN.
    planned, judged : int
        Values, and those of them with a finite bound.
    out : int
        Values out of their bound.
    effects : dict of str to ndarray, shape (H,)
        What leaving a part out changes, over the bound: of each step where it shows most.
    explained : dict of str to ndarray of bool, shape (H,)
        Whether the recorded values of a step are those without that part.
    """

    name: str
    formed: np.ndarray
    distance: np.ndarray
    bound: np.ndarray
    place: np.ndarray
    recorded: np.ndarray
    own: np.ndarray
    planned: int
    judged: int
    out: int
    effects: dict[str, np.ndarray] = field(default_factory=dict)
    explained: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def ratio(self) -> np.ndarray:
        """Largest distance / bound of each step, shape (H,)."""
        return _ratio(self.distance, self.bound)

    @property
    def wrong(self) -> np.ndarray:
        """Steps out of their bound, ascending."""
        return np.flatnonzero(self.ratio > 1.0)

    def without(self) -> list[str]:
        """Parts whose absence reproduces the values out of their bound, the best first."""
        wrong = self.wrong
        shares = {name: float(said[wrong].mean()) for name, said in self.explained.items() if wrong.size}
        return [name for name in sorted(shares, key=lambda name: -shares[name]) if shares[name] >= SHARE]


def compared(
    name: str,
    formed: np.ndarray,
    recorded: np.ndarray,
    own: np.ndarray,
    bound: np.ndarray,
    left_out: dict[str, np.ndarray] | None = None,
) -> Compared:
    """Compare values of one quantity; all arrays but `formed` of shape (H, k).

    Parameters
    ----------
    name, formed
        See `Compared`.
    recorded, own, bound : ndarray
        The run's values, the judge's, and bounds on their difference.
    left_out : dict of str to ndarray
        What leaving a part out adds to the judge's value.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        distance = np.abs(recorded - own)
    distance = np.where(np.isnan(distance) & ~np.isinf(bound), np.inf, np.nan_to_num(distance, nan=0.0))
    effects, explained = {}, {}
    for part, change in (left_out or {}).items():
        with np.errstate(invalid="ignore", over="ignore"):
            effects[part] = _ratio(np.abs(change), bound).max(axis=1)
            near = (np.abs(recorded - (own + change)) <= bound) | np.isinf(bound)
        explained[part] = near.all(axis=1) & (effects[part] > SEEN)
    return reduced(name, formed, distance, bound, (recorded, own), effects, explained)


def reduced(
    name: str,
    formed: np.ndarray,
    distance: np.ndarray,
    bound: np.ndarray,
    values: tuple[np.ndarray, np.ndarray] | None = None,
    effects: dict[str, np.ndarray] | None = None,
    explained: dict[str, np.ndarray] | None = None,
) -> Compared:
    """The same from distances and bounds, shape (H, k)."""
    ratio = _ratio(distance, bound)
    place = ratio.argmax(axis=1) if ratio.size else np.zeros(len(ratio), dtype=np.int64)
    steps = np.arange(len(ratio))
    unknown = np.full(len(ratio), np.nan)
    recorded, own = (one[steps, place] for one in values) if values else (unknown, unknown)
    return Compared(
        name, formed, distance[steps, place], bound[steps, place], place, recorded, own,
        planned=distance.size, judged=int(np.isfinite(bound).sum()), out=int((ratio > 1.0).sum()),
        effects=effects or {}, explained=explained or {},
    )  # fmt: skip


def first_out(found: Sequence[Compared]) -> tuple[Compared, int] | None:
    """The quantity that is out of its bound first, in the order in which a run forms them, and its step."""
    wrong = [one for one in found if one.wrong.size]
    if not wrong:
        return None

    def when(one: Compared) -> tuple[int, int]:
        return int(one.formed[one.wrong[0]]), ORDER.index(one.name)

    first = min(wrong, key=when)
    return first, int(first.wrong[0])


def _ratio(distance: np.ndarray, bound: np.ndarray) -> np.ndarray:
    return np.nan_to_num(ratios(distance, bound), nan=np.inf, posinf=np.inf)
