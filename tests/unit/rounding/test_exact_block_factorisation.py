"""Backward errors of block solves, by the derivation of rounding/block/factorisation.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import TINY32, U32, gamma, is_bound, root

from sstep_verify.declaration import Declaration
from sstep_verify.rounding.block.factorisation import (
    SolveBound,
    factors_of,
    factors_size,
    solve_bound,
    solve_error,
    solve_numbers,
)

SYSTEM = np.array([[6.0, 1.0], [1.0, 4.0]])
TRACE, LARGEST, GIVEN, MODULUS = 10, 6, Fraction(1, 8), 3
HELD = TRACE + root(2) * GIVEN
"""At most the trace of what is held, of two coordinates."""

KINDS = ("cholesky", "ldl", "lu", "orthogonal")


def declared(kind: str) -> Declaration:
    return Declaration("blocks", precision="float32", factorisation=kind)


def solved(kind: str, system=SYSTEM, given=GIVEN, modulus=MODULUS) -> SolveBound:
    return solve_bound(np.array(system), float(given), float(modulus), declared(kind))


BACKWARD = {
    "cholesky": gamma(3 * 2 + 4, U32) / (1 - gamma(2 + 2, U32)) * HELD,
    "ldl": 2 * gamma(3 * 2 + 12, U32) * TRACE,
    # ||L|| ||U|| <= b (b + 1) / 2 times a doubling of the largest entry.
    "lu": gamma(3 * 2 + 6, U32) * 3 * 2 * (LARGEST + GIVEN),
    "orthogonal": Fraction(4, 3) * gamma(32 * 2 * 10, U32) * HELD**2 / (MODULUS - GIVEN),
}

SIZE = {"cholesky": 2 * HELD, "ldl": 2 * HELD, "lu": 2 * (LARGEST + GIVEN), "orthogonal": 64 * HELD}
"""Entries of the factors' product (T)."""


@pytest.mark.parametrize("kind", KINDS)
def test_a_solve_moves_the_system_by_so_much(kind):
    found = solved(kind)
    is_bound(found.error, BACKWARD[kind])
    is_bound(found.largest, SIZE[kind])
    is_bound(found.underflow, 4 * (1 + 3 * 2 * SIZE[kind]) * TINY32)


@pytest.mark.parametrize("kind", ["ldl", "lu"])
def test_a_block_of_one_is_a_quotient(kind):
    is_bound(solved(kind, [[6.0]]).error, gamma(2, U32) * (6 + GIVEN))


@pytest.mark.parametrize("kind", KINDS)
def test_what_underflow_adds(kind):
    factors = factors_of(declared(kind), 2, 3.0)
    without, more = (solve_error(factors, 6.0, 0.125, lost, 2) for lost in (0.0, 2.0**-7))
    is_bound(more - without, Fraction(1, 2**7))
    # Of one solve with a norm of 8 on both sides: 4 b^2 T, of orthogonal ones T times the columns' squares.
    size = Fraction(factors_size(factors, 6.0, 0.125, 2))
    squared = size if kind == "orthogonal" else 1
    is_bound(solve_numbers(factors, 6.0, 0.125, 2, 8.0), 4 * 4 * size * squared * 8)


def test_elimination_does_not_break_down_up_to_a_known_doubt():
    # f <= (m - f) / (4 sqrt(b)): of m = 9 and b = 4 up to f = 1.
    for given, holds in ((0.9999, True), (1.0001, False)):
        assert np.isfinite(solved("ldl", 9 * np.eye(4), given, 9).error) == holds
    # Of that f, 2 gamma_{b+8} of the trace is elimination's own.
    trace = Fraction(1, 100) / (2 * gamma(12, U32))
    for given, holds in ((0.9898, True), (0.9902, False)):
        factors = factors_of(declared("ldl"), 4, 9.0)
        assert np.isfinite(solve_error(factors, float(trace), given, 0.0, 4)) == holds


def test_orthogonal_transformations_keep_singular_values_up_to_a_known_size():
    # 4 eps h <= m - e.
    most = Fraction(MODULUS) / (4 * gamma(32 * 2 * 10, U32))
    factors = factors_of(declared("orthogonal"), 2, float(MODULUS))
    for share, holds in ((0.9999, True), (1.0001, False)):
        assert np.isfinite(solve_error(factors, float(most) * share, 0.0, 0.0, 2)) == holds


def test_large_blocks_with_pivots_may_double_in_every_step():
    is_bound(factors_of(declared("lu"), 5, 1.0).growth, (2 * (1 + U32) ** 4) ** 4)
    is_bound(
        factors_of(declared("lu"), 5, 1.0).backward,
        gamma(3 * 5 + 6, U32) * 15 * (2 * (1 + U32) ** 4) ** 4,
    )
    assert factors_of(declared("lu"), 5000, 1.0).growth < np.inf
