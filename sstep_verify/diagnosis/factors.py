"""A quantity that is off by one factor in all steps: which one, and by how much.

If a solver takes ``1 + delta`` times a quantity, every step is moved by delta times what the quantity adds
to it, up to the step's bound. So a wrong step tells an interval of delta for each quantity, and a quantity
whose intervals meet in all wrong steps explains them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sstep_verify import quantities
from sstep_verify.compiled import inlined
from sstep_verify.recurrence.mutation import TERMS, Mutation
from sstep_verify.specification import OFF

NAMES = tuple(quantity.name for quantity in quantities.QUANTITIES)
"""Quantities by number."""

CURVATURE, KERNEL, PENALTY = map(NAMES.index, (quantities.CURVATURE, quantities.KERNEL, quantities.PENALTY))

# NumPy's integers: of a constant of Python compiled code has a copy for each.
_numbers: Any = np.arange(len(NAMES), len(NAMES) + 15)

BOTH = _numbers[0]
"""Number of the corrections for other coordinates and for the same one, taken together."""

ROW = DIAGONAL = _numbers[1]
"""One number with two names, as a run is of one task only.

`ROW`, K-SVM: the entries of the kernel row, in the product and in the curvature (K-RR: `PENALTY`).
`DIAGONAL`, K-RR: m on the diagonal of the block system, where the right-hand side has it right.
"""

(
    UPPER_END, SHIFT_IN_CURVATURE, ENTRY_IN_CURVATURE, SYSTEM_DIAGONAL, SYSTEM_LAMBDA, SIDE_LAMBDA, SIDE_M,
    M_EVERYWHERE, TARGETS, SIDE_STALE_M, PANEL_LAMBDA, PANEL_M, SHIFT_EVERYWHERE,
) = _numbers[2:]  # fmt: skip
"""Numbers of the parts of a step that `PARTS` names."""

COUNT = SHIFT_EVERYWHERE + 1
"""Quantities and parts of which a factor is looked for."""

CORRECTIONS, M_ON_DIAGONAL = "correction for all coordinates", "m faulty only on the diagonal"

OF_DIAGONAL = M_ON_DIAGONAL, "m on the diagonal only"
ROWS = "kernel rows", "entries of kernel rows"
ROWS_OR_ONE = (
    "kernel rows or the 1 of the gradient",
    f"{ROWS[1]}, or 1/(1 + delta) instead of the 1 of the gradient",
)
"""Names and words of factors that are none on a quantity alone."""


class Part(NamedTuple):
    """A part of a quantity, which a solver may have wrong by itself.

    Parameters
    ----------
    name : str
        What it is; the specification names its requirement.
    covered : tuple of str
        Names of other factors that say no less: where one of them explains the steps, this says nothing.
    certain : float, optional
        The one relative change of it that is a known defect, where no factor of it is.
    """

    name: str
    covered: tuple[str, ...] = ()
    certain: float | None = None


PARTS: dict[int, Part] = {
    UPPER_END: Part(quantities.UPPER),
    SHIFT_IN_CURVATURE: Part("omega in the curvature", (quantities.CURVATURE,)),
    ENTRY_IN_CURVATURE: Part("kernel entry in the curvature", (quantities.CURVATURE,)),
    SYSTEM_DIAGONAL: Part("diagonal of the block system", (quantities.CURVATURE, M_ON_DIAGONAL)),
    SYSTEM_LAMBDA: Part(
        "lambda in the block system",
        (quantities.CURVATURE, M_ON_DIAGONAL, "diagonal of the block system", quantities.OFF_DIAGONAL),
    ),
    SIDE_LAMBDA: Part("lambda in the right-hand side"),
    SIDE_M: Part("m in the right-hand side"),
    M_EVERYWHERE: Part("m in every entry of a block system", (quantities.OFF_DIAGONAL,), 1.0),
    TARGETS: Part("targets"),
    SIDE_STALE_M: Part("m in the stale residual", ("m in the right-hand side",)),
    PANEL_LAMBDA: Part(
        "lambda in the block system and the correction",
        (
            quantities.CURVATURE, M_ON_DIAGONAL, "diagonal of the block system", quantities.OFF_DIAGONAL,
            "lambda in the block system",
        ),
    ),
    PANEL_M: Part(
        "m in the block system and the overlap",
        (quantities.CURVATURE, M_ON_DIAGONAL, "diagonal of the block system", quantities.OVERLAP),
    ),
    SHIFT_EVERYWHERE: Part("omega in the curvature and the gradient", (quantities.CURVATURE,)),
}  # fmt: skip
"""Parts by number."""

IN_WINDOWS = (SIDE_STALE_M, PANEL_LAMBDA, PANEL_M)
"""Numbers of parts that are others of these where a window is one step, or draws no coordinate again."""

NO_ENTRIES = {
    PENALTY: "kernel entries left out",
    SYSTEM_LAMBDA: "kernel entries left out of the block system",
    SIDE_LAMBDA: "kernel entries left out of the right-hand side",
    PANEL_LAMBDA: "kernel entries left out of the block system and the correction",
}
"""By numbers of what kernel entries are divided by: names where no entry is left, so lambda is not used."""

NARROW = 1e-3
"""Width of the widest interval of a factor on kernel entries that says that none is left."""

ENOUGH = 3
"""Wrong steps that an explanation needs: with fewer, many quantities have a factor that explains them."""

SURE = 1e-6
"""Relative width of an interval of a factor that nobody has to fit, up to which no fitted one is kept.

