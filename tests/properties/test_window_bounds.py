"""The window bound holds for every correct run, and what it lets pass is known.

Correct runs are the production solver in all its forms, and independent NumPy implementations in
float32 and float64 that add in sequential, shuffled and pairwise order. Every window of a drawn
scenario is replayed in balls; the measured error must not exceed the bound. A dropped kernel
correction whose exact effect is more than twice the bound must always exceed it.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import nullcontext
from dataclasses import dataclass, replace
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import event, given, settings
from hypothesis import strategies as st
from sstep_reference.arithmetic import Balls, Float

from sstep_verify.bounds.kernel.entries import kernel_entries
from sstep_verify.bounds.window.ridge import ridge_window_bound
from sstep_verify.bounds.window.svm import svm_window_bound
from sstep_verify.defects.mutation import NONE, TERMS
from sstep_verify.defects.recurrence_ridge import mutable_sstep_bdcd
from sstep_verify.defects.recurrence_svm import mutable_sstep_dcd
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.replay.ridge import replay_ridge_window
from sstep_verify.oracle.replay.svm import replay_svm_window
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.solver import Declaration, RunRequest
from sstep_verify.solvers.production import ProductionSolver, recurrences, ridge_window

pytest.importorskip("flint", reason="python-flint is absent: install the extra [exact]")

TASKS = ("svm-l1", "svm-l2", "krr")
EXPONENTS = st.integers(-3, 3)


@dataclass(frozen=True)
class DrawnStream:
    """An index stream of given blocks, shape (H, b)."""

    drawn: np.ndarray
    samples: int

    @property
    def block(self) -> int:
        return self.drawn.shape[1]

    @property
    def length(self) -> int:
        return self.drawn.shape[0]

    def blocks(self, begin: int, end: int) -> np.ndarray:
        return self.drawn[begin:end]


@dataclass(frozen=True)
class Scenario:
    """One problem with a stream of one full and one (mostly shorter) last window."""

    problem: Problem
    stream: DrawnStream
    initial: np.ndarray
    s: int
    seed: int

    @property
    def windows(self) -> list[tuple[int, int]]:
        return [(0, self.s), (self.s, self.stream.length)]

    def drawn(self, window: tuple[int, int]) -> np.ndarray:
        drawn = self.stream.blocks(*window)
        return drawn.ravel() if self.problem.is_svm else drawn


def single(values):
    """Round to float32, so that a scenario is exact input to runs of either precision."""
    return np.float64(np.float32(values))


def drawn_data(draw, rng: np.random.Generator, m: int, n: int, scale: float) -> np.ndarray:
    data = rng.standard_normal((m, n)) * scale
    if draw(st.booleans(), label="many zeros"):
        data[rng.random((m, n)) < 0.5] = 0.0
    if draw(st.booleans(), label="samples of different sizes"):
        data *= 10.0 ** rng.integers(-1, 2, size=(m, 1))
    if draw(st.booleans(), label="duplicate"):
        data[-1] = data[0]
    if draw(st.booleans(), label="zero row"):
        data[m // 2] = 0.0
    return single(data)


@st.composite
def scenarios(draw, task: str):
    """Hypothesis draws the structure and every parameter; a drawn seed fills in the numbers."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    m, n = draw(st.integers(2, 24)), draw(st.integers(1, 8))
    scale = 10.0 ** draw(EXPONENTS, label="log10 scale")
    sigma = 10.0 ** draw(EXPONENTS) / (scale**2 if draw(st.booleans()) else 1.0)
    degree, offset = draw(st.integers(2, 4)), draw(st.sampled_from([0.0, 0.5, 1.0]))
    kernels = (LinearKernel(), PolynomialKernel(degree, offset), RBFKernel(float(single(sigma))))
    kernel = draw(st.sampled_from(kernels))
    parameter = float(single(10.0 ** draw(EXPONENTS, label="log10 C or lambda")))
    loss = {"svm-l1": Hinge, "svm-l2": SquaredHinge, "krr": Ridge}[task](parameter)
    data = drawn_data(draw, rng, m, n, scale)
    if task == "krr":
        targets = single(rng.standard_normal(m) * 10.0 ** draw(EXPONENTS))
        warm = rng.standard_normal(m) * 10.0 ** draw(EXPONENTS)
    else:
        targets = rng.choice([-1.0, 1.0], size=m)
        warm = parameter * rng.choice([0.0, 1.0, 0.37], size=m)
    initial = single(warm) if draw(st.booleans(), label="warm start") else np.zeros(m)
    b = draw(st.integers(1, min(m, 8))) if task == "krr" else 1
    s = draw(st.integers(1, 32))
    pool = draw(st.integers(b, m), label="coordinates in use")
    length = s + draw(st.integers(1, s))
    blocks = np.array([rng.permutation(pool)[:b] for _ in range(length)], dtype=np.int64)
    problem = Problem("drawn", data, targets, kernel, loss)
    return Scenario(problem, DrawnStream(blocks, m), initial, s, seed)


