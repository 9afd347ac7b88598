"""How far rounding may take a run out of its box, by the derivation of bounds/box.py."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import U32, gamma, is_bound, root

from sstep_verify.bounds.box import (
    accumulation_error,
    box_bounds,
    largest_clipped,
    largest_entry_error,
    stays_within,
)
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, LinearKernel, Problem, SquaredHinge

DATA, LABELS = np.array([[2.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), np.array([1.0, -1.0, 1.0])
M, K, DELTA = 3, 4, gamma(2, U32) * 4
"""Samples, largest entry, and what that is off by in float32."""


def problem_of(loss) -> Problem:
    return Problem("box", DATA, LABELS, LinearKernel(), loss)


def declared(update: str) -> Declaration:
    return Declaration("box", precision="float32", update=update)


@pytest.mark.parametrize("end", [0.75, 0.7])
def test_a_run_of_an_l1_problem_leaves_its_box_by_what_its_form_rounds(end):
    off, A = (gamma(3, U32) * Fraction(0.7) if end == 0.7 else 0), Fraction(end)
    found = {
        update: box_bounds(problem_of(Hinge(end)), declared(update), 4, 100, 3)
        for update in ("in-place", "added", "frozen")
    }
    is_bound(found["in-place"], [0, off])
    # b = gamma_4 (A + b).
    added = gamma(4, U32) * A / (1 - gamma(4, U32))
    is_bound(found["added"], [0, added + off])
    # b = gamma_{2k+2} (k + 1) (A + b), k = 3.
    factor = gamma(8, U32) * 4
    is_bound(found["frozen"], [factor * A / (1 - factor), factor * A / (1 - factor) + off])
    is_bound(accumulation_error(end, 3, float(U32)), factor * A / (1 - factor))
    # A start outside counts with its size.
    outside = box_bounds(problem_of(Hinge(end)), declared("frozen"), 4, 100, 3, np.array([0.0, -5.0, 1.0]))
    is_bound(outside[0], factor * 5 / (1 - factor))


def largest(C: int, start: list[int]) -> Fraction:
    """``2 C (sqrt(m) + sqrt(4 m + F_0 / C))`` of a start within the box."""
    risen = Fraction(K * sum(start) ** 2, 2) + Fraction(sum(x * x for x in start), 4 * C)
    return 2 * C * (root(M) + root(4 * M + risen / C))


@pytest.mark.parametrize("start", [[0, 0, 0], [1, 0, 2]])
def test_no_value_of_an_l2_run_is_larger(start):
    problem = problem_of(SquaredHinge(2.0))
    is_bound(largest_clipped(problem, np.array(start, dtype=float)), largest(2, start))
    is_bound(largest_clipped(problem_of(Hinge(0.75)), None), Fraction(3, 4))


def test_the_largest_error_of_an_entry():
    is_bound(largest_entry_error(problem_of(Hinge(1.0)), declared("frozen")), DELTA)


@pytest.mark.parametrize("b", [Fraction(0), Fraction(1, 2**12)])
def test_an_l2_run_gains_three_m_c_by_rounding_after_so_many_steps(b):
    C, s, A = 2, 4, Fraction(5)
    omega = Fraction(1, 2 * C)
    G = 1 + omega * A + root(M) * A * K + 2 * s * A * (K + omega) + 2 * (K + omega) * A
    rho = gamma(2 * M + 2 * s + 16, U32) * G + (root(M) + 2 * s + 2) * A * DELTA
    gain = 2 * A * rho + (G + (K + omega) * b) * b
    steps = 3 * M * C / gain
    assert steps > 40
    problem = problem_of(SquaredHinge(float(C)))
    holds = [
        stays_within(problem, declared("frozen"), s, count, float(A), float(b))
        for count in (int(steps * Fraction(98, 100)), int(steps * Fraction(102, 100)) + 1)
    ]
    assert holds == [True, False]


def test_an_l2_run_leaves_its_box_as_far_while_its_values_stay_bounded():
    problem, A = problem_of(SquaredHinge(2.0)), largest(2, [0, 0, 0])
    factor = gamma(2 * 1 + 2, U32) * 2
    is_bound(box_bounds(problem, declared("frozen"), 1, 1, 1)[0], factor * A / (1 - factor))
    assert box_bounds(problem, declared("frozen"), 1, 10**6, 1) == (np.inf, np.inf)
