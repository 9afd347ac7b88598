"""How near correct runs come to their bounds: quantiles, and where a sharper one is wanted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from sstep_verify.checks.step_replay import CHECK as STEPS
from studies.alarms.bounds import ADDED_UP
from studies.reporting.sensitivity.alarms import Ratios, Shares, TightnessRow

WANTED = 0.02
"""Median of the ratio times the length of the longest sum below which a sharper derivation is wanted.

An error bound of a sum of k terms grows with k; errors that add up like a random walk with its square root,
so that ratios fall as k grows without a fault of the derivation. Runs in which no quantity of a step acts,
many of them without any rounding, are left out.
"""

FEWEST = 20
"""Verdicts below which a median says too little for that."""

QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.99)

Key = tuple[str, str, str, str]

ALL_STEPS = "the errors of all steps, added up"
"""What the bounds of whole runs are made of."""


def tightness(ratios: Iterable[Ratios], shares: Iterable[Shares]) -> tuple[TightnessRow, ...]:
    """One row for every check, task, kernel and precision, of what the pieces of a study found."""
    found = defaultdict[Key, list[Ratios]](list)
    for one in ratios:
        found[one.check, one.task, one.kernel, one.precision].append(one)
    parts = defaultdict[Key, dict[str, list[float]]](lambda: defaultdict(list))
    for looked in shares:
        for name, held in looked.parts.items():
            # The only check whose bounds are looked into.
            parts[STEPS, looked.task, looked.kernel, looked.precision][name] += held
    return tuple(_row(key, found[key], parts.get(key, {})) for key in sorted(found))


def _row(key: Key, found: list[Ratios], parts: dict[str, list[float]]) -> TightnessRow:
    every = np.array([ratio for one in found for ratio in one.ratios])
    acted = np.array([ratio for one in found if one.acted for ratio in one.ratios])
    lengths = np.array([length for one in found if one.acted for length in one.lengths])
    least, lower, median, upper, ninety_ninth = [
        float(np.quantile(acted, part)) if acted.size else None for part in QUANTILES
    ]
    product = float(np.median(acted * lengths)) if lengths.size else None
    medians = {name: float(np.median(shares)) for name, shares in parts.items()}
    largest = max(medians, key=lambda name: medians[name], default="")
    dominates = f"{largest}, {medians[largest]:.0%}" if largest else ""
    return TightnessRow(
        *key,
        runs=every.size,
        acted=acted.size,
        least=least,
        lower=lower,
        median=median,
        upper=upper,
        ninety_ninth=ninety_ninth,
        most=float(every.max()),
        length=float(np.median(lengths)) if lengths.size else None,
        product=product,
        wanted=product is not None and acted.size >= FEWEST and product < WANTED,
        dominates=ALL_STEPS if key[0] in ADDED_UP else dominates,
    )
