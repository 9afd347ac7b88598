"""A final vector that is not the optimum, and one way to read it: as another's optimum, written elsehow."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sstep_verify.problems import Problem


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
    words : str
        What the vector would be, to follow "it is".
    problem : Problem
        The problem whose optimum it would be.
    vector : ndarray, shape (m,)
        The vector in the convention of this package.
    rounding : float
        Largest error of writing one of its values down.
    sign : str
        Name of the mistake in the specification; empty where it names none.
    free_bias : bool
        Whether the problem has a bias that is not regularised, so that ``y'a = 0``.
    """

    words: str
    problem: Problem
    vector: np.ndarray
    rounding: float
    sign: str = ""
    free_bias: bool = False


def as_it_is(answer: Answer, words: str, **changed) -> Reading:
    """The vector as it is, for a problem or with other fields changed; of a K-SVM without its signs."""
    vector, signed = answer.unsigned if answer.problem.is_svm else (answer.vector, "")
    words += f", written as {signed}" if signed else ""
    reading = Reading(words, answer.problem, vector, float(answer.rounding.max()))
    return replace(reading, **changed)
