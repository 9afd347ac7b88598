"""Steps of a small correct solver whose every operation is one IEEE operation, in many legal orders.

Nothing here is fast or shares code with what it tests.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sstep_verify.adapters.callable import kept
from sstep_verify.problems import PolynomialKernel, Problem, RBFKernel
from sstep_verify.recurrence.mutation import NONE
from studies.admissible.arithmetic import ORDERS, Sums, by_orthogonal
from studies.admissible.choices import Choices

Terms = tuple[list[Any], list[Any]]
"""Terms of a row's product with a, and of its corrections."""


class Step(NamedTuple):
    """What a step left in its coordinates, and its increments."""

    values: Any
    increments: Any


class Steps:
    """A drawn solver of a problem: its sums, its kernel entries, shape (m, m), and windows of its steps.

    In the solver's type and times the scale of a, `shift` is the diagonal shift (omega) of a K-SVM, and m
    of a K-RR.
    """

    def __init__(self, drawn: Choices, problem: Problem) -> None:
        self.drawn, self.declared, self.problem = drawn, drawn.declaration, problem
        self.undeclared = drawn.undeclared
        kind: Any = np.dtype(self.declared.precision).type
        self.kind = kind
        # The same bits every time.
        self.sums = Sums(kind, drawn.order, np.random.Generator(np.random.PCG64(0)))
        self.scale = kind(drawn.scale)
        with np.errstate(all="ignore"):
            self.data, self.targets = self.problem.dense.astype(kind), self.problem.targets.astype(kind)
            self.signs = self.targets if self.problem.is_svm else np.ones_like(self.targets)
            if self.problem.is_svm:
                loss = self.problem.hinge
                self.penalty = kind(loss.C)
                self.shift = kind(1) / (kind(2) * self.penalty) * self.scale if loss.shift else kind(0)
            else:
                self.penalty = kind(self.problem.ridge.penalty)
                self.shift = kind(self.problem.samples) * self.scale
            self.matrix = np.array([[self._entry(x, z) for z in self.data] for x in self.data])
            self.scaled = self.matrix * self.scale

    def _entry(self, x: Any, z: Any) -> Any:
        """A kernel entry by the solver's formulas."""
        kernel, kind, dot = self.problem.kernel, self.kind, self.sums.dot
        if isinstance(kernel, RBFKernel):
            if self.declared.rbf == "difference":
                distance = dot(x - z, x - z)
            else:
                distance = (dot(x, x) + dot(z, z)) - kind(2) * dot(x, z)
                distance = max(distance, kind(0)) if self.undeclared.clamped else distance
            return self._function(np.exp, -kind(kernel.sigma) * distance)
        value = dot(x, z)
        if isinstance(kernel, PolynomialKernel):
            degree = kernel.degree
            base = value = value + kind(kernel.offset)
            if self.undeclared.power == "pow":
                return self._function(lambda one: one ** one.dtype.type(degree), base)
            for _ in range(degree - 1):
                value = value * base
        return value

    def _function(self, function: Any, x: Any) -> Any:
        """A function of a number: NumPy's vectorised one, or the one rounded from longdouble."""
        if self.undeclared.functions == "library":
            return function(np.full(16, x))[3]
        return type(x)(function(np.full(1, np.longdouble(x)))[0])

    def window(
        self, start: np.ndarray, blocks: np.ndarray, carried: Carried | None = None
    ) -> tuple[np.ndarray, list[list[Any]]]:
        """Vector at a window's end, values of the type's numbers, and what each step made left.

        Fewer than asked for, and NaN, where a factorisation fails.
        """
        updated = bool(self.drawn.planted.kernel)  # Without corrections updates come late.
        finish = self._clipped if self.problem.is_svm else self._solved
        steps, moves = list[list[Any]](), list[Any]()
        with np.errstate(all="ignore"):
            start = start.astype(self.kind)
            a: list[Any] = list(start)  # with frozen updates as well: start plus the increments so far
            for block in blocks.tolist():
                right = [self._right_hand_side(i, a[i], start, moves, carried) for i in block]
                step = finish(block, [a[i] for i in block], right)
                if step is None:
                    return np.full(self.problem.samples, np.nan), steps
                for i, value, theta in zip(block, step.values, step.increments, strict=True):
                    moves.append((i, theta))
                    if carried is not None:
                        carried.add(i, theta, own=not updated)
                    a[i] = value
                steps.append(step.values)
            if carried is not None and not updated:
                carried.form(np.array(a))
        return kept(np.array(a)), steps

    def _products(self, row: int, start: Any, moves: list[Any]) -> Terms:
        """Terms of a row's product with a, and of its corrections: from entries, or both by way of A'v."""
        if self.undeclared.increments == "summed":
            totals: dict[int, Any] = {}
            for j, theta in moves:
                totals[j] = totals[j] + theta if j in totals else theta
            moves = list(totals.items())
        kind, planted = self.kind, self.drawn.planted
        stale = [(j, a) for j, a in enumerate(start) if a != 0]
        if planted is not NONE:
            own, others = kind(float(planted.kernel_overlap)), kind(float(planted.kernel))
            stale = [(j, a * kind(float(planted.stale))) for j, a in stale]
            moves = [(j, theta * (own if j == row else others)) for j, theta in moves]
        if self.drawn.factored:
            moved, features = stale + moves, range(self.data.shape[1])
            signed = [self.signs[j] * a for j, a in moved]
            weights = [self.sums.dot(signed, [self.data[j, k] for j, _ in moved]) for k in features]
            sign = self.signs[row] * self.scale
            return [sign * (self.data[row, k] * weights[k]) for k in features], []
        signs, entries = self.signs[row] * self.signs, self.scaled[row]
        stale_terms, moved_terms = [[signs[j] * entries[j] * a for j, a in part] for part in (stale, moves)]
        return stale_terms, moved_terms

    def _sum(self, terms: Terms, constants: list[Any]) -> Any:
        """Sum of a step's products, corrections and constants, all at once or the products first.

        In a tree of their own the products are a sum to which the others are added.
        """
        products, corrections = terms
        if self.undeclared.summation != "any":
            return sum([*corrections, *constants], self.sums.add(products))
        if self.drawn.products_first:
            return self.sums.add([self.sums.add([*products, *corrections]), *constants])
        return self.sums.add([*products, *corrections, *constants])

    def _right_hand_side(
        self, i: int, value: Any, start: Any, moves: list[Any], carried: Carried | None
    ) -> Any:
        """The gradient (K-SVM) or residual (K-RR) at a coordinate of some value."""
        if carried is None:
            products = self._products(i, start, moves)
        elif carried.name == "weights":
            own_moves = [] if self.drawn.planted.kernel else [theta for j, theta in moves if j == i]
            corrections = [self.matrix[i, i] * theta for theta in own_moves]
            products = list(self.signs[i] * (self.data[i] * carried.values)), corrections
        else:
            return carried.values[i]
        if self.problem.is_svm:
            own = [self.shift * value] if self.problem.hinge.shift else []
            return self._sum(products, [self.kind(-1), *own])
        if self.drawn.divided == "sum":
            products = [-(self._sum(products, []) / self.penalty)], []
        else:
            stale, moved = ([-(one / self.penalty) for one in part] for part in products)
            products = stale, moved
        return self._sum(products, [self.targets[i], -(self.shift * value)])

    def _clipped(self, block: list[int], now: list[Any], right: list[Any]) -> Step | None:
        """K-SVM: the step of a coordinate."""
        kind = self.kind
        (i,), (value,), (gradient,) = block, now, right
        loss, planted = self.problem.hinge, self.drawn.planted
        upper = kind(np.inf) if loss.shift or planted.upper is None else self.penalty / self.scale
        lower = kind(-np.inf) if planted.leak else kind(0)
        eta = (self.scaled[i, i] + self.shift) * kind(float(planted.curvature))
        if eta == 0:
            new = upper
        else:
            quotient = gradient * (kind(1) / eta) if self.drawn.reciprocal else gradient / eta
            new = np.minimum(np.maximum(value - quotient, lower), upper)
        theta = new - value
        return Step([new if self.declared.update == "in-place" else value + theta], [theta])

    def _solved(self, block: list[int], now: list[Any], right: list[Any]) -> Step | None:
        """K-RR: the step of a block; None where a factorisation fails."""
        kind, drawn, way = self.kind, self.drawn, self.declared.factorisation
        system = np.array([[self.scaled[i, j] / self.penalty for j in block] for i in block], dtype=kind)
        system += self.shift * np.eye(len(block), dtype=kind)
        if drawn.planted is not NONE:
            system = system * kind(float(drawn.planted.curvature))
        given = system, np.array(right, dtype=kind)
        change = (
            self.sums.by_cholesky(*given)
            if way == "cholesky"
            else by_orthogonal(*given, ORDERS.index(drawn.order))
            if way == "orthogonal"
            else self.sums.by_elimination(*given, pivoted=way == "lu", reciprocal=drawn.reciprocal)
        )
        if change is None:
            return None
        values, reached = [], dict(zip(block, now, strict=True))
        for i, step in zip(block, change, strict=True):
            reached[i] = reached[i] + step
            values.append(reached[i])
        return Step(values, change)


