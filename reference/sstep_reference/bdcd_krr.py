"""Algorithm 3: block dual coordinate descent (BDCD) for kernel ridge regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sstep_reference.arithmetic import Arithmetic
from sstep_reference.arithmetic.base import Scalar, Vector
from sstep_reference.errors import InvalidInputError
from sstep_reference.inputs import as_blocks, check_sizes, start_vector
from sstep_reference.kernels import Columns


def bdcd_krr(
    arithmetic: Arithmetic,
    kernel: Columns,
    targets: Sequence[Any],
    initial: Sequence[Any],
    blocks: Sequence[Sequence[int]],
    *,
    penalty: Any,
    trace: list[Vector] | None = None,
    log: list[Scalar] | None = None,
) -> Vector:
    """Run H iterations of classical BDCD on ``(K/lambda + m I) alpha = y``.

    Parameters
    ----------
    arithmetic : Arithmetic
        Number system of every operation.
    kernel : Kernel or Gram
        Kernel (K) over the m samples, in the same arithmetic.
    targets : sequence of m numbers
        Targets (y).
    initial : sequence of m numbers
        Start vector (alpha_0); not modified.
    blocks : H sequences of b integers
        Blocks in the order drawn, from 0. A block may hold a coordinate several times, if it was drawn with
        replacement: V_k then has equal columns, and the coordinate gets the sum of its increments.
    penalty : number
        Regularisation (lambda), > 0.
    trace : list, optional
        Gets a copy of the dual vector after every iteration.
    log : list, optional
        Gets the new value of each drawn coordinate, in the order drawn.

    Returns
    -------
    vector of length m
        Dual vector after H iterations (alpha_H).

    Raises
    ------
    InvalidInputError
        If a length, a block or the penalty cannot be used.
    SingularSystemError
        If a block system is not positive definite in this arithmetic.

    Notes
    -----
    Source: Algorithm 3; the line numbers stand next to the lines.
    """
    regularisation, y, drawn = ridge_inputs(arithmetic, kernel, targets, blocks, penalty)
    alpha = start_vector(arithmetic, kernel, initial)
    m = kernel.samples
    with arithmetic.working():
        for block in drawn:  # lines 3-5
            panel = kernel.columns(block)  # line 6: U
            system = block_system(arithmetic, panel, block, regularisation, m)  # line 7: G
            residual = [
                y[i] - m * alpha[i] - arithmetic.dot(u, alpha) / regularisation
                for i, u in zip(block, panel, strict=True)
            ]
            delta = arithmetic.solve(system, arithmetic.vector(residual))  # line 8
            for i, increment in zip(block, delta, strict=True):  # line 9
                alpha[i] = alpha[i] + increment
                if log is not None:
                    log.append(alpha[i])
            if trace is not None:
                trace.append(alpha.copy())
    return alpha  # line 11


def ridge_inputs(
    arithmetic: Arithmetic,
    kernel: Columns,
    targets: Sequence[Any],
    blocks: Sequence[Sequence[int]],
    penalty: Any,
) -> tuple[Scalar, Vector, list[list[int]]]:
    """Checked regularisation, targets and blocks in the arithmetic.

    Raises
    ------
    InvalidInputError
        If the penalty is not positive, a length is wrong or a block cannot be used.
    """
    if not penalty > 0:
        raise InvalidInputError(f"lambda = {penalty}, but it must be > 0")
    check_sizes(kernel, {"targets": targets})
    return arithmetic.number(penalty), arithmetic.vector(targets), as_blocks(kernel, blocks)


def block_system(
    arithmetic: Arithmetic, panel: Sequence[Vector], block: Sequence[int], regularisation: Scalar, m: int
) -> list[Vector]:
    """Matrix ``G = V'U / lambda + m I`` of a block, as a list of b vectors.

    I is the identity of the b draws: G is positive definite where a coordinate is drawn several times, too.

    Source: Algorithm 3, line 7; Algorithm 4, line 14.
    """
    return [
        arithmetic.vector(
            [u[i] / regularisation + (m if place == own else 0) for place, i in enumerate(block)]
        )
        for own, u in enumerate(panel)
    ]
