"""Algorithm 2: s-step dual coordinate descent for the kernel SVM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sstep_reference.arithmetic import Arithmetic
from sstep_reference.arithmetic.base import Scalar, Vector
from sstep_reference.inputs import as_indices, minimiser, start_vector, svm_constants, window_starts
from sstep_reference.kernels import Columns


def sstep_dcd_ksvm(
    arithmetic: Arithmetic,
    kernel: Columns,
    labels: Sequence[Any],
    initial: Sequence[Any],
    indices: Sequence[int],
    s: int,
    *,
    loss: str,
    C: Any,
    trace: list[Vector] | None = None,
    log: list[Scalar] | None = None,
) -> Vector:
    """Run H iterations of s-step DCD, in the paper's form: alpha stays frozen within a window.

    Parameters
    ----------
    arithmetic, kernel, labels, initial, indices, loss, C
        As in `dcd_ksvm`.
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
        If a length, a label, an index, s, the loss or C cannot be used.

    Notes
    -----
    Source: Algorithm 2; the line numbers stand next to the lines. t runs over the earlier iterations of
    the window. In `Balls` the form suits a window or two from an exact start: it adds increments to
    balls they depend on, so radii grow faster than in `dcd_ksvm`.
    """
    upper, shift = svm_constants(arithmetic, loss, C)  # line 2
    signed = kernel.labelled(labels)  # line 3: the labels multiply K, they do not go inside it
    alpha = start_vector(arithmetic, kernel, initial)
    drawn = as_indices(kernel, indices)
    with arithmetic.working():
        for start in window_starts(len(drawn), s):  # line 4
            window = drawn[start : start + int(s)]  # lines 5-9
            panel = signed.columns(window)  # lines 10-11: U
            increments = _increments(arithmetic, panel, window, alpha, upper, shift)
            for i, theta in zip(window, increments, strict=True):  # line 24
                alpha[i] = alpha[i] + theta
                if log is not None:
                    log.append(alpha[i])
            if trace is not None:
                trace.append(alpha.copy())
    return alpha  # line 26


def _increments(
    arithmetic: Arithmetic,
    panel: Sequence[Vector],
    window: Sequence[int],
    alpha: Vector,
    upper: Scalar | None,
    shift: Scalar,
) -> list[Scalar]:
    """Increments (theta) of one window, from the alpha at its start."""
    zero = arithmetic.number(0)
    increments: list[Scalar] = []
    for j, i in enumerate(window):  # line 14
        curvature = panel[j][i] + shift  # lines 12-13: eta
        overlap = zero
        for t in range(j):
            if window[t] == i:
                overlap = overlap + increments[t]
        value = alpha[i] + overlap  # line 15: rho
        gradient = arithmetic.dot(panel[j], alpha) - 1 + shift * alpha[i]  # line 16: g
        for t in range(j):
            gradient = gradient + panel[j][window[t]] * increments[t]
        gradient = gradient + shift * overlap
        new = minimiser(arithmetic, gradient, curvature, value, upper)  # lines 17-22
        increments.append(new - value)
    return increments
