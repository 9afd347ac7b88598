"""Check every step of a solver of your own: a correct one, and one with a defect.

The solver is any function ``(problem, blocks, s, a0, log)`` that returns the final alpha. It makes the
iterations whose coordinates are the rows of `blocks`, in windows of s, from the start vector `a0`. It
writes the new value of each drawn coordinate to `log`. If yours cannot do that, leave out `log` here and
in the declaration; then whole windows are checked.

Usage: ``python examples/check_my_solver.py``.
"""

from __future__ import annotations

import textwrap

import numpy as np

from sstep_verify import CallableSolver, Declaration, Hinge, IndexStream, Problem, RBFKernel, judge

SAMPLES, S, ITERATIONS = 40, 8, 80


def my_solver(correction: float = 1.0):
    """s-step DCD for K-SVM-L1 with an RBF kernel; the kernel correction is multiplied by `correction`."""

    def solve(problem, blocks, s, a0, log):
        data, labels, sigma, upper = problem.dense, problem.targets, problem.kernel.sigma, problem.loss.C
        alpha, norms = a0.copy(), np.einsum("ij,ij->i", data, data)
        for begin in range(0, len(blocks), s):
            drawn = blocks[begin : begin + s, 0]
            distances = np.maximum(norms[drawn, None] + norms - 2 * data[drawn] @ data.T, 0)
            distances[np.arange(drawn.size), drawn] = 0
            panel = np.exp(-sigma * distances) * labels * labels[drawn, None]
            gradient = panel @ alpha - 1
            for place, i in enumerate(drawn):
                updated = min(max(alpha[i] - gradient[place] / panel[place, i], 0), upper)
                increment = updated - alpha[i]
                alpha[i] = log[begin + place, 0] = updated
                gradient[place + 1 :] += correction * panel[place, drawn[place + 1 :]] * increment
        return alpha

    return solve


def verdict_on(function):
    """The verdict of step-replay on a function, or of contract if the run violates that."""
    generator = np.random.Generator(np.random.PCG64(0))
    data = generator.standard_normal((SAMPLES, 3))
    labels = np.where(generator.random(SAMPLES) < 0.5, -1.0, 1.0)
    problem = Problem("example", data, labels, RBFKernel(sigma=0.5), Hinge(C=1.0))
    stream = IndexStream("uniform", samples=SAMPLES, block=1, length=ITERATIONS, seed=0)
    # What the bounds are computed for: precision, in-place updates, RBF by norm expansion, ...
    solver = CallableSolver(function, Declaration(name="mine", log=True))
    return judge(solver, problem, stream, S)[-1]  # after a violated contract no other check runs


def main() -> None:
    """Print both verdicts."""
    for said, function in (
        ("correct", my_solver()),
        ("kernel correction too large by one part in 1e9", my_solver(1 + 1e-9)),
    ):
        verdict = verdict_on(function)
        print(f"{said}: {verdict.status.value}, measured / bound = {verdict.ratio:.3g}")
        print(textwrap.indent(verdict.reason, "  "))


if __name__ == "__main__":
    main()
