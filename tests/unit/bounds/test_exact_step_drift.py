"""Drift of maintained weights along a logged run, by the derivation of bounds/step/drift.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import U32, U, gamma, is_bound, length

from sstep_verify.bounds.step.drift import WeightsDrift
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, LinearKernel, Problem, Ridge

DATA = [[2, -1], [1, 4]]
BOTH = U32 + U
"""Unit roundoffs of solver and judge together."""

START = [Fraction(1), Fraction(1, 2)]
DRAWN = [0, 1, 0]
"""Sample 0, then sample 1, then sample 0 again, in one window."""

LOG = [Fraction(3), Fraction(1, 4), Fraction(5, 2)]


def drift_of(loss, update: str, data=DATA) -> WeightsDrift:
    problem = Problem("drift", np.array(data, dtype=float), np.array([1.0, -1.0]), LinearKernel(), loss)
    declaration = Declaration("drift", precision="float32", update=update, weights=0)
    return WeightsDrift(problem, declaration, np.array(START, dtype=float), 0, 3)


def formed() -> list[Fraction]:
    """``gamma_{m+2} |A|'|a|``."""
    return [gamma(4, BOTH) * sum(abs(DATA[i][k]) * START[i] for i in range(2)) for k in range(2)]


@pytest.mark.parametrize("update", ["in-place", "added", "frozen"])
@pytest.mark.parametrize("loss", [Hinge(4.0), Ridge(0.25)], ids=["svm", "ridge"])
def test_a_window_that_begins_with_formed_weights(loss, update):
    found = drift_of(loss, update)
    draws, log = np.array(DRAWN)[:, None], np.array(LOG, dtype=float)[:, None]
    steps = found.along(draws, log)
    labels = [1, -1] if loss.boxed else [1, 1]
    weights = [sum(labels[i] * START[i] * DATA[i][k] for i in range(2)) for k in range(2)]
    error = formed()
    reach = [abs(w) + e for w, e in zip(weights, error, strict=True)]
    scale = 1 if loss.boxed else 4
    product = gamma(2 + 1, BOTH)
    wrong = [
        sum(abs(DATA[i][k]) * (error[k] + product * reach[k]) for k in range(2)) * scale for i in range(2)
    ]
    is_bound(steps, [wrong[i] for i in DRAWN])
    # What w gets and what a gets, and S, the sizes of all that is added.
    added, alpha, moved = update == "added" or not loss.boxed, list(START), [abs(a) for a in START]
    for i, value in zip(DRAWN, LOG, strict=True):
        change = abs(value - alpha[i])
        moved[i] += change
        differs = Fraction(0)
        if update == "frozen":
            differs = 2 * gamma(3 + 2, U32) * moved[i]
        elif added:
            differs = U32 * (abs(value) + change)
        for k in range(2):
            error[k] += abs(DATA[i][k]) * differs
            reach[k] += abs(DATA[i][k]) * (differs + change)
        alpha[i] = value
    is_bound(found._error, [e + gamma(3 + 3, BOTH) * r for e, r in zip(error, reach, strict=True)])


def test_errors_of_a_block_are_taken_together():
    found = drift_of(Ridge(0.25), "in-place")
    steps = found.along(np.array([[0, 1]] * 3), np.ones((3, 2)))
    single = drift_of(Ridge(0.25), "in-place")
    parts = single.along(np.array([[0], [1], [0]]), np.ones((3, 1)))
    is_bound(steps[0], length(parts[:2]))


def test_a_step_that_moves_nothing_adds_nothing_in_place():
    found = drift_of(Hinge(4.0), "in-place")
    found.along(np.array([[0]] * 3), np.full((3, 1), float(START[0])))
    weights = [abs(START[0] * DATA[0][k] - START[1] * DATA[1][k]) for k in range(2)]
    derived = [e + gamma(3, BOTH) * (w + e) for e, w in zip(formed(), weights, strict=True)]
    is_bound(found._error, derived)
