"""The bound on kernel entries holds for the production solver and for every declared formula."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from drawn_windows import EXPONENTS, DrawnStream, summary
from hypothesis import given, settings
from hypothesis import strategies as st
from sstep_reference.arithmetic import Balls
from summation_variants import variants

from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.problems import LinearKernel, PolynomialKernel, Problem, RBFKernel, Ridge
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.solver import ProductionSolver


@st.composite
def kernel_problems(draw):
    """Data with offsets far beyond their spread (RBF), or of huge and tiny size; no power overflows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    m, n = draw(st.integers(2, 10)), draw(st.integers(1, 8))
    exponent = draw(st.sampled_from([-160, -80, -20, -3, -1, 0, 1, 3, 20, 30]), label="log10 scale")
    data = rng.standard_normal((m, n)) * 10.0**exponent
    data[rng.random((m, n)) < draw(st.sampled_from([0.0, 0.6]))] = 0.0
    if draw(st.booleans(), label="duplicate"):
        data[-1] = data[0]
    if draw(st.booleans(), label="offset"):
        data += 10.0 ** draw(st.integers(0, 6)) * 10.0**exponent
    # Widths that suit the size of the data, as far as they are float64 numbers themselves.
    sigma = 10.0 ** draw(EXPONENTS) * (10.0 ** (-2 * max(exponent, -80)) if draw(st.booleans()) else 1.0)
    offset = draw(st.sampled_from([0.0, 1e-3, 1.0]))
    kernels = (LinearKernel(), PolynomialKernel(draw(st.integers(2, 4)), offset), RBFKernel(sigma))
    return Problem("drawn", data, np.ones(m), draw(st.sampled_from(kernels)), Ridge(1.0))


def production_panel(problem: Problem) -> np.ndarray:
    """All kernel rows as the production solver forms them: its kept Gram matrix."""
    stream = DrawnStream(np.zeros((1, 1), dtype=np.int64), problem.samples)
    solver = ProductionSolver(keep_gram=True)
    solver.run(RunRequest(problem, stream, 1, 0))
    return solver._gram[1]


def largest_ratio(problem: Problem, panel: np.ndarray, bound: np.ndarray) -> float:
    """Largest error of a panel over its bound; the comparison itself is made in balls."""
    arithmetic = Balls(256)
    kernel, worst = exact_kernel(problem, arithmetic), 0.0
    with arithmetic.working():
        for i in range(problem.samples):
            for j, entry in enumerate(kernel.column(i)):
                error = (arithmetic.number(float(panel[i, j])) - entry).abs_upper()
                assert error <= arithmetic.number(float(bound[i, j])), (i, j, panel[i, j], bound[i, j])
                worst = max(worst, float(error / float(bound[i, j]))) if bound[i, j] else worst
    return worst


def test_production_kernel_entries_stay_within_their_bound():
    ratios: defaultdict = defaultdict(list)

    @settings(max_examples=150)
    @given(kernel_problems(), st.booleans())
    def holds(problem, sparse):
        rows = np.arange(problem.samples)
        entries = kernel_entries(problem, ProductionSolver().declaration, rows)
        stored = replace(problem, data=sp.csr_array(problem.data)) if sparse else problem
        if np.isfinite(entries.solver_error).all():  # a distance by norm expansion may be far below 0
            ratios["solver"].append(largest_ratio(problem, production_panel(stored), entries.solver_error))
        ratios["own"].append(largest_ratio(problem, entries.values, entries.judge_error))

    holds()
    for name, found in ratios.items():
        summary(f"kernel entries, {name}", found, 100)


def test_declared_formulas_of_kernel_entries_stay_within_their_bound():
    ratios: list[float] = []

    @settings(max_examples=100)
    @given(kernel_problems(), variants())
    def holds(problem, variant):
        declaration = replace(variant.declaration, precision="float64")
        entries = kernel_entries(problem, declaration, np.arange(problem.samples))
        with np.errstate(under="ignore"):
            panel = replace(variant, declaration=declaration).kernel_matrix(problem)
        ratios.append(largest_ratio(problem, panel, entries.solver_error))

    holds()
    summary("kernel entries, other formulas", ratios, 60)


@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(3, 1.0), RBFKernel(0.5)])
def test_a_kernel_entry_off_by_twice_its_bound_is_found(kernel):
    data = np.random.default_rng(1).standard_normal((6, 4))
    problem = Problem("small", data, np.ones(6), kernel, Ridge(1.0))
    entries = kernel_entries(problem, ProductionSolver().declaration, np.arange(6))
    panel = production_panel(problem).copy()
    panel[2, 3] += 3 * entries.solver_error[2, 3]
    with pytest.raises(AssertionError):
        largest_ratio(problem, panel, entries.solver_error)
