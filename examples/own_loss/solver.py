"""s-step support vector regression in NumPy, with a switch for each defect that the example shows.

Usage: ``python examples/own_loss/solver.py``.
"""

from __future__ import annotations

import numpy as np
from epsilon_insensitive import EpsilonInsensitive

from sstep_verify import CallableSolver, Declaration, IndexStream, Problem, RBFKernel, judge

SAMPLES, S, ITERATIONS = 24, 8, 95

DEFECTS = {
    "epsilon left out": {"epsilon": 0.0},
    "threshold with the wrong sign": {"epsilon": -1.0},
    "stale correction left out": {"correction": 0.0},
    "clipped at one end only": {"lower": 0.0},
    "curvature off by 1e-9": {"curvature": 1 + 1e-9},
}
"""What is changed in each faulty solver: a factor on a quantity, 1 where it is correct."""


def solver(*, epsilon=1.0, correction=1.0, lower=1.0, curvature=1.0):
    """A solver whose quantities are multiplied by factors; without a lower end where that factor is 0."""

    def solve(problem, blocks, s, a0, log):
        data, y, sigma, loss = problem.data, problem.targets, problem.kernel.sigma, problem.loss
        least = -loss.C if lower else -np.inf
        alpha = a0.copy()
        for begin in range(0, len(blocks), s):
            drawn = blocks[begin : begin + s, 0]
            differences = data[drawn, None] - data
            panel = np.exp(-sigma * np.einsum("ijk,ijk->ij", differences, differences))
            gradient = panel @ alpha - y[drawn]
            for place, i in enumerate(drawn):
                eta = curvature * panel[place, i]
                z, knot = alpha[i] - gradient[place] / eta, epsilon * loss.epsilon / eta
                updated = min(max(np.sign(z) * max(abs(z) - knot, 0.0), least), loss.C)
                increment = updated - alpha[i]
                alpha[i] = log[begin + place, 0] = updated
                gradient[place + 1 :] += correction * panel[place, drawn[place + 1 :]] * increment
        return alpha

    return solve


def problem_and_stream() -> tuple[Problem, IndexStream]:
    """A noisy sine, of which some deviations exceed the tube, and the coordinates to draw."""
    generator = np.random.Generator(np.random.PCG64(0))
    data = generator.uniform(-2.0, 2.0, (SAMPLES, 2))
    targets = np.sin(2 * data[:, 0]) + 0.3 * generator.standard_normal(SAMPLES)
    problem = Problem("noisy sine", data, targets, RBFKernel(sigma=0.5), EpsilonInsensitive(0.5, 0.1))
    return problem, IndexStream("uniform", samples=SAMPLES, block=1, length=ITERATIONS, seed=1)


def verdicts(**changed):
    """The verdicts of four checks on the solver."""
    tested = CallableSolver(solver(**changed), Declaration("svr", rbf="difference", log=True))
    return judge(tested, *problem_and_stream(), S, checks=["step-replay", "window-replay", "trajectory"])


def main() -> None:
    """Print the verdicts on the correct solver and on every faulty one."""
    for name, changed in {"correct": {}, **DEFECTS}.items():
        for verdict in verdicts(**changed):
            print(f"{name}: {verdict.check} {verdict.status}, measured / bound = {verdict.ratio:.3g}")


if __name__ == "__main__":
    main()
