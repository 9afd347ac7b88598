"""Hints: what may explain a final vector that is not the optimum.

A new one is a line in `CONVENTIONS` or `OTHERS`.

How near a reading of the vector is to the optimum that it names is proved, after a look in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain

import numpy as np

from sstep_verify.bounds.optimum.reported import written_gap
from sstep_verify.bounds.optimum.svm import FLOAT64, svm_values
from sstep_verify.diagnosis import conventions, other_problems, weighted
from sstep_verify.diagnosis.conventions import Answer, Reading, as_it_is
from sstep_verify.diagnosis.other_problems import Other
from sstep_verify.errors import InputError
from sstep_verify.numerics import kernel_matrix
from sstep_verify.oracle.certificate.optimum import ridge_optimum
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import ROUND_UP, norm_lower, norm_upper
from sstep_verify.verdict import Hint, HintKind, ReadingKind

NEAR = 1e-3
"""Relative gap or error up to which a reading explains a vector: solvers stop at such tolerances."""

FAR = 0.05
"""What rounding may add to that at most: beyond it a vector of so few digits explains nothing."""

MOST_SAMPLES = 2048
"""Samples up to which readings are tried: each takes a pass over the kernel, or a factorisation."""

HALVINGS = 200


def explains(reading: Reading, tolerance: float, standing: float) -> float:
    """How near the reading is: relative gap (K-SVM) or error (K-RR), an upper bound; infinite if not near.

    Near is `NEAR` or the tolerance that was claimed, and what rounding of the written digits adds; and a
    hundredth of what the vector is away as it stands, by the same measure (infinite where it is no number).
    """
    measure = _svm if reading.problem.is_svm else _ridge
    with np.errstate(all="ignore"):
        distance, added = measure(reading)
    if not added <= FAR or not distance <= min(max(tolerance, NEAR) + added, standing / 100):
        return math.inf
    return distance


def _svm(reading: Reading) -> tuple[float, float]:
    """Upper bound on the gap over the dual value at the vector moved into the box; what rounding adds."""
    problem, vector = reading.problem, reading.vector
    power, penalties = problem.hinge.power, reading.penalties
    each = np.full(problem.samples, problem.hinge.C) if penalties is None else penalties
    point = np.clip(vector, 0.0, each if power == 1 else np.inf)
    size = float(np.abs(vector).max())
    if not float(np.abs(vector - point).max()) <= NEAR * size + reading.rounding:
        return math.inf, 0.0
    values = svm_values(problem, FLOAT64, point)
    gap, dual = values.gap.upper, values.dual.lower
    margins = values.slopes + 1.0
    if penalties is not None:
        own = float((point**2 @ (1 / problem.hinge.C - 1 / each)) / 4) if power == 2 else 0.0
        gap -= _losses(problem, margins, 0.0, problem.hinge.C - each) + own
        dual += own
    if reading.free_bias:
        if not abs(float(problem.targets @ point)) <= NEAR * float(point.sum()):
            return math.inf, 0.0
        gap -= _losses(problem, margins, 0.0, each) - _least_losses(problem, margins, each)
    if not dual > 0:
        return math.inf, 0.0
    rounding = np.full(problem.samples, reading.rounding)
    return max(gap, 0.0) / dual * ROUND_UP, written_gap(problem, point, rounding, values) / dual


def _losses(problem: Problem, margins: np.ndarray, bias: float, each: np.ndarray) -> float:
    """The sum of all losses, times the C of `each` sample."""
    return float(each @ np.maximum(1.0 - margins - problem.targets * bias, 0.0) ** problem.hinge.power)


def _least_losses(problem: Problem, margins: np.ndarray, each: np.ndarray) -> float:
    """The least that the losses can be with a bias, by bisection of their derivative, which grows with it.

    Whatever the bisection ends with is a primal point, so the gap that it leaves is a bound.
    """
    labels, power = problem.targets, problem.hinge.power
    reach = float(np.abs(margins).max()) + 2.0
    low, high = -reach, reach
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2
        short = np.maximum(1.0 - margins - labels * middle, 0.0)
        slope = -float((each * labels) @ (short if power == 2 else short > 0))
        low, high = (low, middle) if slope > 0 else (middle, high)
    return min(_losses(problem, margins, bias, each) for bias in (low, high))


def _ridge(reading: Reading) -> tuple[float, float]:
    """Upper bound on the distance from the optimum over its norm; what rounding adds."""
    problem, vector = reading.problem, reading.vector
    rough = _float_solution(problem)
    size = norm_upper(rough)
    if not norm_upper(vector - rough) <= (NEAR + FAR) * size:
        return math.inf, 0.0
    known = ridge_optimum(problem)
    norm = norm_lower(known.alpha) - known.error
    if not norm > 0:
        return math.inf, 0.0
    distance = norm_upper(vector - known.alpha) * ROUND_UP + known.error
    return distance / norm * ROUND_UP, reading.rounding * math.sqrt(problem.samples) / norm


def _float_solution(problem: Problem) -> np.ndarray:
    matrix = kernel_matrix(problem) / problem.ridge.penalty
    matrix.flat[:: problem.samples + 1] += problem.samples
    try:
        return np.linalg.solve(matrix, problem.targets)
    except np.linalg.LinAlgError:
        return np.full(problem.samples, np.nan)


Readings = Callable[[Answer], Iterator[Reading]]

CONVENTIONS: dict[ReadingKind, Readings] = {
    ReadingKind.SIGNED: conventions.signed_by_labels,
    ReadingKind.SCALED: conventions.scaled,
    ReadingKind.GROUPED: conventions.grouped_by_class,
    ReadingKind.SHIFTED: conventions.shifted_by_one,
    ReadingKind.REORDERED: conventions.in_another_order,
}
"""Readings of a vector as the optimum of the problem itself, written in another way."""


def as_optimum(others: Callable[[Problem], Iterator[Other]]) -> Readings:
    """Readings of a vector, as it is, as the optimum of other problems."""
    return lambda answer: (
        as_it_is(answer, *other.detail, problem=other.problem, sign=other.name)
        for other in others(answer.problem)
    )


OTHERS: dict[ReadingKind, Readings] = {
    ReadingKind.NO_MEAN: conventions.without_mean,
    ReadingKind.M_AS_ONE: as_optimum(other_problems.m_taken_as_one),
    ReadingKind.NO_UPPER: conventions.no_upper_end,
    ReadingKind.OTHER_LOSS: as_optimum(other_problems.other_loss),
    ReadingKind.OTHER_PENALTY: as_optimum(other_problems.other_penalty),
    ReadingKind.LABELS_INSIDE: as_optimum(other_problems.labels_inside),
    ReadingKind.LABELS_LEFT_OUT: as_optimum(other_problems.labels_left_out),
    ReadingKind.OTHER_KERNEL: as_optimum(
        lambda problem: chain(other_problems.other_kernel(problem), other_problems.linear_kernel(problem))
    ),
    ReadingKind.REGULARISED_BIAS: as_optimum(other_problems.constant_feature),
    ReadingKind.FREE_BIAS: conventions.free_bias,
    ReadingKind.FEATURE_LOST: as_optimum(other_problems.features_lost),
    ReadingKind.C_BY_CLASS: weighted.by_class,
    ReadingKind.C_BY_SAMPLE: weighted.by_sample,
}
"""Readings as the optimum of another problem."""

HINTS = CONVENTIONS | OTHERS
"""All of them, in the order in which they are tried and told."""

LESS_THAN: dict[ReadingKind, tuple[ReadingKind, ...]] = {
    ReadingKind.OTHER_PENALTY: (ReadingKind.NO_UPPER,),  # A larger C that no entry reaches is none.
    ReadingKind.REORDERED: (ReadingKind.GROUPED, ReadingKind.SHIFTED),
    # With two numbers, or with one for each sample, more can be explained than with one.
    ReadingKind.C_BY_CLASS: (ReadingKind.OTHER_PENALTY, ReadingKind.NO_UPPER, ReadingKind.FREE_BIAS),
    ReadingKind.C_BY_SAMPLE: tuple(kind for kind in ReadingKind if kind is not ReadingKind.C_BY_SAMPLE),
}
"""Readings that say less than others do, which are left out where one of those is found."""

AS_NEAR = 100.0
"""How many times farther than the nearest one a reading may be that is named with it."""


def explained(answer: Answer, standing: float) -> list[Reading]:
    """What explains a vector that is not the optimum, the nearest kept; nothing where nothing does.

    The vector as it stands has a relative gap (K-SVM) or error (K-RR) of `standing` at least. An
    explanation is a vector that, so read, is the optimum to a thousandth or the tolerance claimed, by a
    certified bound; it is no proof that its cause is the solver's.
    """
    if answer.problem.samples > MOST_SAMPLES or not answer.largest > 0:
        return []
    causes: list[Reading] = []
    for name, readings in HINTS.items():
        if any(cause.kind in LESS_THAN.get(name, ()) for cause in causes):
            continue
        best = min(_read(answer, readings, name, standing), key=lambda cause: cause.near, default=None)
        causes += [best] if best else []
    smallest = min((cause.near for cause in causes), default=math.inf)
    nearest = [cause for cause in causes if cause.near <= max(AS_NEAR * smallest, answer.tolerance)]
    # Where the problem itself explains a vector, problems whose optimum is the same say nothing more.
    return [cause for cause in nearest if cause.kind in CONVENTIONS] or nearest


def _read(answer: Answer, readings: Readings, kind: ReadingKind, standing: float) -> Iterator[Reading]:
    with suppress(InputError):  # A number beyond its range: nobody solves that problem.
        for reading in readings(answer):
            near = explains(reading, answer.tolerance, standing)
            if near < math.inf and np.isfinite(reading.vector).all():
                yield replace(reading, kind=kind, near=near)


def hints_of(problem: Problem, causes: list[Reading]) -> tuple[Hint, ...]:
    """The causes as hints; up to which m they are looked for, where a problem is larger."""
    if problem.samples > MOST_SAMPLES:
        return (Hint(HintKind.SMALL_PROBLEMS, (MOST_SAMPLES,)),)
    return tuple(
        Hint(HintKind.READING, (one.kind, one.near, one.signed, *one.detail)) for one in causes if one.kind
    )
