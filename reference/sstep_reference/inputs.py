"""Checks that the four algorithms make before they start, and the step that two of them share.

`minimiser` is that step of a K-SVM, clipped to the box (Algorithms 1 and 2). `gradient_vanishes` says where
no step is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sstep_reference.arithmetic import Arithmetic
from sstep_reference.arithmetic.base import Scalar, Vector
from sstep_reference.errors import InvalidInputError
from sstep_reference.kernels import Columns

LOSSES = ("svm-l1", "svm-l2")


def svm_constants(arithmetic: Arithmetic, loss: str, C: Any) -> tuple[Scalar | None, Scalar]:
    """Upper end of the box (nu, None for infinity) and diagonal shift (omega) of a K-SVM.

    Source: Algorithms 1 and 2, line 2, with ``1/2C`` read as ``1/(2C)``; the shift is computed in the
    arithmetic.

    Raises
    ------
    InvalidInputError
        If the loss is unknown or C is not positive.
    """
    if loss not in LOSSES:
        raise InvalidInputError(f"loss {loss!r} is unknown; known: {', '.join(LOSSES)}")
    if not C > 0:
        raise InvalidInputError(f"C = {C}, but it must be > 0 (the hard margin is the limit of large C)")
    penalty = arithmetic.number(C)
    if loss == "svm-l1":
        return penalty, arithmetic.number(0)
    with arithmetic.working():
        return None, arithmetic.number(1) / (2 * penalty)


def gradient_vanishes(
    arithmetic: Arithmetic, gradient: Scalar, value: Scalar, upper: Scalar | None
) -> bool:
    """Whether the projected gradient at `value` is certainly zero, decided without rounding.

    The paper writes ``|min(max(value - gradient, 0), nu) - value| != 0``. Evaluated as printed, in
    floating point, ``value - gradient`` can round to `value` although ``gradient / eta`` is large (for a
    small eta), and the step would be lost. The three cases below are the same condition in exact
    arithmetic. Undecided balls answer False, so the update is made; it is continuous.

    Source: Algorithm 1, lines 10 and 11; Algorithm 2, lines 17 and 18.
    """
    zero = arithmetic.number(0)
    if arithmetic.is_zero(value) and arithmetic.at_most(zero, gradient):
        return True
    if upper is not None and arithmetic.is_zero(value - upper) and arithmetic.at_most(gradient, zero):
        return True
    inside = arithmetic.at_most(zero, value) and (upper is None or arithmetic.at_most(value, upper))
    return inside and arithmetic.is_zero(gradient)


def minimiser(
    arithmetic: Arithmetic, gradient: Scalar, curvature: Scalar, value: Scalar, upper: Scalar | None
) -> Scalar:
    """New value of one coordinate: the minimiser of its one-variable problem over the box.

    With no curvature (eta = 0: a zero row, K-SVM-L1) the gradient is -1 and the minimiser is the upper end.

    Source: Algorithm 1, lines 11-15; Algorithm 2, lines 18-22.
    """
    if gradient_vanishes(arithmetic, gradient, value, upper):
        return value
    if upper is not None and arithmetic.is_zero(curvature):
        return upper
    return arithmetic.clip(value - gradient / curvature, arithmetic.number(0), upper)


def check_sizes(kernel: Columns, vectors: dict[str, Sequence[Any]]) -> None:
    """Check that every named vector has one entry a sample.

    Raises
    ------
    InvalidInputError
        If one has another length.
    """
    for name, vector in vectors.items():
        if len(vector) != kernel.samples:
            raise InvalidInputError(f"{name}: {len(vector)} entries for {kernel.samples} samples")


def start_vector(arithmetic: Arithmetic, kernel: Columns, initial: Vector) -> Vector:
    """Fresh vector with the values of `initial`, which stays untouched.

    Raises
    ------
    InvalidInputError
        If its length is not the number of samples.
    """
    check_sizes(kernel, {"initial": initial})
    return arithmetic.vector(initial)


def as_indices(kernel: Columns, indices: Iterable[Any]) -> list[int]:
    """Coordinates as Python integers.

    Raises
    ------
    InvalidInputError
        If one is not in 0..m-1.
    """
    drawn = [int(i) for i in indices]
    for position, i in enumerate(drawn):
        if not 0 <= i < kernel.samples:
            raise InvalidInputError(f"index {i} at position {position} is outside 0..{kernel.samples - 1}")
    return drawn


def as_blocks(kernel: Columns, blocks: Iterable[Iterable[Any]]) -> list[list[int]]:
    """Blocks as lists of Python integers.

    Raises
    ------
    InvalidInputError
        If an index is not in 0..m-1, or a block is empty.
    """
    drawn = [as_indices(kernel, block) for block in blocks]
    for position, block in enumerate(drawn):
        if not block:
            raise InvalidInputError(f"block {position} is {block}; a block has b >= 1 coordinates")
    return drawn


def window_starts(iterations: int, s: int) -> range:
    """First iteration (from 0) of every window of s; the last window may be shorter.

    Source: Algorithms 2 and 4, the outer loop, which as printed runs one window too many.

    Raises
    ------
    InvalidInputError
        If s is not an integer >= 1.
    """
    if int(s) != s or s < 1:
        raise InvalidInputError(f"s = {s}, but it must be an integer >= 1")
    return range(0, iterations, int(s))
