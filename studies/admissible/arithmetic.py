"""Sums and solves in every order that is legal, of single IEEE operations."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

ORDERS = ("sequential", "reversed", "shuffled", "ascending", "pairwise", "blocked", "compensated", "fused")

BY_VALUE = ("shuffled", "ascending")
"""Orders that depend on the terms themselves, or on what was summed before: bits may differ."""


class Sums:
    """Sums, inner products and solves in a type of NumPy and one of `ORDERS`; `rng` shuffles.

    A solve is None where it breaks down.
    """

    def __init__(self, kind: Any, order: str, rng: np.random.Generator) -> None:
        self._kind, self._order, self._rng = kind, order, rng

    def dot(self, one: Any, other: Any) -> Any:
        """``sum_k one_k other_k``; with order fused, every product and sum is rounded once."""
        pairs = list(zip(one, other, strict=True))
        held = self._order == "fused"
        if held and all(np.isfinite(x) and np.isfinite(z) for x, z in pairs):
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
        terms = list(terms)
        match self._order:
            case "shuffled":
                self._rng.shuffle(terms)
            case "ascending":
                terms.sort(key=float)  # all negative ones first: the largest cancellation
        return added(self._order, terms, self._kind(0), 3)

    def by_cholesky(self, system: np.ndarray, right: np.ndarray) -> np.ndarray | None:
        """Solution by a Cholesky factorisation."""
        size = right.size
        L, x = np.zeros_like(system), right.copy()
        for j in range(size):
            pivot = self.add([system[j, j], *(-L[j, :j] * L[j, :j])])
            if not pivot > 0:
                return None
            L[j, j] = np.sqrt(pivot)
            for i in range(j + 1, size):
                L[i, j] = self.add([system[i, j], *(-L[i, :j] * L[j, :j])]) / L[j, j]
        for j in range(size):
            x[j] = self.add([x[j], *(-L[j, :j] * x[:j])]) / L[j, j]
        for j in reversed(range(size)):
            x[j] = self.add([x[j], *(-L[j + 1 :, j] * x[j + 1 :])]) / L[j, j]
        return x

    def by_elimination(
        self, system: np.ndarray, right: np.ndarray, pivoted: bool, reciprocal: bool
    ) -> np.ndarray | None:
        """Solution by elimination, with pivots and reciprocals of them or without."""
        A, x, size = system.copy(), right.copy(), right.size
        for k in range(size):
            best = k + int(np.argmax(np.abs(A[k:, k]))) if pivoted else k
            A[[k, best]], x[[k, best]] = A[[best, k]], x[[best, k]]
            if A[k, k] == 0:
                return None
            for i in range(k + 1, size):
                factor = A[i, k] * (self._kind(1) / A[k, k]) if reciprocal else A[i, k] / A[k, k]
                A[i, k + 1 :] -= factor * A[k, k + 1 :]
                x[i] -= factor * x[k]
        for k in reversed(range(size)):
            for j in range(k + 1, size):
                x[k] = x[k] - A[k, j] * x[j]
            x[k] = x[k] / A[k, k]
        return x


def by_orthogonal(system: np.ndarray, right: np.ndarray, place: int) -> np.ndarray | None:
    """Solution by orthogonal transformations, in one of five ways; None where LAPACK breaks down."""
    if place % 5 > 1 and not np.isfinite(system).all():
        return None  # LAPACK's singular values of these may never come.
    try:
        match place % 5:
            case 0:
                q, r = np.linalg.qr(system)
                x = q.T @ right
                for k in reversed(range(x.size)):
                    x[k] = (x[k] - r[k, k + 1 :] @ x[k + 1 :]) / r[k, k]
                return x
            case 1:
                values, vectors = np.linalg.eigh(system)
                return np.asarray(vectors @ ((vectors.T @ right) / values))
            case 2:
                u, s, v = np.linalg.svd(system)
                return np.asarray(v.T @ ((u.T @ right) / s))
            case 3:
                return np.asarray(np.linalg.lstsq(system, right, rcond=None)[0])
        return np.asarray(np.linalg.pinv(system) @ right)
    except np.linalg.LinAlgError:
        return None


def added(order: str, terms: list[Any], zero: Any = 0, width: int = 1) -> Any:
    """Sum of numbers, or of arrays of one shape, in one of `ORDERS`; any other name: as they stand.

    Blocks have so many terms (`width`); the sum of none is `zero`.
    """
    match order:
        case "reversed":
            terms = terms[::-1]
        case "pairwise":
            while len(terms) > 1:
                terms = [sum(terms[k + 1 : k + 2], terms[k]) for k in range(0, len(terms), 2)]
        case "blocked":
            blocks = range(0, len(terms), width)
            terms = [sum(terms[k + 1 : k + width], terms[k]) for k in blocks]
        case "compensated":
            total = lost = zero
            for term in terms:
                larger = total + term
                part = larger - total
                total, lost = larger, lost + ((total - (larger - part)) + (term - part))
            return total + lost
    return sum(terms[1:], terms[0]) if terms else zero
