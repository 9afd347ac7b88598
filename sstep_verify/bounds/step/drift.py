"""Drift of weights carried along with a from those of a, step by step since they were formed.

A solver of the linear kernel that carries ``w = A'(y a)`` (K-SVM) or ``w = A'a`` (K-RR) makes its steps
from products ``<x_i, w^>``. Maintained weights are never truth: steps are judged from a and the data, and
what w may be off by is part of the bound. Let E bound ``|w^ - w|`` per feature.

* Formed from a: sums of m products in any order, ``E = gamma_{m+2} |A|'|a|``. Windows are counted from
  the beginning of the stream or of the run; where these differ E is the larger of formed and carried on.
* An increment that w got may differ from the change of the stored a by the rounding of what is stored:
  nothing for a K-SVM in place, ``u (|stored| + |theta|)`` where increments are added (K-RR: in place as
  well), and ``2 gamma_{r+2} (|a'| + moved)`` where a is frozen (rounding/sums.py). E gets that times
  |x|.
* A window that draws c coordinates, p with theta_p, adds c products, each rounded, and so are the change
  itself and each of the c sums, in any order: every addition errs by u times a partial sum of
  ``S = |w| + E + sum_p |theta_p| |x_p|``, every product and change by 2 u of itself. E grows by at most
  ``gamma_{c+3} S``. A coordinate that stays what it was counts, for ``fl(a + theta) = a`` does not make
  theta 0; only in place does a K-SVM add nothing then. A feature that none of these samples has gets exact
  zeros only: neither w nor E changes there. So sparse samples cost their stored entries only.

A block that holds a coordinate c times makes c increments of it, of which a log tells the sum d. They are
within `apart` of d / c: increments of a right step are equal, and those computed are off by no more than
what bounds/overflow.py says of any step, twice for the roundings of w, and ``2 |X_B E| / (lambda m)``
for its drift, half of m being left of the system. So all of them are of size ``|d| + c apart`` together,
and what is stored differs from them as in rounding/sums.py.

The stale product then errs by ``|x_i|'E + gamma_{n+1} |x_i|'(|w| + E)``, and by n products that underflow.
Here w is formed by the judge in float64 in the same way, so that ``|w| <= |w_j| + E_j`` with its own E; one
vector E for the sum of both unit roundoffs serves for both.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from sstep_verify.bounds.overflow import increments_error
from sstep_verify.compiled import compiled
from sstep_verify.declaration import Declaration
from sstep_verify.problems import Problem
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, smallest_subnormal, unit_roundoff
from sstep_verify.rounding.block.repeats import last_draws, most_often
from sstep_verify.rounding.sums import ADDED, FROZEN, IN_PLACE


class WeightsDrift:
    """The drift of carried weights along a logged run.

    Parameters
    ----------
    problem : Problem
        A problem with the linear kernel.
    declaration : Declaration
        Precision, and after how many windows the weights are formed again.
    alpha : ndarray, shape (m,)
        The run's first a.
    start : int
        Position of the stream at which the run began.
    width : int
        Iterations per window (s).
    samples : (ndarray or csr_array) of length 2, optional
        What `sized_samples` made of the problem.
    """

    def __init__(
        self,
        problem: Problem,
        declaration: Declaration,
        alpha: np.ndarray,
        start: int,
        width: int,
        samples: tuple[Any, Any] | None = None,
    ):
        precision = declaration.precision
        self._data, self._size = samples or sized_samples(problem)
        # Of sparse samples: scratch of a window, by feature.
        self._reach, self._met = np.zeros(problem.features), np.zeros(problem.features, dtype=np.bool_)
        self._labels, self._problem, self._declaration = problem.signs, problem, declaration
        self._scale = 1.0 if problem.is_svm else 1.0 / problem.ridge.penalty
        self._u = unit_roundoff(precision) + unit_roundoff("float64")
        self._underflow_error = (problem.features + problem.samples + 4) * smallest_subnormal(precision)
        self._every = declaration.weights or 0
        self._windows, self._width = start // width, width
        self._either = self._every > 0 and start % (width * self._every) > 0
        added = declaration.update == "added" or not problem.is_svm
        self._solver_u = unit_roundoff(precision)
        self._form_of = FROZEN if declaration.update == "frozen" else ADDED if added else IN_PLACE
        self._moved = np.zeros(problem.samples)
        self._alpha = np.array(alpha, dtype=np.float64)
        self._weights, self._error = np.zeros(problem.features), np.zeros(problem.features)
        self._form()

    def _form(self) -> None:
        samples, reach = self._alpha.size, np.abs(self._alpha)
        if reach.any():
            self._weights[:] = self._data.T @ (self._labels * self._alpha)
            sizes = self._size.T @ reach
        else:  # As most runs begin: products with 0 are left out.
            self._weights[:] = sizes = np.zeros(self._weights.size)
        formed = (gamma(samples + 2, self._u) * sizes + self._underflow_error) * ROUND_UP
        self._error[:] = np.maximum(formed, self._error) if self._either else formed

    def along(self, draws: np.ndarray, log: np.ndarray) -> np.ndarray:
        """Errors that the drift adds to each step of some whole windows; go on behind them.

        Of coordinates drawn and the values they were left with, both of shape (steps, b); per step the
        error of the gradient (K-SVM), or of the right-hand side in the 2-norm (K-RR), shape (steps,).
        """
        found, position = np.empty(draws.shape[0]), 0
        product = gamma(self._weights.size + 1, self._u)
        repeated = draws.shape[1] > 1 and bool((most_often(draws) > 1).any())
        while position < draws.shape[0]:
            # As many windows as there are before the weights are formed again.
            windows = -(-(draws.shape[0] - position) // self._width)
            if self._every:
                windows = min(windows, 1 if self._either else self._every - self._windows % self._every)
            if not self._problem.is_sparse or repeated:
                windows = 1
            part = slice(position, position + windows * self._width)
            if self._problem.is_sparse and not repeated:
                self._pass_sparse(draws[part], log[part], found[part], product)
            else:
                self._pass(draws[part], log[part], found[part], product)
            position, self._windows = part.stop, self._windows + windows
            if self._every and (self._either or self._windows % self._every == 0):
                self._form()
        # An infinite drift times an entry of 0 is no number.
        return np.nan_to_num(found, nan=np.inf, posinf=np.inf) * (self._scale * ROUND_UP)

    def _pass_sparse(self, draws: np.ndarray, log: np.ndarray, found: np.ndarray, product: float) -> None:
        """Set the errors of the steps of some windows on sparse samples, no block with a repeat."""
        data = self._data
        _sparse_windows(
            data.indptr, data.indices, data.data, self._size.data, self._labels, self._alpha,
            self._weights, self._error, self._reach, self._met, draws, log, found, self._width, product,
            self._u, self._underflow_error, self._moved, self._solver_u, self._form_of,
        )  # fmt: skip

    def _pass(self, draws: np.ndarray, log: np.ndarray, found: np.ndarray, product: float) -> None:
        """Set the errors of the steps of one window."""
        last, apart = np.tile(np.arange(draws.shape[1]), (draws.shape[0], 1)), (0.0, 0.0)
        times = most_often(draws).max(initial=1)
        if times > 1:
            last, apart = last_draws(draws), self._apart(draws, log)
        _window(
            *self._dense, self._labels, self._alpha, self._weights, self._error, draws, log, found, product,
            self._u, self._underflow_error, self._moved, self._solver_u, self._form_of, last, times, *apart,
            2.0 * self._scale / self._alpha.size,
        )  # fmt: skip

    @cached_property
    def _dense(self) -> tuple[np.ndarray, np.ndarray]:
        """Samples and their sizes as dense arrays."""
        if not self._problem.is_sparse:
            return self._data, self._size
        data = np.ascontiguousarray(self._problem.dense)
        return data, np.abs(data) * ROUND_UP

    def _apart(self, draws: np.ndarray, log: np.ndarray) -> tuple[float, float]:
        """How far apart equal increments of a window may be, but for the drift; to where that is known."""
        largest = 2.0 * max(float(np.abs(part).max(initial=0.0)) for part in (self._alpha, log))
        if not largest < np.inf:
            return np.inf, 0.0
        steps, block = draws.shape
        found = 2.0 * increments_error(self._problem, self._declaration, steps, block, largest)
        return found, largest


def sized_samples(problem: Problem) -> tuple[Any, Any]:
    """Samples of a problem as a drift is formed of them, and bounds on the sizes of their features."""
    data: Any = problem.data if problem.is_sparse else np.ascontiguousarray(problem.dense)
    return data, abs(data) * ROUND_UP


@compiled
def _window(
    data,
    size,
    labels,
    alpha,
    weights,
    error,
    draws,
    log,
    found,
    product,
    u,
    underflow_error,
    moved,
    solver_u,
    form,
    last,
    most,
    apart,
    largest,
    per_drift,
):
    """Errors of the stale products of one window, then the drift of its updates."""
    reach = np.abs(weights) + error
    for step in range(draws.shape[0]):
        total = 0.0
        for place in range(draws.shape[1]):
            row = size[draws[step, place]]
            wrong = np.dot(row, error) + product * np.dot(row, reach) + underflow_error
            total += wrong * wrong
        found[step] = np.sqrt(total)
    changes = 0
    if most > 1:
        apart += per_drift * np.max(found)
        # Increments are taken to be no larger than twice the largest number.
        apart = apart if apart <= largest else np.inf
    for step in range(draws.shape[0]):
        for place in range(draws.shape[1]):
            if last[step, place] != place:
                continue
            i, times = draws[step, place], 0
            for other in range(place + 1):
                times += last[step, other] == place
            change, increment_error, unequal = log[step, place] - alpha[i], 0.0, 0.0
            if times > 1:
                unequal = times * apart
            if form == FROZEN:
                if moved[i] == 0.0:
                    moved[i] = abs(alpha[i])
                moved[i] += abs(change) + unequal
                k = (most * draws.shape[0] + 2) * solver_u
                increment_error = 2.0 * k / (1.0 - k) * moved[i]
            elif form == ADDED:
                increment_error = times * solver_u * (abs(log[step, place]) + abs(change) + unequal)
                if times > 1:
                    increment_error /= 1.0 - times * solver_u
            error += size[i] * increment_error
            reach += size[i] * (increment_error + unequal)
            changes += times * (form != IN_PLACE or change != 0.0)
            if change != 0.0:
                weights += labels[i] * change * data[i]
                reach += abs(change) * size[i]
                alpha[i] = log[step, place]
    for step in range(draws.shape[0]):
        for place in range(draws.shape[1]):
            moved[draws[step, place]] = 0.0
    k = (changes + 3) * u
    error += (k / (1.0 - k) * reach + changes * underflow_error) * ROUND_UP


@compiled
def _sparse_windows(
    starts,
    columns,
    values,
    sizes,
    labels,
    alpha,
    weights,
    error,
    reach,
    met,
    draws,
    log,
    found,
    width,
    product,
    u,
    underflow_error,
    moved,
    solver_u,
    form,
):
    """The same of several windows, of samples by their stored entries; no step draws one twice."""
    for begin in range(0, draws.shape[0], width):
        end = min(begin + width, draws.shape[0])
        for step in range(begin, end):
            total = 0.0
            for place in range(draws.shape[1]):
                wrong, i = underflow_error, draws[step, place]
                for k in range(starts[i], starts[i + 1]):
                    feature = columns[k]
                    off = error[feature]
                    wrong += sizes[k] * (off + product * (abs(weights[feature]) + off))
                total += wrong * wrong
            found[step] = np.sqrt(total)
        changes = 0
        for step in range(begin, end):
            for place in range(draws.shape[1]):
                i = draws[step, place]
                change, increment_error = log[step, place] - alpha[i], 0.0
                if form == IN_PLACE and change == 0.0:
                    continue
                if form == FROZEN:
                    if moved[i] == 0.0:
                        moved[i] = abs(alpha[i])
                    moved[i] += abs(change)
                    k_u = (end - begin + 2) * solver_u
                    increment_error = 2.0 * k_u / (1.0 - k_u) * moved[i]
                elif form == ADDED:
                    increment_error = solver_u * (abs(log[step, place]) + abs(change))
                changes += 1
                for k in range(starts[i], starts[i + 1]):
                    feature, size = columns[k], sizes[k]
                    if not met[feature]:
                        met[feature] = True
                        reach[feature] = abs(weights[feature]) + error[feature]
                    error[feature] += size * increment_error
                    reach[feature] += size * (increment_error + abs(change))
                    weights[feature] += labels[i] * change * values[k]
                alpha[i] = log[step, place]
        k_u = (changes + 3) * u
        share, lost = k_u / (1.0 - k_u), changes * underflow_error
        for step in range(begin, end):
            for place in range(draws.shape[1]):
                i = draws[step, place]
                moved[i] = 0.0
                for k in range(starts[i], starts[i + 1]):
                    feature = columns[k]
                    if met[feature]:
                        met[feature] = False
                        error[feature] += (share * reach[feature] + lost) * ROUND_UP
