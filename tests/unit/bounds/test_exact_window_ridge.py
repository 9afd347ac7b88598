"""Bounds of K-RR windows and runs of two steps, by the derivation of bounds/window/ridge.py.

The local errors that these are sums of have examples of their own (test_exact_block_local.py).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from exact_bounds import is_bound, length, root

from sstep_verify.bounds.carried_run import CarriedWeights
from sstep_verify.bounds.screen import screen_ridge
from sstep_verify.bounds.window.ridge import (
    JUDGE,
    ridge_component_bound,
    ridge_panel_bound,
    ridge_trajectory_bound,
    ridge_window_errors,
)
from sstep_verify.bounds.window.split import (
    KERNEL,
    RESIDUAL,
    SOLVE,
    STORING,
    SYSTEM,
    ridge_window_split,
)
from sstep_verify.declaration import Declaration
from sstep_verify.problems import LinearKernel, Problem, Ridge
from sstep_verify.quantities import RidgeSteps
from sstep_verify.rounding.block.local import RidgeLocalErrors, StepErrors
from sstep_verify.rounding.rows import KernelEntries

MATRIX = [[4, -1, 0.5], [-1, 2, 1]]
M, PENALTY = 3, 0.5
START, TARGETS, PLACES = np.array([1.0, 0.0, -2.0]), np.array([3.0, -1.0, 0.0]), np.arange(2)
SINGLES = RidgeSteps(np.array([[0], [1]]), np.array([[0.25], [-0.5]]))
BLOCKS = RidgeSteps(np.array([[0, 1], [1, 0]]), np.array([[0.25, -0.5], [0.125, 0.0625]]))
PLAIN, FROZEN = Declaration("plain"), Declaration("frozen", update="frozen")


def entries(delta: float = 2.0**-40) -> KernelEntries:
    return KernelEntries(np.array(MATRIX), np.zeros((2, 3)), np.full((2, 3), delta))


def local_errors(steps: RidgeSteps, declaration=PLAIN, start=START, rows=None) -> RidgeLocalErrors:
    return RidgeLocalErrors(rows or entries(), PLACES, start, TARGETS, steps, PENALTY, declaration)


def energy(sizes, delta: float = 2.0**-40) -> Fraction:
    """Largest M-norm within sizes of both coordinates."""
    used = [
        [(abs(Fraction(MATRIX[i][j])) + Fraction(delta)) / Fraction(PENALTY) for j in range(2)]
        for i in range(2)
    ]
    square = sum(
        (used[i][j] + M * (i == j)) * Fraction(sizes[i]) * Fraction(sizes[j])
        for i in range(2)
        for j in range(2)
    )
    return root(square)


def energy_of(draws, sizes, delta: float = 2.0**-40) -> Fraction:
    whole = [Fraction(0)] * 2
    for i, size in zip(draws, sizes, strict=True):
        whole[i] += Fraction(size)
    return energy(whole, delta)


@pytest.mark.parametrize("declaration", [PLAIN, FROZEN])
@pytest.mark.parametrize("steps", [SINGLES, BLOCKS], ids=["singles", "blocks"])
@pytest.mark.parametrize("windows", [1, 2])
def test_a_window_is_the_sum_of_its_steps(steps, declaration, windows):
    found = ridge_window_errors(
        entries(), PLACES, START, TARGETS, steps, PENALTY, declaration, windows=windows
    )
    local, total = local_errors(steps, declaration), Fraction(0)
    steps_made: list[StepErrors] = []
    for draws in steps.draws:
        modulus = local.modulus(draws, float(M))
        mu = Fraction(modulus)
        # An error of T before is T / sqrt(mu) in the increment before the step, and as much after it.
        step = local.advance(modulus, float(2 * total / root(mu)))
        assert step is not None
        total += root(mu) * Fraction(step.length) + energy_of(draws, step.rounding)
        steps_made.append(step)
    total += windows * energy(local.accumulation_error())
    is_bound(found.norm, total)
    is_bound(found.accumulation_error, local.accumulation_error())
    for one, other in zip(found.steps, steps_made, strict=True):
        is_bound((one.length, one.solve, one.most), (other.length, other.solve, 1))
        is_bound(one.rounding, other.rounding)


def test_a_block_that_holds_a_coordinate_three_times_lets_errors_grow():
    steps = RidgeSteps(np.array([[0, 0, 0], [1, 1, 1]]), np.array([[0.25] * 3, [-0.5] * 3]))
    found = ridge_window_errors(entries(), PLACES, START, TARGETS, steps, PENALTY, PLAIN)
    local, total = local_errors(steps), Fraction(0)
    for draws in steps.draws:
        modulus = local.modulus(draws, float(M))
        mu = Fraction(modulus)
        step = local.advance(modulus, float(2 * total / root(mu)))
        assert step is not None
        total = 2 * total + root(3) * root(mu) * Fraction(step.length) + energy_of(draws, step.rounding)
    is_bound(found.norm, total)


def test_next_to_the_judges_steps_both_local_errors_count():
    found = ridge_window_errors(entries(), PLACES, START, TARGETS, SINGLES, PENALTY, PLAIN, judged=True)
    exact = replace(entries(), solver_error=np.zeros((2, 3)))
    local, judge, total = local_errors(SINGLES), local_errors(SINGLES, JUDGE, rows=exact), Fraction(0)
    for draws in SINGLES.draws:
        modulus = local.modulus(draws, float(M))
        mu = root(modulus)
        made = judge.advance(modulus, 0.0)
        assert made is not None
        step = local.advance(modulus, float(2 * total / mu + Fraction(made.length)))
        assert step is not None
        stored = [x + y for x, y in zip(made.rounding, step.rounding, strict=True)]
        total += mu * (Fraction(made.length) + Fraction(step.length)) + energy_of(draws, stored)
    is_bound(found.norm, total)


def test_a_screen_allows_as_much_and_measures_in_the_m_norm():
    problem = Problem("screened", np.eye(3), TARGETS, LinearKernel(), Ridge(PENALTY))
    draws = np.array([[0], [1]])
    # The judge's own steps: r / g, g = 4 / lambda + m and so on.
    first = (3 - 3 * 1 - (4 - 1) / 0.5) / 11
    second = (-1 - (-1 * (1 + first) - 2) / 0.5) / 7
    steps = RidgeSteps(draws, np.array([[first], [second]]))
    derived = ridge_window_errors(
        entries(), PLACES, START, TARGETS, steps, PENALTY, PLAIN, judged=True
    ).norm
    end = START + np.array([first, second + 0.25, 0.0])
    screened = screen_ridge(problem, PLAIN, entries(), PLACES, np.array([START, end]), draws, 2)
    is_bound(screened.bound, [derived])
    assert abs(screened.distance[0] / (0.25 * 7**0.5) - 1) < 1e-6
    assert abs(screened.ratio[0] * derived / screened.distance[0] - 1) < 1e-6


@pytest.mark.parametrize("carried", [False, True])
def test_a_run_of_two_windows_adds_them_up(carried):
    problem = Problem(
        "run", np.array([[2.0, 0.0], [-0.5, 1.0], [0.25, 1.0]]), TARGETS, LinearKernel(), Ridge(PENALTY)
    )
    proven, declaration = [2.0**-45, 2.0**-46], Declaration("run", weights=0) if carried else PLAIN

    def drift() -> CarriedWeights | None:
        return CarriedWeights(problem, declaration, PLACES, START) if carried else None

    found = ridge_trajectory_bound(
        entries(), PLACES, START, TARGETS, SINGLES, np.array(proven), 1, [1, 2], PENALTY, declaration, drift()
    )  # fmt: skip
    run, total, oracle = drift(), Fraction(0), Fraction(0)
    reached = [Fraction(x) for x in START]
    for step in range(2):
        oracle += Fraction(proven[step])
        near = (total + oracle) / root(M)
        sizes = [abs(x) for x in reached]
        sizes[0], sizes[1] = sizes[0] + near, sizes[1] + near
        made = abs(Fraction(SINGLES.increments[step, 0])) + near
        floats, terms = np.array(sizes, dtype=float), None
        if run is not None:
            terms = run.begin(floats, 1).at(np.array([step]))
            moved = np.zeros(2)
            moved[step] = float(made)
            run.end(moved, (moved > 0).astype(int), floats[:2] + moved)
        total += Fraction(
            ridge_window_errors(
                entries().at(np.array([step])), PLACES[[step]], floats, TARGETS,
                RidgeSteps(np.array([[0]]), np.array([[float(made)]])), PENALTY, declaration, terms,
            ).norm
        )  # fmt: skip
        is_bound(found[step + 1].radius, [total + oracle])
        assert (found[step + 1].amplification, found[step + 1].undecided) == (1.0, 0)
        reached[step] += Fraction(SINGLES.increments[step, 0])


G = [Fraction(4) * 2 + M, Fraction(2) * 2 + M]
"""Diagonal of the block systems, K_ii / lambda + m."""


def propagated(steps) -> list[Fraction]:
    """Single steps: a source over G, what is stored, and ``-K_ij / lambda / G`` of the other error."""
    radius = [Fraction(0)] * 2
    for step in steps:
        (i,) = step.draws
        source = Fraction(step.residual[0]) + Fraction(step.size[0]) * (
            Fraction(step.entries[0, 0]) + Fraction(step.solve)
        )
        handed = abs(Fraction(MATRIX[i][1 - i])) * 2 / G[i] * radius[1 - i]
        radius[i] = handed + source / G[i] + Fraction(step.rounding[0])
    return radius


@pytest.mark.parametrize("declaration", [PLAIN, FROZEN])
def test_each_coordinate_errs_by_its_symbols(declaration):
    errors = ridge_window_errors(entries(), PLACES, START, TARGETS, SINGLES, PENALTY, declaration)
    found = ridge_component_bound(entries(), PLACES, errors, PENALTY)
    radius = propagated(errors.steps)
    is_bound(found, [x + Fraction(y) for x, y in zip(radius, errors.accumulation_error, strict=True)])


def test_a_block_hands_its_sources_on_by_its_inverse():
    steps = RidgeSteps(np.array([[0, 1]]), np.array([[0.25, -0.5]]))
    errors = ridge_window_errors(entries(), PLACES, START, TARGETS, steps, PENALTY, PLAIN)
    (step,) = errors.steps
    # G = (11, -2; -2, 7), of determinant 73.
    inverse = [[Fraction(7, 73), Fraction(2, 73)], [Fraction(2, 73), Fraction(11, 73)]]
    size = [Fraction(x) for x in step.size]
    sources = [
        Fraction(step.residual[i])
        + sum(Fraction(step.entries[i, j]) * size[j] for j in range(2))
        + Fraction(step.solve) * length(size)
        for i in range(2)
    ]
    derived = [
        sum(inverse[i][j] * sources[j] for j in range(2)) + Fraction(step.rounding[i]) for i in range(2)
    ]
    is_bound(ridge_component_bound(entries(), PLACES, errors, PENALTY), derived)


@pytest.mark.parametrize("declaration", [PLAIN, FROZEN])
def test_a_window_over_a_panel(declaration):
    found = ridge_panel_bound(entries(), PLACES, START, TARGETS, SINGLES, PENALTY, declaration)
    local, steps = local_errors(SINGLES, declaration), []
    for draws in SINGLES.draws:
        radius = propagated(steps) if steps else [Fraction(0)] * 2
        modulus = local.modulus(draws, 0.0)
        steps.append(local.advance(modulus, local.spread(draws, np.array(radius, dtype=float)) / modulus))
    radius = propagated(steps)
    is_bound(found, [x + Fraction(y) for x, y in zip(radius, local.accumulation_error(), strict=True)])


def test_the_share_of_each_source():
    arguments = (PLACES, START, TARGETS, SINGLES, PENALTY, PLAIN)
    norm, parts = ridge_window_split(entries(), *arguments)
    whole = ridge_window_errors(entries(), *arguments)
    exact = ridge_window_errors(entries(0.0), *arguments)
    near = Fraction(1, 1000)  # Differences of bounds, of which 30 bits are kept.
    is_bound(norm[KERNEL], (Fraction(whole.norm) - Fraction(exact.norm)) * (1 - near), 3 * near)
    roots = [root(step.modulus) for step in exact.steps]
    sources = {
        RESIDUAL: [Fraction(step.residual[0]) for step in exact.steps],
        SYSTEM: [Fraction(step.entries[0, 0]) * Fraction(step.size[0]) for step in exact.steps],
        SOLVE: [Fraction(step.solve) * Fraction(step.size[0]) for step in exact.steps],
    }
    for source, sizes in sources.items():
        is_bound(
            norm[source], sum(x / mu * (1 - near) for x, mu in zip(sizes, roots, strict=True)), 3 * near
        )
        # Of the second coordinate, whose step is the last: its own, and what the first one handed on.
        handed = Fraction(2) / G[1] * sizes[0] / G[0]
        is_bound(parts[source][1:], [(sizes[1] / G[1] + handed) * (1 - near)], 3 * near)
    is_bound(sum(parts.values()), ridge_component_bound(entries(), PLACES, whole, PENALTY))
    stored = sum(energy_of(step.draws, step.rounding, 0.0) for step in exact.steps)
    is_bound(norm[STORING], stored * (1 - near), 3 * near)
