"""Data whose inner products cancel, and a solver that forms every product from the samples, in every form."""

from __future__ import annotations

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, Ridge, SquaredHinge
from sstep_verify.trajectory import Panel, Trajectory

TASKS = ("svm-l1", "svm-l2", "krr")
KINDS = ("orthogonal", "nearly", "ulp", "mixed")


def cancelling(seed: int, task: str, kind: str, length: int = 0, block: int = 1):
    """A problem with the linear kernel, and a stream.

    Parameters
    ----------
    seed : int
        Of PCG64.
    task : {"svm-l1", "svm-l2", "krr"}
        Task.
    kind : {"orthogonal", "nearly", "ulp", "mixed"}
        orthogonal: samples of two lengths, 2^20 to 2^40 apart, whose products are exact zeros of large
        terms, added up with one sign of their errors. nearly: products are 2^20 to 2^40 times as large as their sum. ulp: samples alike up to an
        ulp, or opposite, so that a stands still after few steps. mixed: of the last two.
    length : int
        Steps; if 0, as many as leave most coordinates of orthogonal samples at C, else 160.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    made = {
        "orthogonal": [_orthogonal],
        "nearly": [_nearly],
        "ulp": [_ulp],
        "mixed": [_nearly, _ulp],
    }[kind]
    data = np.vstack([one(generator) for one in made])
    samples = len(data)
    targets = np.where(generator.random(samples) < 0.5, -1.0, 1.0)
    targets[:2] = 1.0, -1.0
    if task == "krr":
        targets = generator.standard_normal(samples)
    C = float(generator.choice([1 + 2.0**-46 - 2.0**-49, 2.0**-8, 2.0, 40.0]))
    if kind == "orthogonal":
        C = 1 + 2.0**-46 - 2.0**-49  # every sum of it rounds the same way
    loss = {
        "svm-l1": Hinge(C),
        "svm-l2": SquaredHinge(C),
        "krr": Ridge(float(generator.choice([2.0**-10, 0.3]))),
    }[task]
    if task != "krr":
        data = targets[:, None] * data
    problem = Problem("cancelling", data, targets, LinearKernel(), loss)
    length = length or (1600 if kind == "orthogonal" and task != "krr" else 160)
    return problem, IndexStream("uniform", samples, block, length, seed=seed)


def _orthogonal(generator) -> np.ndarray:
    e, t = 2.0 ** -int(generator.integers(10, 21)), float(generator.integers(3, 9))
    count = int(generator.integers(160, 200))
    return np.array([[1 / e, t / e], *[[e * t, -e]] * count])


def _nearly(generator) -> np.ndarray:
    first = generator.standard_normal(2)
    angle = generator.choice([-1.0, 1.0], 8) * 2.0 ** -generator.uniform(20, 40, 8)
    across = np.array([-first[1], first[0]])
    rows = across + angle[:, None] * first
    return np.vstack([first * 2.0 ** generator.integers(0, 20), rows])


def _ulp(generator) -> np.ndarray:
    row = generator.standard_normal((1, 2))
    return np.vstack([row, np.nextafter(row, 0.0), -row, np.nextafter(row, 9.0), row])


class FromSamples:
    """Every product formed as ``<x_i, A'v>``, sample by sample; correct in the declared form.

    Parameters
    ----------
    update : {"in-place", "added", "frozen"}
        See `Declaration.update`.
    carried : bool
        Whether w is maintained from window to window.
    wrong : int
        Step of the stream from which every new value is off by a thousandth.
    dtype : type
        Precision of all arithmetic.
    declared : dict
        More fields of the declaration, such as log or panels.
    """

    def __init__(self, update="in-place", *, carried=False, wrong=1 << 60, dtype=np.float64, **declared):
        self._carried, self._wrong, self._dtype = carried, wrong, dtype
        self.declaration = Declaration(
            "from samples",
            precision=np.dtype(dtype).name,
            update=update,
            factorisation="lu",
            weights=0 if carried else None,
            **declared,
        )

    def run(self, request, observe=None):
        problem, dtype, s = request.problem, self._dtype, request.s
        data, signs = problem.dense.astype(dtype), problem.signs.astype(dtype)
        a = np.zeros(problem.samples, dtype=dtype)
        if request.initial is not None:
            a[:] = request.initial
        w, gained = self._weights(data, signs, a), np.zeros_like(a)
        alphas, states, panels, log = [], [], {}, np.zeros((request.iterations, request.stream.block))
        for k in range(request.iterations + 1):
            if k % s == 0 or k == request.iterations:
                if k and self.declaration.update == "frozen":
                    a = a + gained
                gained = np.zeros_like(a)
                if k in request.stops:
                    alphas.append(a.copy())
                    states.append(w.copy())
                if not self._carried:
                    w = self._weights(data, signs, a)
                ends = {k, min(k + s, request.iterations)}
                if request.expose_panels and len(ends) == 2 and ends <= set(request.stops):
                    end = request.start + min(k + s, request.iterations)
                    columns = np.unique(request.stream.blocks(request.start + k, end))
                    panels[k] = Panel(columns, data[columns] @ data.T)
            if k < request.iterations:
                block = request.stream.blocks(request.start + k, request.start + k + 1)[0]
                value = a[block] + gained[block] if self.declaration.update == "frozen" else a[block]
                new, change = self._step(problem, data, signs, w, value, block)
                if request.start + k >= self._wrong:
                    new = new * dtype(1.001)
                    change = new - value
                if problem.is_svm and self.declaration.update == "added":
                    new = value + change
                w = w + data[block].T @ (signs[block] * change)
                if self.declaration.update == "frozen":
                    gained[block] += change
                    new = a[block] + gained[block]
                else:
                    a[block] = new
                log[k] = new
        return Trajectory(
            s, request.start, np.array(request.stops), np.array(alphas), panels=panels, counters={},
            weights=np.array(states) if self._carried else None, log=log if request.log else None,
        )  # fmt: skip

    def _weights(self, data, signs, a):
        w = np.zeros(data.shape[1], dtype=self._dtype)
        for row, weight in zip(data, signs * a, strict=True):
            w = w + weight * row
        return w

    def _step(self, problem, data, signs, w, value, block):
        """New values and increments."""
        dtype = self._dtype
        if problem.is_svm:
            i, loss = block[0], problem.hinge
            shift = dtype(0) if loss.upper < np.inf else dtype(1) / (dtype(2) * dtype(loss.C))
            eta = data[i] @ data[i] + shift
            gradient = signs[i] * (data[i] @ w) - dtype(1) + shift * value[0]
            new = np.array([min(max(value[0] - gradient / eta, dtype(0)), dtype(loss.upper))], dtype=dtype)
            return new, new - value
        m, penalty = dtype(problem.samples), dtype(problem.ridge.penalty)
        system = data[block] @ data[block].T / penalty + m * np.eye(block.size, dtype=dtype)
        right = problem.targets[block].astype(dtype) - m * value - (data[block] @ w) / penalty
        change = np.linalg.solve(system, right).astype(dtype)
        return value + change, change
