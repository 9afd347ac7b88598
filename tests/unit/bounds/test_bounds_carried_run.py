"""Drift of maintained weights: as many roundings as are counted can happen, and hardly more are counted."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sstep_verify.bounds.carried_run import WeightsMap
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, LinearKernel, Problem, Ridge
from sstep_verify.rounding.arithmetic import unit_roundoff

SAMPLES = 60
U = unit_roundoff("float64")


def lost_terms(loss) -> Problem:
    """Samples of one feature: 1, then halves of a unit in its last place, which a sum that is 1 loses."""
    data = np.full((SAMPLES, 1), U)
    data[0] = 1.0
    return Problem("lost", data, np.ones(SAMPLES), LinearKernel(), loss)


def exact(problem: Problem, alpha: np.ndarray) -> Fraction:
    return sum(
        (Fraction(x) * Fraction(a) for x, a in zip(problem.dense[:, 0], alpha, strict=True)), Fraction()
    )


@pytest.mark.parametrize("loss", [Ridge(0.5), Hinge(2.0)])
def test_weights_formed_term_by_term_lose_nearly_what_the_bound_allows(loss):
    problem, alpha = lost_terms(loss), np.ones(SAMPLES)
    formed = 0.0
    for x in problem.dense[:, 0]:
        formed += float(x)
    drift = float(exact(problem, alpha) - Fraction(formed))
    bound = float(WeightsMap(problem, Declaration("weights")).formed(alpha)[0])
    assert (SAMPLES - 1) * U == drift <= bound <= (SAMPLES + 3) * U


@pytest.mark.parametrize("loss", [Ridge(0.5), Hinge(2.0)])
def test_weights_updated_one_by_one_lose_nearly_what_the_bound_allows(loss):
    problem, updates = lost_terms(loss), SAMPLES - 1
    moved = np.ones(SAMPLES)
    moved[0] = 0.0
    weights = 1.0
    for x in problem.dense[1:, 0]:
        weights += float(x)
    drift = float(1 + exact(problem, moved) - Fraction(weights))
    drifts = WeightsMap(problem, Declaration("weights"))
    grown = float(drifts.grown(np.ones(1), moved, np.zeros(SAMPLES), updates)[0])
    assert updates * U == drift <= grown <= (updates + 4) * U
    # A stored a that moved by another amount than w got is off by that as well.
    rounded = float(drifts.grown(np.ones(1), moved, moved, updates)[0])
    assert rounded >= grown + float(exact(problem, moved))
