"""A small solver that maintains a vector next to a, and leaks if asked to."""

from __future__ import annotations

import numpy as np

from sstep_verify.declaration import Declaration
from sstep_verify.trajectory import Trajectory


class StatefulSolver:
    """Classical (block) coordinate descent from a maintained gradient, residual or w; s only cuts records.

    Parameters
    ----------
    problem : Problem
        Linear kernel.
    name : {"gradient", "residual", "weights"}
        What is maintained; weights are declared and recorded, and the others are not declared.
    leak : float
        Relative error of what every update adds to the state.
    repeat : bool
        Update the state once more where a step is clipped.
    lose : bool
        Leave out the update of the last step of every window.
    dtype : type
        Precision of all arithmetic.
    """

    def __init__(self, problem, name, leak=0.0, repeat=False, lose=False, dtype=np.float64, **declared):
        self._name, self._leak, self._repeat, self._dtype = name, leak, repeat, dtype
        self._lose = lose
        self.declaration = Declaration(
            "stateful", precision=np.dtype(dtype).name, factorisation="lu",
            weights=0 if name == "weights" else None, **declared,
        )  # fmt: skip
        self._data = problem.dense.astype(dtype)
        self._gram = self._data @ self._data.T
        self._problem = problem

    def run(self, request, observe=None):
        problem, dtype = self._problem, self._dtype
        alpha = np.zeros(problem.samples, dtype=dtype)
        states = {"gradient": -problem.linear.astype(dtype), "residual": problem.targets.astype(dtype)}
        state = states.get(self._name, np.zeros(problem.features, dtype=dtype))
        kept, carried, log = [], [], []
        for step in range(request.iterations + 1):
            if step in request.stops:
                kept.append(alpha.copy())
                carried.append(state.copy())
            if step < request.iterations:
                block, before = request.stream.blocks(step, step + 1)[0], state.copy()
                (self._svm if problem.is_svm else self._ridge)(alpha, state, block)
                log.append(alpha[block].astype(np.float64))
                if self._lose and (step + 1) % request.s == 0:
                    state[:] = before
        stops = np.array(request.stops, dtype=np.int64)
        return Trajectory(
            request.s, 0, stops, np.array(kept), log=np.array(log) if request.log else None,
            weights=np.array(carried) if self._name == "weights" else None,
        )  # fmt: skip

    def _svm(self, alpha, state, block):
        i, dtype = int(block[0]), self._dtype
        labels, dual = self._problem.signs.astype(dtype), self._problem.dual
        shift, linear, threshold = dtype(dual.shift), dtype(dual.linear[i]), dtype(dual.threshold)
        if self._name == "weights":
            slope = labels[i] * (self._data[i] @ state) - linear + shift * alpha[i]
        else:
            slope = state[i]
        curvature = self._gram[i, i] + shift
        free = alpha[i] - slope / curvature
        if threshold:
            free = np.sign(free) * max(abs(free) - threshold / curvature, dtype(0))
        new = min(max(free, dtype(dual.lower)), dtype(dual.upper))
        increment = (new - alpha[i]) * dtype(1 + self._leak)
        if self._repeat and new != free:
            increment = increment * dtype(2)
        alpha[i] = new
        if self._name == "weights":
            state += labels[i] * increment * self._data[i]
            return
        state += labels * labels[i] * self._gram[i] * increment
        state[i] += shift * increment

    def _ridge(self, alpha, state, block):
        dtype, m = self._dtype, self._problem.samples
        penalty = dtype(self._problem.ridge.penalty)
        system = self._gram[np.ix_(block, block)] / penalty + dtype(m) * np.eye(block.size, dtype=dtype)
        if self._name == "weights":
            targets = self._problem.targets.astype(dtype)[block]
            rhs = targets - self._data[block] @ state / penalty - dtype(m) * alpha[block]
        else:
            rhs = state[block]
        step = np.linalg.solve(system, rhs)
        alpha[block] += step
        step = step * dtype(1 + self._leak)
        if self._name == "weights":
            state += self._data[block].T @ step
            return
        state -= self._gram[:, block] @ step / penalty
        state[block] -= dtype(m) * step