def replayed(scenario: Scenario, declaration: Declaration, window, begin, end, exact):
    """Replay of one window, and the bound on its error, shape as measured."""
    problem = scenario.problem
    replay = replay_svm_window if problem.is_svm else replay_ridge_window
    measured = replay(problem, exact, begin, end, scenario.drawn(window))
    entries = kernel_entries(problem, declaration, measured.places)
    if problem.is_svm:
        bound = svm_window_bound(
            entries,
            measured.places,
            begin,
            measured.steps,
            problem.loss.shift,
            problem.loss.upper,
            declaration,
        )
        return measured, bound.radius
    arguments = (problem.targets, measured.steps, problem.loss.penalty, declaration)
    return measured, np.array([ridge_window_bound(entries, measured.places, begin, *arguments)])


def balls_for(scenario: Scenario) -> Balls:
    return Balls(256 + 8 * scenario.s)


def hold_the_bound(
    scenario: Scenario, declaration: Declaration, states: list[np.ndarray], ratios: list
) -> None:
    """Assert measured <= bound in every window of a run given by its a at the window ends."""
    exact = exact_kernel(scenario.problem, balls_for(scenario))
    for window, begin, end in zip(scenario.windows, states[:-1], states[1:], strict=True):
        finite = np.isfinite(end).all()
        measured, bound = replayed(scenario, declaration, window, begin, end if finite else begin, exact)
        assert not np.isnan(bound).any()
        if not finite:  # a factorisation that breaks down may do so only where nothing is promised
            assert np.isinf(bound).all()
            return
        assert (measured.upper <= bound).all(), (measured.upper, bound)
        # A bound of zero must be met exactly, which the comparison above has shown.
        promised = np.isfinite(bound) & (bound > 0)
        ratios.append(float(np.max(measured.upper[promised] / bound[promised], initial=0.0)))
        event("bound finite" if np.isfinite(bound).all() else "bound infinite")


def summary(name: str, ratios: list, planned: int) -> None:
    """Print the distribution of ratios, and fail if too few windows were judged."""
    print(f"{name}: {len(ratios)} windows, ratio max {max(ratios):.3g}, median {np.median(ratios):.3g}")
    assert len(ratios) >= planned
    # A bound that no run comes near would pass whatever is wrong.
    assert max(ratios) > 1e-4


# --- the production solver ---------------------------------------------------------------------------


@st.composite
def production_forms(draw):
    return {
        "update": draw(st.sampled_from(["in-place", "frozen"])),
        "keep_gram": draw(st.booleans(), label="gram kept"),
        "sparse": draw(st.booleans(), label="CSR"),
        "gather": draw(st.booleans(), label="gathered corrections"),
    }


def gathering():
    """Make K-RR windows gather their corrections, as they do where a window touches few of the samples.

    The threshold is a constant of the compiled code, so the plain Python of the function runs instead.
    """
    plain = {
        name: getattr(function, "py_func", function)
        for name, function in vars(ridge_window).items()
        if name in ("ridge_panel_window", "ridge_kept_windows", "takes_fresh_products")
    }
    return mock.patch.multiple(recurrences.ridge_window, GATHER_FACTOR=0, **plain)


def production_run(scenario: Scenario, form: dict) -> tuple[Declaration, list[np.ndarray]]:
    problem = scenario.problem
    if form["sparse"]:
        problem = replace(problem, data=sp.csr_array(problem.data))
    solver = ProductionSolver(update=form["update"], keep_gram=form["keep_gram"])
    H = scenario.stream.length
    request = RunRequest(
        problem, scenario.stream, scenario.s, H, initial=scenario.initial, record=(scenario.s,)
    )
    with gathering() if form["gather"] else nullcontext():
        trajectory = solver.run(request)
    return solver.declaration, [trajectory.at(stop) for stop in (0, scenario.s, H)]


@pytest.mark.parametrize("task", TASKS)
def test_production_runs_stay_within_the_bound(task):
    ratios: list[float] = []

    @settings(max_examples=150)
    @given(scenarios(task), production_forms())
    def holds(scenario, form):
        event(f"{form['update']}, {'CSR' if form['sparse'] else 'dense'}, gram {form['keep_gram']}")
        hold_the_bound(scenario, *production_run(scenario, form), ratios)

    holds()
    summary(f"production {task}", ratios, 250)


# --- independent implementations in two precisions and three orders of summation ----------------------


@dataclass(frozen=True)
class Variant:
    """A plain NumPy implementation of the recurrences that adds in an order of its own."""

    declaration: Declaration
    order: str
    rng: np.random.Generator

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
        if self.declaration.power == "pow":
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
        """Cholesky by inner products."""
        b = len(rhs)
        L, x = np.zeros_like(G), np.array(rhs, dtype=self.type)
        for j in range(b):
            L[j, j] = np.sqrt(self.add([G[j, j], *(-(L[j, :j] ** 2))]))
            for i in range(j + 1, b):
                L[i, j] = self.add([G[i, j], *(-L[i, :j] * L[j, :j])]) / L[j, j]
        for j in range(b):
            x[j] = self.add([x[j], *(-L[j, :j] * x[:j])]) / L[j, j]
        for j in reversed(range(b)):
            x[j] = self.add([x[j], *(-L[j + 1 :, j] * x[j + 1 :])]) / L[j, j]
        return x


