"""What the steps of one window are made from: its data in local coordinates, and what a mutation changes.

A mutation says which quantities of the s-step recurrence are scaled, and which steps of it go wrong. Of the
data of a window steps need what is restricted to the coordinates drawn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import cache
from typing import Any, Literal

from sstep_verify import quantities

Factor = int | Fraction


@dataclass(frozen=True)
class Mutation:
    """One factor per quantity of a step (1 is right, 0 drops it) and one switch per slip.

    Parameters
    ----------
    name : str
        Name of the defect; ``none`` for the right recurrence.
    stale : Factor
        Product of the kernel row with alpha at the window's start.
    curvature : Factor
        What the gradient is divided by: eta (K-SVM), the block system (K-RR).
    kernel : Factor
        Kernel correction between different coordinates: ``K(i_j, i_t) theta_t`` with i_t != i_j.
    kernel_overlap : Factor
        Kernel correction of a coordinate with itself: ``K_ii theta_t`` where it was drawn before.
    overlap : Factor
        Increments of the same coordinate: in rho (Algorithm 2, line 16), or ``m V_j'V_t D_t``
        (Algorithm 4, line 14).
    omega_stale, omega_overlap : Factor
        Diagonal shift times a at the window's start, and times the increments since (Algorithm 2,
        line 17).
    labels : Factor
        Label of the drawn coordinate in its gradient; -1 flips it.
    upper : Factor or None
        Upper end of the box (nu); None: there is none.
    capped : bool
        K-SVM-L2: the box has an upper end, which is C, the inverse of twice omega.
    leak : Factor
        Part of what lies below the lower end of the box that stays; 0 is right, 1: there is no lower end.
    samples, penalty : Factor
        K-RR: m, and lambda, wherever they occur.
    off_diagonal : Factor
        K-RR: off-diagonal entries of the block system.
    write_back : Factor
        Increments as they are stored in alpha.
    boundary : Factor
        Increment of the window's last step, as what comes after sees it.
    early : bool
        Each draw is replaced by the next one of the stream, the very last by the first. Of a window alone
        the steps after the first are made: what it draws last is not among its coordinates.
    backwards : bool
        The steps of a window are made from its last draw to its first.
    lose_tail : bool
        Leave out the last window if it is shorter than s.
    assign_once : bool
        ``alpha[I] += theta`` with repeated indices: only the last increment of a coordinate counts.
    corrected : (int or None, int or None)
        Ends of the slice of a window's steps whose kernel products are corrected.
    earlier : (int or None, int or None)
        Ends of the slice of the increments made before in the window that correct those products.
    alike : bool
        K-RR: the values of a block see the same increments as its kernel products, as in a residual that is
        corrected by whole rows of ``K / lambda + m I``.
    repeats : (int or None, int or None)
        Ends of the slice of a coordinate's own increments in the window that its product sees.
    late : str
        What the stale products are made from that is of the window before, where there is one: its `A` at
        the start, or its rows, of `K` or with labels of `Q`, where it has as many; empty is right.
    diagonal : Factor
        K-RR: m on the diagonal of the block systems alone.
    assigned : str
        ``alpha[block] += D`` where the block holds a coordinate several times: only the last of its
        increments counts, in what the window stores (`stored`), in the values of its later steps as well
        (`values`), or also in their kernel products (`products`); empty is right.
    once : bool
        A coordinate that a block holds several times is solved for once.
    threshold : float
        Increments whose absolute value is smaller are left out.
    """

    name: str = "none"
    stale: Factor = 1
    curvature: Factor = 1
    kernel: Factor = 1
    kernel_overlap: Factor = 1
    overlap: Factor = 1
    omega_stale: Factor = 1
    omega_overlap: Factor = 1
    labels: Factor = 1
    upper: Factor | None = 1
    capped: bool = False
    leak: Factor = 0
    samples: Factor = 1
    penalty: Factor = 1
    off_diagonal: Factor = 1
    write_back: Factor = 1
    boundary: Factor = 1
    early: bool = False
    backwards: bool = False
    lose_tail: bool = False
    assign_once: bool = False
    corrected: tuple[int | None, int | None] = (None, None)
    earlier: tuple[int | None, int | None] = (None, None)
    alike: bool = False
    repeats: tuple[int | None, int | None] = (None, None)
    late: Literal["", "A", "K", "Q"] = ""
    diagonal: Factor = 1
    assigned: Literal["", "stored", "values", "products"] = ""
    once: bool = False
    threshold: float = 0.0

    @property
    def changes(self) -> dict[str, Any]:
        """What differs from the right recurrence, by field."""
        values = ((one.name, getattr(self, one.name)) for one in fields(self) if one.name != "name")
        return {name: value for name, value in values if value != getattr(NONE, name)}

    def seen(self, whole: Any, earlier_steps: list, steps: int, zeros: Callable[[], Any]) -> Any:
        """Increments of a window's coordinates as the products of its next step see them.

        `whole`, of length c as what `zeros` makes, is all of them, which is what the right recurrence sees;
        `earlier_steps` are the (coordinate, increment) pairs of each step before, in order, of so many
        `steps`.
        """
        if self.corrected == self.earlier == (None, None):
            return whole
        visible = zeros()
        if len(earlier_steps) in range(steps)[slice(*self.corrected)]:
            for step in earlier_steps[slice(*self.earlier)]:
                for place, increment in step:
                    visible[place] = visible[place] + increment
        return visible

    def repeated(self, whole: Any, earlier_steps: list, place: int) -> Any:
        """Own increments of one coordinate as its product sees them, with arguments of `seen`."""
        own = [increment for step in earlier_steps for other, increment in step if other == place]
        return sum(own[slice(*self.repeats)], start=0 * whole[place])

    def scaled(self, fields: tuple[str, ...], factor: Factor | None, name: str) -> Mutation:
        """A copy with some factors set to another value."""
        changes: dict[str, Any] = dict.fromkeys(fields, factor)
        return replace(self, name=name, **changes)


NONE = Mutation()

TERMS: dict[str, tuple[str, ...]] = {
    quantities.STALE: ("stale",),
    quantities.CURVATURE: ("curvature",),
    quantities.KERNEL: ("kernel",),
    quantities.SAME: ("kernel_overlap",),
    quantities.OVERLAP: ("overlap",),
    quantities.OMEGA: ("omega_stale", "omega_overlap"),
    quantities.LABELS: ("labels",),
    quantities.UPPER: ("upper",),
    quantities.LOWER: ("leak",),
    quantities.SAMPLES: ("samples",),
    quantities.PENALTY: ("penalty",),
    quantities.OFF_DIAGONAL: ("off_diagonal",),
    quantities.WRITE_BACK: ("write_back",),
    quantities.BOUNDARY: ("boundary",),
    quantities.TAIL: ("lose_tail",),
    quantities.STREAM: ("early",),
}
"""Quantities of a step, and the factors or switches that act on each."""

LEFT_OUT: dict[str, Factor | None] = {
    quantities.CURVATURE: 2,
    quantities.LABELS: -1,
    quantities.UPPER: None,
    quantities.LOWER: 1,
    quantities.SAMPLES: 2,
    quantities.PENALTY: 2,
    quantities.TAIL: True,
    quantities.STREAM: True,
}
"""Factor that stands for leaving a quantity out; 0 for those not named."""


def left_out(name: str) -> Mutation:
    """The mutation that leaves a quantity out, as `sstep_verify.quantities` says what that means."""
    return NONE.scaled(TERMS[name], LEFT_OUT.get(name, 0), f"{name} left out")


def off_by(name: str, relative: Fraction) -> Mutation | None:
    """The mutation by which a quantity is relatively off; None where leaving it out says as much.

    That is so for a switch, which is on or off, and for what is stored, in which a is linear. The lower
    end of the box is 0, and so the part of what lies below it that stays takes the place.
    """
    if name in (quantities.TAIL, quantities.STREAM, quantities.WRITE_BACK, quantities.BOUNDARY):
        return None
    factor = relative if name == quantities.LOWER else 1 + relative
    return NONE.scaled(TERMS[name], factor, f"{name} off by {float(relative):.3g}")


Scalar = Any
Vector = Any

Before = tuple[Vector, Any]
"""The window before another: the dual vector (m) at its start, and the s blocks of b that it drew."""


@dataclass(frozen=True)
class LocalWindow:
    """The data of one window on its c distinct `coordinates`, in order of first draw.

    `draws` are the blocks drawn, s x b, as places among these; `gram` holds kernel values between the
    coordinates, c vectors; `stale`, c scalars, the products of each coordinate's kernel row with a (K-RR)
    or with labels times a (K-SVM) at the window's start; `start` and `targets`, of length c, the dual
    vector there and the targets. Where `signed`, targets are labels: kernel rows multiply labels times a
    then. `late` gives the products that a mistake forms of what is of the window before, as `Mutation.late`
    says, s sequences of b scalars; absent where there is no such window, or none is known.
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

        Rows of the window before replace as many of this one. As rows of Q they have the
        label of their own coordinate instead of that of the drawn one.
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
    weighted: Vector | None = None,
) -> LocalWindow:
    """Restrict a window to the coordinates that it draws, s blocks of b.

    Arithmetic and kernel are objects of `sstep_reference`; targets (labels) and the dual vector at the
    window's start have m numbers; `signed` as of a `LocalWindow`. `weighted` is what `weighted_by` makes of
    these, for who has it already.
    """
    coordinates = list(dict.fromkeys(int(i) for block in blocks for i in block))
    place = {coordinate: position for position, coordinate in enumerate(coordinates)}
    with arithmetic.working():
        if weighted is None:
            weighted = weighted_by(arithmetic, targets, alpha, signed)
        gram, stale = [], []
        for i in coordinates:  # one column at a time: a panel of thousands would not fit in memory
            column = kernel.column(i)
            gram.append(arithmetic.chosen(column, coordinates))
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