By chance a fitted factor is one of about twenty known ones in at most 1 of 30,000 cases (`symbols.WIDEST`).
"""

WHOLE = (M_ON_DIAGONAL, PARTS[M_EVERYWHERE].name, *NO_ENTRIES.values())
"""Names that say by themselves what is wrong."""

ABSENT = (-1.0, -1.0)
"""The interval of delta of what is multiplied by 0."""

MOST = 3
"""Quantities that may each explain them; where more do, the steps tell too little."""

ROUNDED = 2.0**-40
"""Relative error of a quantity's effect, which float64 code tells, at most."""


class Factor(NamedTuple):
    """A quantity that is off by a factor.

    Parameters
    ----------
    name : str
        The quantity.
    words : str
        What is off, for a reason.
    low, high : float
        Ends of an interval of delta.
    everywhere : bool
        Whether the correct steps allow it too.
    """

    name: str
    words: str
    low: float
    high: float
    everywhere: bool = True

    @property
    def cause(self) -> str:
        """The mistake in words, without its size."""
        return self.name if self.name in WHOLE else self.name + OFF

    @property
    def ends(self) -> tuple[float, float]:
        """Ends of an interval of the factor."""
        return 1.0 + self.low, 1.0 + self.high

    @property
    def size(self) -> float | None:
        """The factor, 0 or ``1 + delta`` in the middle of the interval; None where the name says it."""
        if self.name in NO_ENTRIES.values():
            return None
        return 0.0 if self.low <= -1.0 <= self.high else 1.0 + (self.low + self.high) / 2

    @property
    def narrow(self) -> bool:
        """Whether its interval is so narrow that a fitted factor is in symbols by chance hardly ever."""
        low, high = self.ends
        return self.size is None or high - low <= SURE * max(abs(low), abs(high))

    def holds(self, mutation: Mutation) -> bool:
        """Whether a mutation changes nothing but this quantity.

        What omega adds to a gradient of own increments is a factor on their kernel entry, where entries of
        the diagonal are alike.
        """
        if self.name == quantities.SAME and mutation.changes.keys() == {"omega_overlap"}:
            return True
        both = TERMS[quantities.KERNEL] + TERMS[quantities.SAME]
        terms = both if self.words == CORRECTIONS else TERMS.get(self.name, ("diagonal",))
        return bool(mutation.changes) and mutation.changes.keys() <= set(terms)


def at_end(box, value, off):
    """Whether a value is, up to `off`, an end of the box, or 0 where there is a threshold.

    There a term of the step tells no more than its side: steps of many sizes end there.
    """
    ends = abs(value - box.lower) <= off or abs(value - box.upper) <= off
    return ends or (box.threshold > 0.0 and abs(value) <= off)


step_at_end = inlined(at_end)
"""The same of a step, compiled; a recorded value may be one of longdouble, which has no compiled form."""


@inlined
def explain(found, quantity, moved, effect, bound):
    """Note that ``|moved - t effect| <= bound`` for the t that explains a wrong step."""
    if effect == 0.0:
        if not abs(moved) <= bound:
            found.low[quantity] = np.inf
        return
    found.fits[quantity] += 1
    one, other = (moved - bound) / effect, (moved + bound) / effect
    _narrow(found, quantity, min(one, other), max(one, other))


@inlined
def explain_end(found, quantity, room, effect):
    """Note that ``t effect >= room``: the step ended at an end of the box."""
    if effect > 0.0:
        _narrow(found, quantity, room / effect, np.inf)
    elif effect < 0.0:
        _narrow(found, quantity, -np.inf, room / effect)
    elif room > 0.0:
        found.low[quantity] = np.inf


@inlined
def _narrow(found, quantity, low, high):
    low, high = low - ROUNDED * abs(low), high + ROUNDED * abs(high)
    found.low[quantity] = max(found.low[quantity], low)
    found.high[quantity] = min(found.high[quantity], high)


