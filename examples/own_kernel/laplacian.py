"""A kernel of one's own: ``K(x, z) = exp(-sigma |x - z|_1)``, of which the package knows nothing.

Three things are all that the judge needs: the description, the truth over any arithmetic, and float64
entries with a bound on their error and on a solver's. Then a solver of it is judged like any other.
Usage: ``python examples/own_kernel/laplacian.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sstep_reference.kernels import FORMULAS, Formula

from sstep_verify import CallableSolver, Declaration, Hinge, IndexStream, Problem, judge
from sstep_verify.declaration import LIBRARY_ULPS
from sstep_verify.errors import positive
from sstep_verify.problems.kernels import Kernel, register
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, smallest_subnormal, unit_roundoff
from sstep_verify.rounding.kernel.entries import sample_entries
from sstep_verify.rounding.rows import KernelEntries

# ---- 1. The description: name, parameters, facts. --------------------------------------------------------


@register
@dataclass(frozen=True)
class LaplacianKernel(Kernel):
    """``K(x, z) = exp(-sigma |x - z|_1)``, positive definite as a product over features.

    Parameters
    ----------
    sigma : float
        Inverse width, > 0.
    """

    sigma: float = 1.0
    name: ClassVar[str] = "laplacian"

    def __post_init__(self):
        object.__setattr__(self, "sigma", positive("Laplacian kernel", "sigma", self.sigma))

    def diagonal(self, norms: np.ndarray) -> np.ndarray:
        """Ones."""
        return np.ones_like(norms)

    def largest(self, norm: float) -> float:
        """Distances and exponents: no more than 2**53 features, each apart by twice the norm at most."""
        return max(1.0, 2.0**54 * max(self.sigma, 1.0) * norm**0.5)


# ---- 2. The truth, over any arithmetic. ------------------------------------------------------------------


def truth(arithmetic, table, i, count, given):
    """First `count` entries of column i."""
    zero, sigma = arithmetic.number(0), arithmetic.number(given["sigma"])
    samples, exponents = arithmetic.samples(table), []
    for row in samples[:count]:
        distance = zero
        for x, z in zip(row, samples[i], strict=True):
            # |d| = max(d, 0) + max(-d, 0), of which a ball about 0 makes no decision.
            distance += arithmetic.clip(x - z, zero, None) + arithmetic.clip(z - x, zero, None)
        exponents.append(-(sigma * distance))
    return arithmetic.exponentials(exponents)


FORMULAS[LaplacianKernel.name] = Formula(truth, {"sigma": 1}, lambda given: given["sigma"] > 0, "sigma > 0")


# ---- 3. Entries in float64, with bounds. -----------------------------------------------------------------


@sample_entries.register
def bounded(kernel: LaplacianKernel, data, rows, declaration):
    """Entries with bounds on their errors, the judge's and a solver's, both relative to ``K = exp(-e)``.

    A difference rounds once and does not underflow, the sum of n of them n - 1 times in any order, and the
    product with sigma once, or to a multiple of the smallest number (tiny). So an exponent e is off by
    ``x = gamma_{n+1} e + tiny`` at most, of which gamma_{n+4} leaves three roundings to e as it is known
    here. The entry is then off by ``K expm1(x)``, and by 4 units in the last place, 2u each, of
    a number that is ``K exp(x)`` at most. K is 1 at most, and what the judge's own entry and its error say.
    """
    exponent = kernel.sigma * np.abs(data[rows, None] - data).sum(axis=2)
    values = np.exp(-exponent)

    def error(largest, precision):
        u, tiny = unit_roundoff(precision), smallest_subnormal(precision)
        x = (gamma(data.shape[1] + 4, u) * exponent + tiny) * ROUND_UP
        off = largest * (np.expm1(x) + 2 * LIBRARY_ULPS * u * np.exp(x)) + LIBRARY_ULPS * tiny
        return np.fmin(off, 2.0) * ROUND_UP  # no two entries are further apart, rounded or not

    at_most_one = np.ones_like(values)
    known = np.minimum(values + error(at_most_one, "float64"), 1.0)
    errors = error(known, "float64"), error(known, declaration.precision)
    return KernelEntries(values, *errors), np.maximum(exponent * ROUND_UP, 1.0)


# ----------------------------------------------------------------------------------------------------------


def solver(*, sigma=1.0, power=1):
    """s-step descent for K-SVM-L1; sigma is multiplied by a factor, and distances are of another norm."""

    def solve(problem, blocks, s, a0, log):
        data, labels, width = problem.data, problem.targets, problem.kernel.sigma * sigma
        alpha = a0.copy()
        for begin in range(0, len(blocks), s):
            drawn = blocks[begin : begin + s, 0]
            distances = (np.abs(data[drawn, None] - data) ** power).sum(axis=2) ** (1 / power)
            panel = np.exp(-width * distances) * labels * labels[drawn, None]
            gradient = panel @ alpha - 1
            for place, i in enumerate(drawn):
                updated = min(max(alpha[i] - gradient[place] / panel[place, i], 0), problem.loss.C)
                gradient[place + 1 :] += panel[place, drawn[place + 1 :]] * (updated - alpha[i])
                alpha[i] = log[begin + place, 0] = updated
        return alpha

    return solve


DEFECTS = {"sigma off by 1e-9": {"sigma": 1 + 1e-9}, "2-norm for 1-norm": {"power": 2}}
"""What is changed in each faulty solver."""


def verdicts(**changed):
    """The verdicts of four checks on the solver."""
    generator = np.random.Generator(np.random.PCG64(0))
    data = generator.standard_normal((30, 4))
    labels = np.where(generator.random(30) < 0.5, -1.0, 1.0)
    problem = Problem("own kernel", data, labels, LaplacianKernel(0.25), Hinge(1.0))
    stream = IndexStream("uniform", samples=30, block=1, length=120, seed=0)
    tested = CallableSolver(solver(**changed), Declaration("laplacian", log=True))
    return judge(tested, problem, stream, 8, checks=["step-replay", "window-replay", "trajectory"])


def main() -> None:
    """Print the verdicts on the correct solver and on every faulty one."""
    for name, changed in {"correct": {}, **DEFECTS}.items():
        for verdict in verdicts(**changed):
            print(f"{name}: {verdict.check} {verdict.status}, measured / bound = {verdict.ratio:.3g}")


if __name__ == "__main__":
    main()
