"""Up to which s windows cost no more than the attainable accuracy: a certificate for one dual vector.

Let a be a dual vector, such as a training run ends with, g an upper bound on its duality gap, proved in
float64 (bounds/optimum/), f the minimised objective, and u the unit roundoff of a precision.

*Loss of a window.* The sum over its s steps of f after the step, less f after the exact step that is made
from the same iterate on the same coordinates. Exact steps never raise f, so a window that begins at a and
loses l ends with ``f <= f(a) + l``.

*Theorem.* Every window of s steps that begins at a, whatever coordinates it draws, made by any
implementation of the recurrence in place, in IEEE arithmetic of this precision, from kernel entries of
the declared formulas, with sums in any order, loses at most L(s) (safety/windows.py). The same s steps
made classically, as windows of one, lose at most C(s), by the same theorem.

*Attainable accuracy* A(s): the larger of C(s) and of what the precision can show of the gap at a. K-SVM:
``C u sum_ij |Q_ij| |a_j|``, what a single rounding of every margin may change the gap by
(measures/). K-RR: ``rho^2 / (2m)``, the gap that may be left although the residual is computed to
be 0, rho the bound on the error of its norm (bounds/optimum/ridge.py). Classical steps cannot promise
more; s plays no part in it but for the number of steps.

*Certificate.* s is certified iff ``L(s) - C(s) <= A(s)``, and L(s) is at most ``f(0) - f(a)``, all that
training has gained: a bound beyond that says nothing. Then every window of s steps from a loses at most
``C(s) + A(s)``: what s-step may lose beyond what is promised of classical steps stays below the attainable
accuracy. An s that is not certified is not shown to be unsafe.

Next to them stands what real windows of s steps from a were measured to lose (safety/measured.py).

Not covered: windows that begin elsewhere, in particular early ones, whose error later windows correct; a
solver that keeps alpha frozen or maintains weights; faulty code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sstep_verify.bounds.optimum.ridge import ridge_values
from sstep_verify.bounds.optimum.svm import svm_values
from sstep_verify.declaration import Precision
from sstep_verify.errors import InputError
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import ROUND_UP, rounded_problem, stored, unit_roundoff
from sstep_verify.safety.measured import Sample, Windows, declaration_of
from sstep_verify.safety.report import Certificate, Curve, Point
from sstep_verify.safety.windows import RidgeWindows, SvmWindows
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.settings import Settings
from sstep_verify.solver.training.decisions import decide
from sstep_verify.solver.training.intervals import Training

SEED = 0
"""Of the windows that are run."""


def certify(
    problem: Problem,
    alpha: np.ndarray,
    *,
    precisions: Sequence[Precision] = ("float64", "float32"),
    block: int = 1,
    most: int = 1024,
    measure: bool = True,
) -> Certificate:
    """Find up to which s, at `most`, windows from a dual vector are certified, in some precisions.

    The vector, such as training ends with, shape (m,), is rounded to each precision, and put into the box.
    A K-RR draws blocks of b coordinates. Windows are run, and what they lose is measured, if that is asked
    for. InputError if a precision cannot hold the problem.
    """
    sample = Sample(problem.samples, block, most, SEED) if measure else None
    curves = tuple(_curve(problem, alpha, precision, block, most, sample) for precision in precisions)
    return Certificate(problem.label, block, most, SEED, curves)


def _curve(
    problem: Problem,
    alpha: np.ndarray,
    precision: Precision,
    block: int,
    most: int,
    sample: Sample | None,
) -> Curve:
    """Bound, certify and measure in one precision; without a sample nothing is measured."""
    declaration = declaration_of(precision)
    # The problem that a solver in float32 holds is the one certified.
    given, known = problem.label, rounded_problem(problem, declaration)
    if known is None:
        raise InputError(f"{given}: a number of the problem is beyond the range of {precision}")
    problem = known
    held = np.asarray(stored(np.asarray(alpha, dtype=np.float64), precision))
    if problem.is_svm:
        held = np.clip(held, 0.0, problem.hinge.upper)
        values = svm_values(problem, declaration, held)
        gap, gained = values.gap.upper, values.dual.lower
        slopes = (np.abs(values.slopes) + values.slope_errors) * ROUND_UP
        every = SvmWindows(problem, declaration, held, gap, slopes)
        shown, loss = problem.hinge.C * unit_roundoff(precision) * every.margins, every.loss
    else:
        found = ridge_values(problem, declaration, held)
        gap, gained = found.gap.upper, found.dual.lower
        shown = found.residual.solver_error * found.residual.solver_error / (2 * problem.samples)
        loss = RidgeWindows(problem, declaration, held, gap, block).loss
    windows = None if sample is None else Windows(problem, held, precision, sample)

    def judged(s: int) -> tuple[float, float, float, bool]:
        bound, classical = loss(s), loss(s, 1)
        attainable = max(shown, classical)
        # Rounded against the certificate.
        beyond = (bound * ROUND_UP - classical) * ROUND_UP
        safe = bound <= gained and beyond <= attainable
        return bound, classical, attainable, safe

    def point(s: int) -> Point:
        measured, count = windows.measure(s) if windows else (None, 0)
        bound, classical, attainable, safe = judged(s)
        return Point(s, bound, classical, attainable, measured, count, safe)

    chosen = sorted({*(1 << k for k in range(most.bit_length())), most})
    points = tuple(point(s) for s in chosen)
    return Curve(precision, gap, gained, shown, points, _largest(chosen, lambda s: judged(s)[-1]))


def _largest(chosen: list[int], safe: Callable[[int], bool]) -> int:
    """Largest s for which all smaller ones of the curve are safe as well, by bisection; 0 if none is."""
    below = 0
    for s in chosen:
        if not safe(s):
            above = s
            break
        below = s
    else:
        return below
    while above - below > 1:
        middle = (above + below) // 2
        below, above = (middle, above) if safe(middle) else (below, middle)
    return below


def trained_alpha(
    problem: Problem,
    *,
    block: int = 1,
    iterations: int | None = None,
    tolerance: float = 1e-6,
) -> Training:
    """Train as `solve` does with its defaults, on one process and without any file.

    The iterations are at most 100 passes over the samples where they are not given; it stops at a relative
    gap (K-SVM) or residual (K-RR) of `tolerance`. InputError if a value is out of range.
    """
    settings = Settings(
        kernel=problem.kernel, loss=problem.loss, block=block, iterations=iterations, tolerance=tolerance
    )
    settings, samples = decide(settings, problem.samples, 1), problem.samples
    return Training(problem, settings.draws_of(samples), settings, SelfCommunicator()).to_the_end()
