"""One window in local coordinates: everything its s steps need, restricted to the coordinates drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

Scalar = Any
Vector = Any

Before = tuple[Vector, Any]
"""The window before another: the dual vector (m) at its start, and the s blocks of b that it drew."""


@dataclass(frozen=True)
class LocalWindow:
    """The data of one window on its c distinct coordinates.

    Parameters
    ----------
    coordinates : list of int
        Distinct coordinates in order of first draw.
    draws : list of list of int
        Blocks drawn, s x b, as places in `coordinates`.
    gram : list of c vectors
        Kernel values between the coordinates.
    stale : list of c scalars
        Products of each coordinate's kernel row with a (K-RR) or with labels times a (K-SVM) at the
        window's start.
    start, targets : vectors of length c
        The dual vector at the window's start, and the targets, at the coordinates.
    signed : bool
        Whether targets are labels: kernel rows multiply labels times a then.
    late : callable, optional
        Gives the products that a mistake forms of what is of the window before, as `Mutation.late` says:
        s sequences of b scalars; absent where there is no such window, or none is known.
    """

    coordinates: list[int]
    draws: list[list[int]]
    gram: list[Vector]
    stale: list[Scalar]
    start: Vector
    targets: Vector
    signed: bool
    late: Callable[[str], list[list[Scalar]]] | None = None

    def products(self, step: int, late: str = "") -> list[Scalar]:
        """Stale products of the block of a step, or those that are late where there are any."""
        if late and self.late is not None:
            return self.late(late)[step]
        return [self.stale[place] for place in self.draws[step]]

    def after(
        self, arithmetic: Any, kernel: Any, targets: Vector, alpha: Vector, before: Before
    ) -> LocalWindow:
        """The same window, knowing the one before it; arguments as in `local_window`.

        Rows of the window before stand in the place of as many of this one. As rows of Q they have the
        label of their own coordinate in the place of that of the drawn one.
        """

        @cache
        def late(kind: str) -> list[list[Scalar]]:
            old, draws = before
            drawn = [[self.coordinates[place] for place in block] for block in self.draws]
            if kind != "A" and len(draws) != len(drawn):
                return [self.products(step) for step in range(len(drawn))]
            rows = drawn if kind == "A" else draws
            with arithmetic.working():
                weighted = weighted_by(arithmetic, targets, old if kind == "A" else alpha, self.signed)
                return [
                    [
                        arithmetic.dot(kernel.column(int(row)), weighted)
                        * (targets[i] * targets[int(row)] if self.signed and kind == "Q" else 1)
                        for i, row in zip(block, blocks, strict=True)
                    ]
                    for block, blocks in zip(drawn, rows, strict=True)
                ]

        return replace(self, late=late)

    def begun_at(self, arithmetic: Any, kernel: Any, targets: Vector, alpha: Vector) -> LocalWindow:
        """The same window from another dual vector; see `local_window`."""
        with arithmetic.working():
            weighted = weighted_by(arithmetic, targets, alpha, self.signed)
            stale = [arithmetic.dot(kernel.column(i), weighted) for i in self.coordinates]
            start = arithmetic.vector([alpha[i] for i in self.coordinates])
            return replace(self, stale=stale, start=start)


def local_window(
    arithmetic: Any,
    kernel: Any,
    targets: Vector,
    alpha: Vector,
    blocks: Sequence[Sequence[int]],
    *,
    signed: bool,
) -> LocalWindow:
    """Restrict a window to the coordinates it draws.

    Parameters
    ----------
    arithmetic, kernel
        Arithmetic and kernel objects of `sstep_reference`.
    targets, alpha : vectors of length m
        Targets (labels) and the dual vector at the window's start.
    blocks : sequence of s sequences of b int
        Coordinates drawn.
    signed : bool
        True for K-SVM: kernel rows multiply labels times a.

    Returns
    -------
    LocalWindow
    """
    coordinates = list(dict.fromkeys(int(i) for block in blocks for i in block))
    place = {coordinate: position for position, coordinate in enumerate(coordinates)}
    with arithmetic.working():
        weighted = weighted_by(arithmetic, targets, alpha, signed)
        gram, stale = [], []
        for i in coordinates:  # one column at a time: a panel of thousands would not fit in memory
            column = kernel.column(i)
            gram.append(arithmetic.vector([column[other] for other in coordinates]))
            stale.append(arithmetic.dot(column, weighted))
        return LocalWindow(
            coordinates=coordinates,
            draws=[[place[int(i)] for i in block] for block in blocks],
            gram=gram,
            stale=stale,
            start=arithmetic.vector([alpha[i] for i in coordinates]),
            targets=arithmetic.vector([targets[i] for i in coordinates]),
            signed=signed,
        )


def weighted_by(arithmetic: Any, targets: Vector, alpha: Vector, signed: bool) -> Vector:
    """What kernel rows multiply: a, or labels times a."""
    if not signed:
        return alpha
    return arithmetic.vector([y * a for y, a in zip(targets, alpha, strict=True)])
