"""Growth with s as a fitted exponent, with its confidence interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from studies.reporting.stability.document import StabilityRun

CONFIDENCE = 0.95
"""Of the intervals that are quoted."""


@dataclass(frozen=True)
class Exponent:
    """A fitted exponent of s with its confidence interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float | None, low: float | None, high: float | None) -> Exponent | None:
        """The exponent of three numbers; None if one is missing."""
        return None if value is None or low is None or high is None else cls(value, low, high)

    @property
    def words(self) -> str:
        """Whether there is growth, and the numbers."""
        numbers = f"exponent {self.value:.2g}, {CONFIDENCE:.0%} interval {self.low:.2g} to {self.high:.2g}"
        if self.low > 0:
            return f"grows with s ({numbers})"
        if self.high < 0:
            return f"falls with s ({numbers})"
        return f"shows no growth with s ({numbers})"


def mean_exponent(scenarios: Iterable[Sequence[StabilityRun]]) -> Exponent | None:
    """Mean over two scenarios or more of the exponent of s in the loss, with Student's interval.

    The runs of a scenario may be in several forms; those with fewer than two finite factors of s-step
    runs are left out.
    """
    from scipy import stats  # Slow to import, and needed where something is fitted.

    fitted = [
        [
            stats.linregress(np.log(steps), np.log(losses)).slope
            for steps, losses in map(finite_losses, runs)
            if len(steps) > 1
        ]
        for runs in scenarios
    ]
    slopes = [float(np.mean(forms)) for forms in fitted if forms]
    if len(slopes) < 2:
        return None
    half = stats.t.ppf((1 + CONFIDENCE) / 2, len(slopes) - 1) * stats.sem(slopes)
    value = float(np.mean(slopes))
    return Exponent(value, value - float(half), value + float(half))


def fitted_exponent(steps: Sequence[int], losses: Sequence[float]) -> Exponent | None:
    """Exponent of s by linear regression of the logarithms, with the interval of its slope.

    None of fewer than three points.
    """
    from scipy import stats  # Slow to import, and needed where something is fitted.

    if len(steps) < 3:
        return None
    fit = stats.linregress(np.log(steps), np.log(losses))
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(steps) - 2) * fit.stderr)
    return Exponent(float(fit.slope), float(fit.slope) - half, float(fit.slope) + half)


def finite_losses(run: StabilityRun) -> tuple[list[int], list[float]]:
    """Values of s > 1 and their loss factors, where there is one."""
    pairs = [(s, loss) for s, loss in zip(run.s, run.loss, strict=True) if s > 1 and loss]
    return [s for s, _ in pairs], [loss for _, loss in pairs]