class Carried:
    """A vector ``q = c + L a``: the solver's gradient, its residual, or its weights, formed of some a.

    Formed again it is a sum in the solver's order; after an increment it gets the increment's products, the
    shift's or m's own one where it has one, each of them added in turn. Weights are declared, a gradient or
    a residual is not; of a scaled a there is none.
    """

    def __init__(self, steps: Steps, alpha: np.ndarray) -> None:
        kind, signs = steps.kind, steps.signs
        self.name, self._sums = steps.drawn.maintained, steps.sums
        self._own, self._over, self._constant = kind(0), kind(1), np.zeros(0, dtype=kind)
        self._rows = signs[:, None] * steps.data
        if self.name == "gradient":
            self._rows, self._constant = signs[:, None] * signs * steps.matrix, -np.ones_like(signs)
            self._own = steps.shift
        elif self.name == "residual":
            self._rows, self._constant = -steps.matrix, steps.targets
            self._own, self._over = -steps.shift, steps.penalty
        self.form(alpha)

    def form(self, alpha: Any) -> None:
        """Form it again."""
        terms = [list(column) for column in (np.array(alpha)[:, None] * self._rows / self._over).T]
        for k, constant in enumerate(self._constant):
            terms[k] += [constant, *([self._own * alpha[k]] if self._own else [])]
        self.values = np.array([self._sums.add(one) for one in terms], dtype=self._rows.dtype)

    def add(self, i: int, increment: Any, own: bool = False) -> None:
        """Let a_i grow by an increment; with `own` only entry i sees it, of weights none does."""
        moved = self._rows[i] * increment / self._over
        if own:
            seen = (np.arange(moved.size) == i) & (self.name != "weights")
            moved = np.where(seen, moved, moved.dtype.type(0))
        self.values = self.values + moved
        if self._own:
            self.values[i] += self._own * increment
