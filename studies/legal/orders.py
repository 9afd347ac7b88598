"""Small correct solvers whose every operation is one IEEE operation, in many legal orders.

Nothing here is fast or shares code with what it tests. What a solver does is drawn (draws.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sstep_verify.problems import PolynomialKernel, RBFKernel
from sstep_verify.recurrence.mutation import NONE
from sstep_verify.solvers.adapters.recording import kept
from studies.legal.arithmetic import Sums, solved
from studies.legal.carried import Carried
from studies.legal.draws import TYPES, Drawn

Step = tuple[Any, Any, Any, Any]
"""What a step left in its coordinates; its gradient, curvature and increment."""

Terms = tuple[list[Any], list[Any]]
"""Terms of a row's product with a, and of its corrections."""

Finished = tuple[Any, Any, Any] | None
"""New values, curvature and increments of a step."""


def kernel_matrix(drawn: Drawn, sums: Sums) -> np.ndarray:
    """Kernel entries by the declared formulas, shape (m, m)."""
    kind, kernel = TYPES[drawn.declaration.precision], drawn.problem.kernel
    with np.errstate(all="ignore"):
        data = drawn.problem.dense.astype(kind)
        return np.array([[_entry(drawn, kernel, x, z, sums, kind) for z in data] for x in data])


def _entry(drawn: Drawn, kernel: Any, x: Any, z: Any, sums: Sums, kind: Any) -> Any:
    if isinstance(kernel, RBFKernel):
        if drawn.declaration.rbf == "difference":
            distance = sums.dot(x - z, x - z)
        else:
            distance = (sums.dot(x, x) + sums.dot(z, z)) - kind(2) * sums.dot(x, z)
            distance = max(distance, kind(0)) if drawn.declaration.clamped else distance
        return _function(drawn, np.exp, -kind(kernel.sigma) * distance)
    value = sums.dot(x, z)
    if isinstance(kernel, PolynomialKernel):
        base = value = value + kind(kernel.offset)
        if drawn.declaration.power == "pow":
            return _function(drawn, lambda one: one ** one.dtype.type(kernel.degree), base)
        for _ in range(kernel.degree - 1):
            value = value * base
    return value


def _function(drawn: Drawn, function: Any, x: Any) -> Any:
    """A function of a number: NumPy's vectorised one, or the one rounded from longdouble."""
    if drawn.declaration.function_ulps > 1.0:
        return function(np.full(16, x))[3]
    return type(x)(function(np.full(1, np.longdouble(x)))[0])


def made_window(
    drawn: Drawn,
    sums: Sums,
    matrix: np.ndarray,
    start: np.ndarray,
    blocks: np.ndarray,
    carried: Carried | None = None,
) -> tuple[np.ndarray, list[Step]]:
    """Vector at a window's end, values of the type's numbers, and the steps made.

    Fewer than asked for, and NaN, where a factorisation fails.
    """
    kind: Any = matrix.dtype.type
    problem, updated = drawn.problem, bool(drawn.planted.kernel)  # Without corrections updates come late.
    signs = problem.targets.astype(kind) if problem.is_svm else np.ones(problem.samples, dtype=kind)
    finish = _clipped if problem.is_svm else _solved
    steps, moves = list[Step](), list[Any]()

    def products_of(i: int) -> Terms:
        if carried is None:
            return _products(drawn, sums, i, matrix, start, signs, moves)
        return list(signs[i] * (problem.dense[i].astype(kind) * carried.values)), []

    with np.errstate(all="ignore"):
        start = start.astype(kind)
        a: list[Any] = list(start)  # with frozen updates as well: start plus the increments so far
        for block in blocks.tolist():
            right = [
                carried.values[i]
                if carried is not None and carried.name != "weights"
                else _right_hand_side(drawn, sums, kind, i, a[i], products_of(i))
                for i in block
            ]
            step = finish(drawn, sums, matrix, block, [a[i] for i in block], right)
            if step is None:
                return np.full(problem.samples, np.nan), steps
            values, curvature, increments = step
            for i, value, theta in zip(block, values, increments, strict=True):
                moves.append((i, theta))
                if carried is not None and updated:
                    carried.add(i, theta)
                a[i] = value
            steps.append((values, right, curvature, increments))
        if carried is not None and not updated:
            carried.form(np.array(a))
    return kept(np.array(a)), steps


