"""The mutable s-step recurrence over one window, in the paper's form with alpha frozen over the window.

Source: Algorithm 2, lines 15-24 (K-SVM), and Algorithm 4, lines 11-16 (K-RR), which share all but the
finisher of a step: a threshold and a clip in value space, a block solve in residual space. With no mutation
it equals the reference exactly (shown in rational arithmetic); every correction term has a factor, so that
a defect is data and not another program. Increments are summed per coordinate, which changes nothing in
exact arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from sstep_verify.problems import Problem
from sstep_verify.recurrence.mutation import NONE, LocalWindow, Mutation, Scalar, Vector, weighted_by

STORE = {"write_back", "boundary"}
"""Factors of a mutation that act on what a window stores, after its steps."""

BlockSolve = Callable[[int, Any], Any]
"""Solves the system of step j of the window for a right-hand side: ``solve(j, rhs) -> vector``."""

Finish = Callable[[int, list[tuple[Scalar, Scalar]], list, Vector], tuple[Sequence[Scalar], Any]]
"""Ends step j: from the products of kernel rows, what own increments add to each, the values of the block
before the step and the increments of all coordinates so far, to the increments of the block and what a log
keeps of the step."""


@dataclass(frozen=True)
class Step:
    """One K-SVM step as it was made: value before, minimiser of the smooth part, that after the threshold,
    new value, increment.
    """

    value: Scalar
    unclipped: Scalar
    free: Scalar
    updated: Scalar
    increment: Scalar


@dataclass(frozen=True)
class Clip:
    """Boxed losses: the minimiser along one coordinate, clipped to the box; its log keeps a `Step`.

    Parameters
    ----------
    omega : scalar
        Diagonal shift.
    upper : scalar or None
        Upper end of the box (nu); None is infinity.
    lower : scalar or None
        Lower end of the box; None is minus infinity.
    threshold : scalar or None
        Weight of the 1-norm; None where there is none.
    signed : bool
        Whether targets are labels: they multiply kernel rows then, and the linear term is 1; else it is the
        target.
    """

    omega: Scalar
    upper: Scalar | None
    lower: Scalar | None = 0
    threshold: Scalar | None = None
    signed: bool = True

    @staticmethod
    def clipped(arithmetic: Any, value: Scalar, lower: Scalar | None, upper: Scalar | None) -> Scalar:
        """The value clipped to an interval; None is an end at infinity."""
        if lower is not None:
            return arithmetic.clip(value, lower, upper)
        return value if upper is None else -arithmetic.clip(-value, -upper, None)

    def soft(self, arithmetic: Any, value: Scalar, curvature: Scalar) -> Scalar:
        """The minimiser with the 1-norm, from that without it."""
        if self.threshold is None:
            return value
        knot, zero = self.threshold / curvature, arithmetic.number(0)
        return arithmetic.clip(value - knot, zero, None) - arithmetic.clip(-value - knot, zero, None)

    def flat(self, arithmetic: Any, linear: Scalar, upper: Scalar | None) -> Scalar:
        """The minimiser where there is no curvature; without an end the right one stands in."""
        zero = arithmetic.number(0)
        threshold = zero if self.threshold is None else self.threshold
        if not arithmetic.at_most(linear, threshold):
            return self.upper if upper is None else upper
        return zero if arithmetic.at_most(-threshold, linear) else self.lower

    def begun(self, arithmetic: Any, window: LocalWindow, mutation: Mutation) -> Finish:
        """The finisher of the steps of one window."""
        number, omega = arithmetic.number, self.omega
        shift, shift_moved = omega * number(mutation.omega_stale), omega * number(mutation.omega_overlap)
        unbounded = self.upper is None or mutation.upper is None
        end = None if unbounded else self.upper * number(mutation.upper)
        if mutation.capped and self.upper is None:
            end = number(1) / (number(2) * omega)
        lower = None if self.lower is None else number(self.lower)
        one, eta, leak = number(1), number(mutation.curvature), number(mutation.leak)
        sign = number(mutation.labels)

        def finish(
            step: int, sums: list, values: list, increments: Vector
        ) -> tuple[Sequence[Scalar], Step]:
            (place,), ((product, own),), (value,) = window.draws[step], sums, values
            label, linear = (window.targets[place], one) if self.signed else (one, window.targets[place])
            gradient = sign * (label * product) - linear + label * own
            gradient = gradient + shift * window.start[place] + shift_moved * increments[place]
            curvature = window.gram[place][place] + omega
            if arithmetic.is_zero(curvature):
                unclipped = free = updated = self.flat(arithmetic, linear, end)
            else:
                unclipped = value - gradient / (eta * curvature)
                free = self.soft(arithmetic, unclipped, eta * curvature)
                updated = self.clipped(arithmetic, free, lower, end)
                if mutation.leak:
                    updated = updated + leak * (free - self.clipped(arithmetic, free, lower, None))
            increment = updated - value
            return [increment], Step(value, unclipped, free, updated, increment)

        return finish


@dataclass(frozen=True)
class Solve:
    """K-RR: the solution of the block system; its log keeps the increments of the block.

    Parameters
    ----------
    penalty : scalar
        Regularisation (lambda).
    samples : int
        Number of samples (m).
    systems : callable, optional
        Makes the solver of a window's block systems, as the mutation has them; the arithmetic's own if
        absent.
    """

    penalty: Scalar
    samples: int
    systems: Callable[[LocalWindow, Mutation], BlockSolve] | None = None
    signed: ClassVar[bool] = False

    def begun(self, arithmetic: Any, window: LocalWindow, mutation: Mutation) -> Finish:
        """The finisher of the steps of one window."""
        number, penalty, samples = arithmetic.number, self.penalty, self.samples
        divisor, diagonal = penalty * number(mutation.penalty), samples * number(mutation.samples)

        def by_arithmetic(step: int, rhs: Vector) -> Vector:
            system = block_system(arithmetic, window, step, penalty, samples, mutation)
            return arithmetic.solve(system, rhs)

        solve = self.systems(window, mutation) if self.systems else by_arithmetic

        def finish(
            step: int, sums: list, values: list, increments: Vector
        ) -> tuple[Sequence[Scalar], Vector]:
            parts = zip(window.draws[step], values, sums, strict=True)
            rhs = [
                window.targets[i] - diagonal * value - (product + own) / divisor
                for i, value, (product, own) in parts
            ]
            solution = solve(step, arithmetic.vector(rhs))
            if mutation.curvature != 1:
                solution = [change / number(mutation.curvature) for change in solution]
            return solution, solution

        return finish


Finisher = Clip | Solve
"""What a loss makes of the sums of a step."""


def finisher_of(problem: Problem, arithmetic: Any) -> Finisher:
    """The finisher of a problem's steps, its parameters taken exactly."""
    if problem.is_svm:
        loss, number = problem.boxed, arithmetic.number
        return Clip(
            loss.exact_shift(arithmetic),
            None if math.isinf(loss.upper) else number(loss.upper),
            None if math.isinf(loss.lower) else number(loss.lower),
            number(loss.threshold) if loss.threshold else None,
            loss.labelled,
        )
    return Solve(arithmetic.number(problem.ridge.penalty), problem.samples)


