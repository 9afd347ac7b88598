"""Small s-step solvers as functions, correct or with one thing wrong, and drawn problems for them."""

from __future__ import annotations

import numpy as np

from sstep_verify import (
    CallableSolver,
    Declaration,
    Hinge,
    IndexStream,
    LinearKernel,
    Problem,
    RBFKernel,
    Ridge,
    Trajectory,
)


def drawn(seed, task="svm-l1", kernel=None, length=60):
    """A problem with its index stream."""
    random = np.random.Generator(np.random.PCG64(seed))
    samples, features = int(random.integers(8, 15)), int(random.integers(2, 6))
    data = random.standard_normal((samples, features)) * 2.0 ** random.integers(-2, 3)
    block = 1 if task == "svm-l1" else int(random.integers(1, 4))
    kernel = kernel or (
        LinearKernel() if random.random() < 0.5 else RBFKernel(2.0 ** random.uniform(-4, 0))
    )
    if task == "krr":
        targets, loss = random.standard_normal(samples), Ridge(2.0 ** random.uniform(-6, 0))
    else:
        targets = np.where(random.random(samples) < 0.5, -1.0, 1.0)
        loss = Hinge(2.0 ** random.uniform(-1, 3))
    problem = Problem(f"drawn {seed}", data, targets, kernel, loss)
    return problem, IndexStream("uniform", samples, block, length, seed=seed)


def kernel_of(problem):
    """The kernel matrix, by differences."""
    data = problem.dense
    if problem.kernel.linear:
        return data @ data.T
    if problem.kernel.name == "polynomial":
        return (problem.kernel.offset + data @ data.T) ** problem.kernel.degree
    return np.exp(-problem.kernel.sigma * np.square(data[:, None] - data[None]).sum(axis=2))


def descend(problem, blocks, s, a0, log=None, *, correction=1.0, upper=True, own_s=None):
    """Windows of s steps, whose gradients are formed as each begins and then corrected.

    `correction` multiplies the corrections; without `upper` there is no upper limit; `own_s` stands instead
    of the s that was asked for.
    """
    kernel, labels, alpha = kernel_of(problem), problem.targets, a0.copy()
    width = own_s or s
    for begin in range(0, len(blocks), width):
        window, increments = blocks[begin : begin + width], []
        if problem.is_svm:
            matrix = np.outer(labels, labels) * kernel
            stale = [matrix[block] @ alpha - 1.0 for block in window]
        else:
            matrix = kernel / problem.ridge.penalty
            matrix = matrix + problem.samples * np.eye(problem.samples)
            stale = [matrix[block] @ alpha - labels[block] for block in window]
        for place, block in enumerate(window):
            gradient = stale[place].copy()
            for earlier, increment in zip(window, increments, strict=False):
                gradient += correction * matrix[np.ix_(block, earlier)] @ increment
            system = matrix[np.ix_(block, block)]
            if system.any():
                increment = -np.linalg.solve(system, gradient)
            else:  # Of a row of zeros the gradient is -1, and the step ends at the upper limit.
                increment = problem.hinge.C - alpha[block]
            if problem.is_svm:
                limit = problem.hinge.C if upper else np.inf
                increment = np.clip(alpha[block] + increment, 0.0, limit) - alpha[block]
            # What a holds is the sum, so the increments are those of a.
            before = alpha[block].copy()
            alpha[block] = before + increment
            increments.append(alpha[block] - before)
            if log is not None:
                log[begin + place] = alpha[block]
    return alpha


def callable_of(log=False, function=descend, declared=(), **wrong):
    """The function as a solver."""
    declaration = Declaration(
        "small", update="added", rbf="difference", factorisation="lu", log=log, **dict(declared)
    )
    if log:
        return CallableSolver(lambda p, b, s, a0, kept: function(p, b, s, a0, kept, **wrong), declaration)
    return CallableSolver(lambda p, b, s, a0: function(p, b, s, a0, **wrong), declaration)


class Weights:
    """K-SVM-L1 from maintained weights; the last update of every window is lost if told so."""

    def __init__(self, lose=False):
        self._lose = lose
        self.declaration = Declaration("weights", weights=0)

    def run(self, request, observe=None):
        """Make the run step by step."""
        problem = request.problem
        data, labels, limit = np.asarray(problem.data), problem.targets, problem.hinge.C
        alpha = np.zeros(labels.size) if request.initial is None else np.array(request.initial, dtype=float)
        weights = data.T @ (labels * alpha)
        kept, maintained, iterations = [alpha.copy()], [weights.copy()], [0]
        for step, (i,) in enumerate(request.blocks(), start=1):
            slope = labels[i] * (data[i] @ weights) - 1.0
            new = min(max(alpha[i] - slope / (data[i] @ data[i]), 0.0), limit)
            if not (self._lose and step % request.s == 0):
                weights = weights + labels[i] * (new - alpha[i]) * data[i]
            alpha[i] = new
            if step in request.stops:
                iterations.append(step)
                kept.append(alpha.copy())
                maintained.append(weights.copy())
        return Trajectory(
            s=request.s, start=request.start, iterations=np.array(iterations), alphas=np.array(kept),
            weights=np.array(maintained),
        )  # fmt: skip


def cut(problem, blocks, made, s, a0, log=None):
    """The first steps alone; the log is filled with the values as they are left."""
    alpha = descend(problem, blocks[:made], s, a0, None if log is None else log[:made])
    if log is not None:
        for place in range(made, len(blocks)):
            log[place] = alpha[blocks[place]]
    return alpha


def four_fifths(problem, blocks, s, a0, log=None):
    """A solver that makes four fifths of the iterations."""
    return cut(problem, blocks, len(blocks) * 4 // 5, s, a0, log)
