"""The solve of a block's symmetric positive definite system: Cholesky factorisation and substitution.

Source: Algorithm 4, line 14. Blocks are short as a rule, and LAPACK's call costs more than they do.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from sstep_verify.compiled import compiled_borrowing


def solve_long(system, vector):
    """Solve a system of many equations as `solve_in_place` does, by LAPACK's Cholesky factorisation.

    NaN where the system is not positive definite in float64.
    """
    _, solution, failed = lapack.dposv(system.T, vector, lower=1, overwrite_a=1, overwrite_b=1)
    vector[:] = np.nan if failed else solution


@compiled_borrowing
def solve_in_place(system, vector):
    """Solve an SPD system by Cholesky factorisation; both arguments are overwritten.

    Parameters
    ----------
    system : ndarray, shape (b, b)
        SPD matrix, of which the upper triangle is read; overwritten by its factor.
    vector : ndarray, shape (b,)
        Right-hand side in, solution out.

    Notes
    -----
    Right-looking by rows, so that the inner loop runs along memory and needs no reassociation to be
    vectorised; four pivots at a time, which divides the traffic of the update by four.
    """
    order = vector.size
    for first in range(0, order, 4):
        last = min(first + 4, order)
        for pivot in range(first, last):
            scale = 1.0 / np.sqrt(system[pivot, pivot])
            for column in range(pivot, order):
                system[pivot, column] *= scale
            for row in range(pivot + 1, last):
                factor = system[pivot, row]
                for column in range(row, order):
                    system[row, column] -= factor * system[pivot, column]
        for row in range(last, order):
            one, two = system[first, row], system[first + 1, row]
            three, four = system[first + 2, row], system[first + 3, row]
            for column in range(row, order):
                system[row, column] -= (
                    one * system[first, column]
                    + two * system[first + 1, column]
                    + three * system[first + 2, column]
                    + four * system[first + 3, column]
                )
    for pivot in range(order):
        vector[pivot] /= system[pivot, pivot]
        for column in range(pivot + 1, order):
            vector[column] -= system[pivot, column] * vector[pivot]
    for pivot in range(order - 1, -1, -1):
        total = vector[pivot]
        for column in range(pivot + 1, order):
            total -= system[pivot, column] * vector[column]
        vector[pivot] = total / system[pivot, pivot]
