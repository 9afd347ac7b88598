"""Drift of maintained weights, by the derivation of bounds/carried_run.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import TINY32, U32, U, gamma, is_bound

from sstep_verify.bounds.carried_run import CarriedWeights, WeightsMap, carried_weights
from sstep_verify.declaration import Declaration
from sstep_verify.problems import LinearKernel, Problem, Ridge

DATA = [[2, -1], [1, 4], [0, 3]]
SIZES = [Fraction(1), Fraction(0), Fraction(5, 2)]
PROBLEM = Problem("weights", np.array(DATA, dtype=float), np.ones(3), LinearKernel(), Ridge(0.5))
SINGLE, DOUBLE = Declaration("single", precision="float32", weights=0), Declaration("double", weights=1)


def over_samples(sizes) -> list[Fraction]:
    """``|A|'a``."""
    return [sum(abs(DATA[i][k]) * Fraction(sizes[i]) for i in range(3)) for k in range(2)]


def floats(values) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def test_weights_that_are_formed_round_m_products_the_label_and_a_spare():
    is_bound(
        WeightsMap(PROBLEM, SINGLE).formed(floats(SIZES)), [gamma(5, U32) * x for x in over_samples(SIZES)]
    )
    # Products that underflow: one for each sample, unless all are zeros.
    tiny = WeightsMap(PROBLEM, SINGLE)
    is_bound(tiny.formed(floats([2.0**-1000, 0, 0])), [3 * TINY32] * 2)
    assert not tiny.formed(np.zeros(3)).any()
    is_bound(tiny.sizes[0], [2, 1, 0])
    assert (tiny.lower <= tiny.sizes).all()


def test_weights_that_are_updated_round_every_update_and_what_is_stored():
    moved, rounded = [1, 2, 0], [Fraction(1, 2**30), 0, Fraction(1, 2**29)]
    found = WeightsMap(PROBLEM, SINGLE).grown(np.array([7.0, 3.0]), floats(moved), floats(rounded), 4)
    spread, stored = over_samples(moved), over_samples(rounded)
    is_bound(found, [gamma(7, U32) * (w + x) + y for w, x, y in zip((7, 3), spread, stored, strict=True)])
    is_bound(WeightsMap(PROBLEM, SINGLE).grown(np.zeros(2), np.zeros(3), np.zeros(3), 4), [7 * TINY32] * 2)


@pytest.mark.parametrize("weights", [0, 1])
def test_the_drift_of_a_run_is_formed_and_then_grows_by_window(weights):
    declaration = Declaration("run", weights=weights)
    run = CarriedWeights(PROBLEM, declaration, np.array([0, 2]), floats(SIZES))
    drift = [gamma(5, U) * x for x in over_samples(SIZES)]
    size = [x + d for x, d in zip(over_samples(SIZES), drift, strict=True)]
    rows = [DATA[0], DATA[2]]

    def products(vector) -> list[Fraction]:
        return [sum(abs(x) * w for x, w in zip(row, vector, strict=True)) for row in rows]

    terms = run.begin(floats(SIZES), 3)
    is_bound(terms.size, products(size))
    is_bound(terms.error, products(drift))
    is_bound(terms.products, [[5, 3], [3, 9]])
    assert terms.roundings == 2
    # Increments of 1 and 1/2, two draws and one, of values up to 2 and 3.
    run.end(floats([1, 0.5]), np.array([2, 1]), floats([2, 3]))
    moved, stored = over_samples([1, 0, Fraction(1, 2)]), over_samples([2 * 2 * U, 0, 1 * 3 * U])
    drift = [
        d + gamma(3 + 3, U) * (w + x) + y for d, w, x, y in zip(drift, size, moved, stored, strict=True)
    ]
    is_bound(run.begin(floats(SIZES), 3).error, products(drift))
    # Formed again from a larger a, where the solver does that: the larger one holds.
    run.restart(floats([100, 100, 100]))
    if weights:
        drift = [gamma(5, U) * x for x in over_samples([100] * 3)]
    is_bound(run.begin(floats(SIZES), 3).error, products(drift))


def test_a_run_in_float32_has_no_bound_and_one_without_weights_no_drift():
    run = CarriedWeights(PROBLEM, SINGLE, np.array([0]), floats(SIZES))
    assert np.isinf(run.begin(floats(SIZES), 1).error).all()
    assert carried_weights(PROBLEM, Declaration("none"), np.array([0]), floats(SIZES)) is None
    kept = carried_weights(PROBLEM, DOUBLE, np.array([0]), floats(SIZES))
    assert kept is not None
    assert kept.begin(floats(SIZES), 1).error[0] > 0.0
