"""Algorithm 1: dual coordinate descent (DCD) for the kernel SVM.

The step itself, with its clip to the box, is `minimiser` in sstep_reference/inputs.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sstep_reference.arithmetic import Arithmetic
from sstep_reference.arithmetic.base import Scalar, Vector
from sstep_reference.inputs import as_indices, minimiser, start_vector, svm_constants
from sstep_reference.kernels import Columns


def dcd_ksvm(
    arithmetic: Arithmetic,
    kernel: Columns,
    labels: Sequence[Any],
    initial: Sequence[Any],
    indices: Sequence[int],
    *,
    loss: str,
    C: Any,
    trace: list[Vector] | None = None,
    log: list[Scalar] | None = None,
) -> Vector:
    """Run H iterations of classical DCD on the dual of a K-SVM without bias.

    Parameters
    ----------
    arithmetic : Arithmetic
        Number system of every operation.
    kernel : Kernel or Gram
        Kernel (K) over the m samples, in the same arithmetic.
    labels : sequence of m values
        Labels (y), each -1 or +1.
    initial : sequence of m numbers
        Start vector (alpha_0); not modified.
    indices : sequence of H integers
        Coordinates (i_k) in the order drawn, from 0.
    loss : {"svm-l1", "svm-l2"}
        Hinge loss (box [0, C]) or squared hinge loss (box [0, infinity), diagonal shift 1/(2C)).
    C : number
        Penalty, > 0.
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
        If a length, a label, an index, the loss or C cannot be used.

    Notes
    -----
    Source: Algorithm 1; the line numbers stand next to the lines. In `Balls` the radii grow
    geometrically, by up to about a bit an iteration: give that many ``bits``, or replay shorter segments.
    """
    upper, shift = svm_constants(arithmetic, loss, C)  # line 2
    signed = kernel.labelled(labels)  # line 3: the labels multiply K, they do not go inside it
    alpha = start_vector(arithmetic, kernel, initial)
    with arithmetic.working():
        for i in as_indices(kernel, indices):  # lines 4-6
            u = signed.column(i)  # line 7
            curvature = u[i] + shift  # line 8: eta
            gradient = arithmetic.dot(u, alpha) - 1 + shift * alpha[i]  # line 9: g
            # Lines 10-16. alpha_i + theta is the new value itself; without the detour over theta a
            # clipped coordinate lies exactly on its bound and a ball does not depend on itself twice.
            alpha[i] = minimiser(arithmetic, gradient, curvature, alpha[i], upper)
            if log is not None:
                log.append(alpha[i])
            if trace is not None:
                trace.append(alpha.copy())
    return alpha  # line 18