def _products(
    drawn: Drawn, sums: Sums, row: int, matrix: np.ndarray, start: Any, signs: Any, moves: list[Any]
) -> Terms:
    """Terms of row i's product with a, and of its corrections: from entries, or together by way of A'v."""
    if drawn.declaration.increments == "summed":
        totals: dict[int, Any] = {}
        for j, theta in moves:
            totals[j] = totals[j] + theta if j in totals else theta
        moves = list(totals.items())
    kind, planted = matrix.dtype.type, drawn.planted
    stale = [(j, a) for j, a in enumerate(start) if a != 0]
    if planted is not NONE:
        own, others = kind(float(planted.kernel_overlap)), kind(float(planted.kernel))
        stale = [(j, a * kind(float(planted.stale))) for j, a in stale]
        moves = [(j, theta * (own if j == row else others)) for j, theta in moves]
    if drawn.choices["factored"]:
        data, moved = drawn.problem.dense.astype(kind), stale + moves
        weights = [sums.dot([signs[j] * a for j, a in moved], [data[j, k] for j, _ in moved])
                   for k in range(data.shape[1])]  # fmt: skip
        sign = signs[row] * kind(drawn.choices.get("scale", 1))
        return [sign * (data[row, k] * weights[k]) for k in range(data.shape[1])], []
    terms = [[signs[row] * signs[j] * matrix[row, j] * a for j, a in part] for part in (stale, moves)]
    return terms[0], terms[1]


def _sum(drawn: Drawn, sums: Sums, terms: Terms, constants: list[Any]) -> Any:
    """Sum of a step's products, corrections and constants, all at once or the products first.

    In an order that is declared the products are a sum of their own, to which the others are added.
    """
    products, corrections = terms
    if drawn.declaration.summation != "any":
        return sum([*corrections, *constants], sums.add(products))
    if drawn.choices["products first"]:
        return sums.add([sums.add([*products, *corrections]), *constants])
    return sums.add([*products, *corrections, *constants])


def _right_hand_side(drawn: Drawn, sums: Sums, kind: Any, i: int, value: Any, products: Terms) -> Any:
    """The gradient (K-SVM) or residual (K-RR) at a coordinate of some value."""
    problem = drawn.problem
    if problem.is_svm:
        own = [_shift(drawn, kind) * value] if problem.hinge.shift else []
        return _sum(drawn, sums, products, [kind(-1), *own])
    penalty = kind(problem.ridge.penalty)
    if drawn.choices["divided"] == "sum":
        products = [-(_sum(drawn, sums, products, []) / penalty)], []
    else:
        products = [-(one / penalty) for one in products[0]], [-(one / penalty) for one in products[1]]
    return _sum(drawn, sums, products, [kind(problem.targets[i]), -(_shift(drawn, kind) * value)])


def _shift(drawn: Drawn, kind: Any) -> Any:
    """Diagonal shift (omega) of a K-SVM, and m of a K-RR, times the scale of a."""
    problem, scale = drawn.problem, kind(drawn.choices.get("scale", 1))
    if not problem.is_svm:
        return kind(problem.samples) * scale
    return kind(1) / (kind(2) * kind(problem.hinge.C)) * scale if problem.hinge.shift else kind(0)


def _clipped(
    drawn: Drawn, sums: Sums, matrix: np.ndarray, block: list[int], now: list[Any], right: list[Any]
) -> Finished:
    """K-SVM: the new value of a coordinate, its curvature, its increment."""
    kind: Any = matrix.dtype.type
    (i,), (value,), (gradient,) = block, now, right
    loss, planted, choices = drawn.problem.hinge, drawn.planted, drawn.choices
    C, shift = kind(loss.C) / kind(choices.get("scale", 1)), _shift(drawn, kind)
    upper = kind(np.inf) if loss.shift or planted.upper is None else C
    lower = kind(-np.inf) if planted.leak else kind(0)
    eta = (matrix[i, i] + shift) * kind(float(planted.curvature)) + kind(choices.get("constant", 0))
    if eta == 0:
        new = upper
    else:
        quotient = gradient * (kind(1) / eta) if choices["reciprocal"] else gradient / eta
        new = np.minimum(np.maximum(value - quotient, lower), upper)
    theta = new - value
    return [new if drawn.declaration.update == "in-place" else value + theta], [[eta]], [theta]


def _solved(
    drawn: Drawn, sums: Sums, matrix: np.ndarray, block: list[int], now: list[Any], right: list[Any]
) -> Finished:
    """K-RR: the new values of a block, its system, its increments; None where a factorisation fails."""
    kind: Any = matrix.dtype.type
    penalty = kind(drawn.problem.ridge.penalty)
    system = np.array([[matrix[i, j] / penalty for j in block] for i in block], dtype=kind)
    system += _shift(drawn, kind) * np.eye(len(block), dtype=kind)
    if drawn.planted is not NONE:
        system = system * kind(float(drawn.planted.curvature))
    change = solved(drawn, sums, kind, system, np.array(right, dtype=kind))
    return (
        None
        if change is None
        else ([x + step for x, step in zip(now, change, strict=True)], system, change)
    )
