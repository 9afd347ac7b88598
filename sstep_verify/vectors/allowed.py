"""How far a correct solver may end from the exact trajectory of a vector.

Bound C (bounds/window/svm.py, ridge.py) is computed for a declaration. A reader of vectors makes none, so
what is allowed is the largest for the plain one in the few forms that programs have:

* a step changes a in place, by an added increment, or at the end of its window;
* with the linear kernel in float64, weights are formed again, or maintained from the start;
* block systems are solved by Cholesky, or by LU with pivoting.

Bounds are distances from the oracle's run, whose own distance from the exact trajectory is added. In the
M-norm of K-RR, ``|d_i| <= ||d||_M / sqrt(m)`` since M >= m I; a coordinate not drawn yet has not moved.
What is compared is the float64 number nearest to the exact value, which is added as well.

Balls as decimals of one unit, bounds as numbers of three digits: every rounding has its direction.
"""

from __future__ import annotations

import math
from decimal import ROUND_FLOOR, Context, Decimal
from decimal import ROUND_UP as AWAY_FROM_ZERO
from fractions import Fraction
from typing import Any, get_args

import numpy as np

from sstep_verify.bounds.carried_run import carried_weights
from sstep_verify.bounds.window import TrajectoryBound
from sstep_verify.bounds.window.ridge import ridge_trajectory_bound
from sstep_verify.bounds.window.svm import svm_trajectory_bound
from sstep_verify.declaration import Declaration, Precision, Update
from sstep_verify.errors import OracleDisagreementError
from sstep_verify.oracle.trajectories import EnclosedTrajectory
from sstep_verify.oracle.verify.kernel import ball_ends
from sstep_verify.problems import Problem
from sstep_verify.protocol import RunRequest
from sstep_verify.quantities import SvmSteps
from sstep_verify.rounding.arithmetic import ROUND_UP
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.rounding.rows import KernelEntries

DIGITS = 30
"""Decimal digits of a vector's largest coordinate, most of them beyond what float64 holds."""

SLACK = 2.0**-20
"""What a bound is raised by before it is written, relatively: other arithmetic must prove it again."""

_NEAR = 2.0**-22
_EXACT = Context(prec=DIGITS + 10)


def enclosing(balls: list[Any]) -> tuple[tuple[str, ...], str]:
    """Middles and one radius that enclose some balls: multiples of a unit, and about half of it.

    OracleDisagreementError if a ball is too wide for the digits wanted.
    """
    ends = [ball_ends(ball) for ball in balls]
    largest = max(max(abs(low), abs(high)) for low, high in ends)
    places = DIGITS - (math.floor(math.log10(largest)) + 1 if largest else 0)
    unit = Fraction(10) ** -places
    counts = [round((low + high) / 2 / unit) for low, high in ends]
    off = max(
        max(high - count * unit, count * unit - low)
        for count, (low, high) in zip(counts, ends, strict=True)
    )
    radius = f"501e{-places - 3}" if off else "0"
    if off > Fraction(radius):
        raise OracleDisagreementError(
            f"a ball is {float(off):.1e} wide, and {DIGITS} digits need {float(unit):.1e}: use more bits"
        )
    return tuple(_written(count, places) for count in counts), radius


def encloses(middles: tuple[str, ...], radius: str, balls: list[Any]) -> bool:
    """Whether every ball lies within the radius of its middle."""
    ends = [ball_ends(ball) for ball in balls]
    return all(
        max(high - Fraction(middle), Fraction(middle) - low) <= Fraction(radius)
        for middle, (low, high) in zip(middles, ends, strict=True)
    )


def _written(count: int, places: int) -> str:
    """``count * 10**-places`` without an exponent, where it has a fraction no longer than need be."""
    return f"{_EXACT.normalize(Decimal(count).scaleb(-places, _EXACT)):f}"


def bound_of(value: float) -> float:
    """A bound as it is written: three digits, not below it; 0 stays 0."""
    return float(Context(prec=3, rounding=AWAY_FROM_ZERO).create_decimal_from_float(value * (1.0 + SLACK)))


def same_bound(written: float, value: float) -> bool:
    """Whether a bound that was written is the one found again, up to its rounding in float64."""
    return written in {bound_of(value * factor) for factor in (1.0, 1.0 - _NEAR, 1.0 + _NEAR)}


def least(value: float) -> str:
    """Three digits that are not above a number >= 0, nor change with its last bits."""
    return str(Context(prec=3, rounding=ROUND_FLOOR).create_decimal_from_float(value * (1.0 - 2.0**-40)))


def forms(problem: Problem, precision: Precision) -> list[Declaration]:
    """The plain declaration of a precision in the forms that a reader's program may have."""
    maintained: tuple[int | None, ...] = (None,)
    if problem.kernel.linear and precision == "float64":
        maintained = (None, 0)
    if problem.is_svm:
        return [
            Declaration("any", precision, update, weights=weights)
            for weights in maintained
            for update in get_args(Update)
        ]
    # A K-RR step has no new value: in-place and added are the same.
    return [
        Declaration("any", precision, update, factorisation=factorisation, weights=weights)
        for weights in maintained
        for update in ("in-place", "frozen")
        for factorisation in ("cholesky", "lu")
    ]


def trajectory_bounds(
    request: RunRequest, exact: EnclosedTrajectory, declaration: Declaration, entries: KernelEntries
) -> dict[int, TrajectoryBound]:
    """Bound C of one declaration at all ends of windows."""
    problem, start = request.problem, request.first
    carried = carried_weights(problem, declaration, exact.places, start)
    if isinstance(exact.steps, SvmSteps):
        return svm_trajectory_bound(
            entries, exact.places, start, exact.steps, exact.errors, request.s, request.stops,
            problem.dual, declaration, carried,
        )  # fmt: skip
    return ridge_trajectory_bound(
        entries, exact.places, start, problem.targets, exact.steps, exact.errors, request.s, request.stops,
        problem.ridge.penalty, declaration, carried,
    )  # fmt: skip


def allowed(
    request: RunRequest,
    exact: EnclosedTrajectory,
    precision: Precision,
    apart: dict[int, tuple[np.ndarray, float]],
) -> dict[int, np.ndarray]:
    """Bounds of any correct solver of a precision, by window end from 0 to H, shape (m + 1,).

    Of each coordinate, and in the M-norm (K-RR; 0 for a K-SVM); infinite where nothing can be promised. The
    oracle's run is from the same a0; `apart` has, by window end, how far its a is from the exact one, and
    with that the number that is compared, per coordinate, and the former in the M-norm (K-RR; 0 for a
    K-SVM).
    """
    problem = request.problem
    every = [
        trajectory_bounds(request, exact, form, kernel_entries(problem, form, exact.places))
        for form in forms(problem, precision)
    ]
    ends = {0: np.append(apart[0][0], 0.0)}
    for end in request.stops[1:]:
        radius = np.max([bounds[end].radius for bounds in every], axis=0)
        (single, norm), moved = apart[end], np.zeros(problem.samples)
        if problem.is_svm:
            moved[exact.places] = radius
        else:
            drawn = np.unique(request.blocks(0, end))
            moved[drawn] = float(radius[0]) / np.sqrt(problem.samples) * ROUND_UP
            norm = (float(radius[0]) + norm) * ROUND_UP
        ends[end] = np.append((moved + single) * ROUND_UP, norm)
    return ends
