"""The inner loops of the production solver: against exact arithmetic, and compiled against plain Python."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sp
from daily import crossed
from sstep_reference import Rational, exact_fraction

from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import ROUND_UP, gamma, unit_roundoff
from sstep_verify.solver import (
    ProductionSolver,
    recurrences,
    ridge_window,
    svm_window,
)
from sstep_verify.solver.exchanges.exchange import AllreduceExchange
from sstep_verify.solver.ridge_window import row_products, solve_in_place
from sstep_verify.solver.settings import Options

U = unit_roundoff("float64")
LOSSES = {"svm-l1": Hinge(1.0), "svm-l2": SquaredHinge(1.0), "krr": Ridge(0.5)}
EXACT = Rational()


def plain(function):
    """The function as Python runs it, without the compiler."""
    return getattr(function, "py_func", function)


# --- block systems ------------------------------------------------------------------------------------


def spd(b: int, spread: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """An SPD matrix whose rows differ in size by up to 10**spread, and a right-hand side."""
    rng = np.random.default_rng((b, spread, seed))
    root = rng.standard_normal((b, b + 1)) * 10.0 ** rng.integers(0, spread + 1, size=(b, 1))
    return root @ root.T + b * np.eye(b), rng.standard_normal(b) * 10.0**spread


@pytest.mark.parametrize("function", [solve_in_place, plain(solve_in_place)], ids=["compiled", "plain"])
@pytest.mark.parametrize("spread", [0, 3])
@pytest.mark.parametrize("b", range(1, 10))
def test_a_block_system_is_solved_within_its_backward_error(b, spread, function):
    """``(G + E) x^ = rhs`` with ``|E| <= gamma_{3b+2} |R'||R| <= gamma_{3b+2} / (1 - gamma_{b+1}) d d'``.

    Source: Higham 2002, Theorems 10.3 and 10.4, d_i = sqrt(G_ii); the multiplication by a reciprocal
    pivot in place of a division rounds once more per entry, hence 3b + 4 and b + 2 as in the window
    bound. The residual of x^ is formed exactly.
    """
    for seed in range(5):
        system, rhs = spd(b, spread, seed)
        factor, solution = system.copy(), rhs.copy()
        function(factor, solution)
        rows = [[Fraction(x) for x in row] for row in system.tolist()]
        x = [Fraction(value) for value in solution.tolist()]
        scale = Fraction(gamma(3 * b + 4, U)) / (1 - Fraction(gamma(b + 2, U)))
        for i in range(b):
            residual = sum(g * v for g, v in zip(rows[i], x, strict=True)) - Fraction(float(rhs[i]))
            # sqrt(d_i d_j) squared on both sides keeps the comparison rational.
            reach = sum(abs(x[j]) * _root(rows[i][i] * rows[j][j]) for j in range(b))
            assert abs(residual) <= scale * reach


def _root(value: Fraction) -> Fraction:
    """A rational at least as large as the square root."""
    guess = Fraction(np.sqrt(float(value)))
    return (guess + value / guess) / 2  # a Newton step never ends below the root


@pytest.mark.parametrize("b", range(1, 10))
def test_the_solution_is_near_the_exact_one(b):
    """Forward error ``||x^ - x|| <= ||G^-1|| ||E|| ||x^||``, with the exact solution in rationals."""
    system, rhs = spd(b, 0, 11)
    factor, solution = system.copy(), rhs.copy()
    solve_in_place(factor, solution)
    exact = EXACT.solve([EXACT.vector(row) for row in system.tolist()], EXACT.vector(rhs.tolist()))
    error = [exact_fraction(x) - Fraction(v) for x, v in zip(exact, solution.tolist(), strict=True)]
    backward = gamma(3 * b + 4, U) / (1 - gamma(b + 2, U)) * np.trace(system)
    # The smallest eigenvalue is at least b by construction, up to the rounding of the matrix itself.
    smallest = b - gamma(b + 3, U) * np.trace(system)
    bound = Fraction(backward / smallest * np.linalg.norm(solution) * ROUND_UP)
    assert sum(e * e for e in error) <= bound * bound


def test_only_the_upper_triangle_is_read():
    system, rhs = spd(5, 0, 0)
    spoiled = np.triu(system) + np.tril(np.full((5, 5), np.nan), -1)
    one, other = rhs.copy(), rhs.copy()
    solve_in_place(system, one)
    solve_in_place(spoiled, other)
    assert np.array_equal(one, other)


@pytest.mark.parametrize("function", [row_products, plain(row_products)], ids=["compiled", "plain"])
@pytest.mark.parametrize("rows", [[2], [0, 1, 2, 3], [3, 1, 2, 0], [1, 1, 2, 5, 4], [5, 0, 1]], ids=str)
def test_products_of_neighbouring_and_scattered_rows(rows, function):
    """Integers: exact in any grouping, so every row must have its own product in its own place."""
    matrix, vector = np.arange(42.0).reshape(6, 7) % 5, np.arange(7.0) - 3
    products = np.full(len(rows), np.nan)
    function(matrix, np.array(rows), vector, products)
    assert np.array_equal(products, (matrix @ vector)[rows])


# --- whole runs, compiled and not ---------------------------------------------------------------------


SAMPLES, WIDTH, BLOCK = 70, 2, 2
"""A window touches so few of the samples that K-RR gathers its corrections (see GATHER_FACTOR)."""


def exact_case(task: str) -> tuple[Problem, IndexStream, np.ndarray]:
    """Data and start of few bits: stale products are exact, so the order of their sum does not matter."""
    rng = np.random.default_rng(4)
    data = rng.integers(-2, 3, size=(SAMPLES, 4)) / 2.0
    labels = np.resize([1.0, -1.0, -1.0], SAMPLES)
    targets = rng.integers(-4, 5, size=SAMPLES) / 2.0 if task == "krr" else labels
    block = BLOCK if task == "krr" else 1
    stream = IndexStream("epochs" if task == "krr" else "uniform", SAMPLES, block, 40, seed=6)
    start = np.where(rng.random(SAMPLES) < 0.1, 0.25, 0.0)
    return Problem("exact products", data, targets, LinearKernel(), LOSSES[task]), stream, start


@contextmanager
def uncompiled():
    """Run the inner loops of the production solver as plain Python."""
    with ExitStack() as stack:
        for module in (svm_window, ridge_window):
            loops = {name: plain(f) for name, f in vars(module).items() if hasattr(f, "py_func")}
            stack.enter_context(mock.patch.dict(vars(module), loops))
        yield


@pytest.mark.parametrize("keep_gram", [False, True])
@pytest.mark.parametrize("update", ["in-place", "frozen"])
@pytest.mark.parametrize("task", LOSSES)
def test_plain_python_and_compiled_agree_to_the_last_bit(task, update, keep_gram):
    """One window from exact stale products: from there on the same operations in the same order."""
    problem, stream, start = exact_case(task)
    assert WIDTH * BLOCK * ridge_window.GATHER_FACTOR < SAMPLES
    moved = 0
    for first in range(0, 36, WIDTH):
        request = RunRequest(problem, stream, WIDTH, WIDTH, first, start)
        compiled = ProductionSolver(update=update, keep_gram=keep_gram).run(request).final
        with uncompiled():
            interpreted = ProductionSolver(update=update, keep_gram=keep_gram).run(request).final
        assert np.array_equal(compiled, interpreted)
        moved += not np.array_equal(compiled, start)
    assert moved >= 5


@pytest.mark.parametrize(
    ("kernel", "storage", "features", "s"),
    crossed(
        [LinearKernel(), PolynomialKernel(3, 1.0), RBFKernel(0.25)],
        [np.asarray, sp.csr_array],
        [5, 20],
        [1, 3, 5],
        of=3,
    ),
    ids=lambda one: getattr(one, "name", None) or getattr(one, "__name__", None),
)
def test_long_blocks_step_by_step(kernel, storage, features, s):
    """A rank alone forms rows as they are drawn: as many, and the values of kept rows up to rounding."""
    rng = np.random.default_rng(7)
    data = rng.standard_normal((290, features)) / np.sqrt(features)
    problem = Problem("long", storage(data), rng.standard_normal(290), kernel, Ridge(1.0))
    stream = IndexStream("uniform", 290, Options.long_block, 7, seed=2)
    request = RunRequest(problem, stream, s, 7, log=True, expose_panels=True, record=(s,))
    with mock.patch.object(AllreduceExchange, "rows", side_effect=AssertionError):
        found = ProductionSolver().run(request)
    kept, separate = (
        ProductionSolver(**options).run(request)
        for options in ({"keep_gram": True}, {"separate_timers": True})
    )
    for other in kept, separate:
        assert np.allclose(found.log, other.log, rtol=0, atol=1e-13)
        assert np.allclose(found.final, other.final, rtol=0, atol=1e-13)
    assert np.array_equal(found.panels[0].columns, separate.panels[0].columns)
    assert np.allclose(found.panels[0].entries, separate.panels[0].entries, rtol=0, atol=1e-13)
    for name in "panel columns", "collectives", "words":
        assert found.counters[name] == separate.counters[name]


def test_a_long_system_that_is_not_positive_definite_gives_nan():
    system, vector = -np.eye(3), np.ones(3)
    ridge_window.solve_long(system, vector)
    assert np.isnan(vector).all()


def test_a_long_system_is_solved_from_its_upper_triangle():
    rng = np.random.default_rng(3)
    half, right = rng.standard_normal((100, 100)), rng.standard_normal(100)
    matrix = half @ half.T + 100 * np.eye(100)
    long, own = (right.copy() for _ in range(2))
    ridge_window.solve_long(np.triu(matrix) + np.tril(np.full((100, 100), np.nan), -1), long)
    ridge_window.solve_in_place(matrix.copy(), own)
    assert np.allclose(long, own, rtol=1e-12)
    assert np.allclose(matrix @ long, right, rtol=1e-12)


def test_a_frozen_run_leaves_its_scratch_clean():
    """Increments of one window must not leak into the next."""
    for task in LOSSES:
        problem, stream, start = exact_case(task)
        made = recurrences.recurrence_of(problem, start, 4, stream.block, Options(update="frozen"))
        gram = problem.dense @ problem.dense.T
        made.kept_windows(
            gram, np.arange(problem.samples), stream.blocks(0, 11), 4, np.empty((11, stream.block))
        )
        if task == "krr":
            delta, touched = made.state[4:6]
            assert not touched[1].any()
        else:
            delta = made.state[6]
        assert not delta.any()


def test_a_loss_that_is_not_known_here_is_no_hinge():
    problem, stream, start = exact_case("svm-l1")
    object.__setattr__(problem, "loss", "logistic")
    with pytest.raises(AssertionError, match="logistic"):
        recurrences.recurrence_of(problem, start, 4, stream.block, Options())
