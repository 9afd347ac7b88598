"""Energies of block systems, by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from exact_bounds import is_bound, is_least, root

from sstep_verify.rounding.block.energy import (
    energy_norm,
    energy_reach,
    largest_energy,
    smallest_eigenvalue,
    without_kernel,
)
from sstep_verify.rounding.block.repeats import growth, whole_growth
from sstep_verify.rounding.rows import KernelEntries

KERNEL = np.array([[3.0, -1.0], [-1.0, 3.0]])
OFF = Fraction(1, 2**10)
ENTRIES = KernelEntries(KERNEL, np.full((2, 2), float(OFF)), np.ones((2, 2)))
PLACES, PENALTY = np.arange(2), 0.5


def test_half_of_the_smallest_eigenvalue_is_proved_less_the_errors_of_the_entries():
    # Eigenvalues 2 and 4 of K, and m = 3: 5/2, less the norm of the errors.
    errors = np.full((2, 2), float(OFF))
    is_least(smallest_eigenvalue(KERNEL, errors, 3, 0.0), Fraction(5, 2) - 2 * OFF)
    assert smallest_eigenvalue(KERNEL, errors, 3, 2.5) == 2.5
    assert smallest_eigenvalue(KERNEL, errors * 2.0**12, 3, 1.0) == 1.0


def test_the_largest_energy_within_sizes():
    is_bound(largest_energy(np.abs(KERNEL), np.array([1.0, 2.0])), root(3 + 2 * 2 + 12))
    is_bound(largest_energy(np.abs(KERNEL), np.array([0.0, 2.0**-600])), root(3) / 2**600)


def test_a_difference_lies_between_its_energies():
    # d = (1, 2): d'Kd = 3 - 4 + 12 over 1/2, m d'd = 3 * 5, and off by (1 + 2)^2 errors over 1/2.
    least, most = energy_norm(ENTRIES, PLACES, np.array([1.0, 2.0]), 3, PENALTY)
    is_bound(most, root(22 + 15 + 18 * OFF))
    is_least(least, root(22 + 15 - 18 * OFF))


def test_the_energy_of_an_identity_is_proved_whatever_the_kernel():
    wide = KernelEntries(KERNEL, np.full((2, 2), 1e3), np.ones((2, 2)))
    for entries in (wide, without_kernel(ENTRIES)):
        least, _ = energy_norm(entries, PLACES, np.array([1.0, 2.0]), 3, PENALTY)
        is_least(least, root(15))
    assert not without_kernel(ENTRIES).magnitude.any()


def test_no_difference_within_sizes_reaches_further():
    reach = energy_reach(ENTRIES, PLACES, np.array([1.0, 2.0]), 3, PENALTY)
    is_bound(reach, root(2 * (3 + 4 + 12 + 9 * OFF) + 15))


def test_errors_grow_where_blocks_hold_a_coordinate_more_than_twice():
    assert [growth(most) for most in (1, 2, 3, 7)] == [1.0, 1.0, 2.0, 6.0]
    assert whole_growth(np.array([1, 3, 2, 7])) == 12.0
