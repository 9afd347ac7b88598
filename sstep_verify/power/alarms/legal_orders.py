"""Small correct solvers whose every operation is one IEEE operation, in many legal orders.

Nothing here is fast or shares code with what it tests. What a solver does is drawn (legal_draws.py).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from sstep_verify.power.alarms.legal_draws import TYPES, Drawn
from sstep_verify.problems import PolynomialKernel, RBFKernel
from sstep_verify.trajectory import Probes, Trajectory

Step = tuple[Any, Any, Any, Any]
"""What a step left in its coordinates; its gradient, curvature and increment."""


class Sums:
    """Sums and inner products in a type and an order.

    Parameters
    ----------
    kind : type
        numpy.float32 or numpy.float64.
    order : str
        One of `ORDERS`.
    rng : numpy.random.Generator
        Shuffles.
    """

    def __init__(self, kind: Any, order: str, rng: np.random.Generator) -> None:
        self._kind, self._order, self._rng = kind, order, rng

    def dot(self, one: Any, other: Any) -> Any:
        """``sum_k one_k other_k``; with order fused, every product and sum is rounded once."""
        pairs = list(zip(one, other, strict=True))
        if self._order == "fused" and all(np.isfinite(x) and np.isfinite(z) for x, z in pairs):
            total = self._kind(0)
            for x, z in pairs:
                total = self._fused(x, z, total)
            return total
        return self.add([x * z for x, z in pairs])

    def _fused(self, x: Any, z: Any, total: Any) -> Any:
        if not np.isfinite(total):
            return total
        exact = Fraction(float(x)) * Fraction(float(z)) + Fraction(float(total))
        try:
            return self._kind(float(exact))
        except OverflowError:
            return self._kind(np.inf) if exact > 0 else self._kind(-np.inf)

    def add(self, terms: Any) -> Any:
        """Sum of numbers of the type."""
        terms, zero = list(terms), self._kind(0)
        match self._order:
            case "reversed":
                terms.reverse()
            case "shuffled":
                self._rng.shuffle(terms)
            case "ascending":
                terms.sort(key=float)  # all negative ones first: the largest cancellation
            case "pairwise":
                while len(terms) > 1:
                    terms = [sum(terms[k : k + 2][1:], terms[k]) for k in range(0, len(terms), 2)]
            case "blocked":
                terms = [sum(terms[k + 1 : k + 3], terms[k]) for k in range(0, len(terms), 3)]
            case "compensated":
                return self._compensated(terms)
        return sum(terms[1:], terms[0]) if terms else zero

    def _compensated(self, terms: list[Any]) -> Any:
        total = lost = self._kind(0)
        for term in terms:
            larger = total + term
            part = (total - larger) + term if abs(total) >= abs(term) else (term - larger) + total
            total, lost = larger, lost + part
        return total + lost


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
        return np.exp(-kind(kernel.sigma) * distance)
    value = sums.dot(x, z)
    if isinstance(kernel, PolynomialKernel):
        base = value = value + kind(kernel.offset)
        for _ in range(kernel.degree - 1):
            value = value * base
    return value


def made_run(drawn: Drawn) -> Trajectory:
    """The window as a run with log and probes, float64 values of the type's numbers.

    Without these, and with NaN at its end, where a factorisation fails.
    """
    s, sums = drawn.stream.length, Sums(TYPES[drawn.declaration.precision], drawn.order, drawn.rng)
    blocks, matrix = drawn.stream.blocks(0, s), kernel_matrix(drawn, sums)
    end, steps = made_window(drawn, sums, matrix, drawn.start, blocks)
    run = Trajectory(s, 0, np.array([0, s]), np.array([drawn.start, end]))
    if len(steps) < s:
        return run
    values, *used = (np.array(one, dtype=np.float64) for one in zip(*steps, strict=True))
    return replace(run, log=values, probes=Probes(matrix[blocks].astype(np.float64), *used))


def made_window(
    drawn: Drawn, sums: Sums, matrix: np.ndarray, start: np.ndarray, blocks: np.ndarray
) -> tuple[np.ndarray, list[Step]]:
    """Vector at a window's end, float64 values of the type's numbers, and the steps made.

    Fewer than asked for, and NaN, where a factorisation fails.
    """
    steps: list[Step] = []
    with np.errstate(all="ignore"):
        window = _svm_window if drawn.problem.is_svm else _ridge_window
        end = window(drawn, sums, matrix, start.astype(matrix.dtype), blocks, steps)
    return np.array(end, dtype=np.float64), steps


def _products(
    drawn: Drawn, sums: Sums, row: int, matrix: np.ndarray, start: Any, signs: Any, made: list[Any]
) -> list[Any]:
    """Terms of row i's product with a: from entries, or from the samples by way of A'v."""
    if drawn.declaration.increments == "summed":
        totals: dict[int, Any] = {}
        for j, theta in made:
            totals[j] = totals[j] + theta if j in totals else theta
        made = list(totals.items())
    moved = [(j, a) for j, a in enumerate(start) if a != 0] + made
    if drawn.choices["factored"]:
        data = drawn.problem.dense.astype(matrix.dtype)
        weights = [sums.dot([signs[j] * a for j, a in moved], [data[j, k] for j, _ in moved])
                   for k in range(data.shape[1])]  # fmt: skip
        return [signs[row] * (data[row, k] * weights[k]) for k in range(data.shape[1])]
    return [signs[row] * signs[j] * matrix[row, j] * a for j, a in moved]


def _sum(drawn: Drawn, sums: Sums, products: list[Any], constants: list[Any]) -> Any:
    """Sum of a step's products and constants: of all of them, or of the products' sum and these."""
    if drawn.choices["products first"]:
        return sums.add([sums.add(products), *constants])
    return sums.add([*products, *constants])


def _svm_window(
    drawn: Drawn, sums: Sums, matrix: np.ndarray, start: np.ndarray, blocks: np.ndarray, steps: list[Step]
) -> list[Any]:
    kind: Any = matrix.dtype.type
    loss, update = drawn.problem.hinge, drawn.declaration.update
    labels, C = drawn.problem.targets.astype(kind), kind(loss.C)
    shift = kind(1) / (kind(2) * C) if loss.shift else kind(0)
    upper = kind(np.inf) if loss.shift else C
    a, made = list(start), list[Any]()
    for (i,) in blocks.tolist():
        value = a[i]  # with frozen updates: start plus the increments so far
        products = _products(drawn, sums, i, matrix, start, labels, made)
        gradient = _sum(drawn, sums, products, [kind(-1), *([shift * value] if loss.shift else [])])
        eta = matrix[i, i] + shift
        if eta == 0:
            new = upper
        else:
            quotient = gradient * (kind(1) / eta) if drawn.choices["reciprocal"] else gradient / eta
            new = np.minimum(np.maximum(value - quotient, kind(0)), upper)
        theta = new - value
        made.append((i, theta))
        a[i] = new if update == "in-place" else value + theta
        steps.append(([a[i]], [gradient], [[eta]], [theta]))
    return a


def _ridge_window(
    drawn: Drawn, sums: Sums, matrix: np.ndarray, start: np.ndarray, blocks: np.ndarray, steps: list[Step]
) -> list[Any]:
    kind: Any = matrix.dtype.type
    problem = drawn.problem
    m, penalty, targets = kind(problem.samples), kind(problem.ridge.penalty), problem.targets.astype(kind)
    a, made = list(start), list[Any]()
    ones = np.ones(problem.samples, dtype=kind)
    for block in blocks:
        right = []
        for i in block:
            terms = _products(drawn, sums, i, matrix, start, ones, made)
            if drawn.choices["divided"] == "sum":
                terms = [-(sums.add(terms) / penalty)]
            else:
                terms = [-(term / penalty) for term in terms]
            right.append(_sum(drawn, sums, terms, [targets[i], -(m * a[i])]))
        system = np.array([[matrix[i, j] / penalty for j in block] for i in block], dtype=kind)
        system += m * np.eye(block.size, dtype=kind)
        change = _solved(drawn, sums, kind, system, np.array(right, dtype=kind))
        if change is None:
            return [np.nan] * problem.samples
        for i, step in zip(block, change, strict=True):
            made.append((i, step))
            a[i] = a[i] + step  # frozen as well: start plus the increments so far
        steps.append(([a[i] for i in block], right, system, change))
    return a


def _solved(
    drawn: Drawn, sums: Sums, kind: Any, system: np.ndarray, right: np.ndarray
) -> np.ndarray | None:
    """Solution by the declared factorisation, None where it breaks down."""
    if drawn.declaration.factorisation == "cholesky":
        return _by_cholesky(sums, system, right)
    return _by_elimination(kind, system, right, drawn.declaration.factorisation == "lu", drawn.choices)


def _by_cholesky(sums: Sums, system: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    size = right.size
    L, x = np.zeros_like(system), right.copy()
    for j in range(size):
        pivot = sums.add([system[j, j], *(-L[j, :j] * L[j, :j])])
        if not pivot > 0:
            return None
        L[j, j] = np.sqrt(pivot)
        for i in range(j + 1, size):
            L[i, j] = sums.add([system[i, j], *(-L[i, :j] * L[j, :j])]) / L[j, j]
    for j in range(size):
        x[j] = sums.add([x[j], *(-L[j, :j] * x[:j])]) / L[j, j]
    for j in reversed(range(size)):
        x[j] = sums.add([x[j], *(-L[j + 1 :, j] * x[j + 1 :])]) / L[j, j]
    return x


def _by_elimination(
    kind: Any, system: np.ndarray, right: np.ndarray, pivoted: bool, choices: dict[str, Any]
) -> np.ndarray | None:
    A, x, size = system.copy(), right.copy(), right.size
    for k in range(size):
        best = k + int(np.argmax(np.abs(A[k:, k]))) if pivoted else k
        A[[k, best]], x[[k, best]] = A[[best, k]], x[[best, k]]
        if A[k, k] == 0:
            return None
        for i in range(k + 1, size):
            factor = A[i, k] * (kind(1) / A[k, k]) if choices["reciprocal"] else A[i, k] / A[k, k]
            A[i, k + 1 :] -= factor * A[k, k + 1 :]
            x[i] -= factor * x[k]
    for k in reversed(range(size)):
        for j in range(k + 1, size):
            x[k] = x[k] - A[k, j] * x[j]
        x[k] = x[k] / A[k, k]
    return x
