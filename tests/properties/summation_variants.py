"""Independent NumPy implementations of the recurrences, in two precisions and three orders of summation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from drawn_windows import Scenario
from hypothesis import strategies as st

from sstep_verify.declaration import Declaration
from sstep_verify.problems import LinearKernel, Problem, RBFKernel
from studies.admissible.arithmetic import Sums


@dataclass(frozen=True)
class Variant:
    """A plain NumPy implementation of the recurrences that adds in an order of its own."""

    declaration: Declaration
    order: str
    rng: np.random.Generator
    power: str = "multiplication"

    @property
    def type(self):
        return {"float32": np.float32, "float64": np.float64}[self.declaration.precision]

    def add(self, terms):
        """Sum in the variant's order; every partial sum is rounded to the type."""
        terms = np.asarray(terms, dtype=self.type)
        if terms.size == 0:
            return self.type(0)
        if self.order == "pairwise":
            while terms.size > 1:
                even = terms.size // 2 * 2
                terms = np.append(terms[:even:2] + terms[1:even:2], terms[even:])
            return terms[0]
        if self.order == "shuffled":
            terms = self.rng.permutation(terms)
        return np.add.accumulate(terms)[-1]

    def kernel_matrix(self, problem: Problem) -> np.ndarray:
        data, m = problem.dense.astype(self.type), problem.samples
        return np.array(
            [[self._entry(problem.kernel, data[i], data[j]) for j in range(m)] for i in range(m)]
        )

    def _entry(self, kernel, x, z):
        if isinstance(kernel, RBFKernel):
            if self.declaration.rbf == "difference":
                distance = self.add((x - z) ** 2)
            else:
                distance = self.add(x * x) + self.add(z * z) - self.type(2) * self.add(x * z)
            return np.exp(-self.type(kernel.sigma) * max(distance, self.type(0)))
        value = self.add(x * z)
        if isinstance(kernel, LinearKernel):
            return value
        value = value + self.type(kernel.offset)
        if self.power == "pow":
            return np.power(value, self.type(kernel.degree))
        power = value
        for _ in range(kernel.degree - 1):
            power = power * value
        return power

    def svm_window(
        self, problem: Problem, K: np.ndarray, begin: np.ndarray, draws: np.ndarray
    ) -> np.ndarray:
        one, zero = self.type(1), self.type(0)
        loss, y = problem.loss, problem.targets.astype(self.type)
        upper = self.type(loss.upper)
        shift = one / (self.type(2) * self.type(loss.C)) if loss.shift else zero
        frozen = self.declaration.update == "frozen"
        start, a = begin.astype(self.type), begin.astype(self.type)
        made: list[tuple] = []
        for i in draws:
            value = start[i] + self.add([t for j, t in made if j == i]) if frozen else a[i]
            terms = [*(y[i] * K[i] * y * start), -one, shift * value]
            terms += [y[i] * K[i, j] * y[j] * t for j, t in made]
            curvature = K[i, i] + shift
            new = upper if curvature == 0 else min(max(value - self.add(terms) / curvature, zero), upper)
            made.append((i, new - value))
            a[i] = a[i] if frozen else new
        for i, increment in made if frozen else []:
            a[i] += increment
        return a.astype(np.float64)

    def ridge_window(
        self, problem: Problem, K: np.ndarray, begin: np.ndarray, blocks: np.ndarray
    ) -> np.ndarray:
        m, y = self.type(problem.samples), problem.targets.astype(self.type)
        penalty = self.type(problem.loss.penalty)
        frozen = self.declaration.update == "frozen"
        start, a = begin.astype(self.type), begin.astype(self.type)
        made: list[tuple] = []
        for block in blocks:
            rhs = []
            for i in block:
                value = start[i] + self.add([d for j, d in made if j == i]) if frozen else a[i]
                products = [*(K[i] * start), *(K[i, j] * d for j, d in made)]
                rhs.append(self.add([y[i], -(m * value), *(-(p / penalty) for p in products)]))
            system = K[np.ix_(block, block)] / penalty
            system[np.diag_indices(block.size)] += m
            change = self._solve(system, rhs)
            made += list(zip(block, change, strict=True))
            for i, d in zip(block, change, strict=True):
                a[i] = a[i] if frozen else a[i] + d
        for i, d in made if frozen else []:
            a[i] += d
        return a.astype(np.float64)

    def _solve(self, G: np.ndarray, rhs: list) -> np.ndarray:
        """Cholesky by inner products; NaN where it breaks down."""
        right = np.array(rhs, dtype=self.type)
        solved = Sums(self.type, self.order, self.rng).by_cholesky(G, right)
        return right * np.nan if solved is None else solved


@st.composite
def variants(draw):
    declaration = Declaration(
        name="variant",
        precision=draw(st.sampled_from(["float32", "float64"])),
        update=draw(st.sampled_from(["in-place", "frozen"])),
        rbf=draw(st.sampled_from(["norm-expansion", "difference"])),
    )
    order = draw(st.sampled_from(["sequential", "shuffled", "pairwise"]))
    power = draw(st.sampled_from(["multiplication", "pow"]))
    return Variant(declaration, order, np.random.default_rng(draw(st.integers(0, 99))), power)


def variant_run(scenario: Scenario, variant: Variant) -> list[np.ndarray]:
    problem = scenario.problem
    states = [scenario.initial]
    # A NaN, of a factorisation that breaks down, is judged.
    with np.errstate(invalid="ignore", under="ignore"):
        K = variant.kernel_matrix(problem)
        make = variant.svm_window if problem.is_svm else variant.ridge_window
        for window in scenario.windows:
            states.append(make(problem, K, states[-1], scenario.drawn(window)))
    return states
