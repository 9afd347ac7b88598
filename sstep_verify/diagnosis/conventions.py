"""A final vector that is not the optimum, and ways to read it: as another's optimum, or written elsehow.

Conventions in which an optimum is written down elsewhere: scale, signs, order of the samples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from sstep_verify.diagnosis.other_problems import OVER_LAMBDA, TIMES_M
from sstep_verify.problems import Hinge, Problem, Ridge
from sstep_verify.problems.transforms import scales
from sstep_verify.verdict import ReadingKind


@dataclass(frozen=True, eq=False)
class Answer:
    """A final vector that is to be explained.

    Parameters
    ----------
    problem : Problem
        What it should solve.
    vector : ndarray, shape (m,)
        The vector, finite, float64.
    rounding : ndarray, shape (m,)
        Largest error of writing each value down.
    optimum : ndarray, shape (m,)
        A certified optimum of the problem.
    tolerance : float
        Relative gap (K-SVM) or error (K-RR) that was claimed.
    """

    problem: Problem
    vector: np.ndarray
    rounding: np.ndarray
    optimum: np.ndarray
    tolerance: float

    @cached_property
    def largest(self) -> float:
        """Largest absolute value; 0 of a vector of zeros."""
        return float(np.abs(self.vector).max())

    def read(self, vector: np.ndarray, *detail: str | float, **changed: Any) -> Reading:
        """A reading as some vector, of the same problem and rounding unless these are changed."""
        return replace(Reading(self.problem, vector, float(self.rounding.max()), detail), **changed)

    @cached_property
    def unsigned(self) -> tuple[np.ndarray, str]:
        """The vector of a K-SVM without the signs that it may carry, and what was done, in words.

        Entries below 0 by more than rounding are signs where they are those of one class.
        """
        labels, slack = self.problem.targets, float(self.rounding.max()) + 1e-3 * self.largest
        for sign, words in ((1.0, "y_i a_i"), (-1.0, "-y_i a_i")):
            if (self.vector < -slack).any() and (sign * labels * self.vector >= -slack).all():
                return sign * labels * self.vector, words
        return self.vector, ""


@dataclass(frozen=True, eq=False)
class Reading:
    """One way to read a vector: as the optimum of a problem, after undoing a convention.

    Parameters
    ----------
    problem : Problem
        The problem whose optimum it would be.
    vector : ndarray, shape (m,)
        The vector in the convention of this package.
    rounding : float
        Largest error of writing one of its values down.
    detail : tuple of str or float
        What is said of it, as its kind says.
    signed : str
        The signs that its entries are written with; empty where with none.
    sign : str
        Name of the mistake in the specification; empty where it names none.
    free_bias : bool
        Whether the problem has a bias that is not regularised, so that ``y'a = 0``.
    penalties : ndarray, shape (m,), optional
        The C of every sample, where they differ; the problem has the largest.
    kind : ReadingKind, optional
        Of one that explains the vector, its key in `hints.HINTS`.
    near : float
        Relative gap or error that the vector so read has, at most.
    """

    problem: Problem
    vector: np.ndarray
    rounding: float
    detail: tuple[str | float, ...] = ()
    signed: str = ""
    sign: str = ""
    free_bias: bool = False
    penalties: np.ndarray | None = None
    kind: ReadingKind | None = None
    near: float = math.inf


def as_it_is(answer: Answer, *detail: str | float, **changed: Any) -> Reading:
    """The vector as it is, for a problem or with other fields changed; of a K-SVM without its signs."""
    vector, signed = answer.unsigned if answer.problem.is_svm else (answer.vector, "")
    return answer.read(vector, *detail, signed=signed, **changed)


SIGNS = {"m": TIMES_M, "1/lambda": OVER_LAMBDA}
"""Scales of a K-RR that are mistakes of the specification, by name."""

UPPER = "upper-end-lost"

SAME = 1e-6
"""Relative difference of two factors that are named as one."""


def scaled(answer: Answer) -> Iterator[Reading]:
    """C a, with c one of the known factors, or whatever it is."""
    known = scales(answer.problem)
    distinct: list[float] = []
    for value in known.values():
        if value == 1.0 or any(abs(value - other) <= SAME * abs(value) for other in distinct):
            continue
        distinct.append(value)
        names = [name for name, factor in known.items() if abs(factor - value) <= SAME * abs(value)]
        yield _by_factor(answer, value, *dict.fromkeys(names), sign=SIGNS.get(names[0], ""))
    # The factor that brings the optimum nearest to the vector; of a single sample any would.
    fitted = 0.0
    if answer.problem.samples >= 3:
        fitted = float(answer.vector @ answer.optimum) / max(float(answer.optimum @ answer.optimum), 5e-324)
    if fitted and not any(abs(fitted - value) <= 0.01 * abs(value) for value in (*distinct, 1.0)):
        yield _by_factor(answer, fitted)


def _by_factor(answer: Answer, factor: float, *names: str, sign: str = "") -> Reading:
    rounding = float(answer.rounding.max()) / abs(factor)
    return answer.read(answer.vector / factor, factor, *names, rounding=rounding, sign=sign)


def signed_by_labels(answer: Answer) -> Iterator[Reading]:
    """The sign of the label on every entry, as solvers have it that write the weights of the samples."""
    vector, signs = answer.unsigned if answer.problem.is_svm else (answer.vector, "")
    if signs:
        yield answer.read(vector, signs)


def grouped_by_class(answer: Answer) -> Iterator[Reading]:
    """Samples grouped by class, as LIBLINEAR and LIBSVM hold them while they train."""
    if not answer.problem.is_svm:
        return
    problem, labels = answer.problem, answer.problem.targets
    for first in (1.0, -1.0):
        order = np.argsort(labels != first, kind="stable")
        if (order == np.arange(order.size)).all():
            continue
        reordered = replace(problem, data=problem.data[order], targets=labels[order])
        grouped = as_it_is(replace(answer, problem=reordered), first, float(labels[0] == first))
        vector = np.empty_like(grouped.vector)
        vector[order] = grouped.vector
        yield replace(grouped, problem=problem, vector=vector)


def in_another_order(answer: Answer) -> Iterator[Reading]:
    """The optimum's numbers in another order: each put where the optimum's number of its rank stands."""
    vector = np.empty_like(answer.vector)
    vector[np.argsort(answer.optimum, kind="stable")] = np.sort(answer.vector)
    yield answer.read(vector)


def shifted_by_one(answer: Answer) -> Iterator[Reading]:
    """Numbered from 1 where 0 was meant, or the reverse: one entry is lost, and is not looked at."""
    if answer.problem.samples < 4:
        return
    for step, missing, where in ((-1, -1, "late"), (1, 0, "early")):
        vector = np.roll(answer.vector, step)
        vector[missing] = answer.optimum[missing]
        yield answer.read(vector, where)


def without_mean(answer: Answer) -> Iterator[Reading]:
    """K-RR without the mean over the samples: lambda/m instead of lambda, in either scale."""
    if answer.problem.is_svm:
        return
    m, penalty = answer.problem.samples, answer.problem.ridge.penalty
    if m == 1 or not penalty / m > 0:
        return
    other = replace(answer.problem, loss=Ridge(penalty / m))
    rounding = float(answer.rounding.max())
    for factor, scale in ((m / penalty, "d"), (1.0, "a")):
        yield Reading(other, answer.vector / factor, rounding / factor, (scale,))


def no_upper_end(answer: Answer) -> Iterator[Reading]:
    """K-SVM-L1 without its upper end: as with a C that no entry reaches."""
    if isinstance(answer.problem.loss, Hinge) and answer.largest > answer.problem.loss.C:
        problem = replace(answer.problem, loss=Hinge(2 * answer.largest))
        yield as_it_is(answer, answer.problem.loss.C, problem=problem, sign=UPPER)


def free_bias(answer: Answer) -> Iterator[Reading]:
    """A bias that is not regularised, as LIBSVM has it: the dual then has the constraint y'a = 0."""
    if answer.problem.is_svm and np.unique(answer.problem.targets).size > 1:
        yield as_it_is(answer, free_bias=True)