@st.composite
def variants(draw):
    declaration = Declaration(
        name="variant",
        precision=draw(st.sampled_from(["float32", "float64"])),
        update=draw(st.sampled_from(["in-place", "frozen"])),
        increments="separate",
        rbf=draw(st.sampled_from(["norm-expansion", "difference"])),
        power=draw(st.sampled_from(["multiplication", "pow"])),
        function_ulps=4.0,  # what NumPy's vectorised exp and pow promise
    )
    order = draw(st.sampled_from(["sequential", "shuffled", "pairwise"]))
    return Variant(declaration, order, np.random.default_rng(draw(st.integers(0, 99))))


def variant_run(scenario: Scenario, variant: Variant) -> list[np.ndarray]:
    problem = scenario.problem
    states = [scenario.initial]
    # A Cholesky factorisation that breaks down ends in a NaN, which is judged.
    with np.errstate(invalid="ignore", under="ignore"):
        K = variant.kernel_matrix(problem)
        make = variant.svm_window if problem.is_svm else variant.ridge_window
        for window in scenario.windows:
            states.append(make(problem, K, states[-1], scenario.drawn(window)))
    return states


@pytest.mark.parametrize("task", TASKS)
def test_runs_in_any_order_of_summation_stay_within_the_bound(task):
    ratios: defaultdict = defaultdict(list)

    @settings(max_examples=120)
    @given(scenarios(task), variants())
    def holds(scenario, variant):
        event(f"{variant.declaration.precision}, {variant.order}, {variant.declaration.update}")
        states = variant_run(scenario, variant)
        hold_the_bound(scenario, variant.declaration, states, ratios[variant.declaration.precision])

    holds()
    for precision, found in ratios.items():
        summary(f"{precision} {task}", found, 60)


# --- what the bound must not let pass -----------------------------------------------------------------


@pytest.mark.parametrize("task", TASKS)
def test_a_dropped_kernel_correction_beyond_twice_the_bound_is_always_seen(task):
    mutation = NONE.scaled(TERMS["kernel-correction"], 0, "dropped")
    double = Float("float64")
    found: list[bool] = []

    @settings(max_examples=100)
    @given(scenarios(task), st.sampled_from(["in-place", "frozen"]))
    def holds(scenario, update):
        problem, window, begin = scenario.problem, scenario.windows[0], scenario.initial
        declaration = Declaration("planted", update="frozen", rbf="difference", increments="summed")
        drawn, kernel = scenario.drawn(window), exact_kernel(problem, double)
        arguments = (double, kernel, problem.targets, begin, drawn, scenario.s)
        # Where block systems are singular to working precision there is no planted run to judge.
        if problem.is_svm:
            end = mutable_sstep_dcd(*arguments, loss=task, C=problem.loss.C, mutation=mutation)
        else:
            entries = kernel_entries(problem, declaration, np.arange(problem.samples))
            if not entries.values.max() / problem.loss.penalty * 2.0**-40 < problem.samples:
                return
            end = mutable_sstep_bdcd(*arguments, penalty=problem.loss.penalty, mutation=mutation)
        exact = exact_kernel(problem, balls_for(scenario))
        measured, bound = replayed(scenario, declaration, window, begin, end, exact)
        effect = measured.effects.get("kernel-correction")
        if effect is None:
            return
        flagged = effect.dropped > 2 * bound
        assert (measured.lower[flagged] > bound[flagged]).all()
        found.append(bool(flagged.any()))

    holds()
    print(f"planted {task}: {sum(found)} of {len(found)} windows show the dropped term")
    assert sum(found) >= 25


# --- kernel entries -----------------------------------------------------------------------------------


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
        ratios["solver"].append(largest_ratio(problem, production_panel(stored), entries.solver))
        ratios["own"].append(largest_ratio(problem, entries.values, entries.own))

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
        ratios.append(largest_ratio(problem, panel, entries.solver))

    holds()
    summary("kernel entries, other formulas", ratios, 60)


@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(3, 1.0), RBFKernel(0.5)])
def test_a_kernel_entry_off_by_twice_its_bound_is_found(kernel):
    data = np.random.default_rng(1).standard_normal((6, 4))
    problem = Problem("small", data, np.ones(6), kernel, Ridge(1.0))
    entries = kernel_entries(problem, ProductionSolver().declaration, np.arange(6))
    panel = production_panel(problem).copy()
    panel[2, 3] += 3 * entries.solver[2, 3]
    with pytest.raises(AssertionError):
        largest_ratio(problem, panel, entries.solver)