def off_by_a_factor(
    low: np.ndarray,
    high: np.ndarray,
    fits: np.ndarray,
    *,
    of_svm: bool,
    shifted: bool = True,
    is_known: Callable[[float, float], bool] = lambda low, high: False,
    allowed: tuple[np.ndarray, np.ndarray] | None = None,
) -> list[Factor]:
    """Quantities of which a factor, alone, explains all wrong steps; none if there are more than `MOST`.

    Per quantity an interval of its factor explains them, empty if there is none, and so many comparisons
    told of it; shapes (COUNT,), those after the quantities of `BOTH`, `ROW` and `PARTS`. The intervals that
    correct steps have are `allowed`; what every step of a K-SVM uses has no factor beyond them. Steps of a
    K-SVM were judged by their values, else by residuals, which move the other way. Where nothing is
    `shifted` (omega = 0), a factor on a K-SVM's kernel rows makes the very steps of one on the 1 of its
    gradient.

    `is_known` says whether the factor between two numbers is one that nobody has to fit, such as 1/lambda.
    Those come first, also where a fitted factor covers them, as does a 0 on kernel entries. Where one is
    narrow, only such factors are returned.
    """

    def is_certain(factor: Factor) -> bool:
        return factor.size is None or is_known(*factor.ends)

    def everywhere(number: int) -> bool:
        return allowed is None or bool(
            max(low[number], allowed[0][number]) <= min(high[number], allowed[1][number])
        )

    factors = []
    for number in range(ROW + 1):
        if not (interval := _interval(number, low, high, fits, of_svm=of_svm)):
            continue
        if number < BOTH:
            name = _name(number, NAMES[number], interval)
            factors.append(Factor(name, name, *interval, everywhere(number)))
        elif number == ROW:
            if of_svm and not everywhere(number):
                continue
            words = (ROWS if shifted else ROWS_OR_ONE) if of_svm else OF_DIAGONAL
            factors.append(Factor(*words, *interval, everywhere(number)))
        # Where no coordinate is drawn again, the correction for all is that for others.
        elif NAMES[KERNEL] not in {factor.name for factor in factors}:
            factors.append(Factor(NAMES[KERNEL], CORRECTIONS, *interval, everywhere(number)))
    covered = []
    for number, part in PARTS.items():
        if not (interval := _interval(number, low, high, fits, of_svm=of_svm)):
            continue
        name = _name(number, part.name, interval)
        known, found = part.certain, Factor(name, name, *interval, everywhere(number))
        if of_svm and number == SHIFT_EVERYWHERE and not found.everywhere:
            continue
        if not (
            not interval[0] <= 0.0 <= interval[1] if known is None else interval[0] <= known <= interval[1]
        ):
            continue
        if not {*part.covered} & {factor.name for factor in factors}:
            factors.append(found)
        elif known is None and is_certain(found) and number not in IN_WINDOWS:
            covered.append(found)
    # With one product a step, entries over another lambda and a stale product off by a factor are the same.
    first = PARTS[SIDE_LAMBDA].name, NO_ENTRIES[SIDE_LAMBDA]
    factors.sort(key=lambda factor: factor.name not in first)
    if len(factors) > MOST:
        return []
    ordered = sorted([*covered, *factors], key=lambda factor: not is_certain(factor))
    # Factors on quantities whose effects are proportional make the same steps. One that nobody has to fit,
    # known to so many digits, is none of these by chance.
    chosen = [factor for factor in ordered if is_certain(factor) and factor.narrow] or ordered
    return [factor for factor in chosen if factor.everywhere] or chosen


def _name(number: int, name: str, interval: tuple[float, float]) -> str:
    """The name of a factor; that of kernel entries that are left out, which no factor on lambda does."""
    return NO_ENTRIES[number] if interval == ABSENT and number in NO_ENTRIES else name


def _interval(
    number: int, low: np.ndarray, high: np.ndarray, fits: np.ndarray, *, of_svm: bool
) -> tuple[float, float] | None:
    """The interval of delta that explains all wrong steps; None where there is none, or it is too wide."""
    lowest, highest = float(low[number]), float(high[number])
    if fits[number] < ENOUGH or not lowest <= highest or not math.isfinite(highest - lowest):
        return None
    if of_svm and number == CURVATURE and not highest < 1.0:
        return None  # No curvature is so large that a step is not made at all.
    if number in NO_ENTRIES and lowest <= -1.0 <= highest:
        return ABSENT if highest - lowest <= NARROW else None
    interval = _delta(number, lowest, highest, of_svm=of_svm)
    # An end at 0 is none: there all values stay as they are.
    return None if number == UPPER_END and not interval[0] > -1.0 else interval


def _delta(number: int, low: float, high: float, *, of_svm: bool) -> tuple[float, float]:
    """The interval of delta that stands for one of t, by which effects are multiplied (`explain`).

    ================================================  ======  ================
    quantity                                          task    delta
    ================================================  ======  ================
    ROW, the parts with omega, ENTRY_IN_CURVATURE     K-SVM   t
    CURVATURE                                         K-SVM   t / (1 - t)
    one of NO_ENTRIES, where t is not -1              K-RR    -t / (1 + t)
    any other                                         K-SVM   -t
    any other                                         K-RR    t
    ================================================  ======  ================
    """
    # Told of the step that was made, so that it is delta itself.
    if of_svm and number in (ROW, SHIFT_IN_CURVATURE, ENTRY_IN_CURVATURE, SHIFT_EVERYWHERE):
        return low, high
    if of_svm and number == CURVATURE:  # a step over 1 + delta: t = delta / (1 + delta)
        return low / (1.0 - low), high / (1.0 - high)
    if number in NO_ENTRIES:  # kernel entries times 1 + t, over 1 + delta
        return -high / (1.0 + high), -low / (1.0 + low)
    return (-high, -low) if of_svm else (low, high)