def block_system(
    arithmetic: Any, window: LocalWindow, step: int, penalty: Scalar, samples: int, mutation: Mutation
) -> list[Vector]:
    """Rows of ``G = K_BB / penalty + m I`` for the block of a step, as b vectors; see `system_part`."""
    block = window.draws[step]
    with arithmetic.working():
        number = arithmetic.number
        off_diagonal = number(mutation.off_diagonal)
        penalty = penalty * number(mutation.penalty)
        diagonal = samples * number(mutation.samples) * number(mutation.diagonal)
        rows = []
        for place, i in enumerate(block):
            row = [off_diagonal * window.gram[i][j] / penalty for j in block]
            row[place] = window.gram[i][i] / penalty + diagonal
            rows.append(arithmetic.vector(row))
        return rows


def system_part(mutation: Mutation) -> Mutation:
    """What a mutation changes of the entries of the block systems, without the rest of it."""
    return replace(
        NONE,
        samples=mutation.samples,
        penalty=mutation.penalty,
        off_diagonal=mutation.off_diagonal,
        diagonal=mutation.diagonal,
        once=mutation.once,
    )


def mutable_window(
    arithmetic: Any,
    window: LocalWindow,
    finisher: Finisher,
    mutation: Mutation = NONE,
    steps: list | None = None,
) -> Vector:
    """The dual vector at the end of a window, on its c coordinates, by steps with a mutation.

    A list gets what the finisher keeps of every step.
    """
    if mutation.once:
        window = replace(window, draws=[list(dict.fromkeys(block)) for block in window.draws])
    with arithmetic.working():
        number, count = arithmetic.number, len(window.coordinates)
        stale, kernel = number(mutation.stale), number(mutation.kernel)
        same, overlap = number(mutation.kernel_overlap), number(mutation.overlap)
        finish = finisher.begun(arithmetic, window, mutation)
        increments, last = arithmetic.zeros(count), arithmetic.zeros(count)
        # Of a block's increments to one coordinate only the last is assigned; see `Mutation.assigned`.
        assigned = arithmetic.zeros(count) if mutation.assigned in ("stored", "values") else increments
        # What kernel rows multiply follows the increments, where each product sees all of them.
        everything = mutation.corrected == mutation.earlier == (None, None)
        weighted = weighted_by(arithmetic, window.targets, increments, finisher.signed)
        latest: Sequence[Scalar] = []
        earlier: list[list] = []
        order = range(int(mutation.early), len(window.draws))
        for step in reversed(order) if mutation.backwards else order:
            block, sums = window.draws[step], []
            seen = increments
            if not everything:
                seen = mutation.seen(
                    increments, earlier, len(window.draws), lambda: arithmetic.zeros(count)
                )
                weighted = weighted_by(arithmetic, window.targets, seen, finisher.signed)
            for i, product in zip(block, window.products(step, mutation.late), strict=True):
                row = window.gram[i]
                own = row[i] * weighted[i]
                others = arithmetic.dot(row, weighted) - own
                if mutation.repeats != (None, None):
                    own = row[i] * mutation.repeated(increments, earlier, i)
                    own = window.targets[i] * own if finisher.signed else own
                sums.append((stale * product + kernel * others, same * own))
            moved = assigned if mutation.assigned == "values" else seen if mutation.alike else increments
            values = [window.start[i] + overlap * moved[i] for i in block]
            latest, record = finish(step, sums, values, increments)
            if mutation.threshold:
                latest = [0 * x if abs(float(x)) < mutation.threshold else x for x in latest]
            if steps is not None:
                steps.append(record)
            pairs = list(zip(block, latest, strict=True))
            if mutation.assigned:
                for i, increment in dict(pairs).items():
                    assigned[i] = assigned[i] + increment
            earlier.append(list(dict(pairs).items()) if mutation.assigned == "products" else pairs)
            for i, increment in pairs:
                if mutation.assigned != "products":
                    increments[i] = increments[i] + increment
                last[i] = increment
            if everything and finisher.signed:
                for i in block:
                    weighted[i] = window.targets[i] * increments[i]
        gained = list(last if mutation.assign_once else assigned)
        return _stored(arithmetic, window, mutation, gained, latest)


def stored_otherwise(
    arithmetic: Any, window: LocalWindow, steps: Sequence[Sequence[Scalar]], mutation: Mutation
) -> Vector:
    """The end of `mutable_window` with a mutation of `STORE` alone, from the increments of right steps."""
    with arithmetic.working():
        gained = arithmetic.zeros(len(window.coordinates))
        for block, increments in zip(window.draws, steps, strict=True):
            for i, increment in zip(block, increments, strict=True):
                gained[i] = gained[i] + increment
        return _stored(arithmetic, window, mutation, list(gained), steps[-1])


def _stored(
    arithmetic: Any, window: LocalWindow, mutation: Mutation, gained: list, latest: Sequence[Scalar]
) -> Vector:
    """What a window stores of what its coordinates gained, the latest step's increments among it."""
    number = arithmetic.number
    stored, lost = number(mutation.write_back), 1 - number(mutation.boundary)
    if mutation.boundary != 1:
        for place, increment in zip(window.draws[-1], latest, strict=False):
            gained[place] = gained[place] - lost * increment
    changes = zip(window.start, gained, strict=True)
    return arithmetic.vector([start + stored * change for start, change in changes])
