"""What a solver carries beside a: its gradient, its residual, or its weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from studies.legal.draws import Drawn


class Carried:
    """A state ``q = c + L a`` of a solver whose every operation is one IEEE operation.

    Formed anew it is a sum in the solver's order; after an increment it gets the increment's products, the
    shift's or m's own one where it has one, each of them added in turn.

    Parameters
    ----------
    drawn : Drawn
        Problem and solver; the first state that it declares is carried.
    sums : Sums
        Its sums.
    matrix : ndarray, shape (m, m)
        Its kernel entries.
    alpha : ndarray, shape (m,)
        The a of which the state is formed.
    """

    def __init__(self, drawn: Drawn, sums: Any, matrix: np.ndarray, alpha: np.ndarray) -> None:
        kind: Any = matrix.dtype.type
        problem = drawn.problem
        signs = problem.targets.astype(kind) if problem.is_svm else np.ones(problem.samples, dtype=kind)
        self.name, self._sums = drawn.declaration.state[0], sums
        self._own, self._over, self._constant = kind(0), kind(1), np.zeros(0, dtype=kind)
        self._rows = signs[:, None] * problem.dense.astype(kind)
        if self.name == "gradient":
            self._rows, self._constant = signs[:, None] * signs * matrix, -np.ones_like(signs)
            loss = problem.hinge
            self._own = kind(1) / (kind(2) * kind(loss.C)) if loss.shift else kind(0)
        elif self.name == "residual":
            self._rows, self._constant = -matrix, problem.targets.astype(kind)
            self._own, self._over = -kind(problem.samples), kind(problem.ridge.penalty)
        self.form(alpha)

    def form(self, alpha: Any) -> None:
        """Form it anew."""
        columns = (np.array(alpha)[:, None] * self._rows / self._over).T
        terms = [list(column) for column in columns]
        for k, constant in enumerate(self._constant):
            terms[k] += [constant, *([self._own * alpha[k]] if self._own else [])]
        self.values = np.array([self._sums.add(one) for one in terms], dtype=self._rows.dtype)

    def add(self, i: int, increment: Any) -> None:
        """Let a_i grow by an increment."""
        self.values = self.values + self._rows[i] * increment / self._over
        if self._own:
            self.values[i] += self._own * increment
