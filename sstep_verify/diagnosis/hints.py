"""Hints: what may explain a final vector that is not the optimum. A new one is a line in `HINTS`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from sstep_verify.diagnosis import conventions, other_problems
from sstep_verify.diagnosis.nearness import MOST_SAMPLES, explains
from sstep_verify.diagnosis.other_problems import Other
from sstep_verify.diagnosis.reading import Answer, Reading, as_it_is
from sstep_verify.errors import InputError
from sstep_verify.problems import Problem

Readings = Callable[[Answer], Iterator[Reading]]

CONVENTIONS: dict[str, Readings] = {
    "signed by the labels": conventions.signed_by_labels,
    "scaled": conventions.scaled,
    "grouped by class": conventions.grouped_by_class,
    "shifted by one place": conventions.shifted_by_one,
    "in another order": conventions.in_another_order,
}
"""By name: readings of a vector as the optimum of the problem itself, written in another way."""


def as_optimum(others: Callable[[Problem], Iterator[Other]]) -> Readings:
    """Readings of a vector, as it is, as the optimum of other problems."""
    return lambda answer: (
        as_it_is(answer, other.words, problem=other.problem, sign=other.name)
        for other in others(answer.problem)
    )


OTHERS: dict[str, Readings] = {
    "lambda in the place of lambda m": conventions.without_mean,
    "m taken as 1": as_optimum(other_problems.m_taken_as_one),
    "no upper end": conventions.no_upper_end,
    "the other loss": as_optimum(other_problems.other_loss),
    "another penalty": as_optimum(other_problems.other_penalty),
    "labels inside the kernel": as_optimum(other_problems.labels_inside),
    "labels left out": as_optimum(other_problems.labels_left_out),
    "another kernel": as_optimum(other_problems.other_kernel),
    "a regularised bias": as_optimum(other_problems.constant_feature),
    "a free bias": conventions.free_bias,
    "a feature lost": as_optimum(other_problems.features_lost),
}
"""By name: readings as the optimum of another problem."""

HINTS = CONVENTIONS | OTHERS
"""All of them, in the order in which they are tried and told."""

LESS_THAN = {
    "another penalty": ("no upper end",),  # A larger C that no entry reaches is none.
    "in another order": ("grouped by class", "shifted by one place"),
}
"""Hints that say less than others do, which are left out where one of those is found."""

AS_NEAR = 100.0
"""How many times farther than the nearest one a reading may be that is told beside it."""


@dataclass(frozen=True)
class Explained:
    """A hint that explains a vector.

    Parameters
    ----------
    hint : str
        Its name in `HINTS`.
    words : str
        What the vector is, to follow "it is".
    sign : str
        Name of the mistake in the specification; may be empty.
    near : float
        Relative gap or error that the vector so read has, at most.
    """

    hint: str
    words: str
    sign: str
    near: float


def explained(answer: Answer, standing: float) -> list[Explained]:
    """What explains a vector that is not the optimum, the nearest kept; nothing where nothing does.

    Parameters
    ----------
    answer : Answer
        The vector.
    standing : float
        Relative gap (K-SVM) or error (K-RR) of the vector as it stands, at least.

    Notes
    -----
    An explanation is a vector that, so read, is the optimum to a thousandth or the tolerance claimed, by a
    certified bound; it is no proof that its cause is the solver's.
    """
    if answer.problem.samples > MOST_SAMPLES or not answer.largest > 0:
        return []
    causes: list[Explained] = []
    for name, readings in HINTS.items():
        if any(cause.hint in LESS_THAN.get(name, ()) for cause in causes):
            continue
        best = min(_read(answer, readings, name, standing), key=lambda cause: cause.near, default=None)
        causes += [best] if best else []
    smallest = min((cause.near for cause in causes), default=math.inf)
    nearest = [cause for cause in causes if cause.near <= max(AS_NEAR * smallest, answer.tolerance)]
    # Where the problem itself explains a vector, problems whose optimum is the same say nothing more.
    return [cause for cause in nearest if cause.hint in CONVENTIONS] or nearest


def _read(answer: Answer, readings: Readings, name: str, standing: float) -> Iterator[Explained]:
    with suppress(InputError):  # A number beyond its range: nobody solves that problem.
        for reading in readings(answer):
            near = explains(reading, answer.tolerance, standing)
            if near < math.inf and np.isfinite(reading.vector).all():
                yield Explained(name, reading.words, reading.sign, near)


def in_words(causes: list[Explained]) -> str:
    """The causes of a failure, for its reason."""
    meanings = "; or ".join(cause.words for cause in causes)
    near = max(cause.near for cause in causes)
    return f"it is {meanings}: so read, the vector is the optimum to {near:.1g}"
