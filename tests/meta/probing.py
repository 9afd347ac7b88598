"""A solver that writes down what its steps use, summing in an order of one's choice, with planted mistakes."""

from __future__ import annotations

import numpy as np

from sstep_verify.adapters.callable import start_vector
from sstep_verify.problems import Problem
from sstep_verify.protocol import Declaration, Observer, RunRequest
from sstep_verify.trajectory import Probes, Trajectory

ORDERS = ("forward", "backward", "pairs", "library")

TYPES = {"float64": np.float64, "float32": np.float32}

MISTAKES = {
    "row": "kernel rows",
    "stale": "gradient",
    "correction": "gradient",
    "omega in g": "gradient",
    "late product": "gradient",
    "omega in eta": "curvature",
    "off-diagonal": "curvature",
    "doubled": "curvature",
    "upper end": "increment",
    "lower end": "increment",
    "turned": "increment",
    "before": "increment",
    "lost": "new value of a",
}
"""Mistakes by the quantity that they make wrong first."""


class ProbingSolver:
    """The solver.

    Parameters
    ----------
    order : str
        One of `ORDERS`.
    mistake : str
        One of `MISTAKES`, or none.
    at : int
        The iteration at which it is made; in all if negative.
    declared : object
        Fields of the declaration: precision, update, rbf, factorisation.
    """

    def __init__(self, order: str = "forward", mistake: str = "", at: int = -1, **declared):
        self._order, self._mistake, self._at = order, mistake, at
        self.declaration = Declaration("probing", log=True, probes=True, **declared)
        self._kind = TYPES[self.declaration.precision]

    def run(self, request: RunRequest, observe: Observer | None = None) -> Trajectory:
        problem, width = request.problem, request.s
        blocks = request.blocks()
        steps, block = blocks.shape
        alpha = start_vector(request, self.declaration.precision).astype(self._kind)
        log, gradient, increment = np.zeros((3, steps, block))
        rows, curvature = np.zeros((steps, block, problem.samples)), np.zeros((steps, block, block))
        kept, stops = [alpha.astype(np.float64)], request.stops
        kernel = self._matrix(problem)
        with np.errstate(all="ignore"):
            for begin in range(0, steps, width):
                window = slice(begin, min(begin + width, steps))
                rows[window] = kernel[blocks[window]]
                used = rows[window].astype(self._kind)
                if self._mistake == "row" and (self._at < 0 or begin <= self._at < window.stop):
                    rows[window] = used = used * self._kind(1.001)
                alpha = self._window(
                    problem, alpha, blocks[window], used, begin,
                    (log[window], gradient[window], curvature[window], increment[window]),
                )  # fmt: skip
                if window.stop in stops:
                    kept.append(alpha.astype(np.float64))
        return Trajectory(
            request.s, request.start, np.array(stops), np.array(kept), log=log if request.log else None,
            probes=Probes(rows, gradient, curvature, increment) if request.probes else None,
        )  # fmt: skip

    def _wrong(self, mistake: str, iteration: int) -> bool:
        return self._mistake == mistake and self._at in (-1, iteration)

    def _sum(self, terms) -> np.ndarray:
        """The terms of each row summed in the order; each addition rounds in the solver's precision."""
        terms = np.asarray(terms, dtype=self._kind)
        if self._order == "library" or not terms.shape[-1]:
            return terms.sum(axis=-1, dtype=self._kind)
        if self._order == "backward":
            terms = terms[..., ::-1]
        if self._order != "pairs":
            return np.add.accumulate(terms, axis=-1, dtype=self._kind)[..., -1]
        while terms.shape[-1] > 1:
            odd = terms[..., -1:] if terms.shape[-1] % 2 else terms[..., :0]
            even = terms.shape[-1] // 2 * 2
            terms = np.concatenate([terms[..., 0:even:2] + terms[..., 1:even:2], odd], axis=-1)
        return terms[..., 0]

    def _matrix(self, problem: Problem) -> np.ndarray:
        data, kernel = problem.dense.astype(self._kind), problem.kernel
        if kernel.name == "rbf" and self.declaration.rbf == "difference":
            return np.exp(-self._kind(kernel.sigma) * self._sum((data[:, None] - data) ** 2))
        products = self._sum(data[:, None] * data)
        if kernel.name == "linear":
            return products
        if kernel.name == "polynomial":
            found = base = products + self._kind(kernel.offset)
            for _ in range(kernel.degree - 1):
                found = found * base
            return found
        norms = self._sum(data * data)
        distances = norms[:, None] + norms - self._kind(2) * products
        return np.exp(-self._kind(kernel.sigma) * distances)

    def _solved(self, system, right):
        """The block system solved as declared; of a symmetric one only the lower triangle is looked at."""
        if self.declaration.factorisation == "lu":
            return np.linalg.solve(system, right)
        block, kind = right.size, self._kind
        if self.declaration.factorisation == "cholesky":
            factor = np.linalg.cholesky(system)
            upper, middle = factor.T, right.copy()
            for i in range(block):
                middle[i] = (right[i] - self._sum(factor[i, :i] * middle[:i])) / factor[i, i]
        else:
            upper, middle = np.array(system, dtype=kind), right.copy()
            for k in range(block):
                for i in range(k + 1, block):
                    multiple = upper[i, k] / upper[k, k]
                    upper[i] = upper[i] - multiple * upper[k]
                    middle[i] = middle[i] - multiple * middle[k]
        for i in reversed(range(block)):
            rest = self._sum(upper[i, i + 1 :] * middle[i + 1 :]) if i + 1 < block else kind(0)
            middle[i] = (middle[i] - rest) / upper[i, i]
        return middle

    def _window(self, problem, start, blocks, rows, begin, out):
        """One window; what its steps used goes to `out`."""
        kind, m, y = self._kind, problem.samples, problem.targets.astype(self._kind)
        log, gradient, curvature, increment = out
        one = problem.ridge if not problem.is_svm else problem.hinge
        frozen = self.declaration.update == "frozen"
        alpha, moved = start.copy(), [[] for _ in range(m)]
        before = np.zeros(blocks.shape[1], dtype=kind)
        for step, drawn in enumerate(blocks):
            iteration = begin + step
            own, made = rows[step], []
            for place, i in enumerate(drawn.tolist()):
                signed = own[place] if not problem.is_svm else own[place] * y[i] * y
                stale = [] if self._wrong("stale", iteration) else list(signed * start)
                done = [(j, theta) for j in range(m) for theta in moved[j]]
                if self._wrong("correction", iteration):
                    done = []
                elif self._wrong("late product", iteration) and done:
                    done = done[:-1]
                products = self._sum([*stale, *(signed[j] * theta for j, theta in done)])
                held = alpha[i]
                if problem.is_svm:
                    shift = kind(one.shift)
                    value = products - kind(1)
                    made.append(value if self._wrong("omega in g", iteration) else value + shift * held)
                else:
                    made.append(y[i] - kind(m) * held - products / kind(one.penalty))
            gradient[step] = made
            if problem.is_svm:
                system = own[:, drawn] + kind(one.shift) * (not self._wrong("omega in eta", iteration))
            else:
                system = own[:, drawn] / kind(one.penalty)
                if self._wrong("off-diagonal", iteration):
                    system = np.diag(np.diag(system))
                system = system + kind(m) * np.eye(drawn.size, dtype=kind)
            if self._wrong("doubled", iteration):
                system = system * kind(2)
            curvature[step] = system
            held = alpha[drawn]
            if problem.is_svm:
                new = held - np.array(made) / system[0] if system[0, 0] else np.full(1, one.upper, kind)
                new = new if self._wrong("lower end", iteration) else np.maximum(new, kind(0))
                new = new if self._wrong("upper end", iteration) else np.minimum(new, kind(one.upper))
                theta = new - held
            else:
                theta = self._solved(system, np.array(made, dtype=kind))
                new = held + theta
            if self._wrong("turned", iteration):
                theta = -theta
            if self._wrong("before", iteration):
                theta, before = before, theta
            else:
                before = theta
            increment[step] = theta
            for i, size in zip(drawn.tolist(), theta, strict=True):
                moved[i].append(size)
            if frozen:
                new = np.array([self._sum([start[i], *moved[i]]) for i in drawn.tolist()])
            elif self.declaration.update == "added":
                new = held + theta
            if not self._wrong("lost", iteration):
                alpha[drawn] = new
            log[step] = alpha[drawn]
        return alpha
