"""Constants of the bounds of all K-SVM steps of a window; the derivation is in bounds/step/svm.py."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sstep_verify.bounds.box_rounding import box_errors
from sstep_verify.bounds.kernel.entries import KernelEntries
from sstep_verify.bounds.step.roundings import StepRoundings, step_roundings
from sstep_verify.numerics.rounding import (
    OUTWARD,
    gamma,
    largest_normal,
    smallest,
    stale_roundings,
    unit_roundoff,
)
from sstep_verify.solver import Declaration

IN_PLACE, ADDED, FROZEN = 0, 1, 2

FORMS = {"in-place": IN_PLACE, "added": ADDED, "frozen": FROZEN}


class Factored(NamedTuple):
    """What products formed from the samples may cost more than those formed from kernel entries.

    Parameters
    ----------
    features : int
        Roundings of a term besides (n).
    length : float
        Largest ``sum_k |x_ik|``: smallest numbers that an entry of A'a that underflows may cost.
    height : float
        Largest ``|x_ik|``.
    """

    features: int = 0
    length: float = 0.0
    height: float = 0.0

    def may_overflow(self, alpha: np.ndarray, log: np.ndarray, largest: float) -> bool:
        """Whether an entry of A'a may exceed a size while a takes logged values, whatever a row's product.

        The increments of a coordinate are at most twice its logged values and the first of it together.
        """
        if not self.height:
            return False
        with np.errstate(over="ignore", invalid="ignore"):
            most = self.height * (2.0 * np.abs(alpha).sum() + 4.0 * np.abs(log).sum())
        return not most <= largest


NOT_FACTORED = Factored()


class SvmStepConstants(NamedTuple):
    """What the bound of every step of a window is made from, solver's and judge's share together.

    Parameters
    ----------
    gradient : float
        gamma of the gradient's sum in the last step of a window.
    roundings : StepRoundings
        From which that of each step follows.
    curvature, quotient : float
        gamma_3 and gamma_2.
    shift_error, upper_error : float
        Errors of omega and nu from rounding C.
    underflow : float
        What products that underflow may cost a gradient.
    tiny : float
        Smallest number of the solver's type.
    largest : float
        Size that no number on the way may exceed, or nothing is promised (`largest_normal`).
    sharp : bool
        Whether the bound holds the judge's own error, which decides what is certainly clipped.
    u : float
        Unit roundoff of the solver.
    form : int
        `IN_PLACE`, `ADDED` or `FROZEN`.
    """

    gradient: float
    roundings: StepRoundings
    curvature: float
    quotient: float
    shift_error: float
    upper_error: float
    underflow: float
    tiny: float
    largest: float
    sharp: bool
    u: float
    form: int


def svm_step_constants(
    declaration: Declaration,
    samples: int,
    support: int,
    width: int,
    shift: float,
    upper: float,
    factored: Factored = NOT_FACTORED,
    *,
    judge: bool = True,
) -> SvmStepConstants:
    """Constants of all steps of windows of `width` steps from an a with at most `support` nonzero entries.

    Parameters
    ----------
    declaration : Declaration
        Precision, form of the update, order of summation, and whether C is rounded.
    samples, support, width : int
        Number of samples (m), nonzero entries of a at most (p), steps of a window (s).
    shift, upper : float
        Diagonal shift (omega) and upper end of the box (nu).
    factored : Factored
        Cost of products formed from the samples, where the solver may do so.
    judge : bool
        Whether the judge's own float64 step is part of the bound; False for an exact one.
    """
    precision = declaration.precision
    u, own = unit_roundoff(precision), unit_roundoff("float64") if judge else 0.0
    others, own_others = 6 + factored.features, 7
    longest = stale_roundings(support, samples, width, declaration.summation) + width + others
    upper_error, shift_error = box_errors(upper, shift, declaration)
    # A product for each entry of a, two for each step, and at most 6 others may underflow.
    products = (samples + 2 * width) * (1.0 + factored.length) + 6 + factored.features
    return SvmStepConstants(
        gradient=gamma(longest, u) + gamma(samples + own_others, own),
        roundings=step_roundings(
            precision,
            samples,
            width,
            declaration.summation,
            others,
            own_others,
            5 + factored.features,
            sums=factored == NOT_FACTORED,
            judge=judge,
        ),
        curvature=gamma(3, u) + gamma(3, own),
        quotient=gamma(2, u) + gamma(2, own),
        shift_error=shift_error,
        upper_error=upper_error,
        underflow=products * (smallest(precision) + smallest("float64")),
        tiny=smallest(precision) + smallest("float64"),
        largest=largest_normal(precision),
        sharp=judge,
        u=u,
        form=FORMS[declaration.update],
    )


def step_errors(entries: KernelEntries, *, judge: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Sizes of the kernel entries that roundings multiply, and their errors, both (c, m).

    Parameters
    ----------
    entries : KernelEntries
        Kernel rows with bounds on their errors, the solver's and the judge's own.
    judge : bool
        Whether the judge's own errors are part of them; False where the kernel is exact.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        errors = entries.solver + (entries.own if judge else 0.0)
        sizes, errors = entries.term_sizes * OUTWARD, errors * OUTWARD
        return np.nan_to_num(sizes, nan=np.inf, posinf=np.inf), np.nan_to_num(
            errors, nan=np.inf, posinf=np.inf
        )
