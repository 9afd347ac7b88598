"""Algorithm 4: s-step block dual coordinate descent for kernel ridge regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sstep_reference.arithmetic import Arithmetic
from sstep_reference.arithmetic.base import Scalar, Vector
from sstep_reference.bdcd_krr import block_system, ridge_inputs
from sstep_reference.inputs import start_vector, window_starts
from sstep_reference.kernels import Columns


def sstep_bdcd_krr(
    arithmetic: Arithmetic,
    kernel: Columns,
    targets: Sequence[Any],
    initial: Sequence[Any],
    blocks: Sequence[Sequence[int]],
    s: int,
    *,
    penalty: Any,
    trace: list[Vector] | None = None,
    log: list[Scalar] | None = None,
) -> Vector:
    """Run H iterations of s-step BDCD, in the paper's form: alpha stays frozen within a window.

    Parameters
    ----------
    arithmetic, kernel, targets, initial, blocks, penalty
        As in `bdcd_krr`. The blocks of one window may overlap.
    s : int
        Iterations per window, >= 1; the last window is shorter if s does not divide H.
    trace : list, optional
        Gets a copy of the dual vector after every window.
    log : list, optional
        Gets the new value of each drawn coordinate, in the order drawn.

    Returns
    -------
    vector of length m
        Dual vector after H iterations (alpha_H).

    Raises
    ------
    InvalidInputError
        If a length, a block, s or the penalty cannot be used.
    SingularSystemError
        If a block system is not positive definite in this arithmetic.

    Notes
    -----
    Source: Algorithm 4; the line numbers stand next to the lines. t runs over the earlier iterations of
    the window.
    """
    regularisation, y, drawn = ridge_inputs(arithmetic, kernel, targets, blocks, penalty)
    alpha = start_vector(arithmetic, kernel, initial)
    with arithmetic.working():
        for start in window_starts(len(drawn), s):  # line 3
            window = drawn[start : start + int(s)]  # lines 4-9: Omega
            panels = [kernel.columns(block) for block in window]  # lines 10-13: Q and its parts U
            increments = _increments(arithmetic, panels, window, y, alpha, regularisation)
            for block, delta in zip(window, increments, strict=True):  # line 16
                for i, increment in zip(block, delta, strict=True):
                    alpha[i] = alpha[i] + increment
                    if log is not None:
                        log.append(alpha[i])
            if trace is not None:
                trace.append(alpha.copy())
    return alpha  # line 18


def _increments(
    arithmetic: Arithmetic,
    panels: Sequence[Sequence[Vector]],
    window: Sequence[Sequence[int]],
    y: Vector,
    alpha: Vector,
    regularisation: Scalar,
) -> list[Vector]:
    """Increments (Delta alpha) of one window, from the alpha at its start."""
    m = len(alpha)
    increments: list[Vector] = []
    zero = arithmetic.number(0)
    drawn: list[int] = []  # coordinates of all V_t, t < j;
    moved = arithmetic.zeros(sum(map(len, window)))  # their increments, all Delta_t; 0 where t >= j;
    total = {i: zero for block in window for i in block}  # and their sum for each coordinate
    for j, block in enumerate(window):  # line 11
        system = block_system(arithmetic, panels[j], block, regularisation, m)  # line 14: G
        corrections = arithmetic.picked_products(panels[j], drawn, moved)
        residual = []
        # Line 14, the displayed equation; the correction is U_j' V_t Delta_t, summed over t.
        for i, u, correction in zip(block, panels[j], corrections, strict=True):
            overlap = total[i]  # V_j' V_t Delta_t, summed over t
            stale = y[i] - m * alpha[i] - m * overlap
            residual.append(stale - arithmetic.dot(u, alpha) / regularisation - correction / regularisation)
        increments.append(arithmetic.solve(system, arithmetic.vector(residual)))
        for i, increment in zip(block, increments[j], strict=True):
            moved[len(drawn)] = increment
            drawn.append(i)
            total[i] = total[i] + increment
    return increments
