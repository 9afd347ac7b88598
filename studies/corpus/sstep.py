"""An s-step solver in plain NumPy whose every freedom is a choice: order of sums, formulas, update."""

from __future__ import annotations

from typing import Any

import numpy as np

from sstep_verify import Declaration, Problem
from studies.admissible.arithmetic import added
from studies.admissible.undeclared import Undeclared

Array = np.ndarray
Step = tuple[np.ndarray, np.ndarray]
"""Increments and new values of a block."""


def in_order(order: str, x: Array, z: Array) -> Array:
    """Sums of the products of x and z over their last axis.

    The order is forward, reversed, pairwise, blocked (four terms each), compensated, or extended: products
    and sums in long double, rounded once, as fused operations come near.
    """
    if order == "extended":
        return np.add.reduce(x.astype(np.longdouble) * z, axis=-1).astype(np.result_type(x, z))
    terms = x * z
    zero = np.zeros(terms.shape[:-1], terms.dtype)
    return added(order, list(np.moveaxis(terms, -1, 0)), zero, 4)


class SStep:
    """The right solver of one problem; a mistake changes one method or two (`mistakes`).

    Parameters
    ----------
    declared : Declaration
        How: what the specification leaves open, as the right solver declares it.
    order : str
        Order of sums, see `in_order`.
    undeclared : Undeclared
        How: what the declaration leaves open.
    problem : Problem
        What: K-SVM-L1, K-SVM-L2 or K-RR with a linear, polynomial or RBF kernel.
    """

    def __init__(self, declared: Declaration, order: str, problem: Problem, undeclared: Undeclared) -> None:
        problem = self.given(problem)
        self.declared, self.order, self.task = declared, order, problem.loss.task
        self.undeclared = undeclared
        self.kernel: Any = problem.kernel
        self.type: Any = np.dtype(declared.precision).type
        self.A, self.y = problem.dense.astype(self.type), problem.targets.astype(self.type)
        self.m, self.penalty = self.y.size, self.type(problem.loss.parameter)
        self.upper = self.penalty if self.task == "svm-l1" else self.type(np.inf)
        self.omega = 1 / (2 * self.penalty) if self.task == "svm-l2" else self.type(0)
        self.rows = np.empty((0, self.m), self.type)

    def solve(self, blocks: Array, s: int, a0: Array, log: Array | None = None) -> Array:
        """All iterations, in windows of s."""
        a, self.s = self.begun(a0).astype(self.type), s
        blocks = self.taken(blocks, s)
        for begin in range(0, len(blocks), s):
            a, values = self.window(a, blocks[begin : begin + s])
            if log is not None:
                log[begin : begin + s] = values
        return a

    def given(self, asked: Any, *_: Any) -> Any:
        """The problem that is solved, of the one that is asked for."""
        return asked

    taken = begun = given
    """The blocks of the steps that are made, and what a run begins with, of those that are asked for."""

    def inner(self, x: Array, z: Array) -> Array:
        """Inner products over the features."""
        return in_order(self.order, x, z)

    def entries(self, drawn: Array) -> Array:
        """Kernel of the drawn samples with all: c x m."""
        x, z = self.A[drawn][:, None], self.A[None]
        if self.kernel.name != "rbf":
            return self.function(self.inner(x, z))
        if self.declared.rbf == "difference":
            return self.function(self.inner(x - z, x - z))
        norms = self.inner(self.A, self.A)
        distance = norms[drawn][:, None] + norms - 2 * self.inner(x, z)
        return self.function(np.maximum(distance, 0) if self.undeclared.clamped else distance)

    def function(self, value: Array) -> Array:
        """Kernel from inner products, or RBF from squared distances."""
        if self.kernel.name == "linear":
            return value
        if self.kernel.name == "rbf":
            return np.exp(-self.type(self.kernel.sigma) * value)
        base = self.type(self.kernel.offset) + value
        if self.undeclared.power == "pow":
            return np.power(base, self.type(self.kernel.degree))
        power = base
        for _ in range(self.kernel.degree - 1):
            power = power * base
        return power

    def labels(self) -> Array:
        """What multiplies the kernel from both sides: ones for K-RR."""
        return np.ones_like(self.y) if self.task == "krr" else self.y

    def products_of(self, drawn: Array, a: Array) -> Array:
        """Products of the window's rows with a."""
        labels = self.labels()
        if self.declared.products == "rows" or self.kernel.name != "linear":
            return in_order(self.order, self.rows, a)
        weights = in_order(self.order, self.A.T, labels * a)
        return labels[drawn] * in_order(self.order, self.A[drawn], weights)

    def correction(self, r: int, drawn: Array, increments: Array) -> Any:
        """What the increments made so far in the window add to product r."""
        past = drawn[: increments.size]
        if self.undeclared.increments == "summed":
            past, place = np.unique(past, return_inverse=True)
            totals = np.zeros(past.size, self.type)
            np.add.at(totals, place, increments)
            increments = totals
        return in_order(self.order, self.rows[r, past], increments)

    def current(self, a: Array, B: Array, past: Array, increments: Array) -> Array:
        """Values of a block before its step."""
        if self.declared.update != "frozen":
            return a[B]
        return np.array([a[i] + np.add.reduce(increments[past == i]) for i in B], self.type)

    def window(self, a: Array, blocks: Array) -> tuple[Array, Array]:
        """A at the window's end, and the values that its steps left."""
        drawn, b, labels = blocks.ravel(), blocks.shape[1], self.labels()
        self.rows = labels[drawn][:, None] * self.entries(drawn) * labels
        products = self.products_of(drawn, a)
        increments, values = np.empty(0, self.type), np.empty(blocks.shape, self.type)
        self.blocks, self.start, self.a = blocks, a, a.copy()
        start, a = self.start, self.a
        for k, B in enumerate(blocks):
            places, before = np.arange(k * b, k * b + b), start if self.declared.update == "frozen" else a
            now = self.current(before, B, drawn[: k * b], increments)
            rows = self.rows[places]
            full = np.array(
                [products[r] + self.correction(r, drawn, increments) for r in places], self.type
            )
            theta, news = self.step(B, now, full, rows[:, B])
            increments = np.append(increments, theta)
            if self.declared.update == "frozen":
                news = self.current(start, B, drawn[: (k + 1) * b], increments)
            a[B] = values[k] = news
        return a, values

    def step(self, B: Array, now: Array, product: Array, square: Array) -> Step:
        """Increments and new values of a block from its values, its products and its kernel entries."""
        if self.task == "krr":
            over, m = self.matrix()
            theta = self.system(square / over + self.diagonal(B), self.y[B] - m * now - product / over)
            return theta, now + theta
        gradient, curvature = product - 1 + self.shift(now), square[0] + self.omega
        news = self.clip(now - gradient / curvature) if curvature[0] else np.full(1, self.upper)
        theta = news - now
        return theta, news if self.declared.update == "in-place" else now + theta

    def shift(self, now: Array) -> Array:
        """The diagonal shift's part of a gradient."""
        return self.omega * now

    def matrix(self) -> tuple[Any, Any]:
        """What K is divided by in the matrix of K-RR, and its diagonal shift."""
        return self.penalty, self.m

    def diagonal(self, B: Array) -> Array:
        """What is added to the kernel entries of a block."""
        return self.type(self.matrix()[1]) * np.eye(B.size, dtype=self.type)

    def clip(self, value: Array) -> Array:
        """The value of the box nearest to a value."""
        return np.minimum(np.maximum(value, self.type(0)), self.upper)

    def system(self, G: Array, r: Array) -> Array:
        """Solution of a block system."""
        if self.declared.factorisation == "lu":
            return np.linalg.solve(G, r)
        if self.declared.factorisation == "cholesky":
            L = np.linalg.cholesky(G)
            return _back(L.T, _back(L[::-1, ::-1], r[::-1])[::-1])
        if self.declared.factorisation == "orthogonal":
            return np.linalg.lstsq(G, r, rcond=None)[0]
        G, r = G.copy(), r.copy()
        for j in range(r.size):
            for i in range(j + 1, r.size):
                factor = G[i, j] / G[j, j]
                G[i, j:] -= factor * G[j, j:]
                r[i] -= factor * r[j]
        return _back(G, r)


def _back(U: Array, r: Array) -> Array:
    """Solution of an upper triangular system."""
    x = np.zeros_like(r)
    for i in range(r.size - 1, -1, -1):
        x[i] = (r[i] - np.add.reduce(U[i, i + 1 :] * x[i + 1 :])) / U[i, i]
    return x
