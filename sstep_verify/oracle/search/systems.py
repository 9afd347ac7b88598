"""Linear systems of searches, in many digits: nothing is proved of their solutions."""

from __future__ import annotations

from typing import Any

from flint import arb_mat


def shifted(matrix: Any, shift: Any) -> Any:
    """A square matrix with a number added to its diagonal."""
    result = arb_mat(matrix)
    for k in range(matrix.nrows()):
        result[k, k] = result[k, k] + shift
    return result


def solved(matrix: Any, right: Any) -> Any:
    """Midpoints of a solution, an arb_mat as the right-hand side is; None if there is no finite one."""
    try:
        solution = matrix.solve(right, algorithm="approx").mid()
    except ZeroDivisionError:
        return None
    return solution if all(value.is_finite() for value in solution.entries()) else None
