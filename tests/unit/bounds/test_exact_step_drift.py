"""Drift of maintained weights along a logged run, by the derivation of bounds/step/drift.py."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from exact_bounds import U32, U, gamma, is_bound, length

from sstep_verify.bounds.step.drift import WeightsDrift, sized_samples
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
    alpha = np.array(START, dtype=float)
    return WeightsDrift(problem, declaration, alpha, 0, 3, sized_samples(problem))


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


@pytest.mark.parametrize("update", ["in-place", "added", "frozen"])
@pytest.mark.parametrize(("weights", "start"), [(0, 0), (3, 0), (3, 4)])
@pytest.mark.parametrize("task", ["svm", "krr"])
def test_sparse_samples_have_the_drift_of_dense_ones_where_they_have_entries(update, weights, start, task):
    """Where every sample has all features both are the same; else a feature that no sample has stays as it is."""
    generator = np.random.Generator(np.random.PCG64(5))
    full = generator.standard_normal((20, 12))
    block, loss = (1, Hinge(1.0)) if task == "svm" else (3, Ridge(0.5))
    draws = np.array([generator.choice(20, block, replace=False) for _ in range(26)])
    log = np.where(generator.random((26, block)) < 0.7, generator.random((26, block)), 0.0)
    alpha = np.where(generator.random(20) < 0.5, generator.random(20), 0.0)
    targets = np.where(generator.random(20) < 0.5, -1.0, 1.0)
    declared = Declaration("carries", precision="float32", update=update, weights=weights)

    def drift(data, ends=(12, 26)):
        found = WeightsDrift(
            Problem("some", data, targets, LinearKernel(), loss), declared, alpha, start, 4
        )
        return np.concatenate([found.along(draws[a:b], log[a:b]) for a, b in pairwise((0, *ends))])

    np.testing.assert_allclose(drift(sp.csr_array(full)), drift(full), rtol=1e-12)
    thin = np.where(generator.random((20, 12)) < 0.3, full, 0.0)
    sparse, dense = drift(sp.csr_array(thin)), drift(thin)
    assert (sparse <= dense * (1.0 + 1e-12)).all()
    assert (sparse < dense).any()
    np.testing.assert_allclose(drift(sp.csr_array(thin), (4, 8, 12, 26)), sparse, rtol=1e-12)


@pytest.mark.parametrize("update", ["in-place", "added"])
def test_weights_of_sparse_samples_that_are_maintained_in_float32_stay_within_their_drift(update):
    generator = np.random.Generator(np.random.PCG64(6))
    single = np.float32
    data = np.where(generator.random((12, 8)) < 0.4, generator.standard_normal((12, 8)), 0.0).astype(single)
    labels = np.where(generator.random(12) < 0.5, -1.0, 1.0)
    problem = Problem("thin", sp.csr_array(data.astype(np.float64)), labels, LinearKernel(), Hinge(1e9))
    draws, s, largest = generator.integers(12, size=(400, 1)), 5, 0.0
    alpha, held = np.zeros(12, dtype=single), np.zeros(8, dtype=single)
    log, off = np.empty((400, 1)), np.empty(400)
    for begin in range(0, 400, s):
        true = (data.astype(np.float64).T * labels) @ alpha.astype(np.float64)
        for step in range(begin, begin + s):
            off[step] = abs(data[draws[step, 0]].astype(np.float64) @ (held - true))
        for step in range(begin, begin + s):
            i = draws[step, 0]
            theta = single(generator.standard_normal() * 10.0 ** generator.integers(-3, 3))
            new = single(alpha[i] + theta)
            theta = theta if update == "added" else single(new - alpha[i])
            held += single(labels[i]) * theta * data[i]
            alpha[i], log[step, 0] = new, new
    declared = Declaration("carries", precision="float32", update=update, weights=0)
    allowed = WeightsDrift(problem, declared, np.zeros(12), 0, s).along(draws, log)
    largest = (off[s:] / allowed[s:]).max()
    # Sums of the float64 products here err by far less than what is compared.
    assert 1e-4 < largest < 1.0
