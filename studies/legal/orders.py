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
    steps: list[Step] = []
    with np.errstate(all="ignore"):
        window = _svm_window if drawn.problem.is_svm else _ridge_window
        end = window(drawn, sums, matrix, start.astype(matrix.dtype), blocks, steps, carried)
        if carried is not None and not drawn.planted.kernel:  # corrections are lost, so updates come late
            carried.form(np.array(end))
    return kept(np.array(end)), steps


def _products(
    drawn: Drawn, sums: Sums, row: int, matrix: np.ndarray, start: Any, signs: Any, made: list[Any]
) -> tuple[list[Any], list[Any]]:
    """Terms of row i's product with a, and of its corrections: from entries, or together by way of A'v."""
    if drawn.declaration.increments == "summed":
        totals: dict[int, Any] = {}
        for j, theta in made:
            totals[j] = totals[j] + theta if j in totals else theta
        made = list(totals.items())
    kind, planted = matrix.dtype.type, drawn.planted
    stale = [(j, a) for j, a in enumerate(start) if a != 0]
    if planted is not NONE:
        own, others = kind(float(planted.kernel_overlap)), kind(float(planted.kernel))
        stale = [(j, a * kind(float(planted.stale))) for j, a in stale]
        made = [(j, theta * (own if j == row else others)) for j, theta in made]
    if drawn.choices["factored"]:
        data, moved = drawn.problem.dense.astype(kind), stale + made
        weights = [sums.dot([signs[j] * a for j, a in moved], [data[j, k] for j, _ in moved])
                   for k in range(data.shape[1])]  # fmt: skip
        sign = signs[row] * kind(drawn.choices.get("scale", 1))
        return [sign * (data[row, k] * weights[k]) for k in range(data.shape[1])], []
    terms = [[signs[row] * signs[j] * matrix[row, j] * a for j, a in part] for part in (stale, made)]
    return terms[0], terms[1]


def _sum(drawn: Drawn, sums: Sums, terms: tuple[list[Any], list[Any]], constants: list[Any]) -> Any:
    """Sum of a step's products, corrections and constants, all at once or the products first.

    In an order that is declared the products are a sum of their own, to which the others are added.
    """
    products, corrections = terms
    if drawn.declaration.summation != "any":
        return sum([*corrections, *constants], sums.add(products))
    if drawn.choices["products first"]:
        return sums.add([sums.add([*products, *corrections]), *constants])
    return sums.add([*products, *corrections, *constants])


def _from_weights(drawn: Drawn, row: int, sign: Any, weights: np.ndarray) -> tuple[list[Any], list[Any]]:
    """Terms of row i's product with carried weights."""
    return list(sign * (drawn.problem.dense[row].astype(weights.dtype) * weights)), []


def _off(drawn: Drawn, kind: Any, curvature: Any) -> Any:
    """The curvature with what is planted in it."""
    if drawn.planted is NONE:
        return curvature
    return curvature * kind(float(drawn.planted.curvature))


def _svm_window(
    drawn: Drawn,
    sums: Sums,
    matrix: np.ndarray,
    start: np.ndarray,
    blocks: np.ndarray,
    steps: list[Step],
    carried: Carried | None,
) -> list[Any]:
    kind: Any = matrix.dtype.type
    loss, update, planted = drawn.problem.hinge, drawn.declaration.update, drawn.planted
    factor = kind(drawn.choices.get("scale", 1))
    labels, C = drawn.problem.targets.astype(kind), kind(loss.C) / factor
    shift = kind(1) / (kind(2) * kind(loss.C)) * factor if loss.shift else kind(0)
    upper = kind(np.inf) if loss.shift or planted.upper is None else C
    lower = kind(-np.inf) if planted.leak else kind(0)
    a, made = list(start), list[Any]()
    for (i,) in blocks.tolist():
        value = a[i]  # with frozen updates: start plus the increments so far
        if carried is not None and carried.name == "gradient":
            gradient = carried.values[i]
        else:
            products = (
                _products(drawn, sums, i, matrix, start, labels, made)
                if carried is None
                else _from_weights(drawn, i, labels[i], carried.values)
            )
            gradient = _sum(drawn, sums, products, [kind(-1), *([shift * value] if loss.shift else [])])
        eta = (matrix[i, i] + shift) * kind(float(planted.curvature)) + kind(
            drawn.choices.get("constant", 0)
        )
        if eta == 0:
            new = upper
        else:
            quotient = gradient * (kind(1) / eta) if drawn.choices["reciprocal"] else gradient / eta
            new = np.minimum(np.maximum(value - quotient, lower), upper)
        theta = new - value
        made.append((i, theta))
        if carried is not None and planted.kernel:
            carried.add(i, theta)
        a[i] = new if update == "in-place" else value + theta
        steps.append(([a[i]], [gradient], [[eta]], [theta]))
    return a


def _ridge_window(
    drawn: Drawn,
    sums: Sums,
    matrix: np.ndarray,
    start: np.ndarray,
    blocks: np.ndarray,
    steps: list[Step],
    carried: Carried | None,
) -> list[Any]:
    kind: Any = matrix.dtype.type
    problem = drawn.problem
    m, penalty, targets = kind(problem.samples), kind(problem.ridge.penalty), problem.targets.astype(kind)
    m = m * kind(drawn.choices.get("scale", 1))
    a, made = list(start), list[Any]()
    ones = np.ones(problem.samples, dtype=kind)
    for block in blocks:
        right = []
        for i in block:
            if carried is not None and carried.name == "residual":
                right.append(carried.values[i])
                continue
            terms = (
                _products(drawn, sums, i, matrix, start, ones, made)
                if carried is None
                else _from_weights(drawn, i, kind(1), carried.values)
            )
            if drawn.choices["divided"] == "sum":
                terms = [-(_sum(drawn, sums, terms, []) / penalty)], []
            else:
                terms = [-(one / penalty) for one in terms[0]], [-(one / penalty) for one in terms[1]]
            right.append(_sum(drawn, sums, terms, [targets[i], -(m * a[i])]))
        system = np.array([[matrix[i, j] / penalty for j in block] for i in block], dtype=kind)
        system += m * np.eye(block.size, dtype=kind)
        system = _off(drawn, kind, system)
        change = solved(drawn, sums, kind, system, np.array(right, dtype=kind))
        if change is None:
            return [np.nan] * problem.samples
        for i, step in zip(block, change, strict=True):
            made.append((i, step))
            if carried is not None and drawn.planted.kernel:
                carried.add(int(i), step)
            a[i] = a[i] + step  # frozen as well: start plus the increments so far
        steps.append(([a[i] for i in block], right, system, change))
    return a
