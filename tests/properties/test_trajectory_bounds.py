"""Bound C holds for every correct run, however long, and how near runs come to it is known.

Correct runs are the production solver in all its forms and independent NumPy implementations in float32
and float64 that add in sequential, shuffled and pairwise order. They start from a drawn vector, make many
windows, and are compared with the oracle's run at several of them. A run moved by more than twice the
bound must be red.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace

import numpy as np
import pytest
from drawn_windows import Scenario, scenarios
from hypothesis import event, given, settings
from hypothesis import strategies as st
from production_forms import production_forms
from sstep_reference.arithmetic import Balls
from summation_variants import variants

from sstep_verify.bounds.window import TrajectoryBound
from sstep_verify.bounds.window.ridge import ridge_trajectory_bound
from sstep_verify.bounds.window.svm import svm_trajectory_bound
from sstep_verify.oracle.balls.exact_kernel import exact_kernel, magnitude_interval
from sstep_verify.oracle.trajectories import EnclosedTrajectory, enclosed_trajectory
from sstep_verify.protocol import Declaration, RunRequest
from sstep_verify.rounding.block.energy import energy_norm
from sstep_verify.rounding.kernel.entries import kernel_entries
from sstep_verify.solver import ProductionSolver

TASKS = ("svm-l1", "svm-l2", "krr")
BITS = 192
MANY = pytest.mark.parametrize("draws", [12, pytest.param(60, marks=pytest.mark.nightly)])


@dataclass(frozen=True)
class Truth:
    """The oracle's run of a scenario at some window ends, and what can be said of another."""

    scenario: Scenario
    exact: EnclosedTrajectory

    def bounds(self, declaration: Declaration, s: int, ends: list[int]) -> dict[int, TrajectoryBound]:
        problem, exact, loss = self.scenario.problem, self.exact, self.scenario.problem.loss
        entries = kernel_entries(problem, declaration, exact.places)
        head = (entries, exact.places, self.scenario.initial)
        if problem.is_svm:
            tail = (exact.steps, exact.errors, s, ends, problem.dual, declaration)
            return svm_trajectory_bound(*head, *tail)
        tail = (exact.steps, exact.errors, s, ends, loss.penalty, declaration)
        return ridge_trajectory_bound(*head, problem.targets, *tail)

    def distance(self, iteration: int, state) -> tuple[np.ndarray, np.ndarray]:
        """Interval of the distance of a state: per distinct coordinate, or M-norm."""
        problem, exact, arithmetic = self.scenario.problem, self.exact, Balls(BITS)
        with arithmetic.working():
            d = [arithmetic.number(state[i]) - exact.states[iteration][i] for i in exact.places.tolist()]
        if problem.is_svm:
            low, high = np.array([magnitude_interval(value) for value in d]).reshape(-1, 2).T
            return low, high
        entries = kernel_entries(problem, Declaration("truth"), exact.places)
        difference = np.array([float(value) for value in d])
        low, high = energy_norm(entries, exact.places, difference, problem.samples, problem.loss.penalty)
        return np.array([low]), np.array([high])


def truth_of(scenario: Scenario, ends: list[int]) -> Truth:
    kernel = exact_kernel(scenario.problem, Balls(BITS))
    draws = scenario.stream.blocks(0, scenario.stream.length)
    return Truth(scenario, enclosed_trajectory(scenario.problem, kernel, scenario.initial, draws, ends))


@st.composite
def long_scenarios(draw, task: str):
    """A scenario of the window tests, its stream prolonged to many windows."""
    scenario = draw(scenarios(task))
    length = draw(st.integers(1, 160), label="iterations")
    rng = np.random.default_rng(scenario.seed)
    drawn = scenario.stream.drawn[rng.integers(scenario.stream.length, size=length)]
    return replace(scenario, stream=replace(scenario.stream, drawn=drawn))


def window_ends(scenario: Scenario) -> list[int]:
    return sorted({*range(scenario.s, scenario.stream.length, scenario.s), scenario.stream.length})


def hold_the_bound(scenario: Scenario, declaration: Declaration, states: dict, found: list) -> None:
    """Assert that a run, given by its states at some window ends, stays within bound C."""
    ends = list(states)
    truth = truth_of(scenario, ends)
    for end, bound in truth.bounds(declaration, scenario.s, ends).items():
        radius = bound.radius
        assert not np.isnan(radius).any()
        if not np.isfinite(states[end]).all():  # a factorisation may break down where nothing is promised
            assert np.isinf(radius).all()
            return
        _, high = truth.distance(end, states[end])
        assert (high <= radius).all(), (end, high, radius)
        promised = np.isfinite(radius) & (radius > 0)
        found.append((end, float(np.max(high[promised] / radius[promised], initial=0.0))))
        event("bound finite" if np.isfinite(radius).all() else "bound infinite")
        event(f"{min(bound.undecided, 3)} or more clips undecided")


def summary(name: str, found: list, planned: int) -> None:
    """Print tightness against the number of iterations, and fail if too few points were judged."""
    ratios = np.array([ratio for _, ratio in found])
    lengths = np.array([end for end, _ in found])
    for low, high in ((1, 9), (10, 39), (40, 160)):
        group = ratios[(lengths >= low) & (lengths <= high)]
        if group.size:
            print(
                f"{name}, H {low}..{high}: {group.size} points, ratio max {group.max():.3g}, "
                f"median {np.median(group):.3g}"
            )
    assert ratios.size >= planned
    # A bound that no run comes near would pass whatever is wrong.
    assert ratios.max() > 1e-4


def chosen(scenario: Scenario) -> list[int]:
    """First, middle and last window end."""
    ends = window_ends(scenario)
    return sorted({ends[0], ends[len(ends) // 2], ends[-1]})


@MANY
@pytest.mark.parametrize("task", TASKS)
def test_production_runs_stay_within_the_bound(task, draws):
    found: list = []

    @settings(max_examples=draws)
    @given(long_scenarios(task), production_forms())
    def holds(scenario, form):
        ends, H = chosen(scenario), scenario.stream.length
        solver = ProductionSolver(update=form["update"], keep_gram=form["keep_gram"])
        request = RunRequest(
            scenario.problem, scenario.stream, scenario.s, H, initial=scenario.initial, record=tuple(ends)
        )
        event(f"{form['update']}, gram {form['keep_gram']}")
        try:
            trajectory = solver.run(request)
        except (
            ZeroDivisionError
        ):  # a pivot that is 0: a breakdown, to be judged like one that ends in a NaN
            states = {H: np.full(scenario.problem.samples, np.nan)}
        else:
            states = {end: trajectory.at(end) for end in ends}
        hold_the_bound(scenario, solver.declaration, states, found)

    holds()
    summary(f"production {task}", found, 4 * draws // 3)


@MANY
@pytest.mark.parametrize("task", TASKS)
def test_runs_in_any_order_of_summation_stay_within_the_bound(task, draws):
    found: defaultdict = defaultdict(list)

    @settings(max_examples=2 * draws // 3)
    @given(long_scenarios(task), variants())
    def holds(scenario, variant):
        problem, begin, state, states = scenario.problem, 0, scenario.initial, {}
        event(f"{variant.declaration.precision}, {variant.order}, {variant.declaration.update}")
        with np.errstate(invalid="ignore", under="ignore"):
            K = variant.kernel_matrix(problem)
            make = variant.svm_window if problem.is_svm else variant.ridge_window
            for end in window_ends(scenario):
                state = make(problem, K, state, scenario.drawn((begin, end)))
                states[end], begin = state, end
        states = {end: states[end] for end in chosen(scenario)}
        hold_the_bound(scenario, variant.declaration, states, found[variant.declaration.precision])

    holds()
    for precision, points in found.items():
        summary(f"{precision} {task}", points, draws // 6)


@MANY
@pytest.mark.parametrize("task", TASKS)
def test_a_run_off_by_twice_its_bound_is_red(task, draws):
    """A coordinate of a correct run is moved: what is left after the run's own error is above the bound."""
    moved: list[bool] = []

    @settings(max_examples=draws // 2)
    @given(long_scenarios(task), st.sampled_from(["in-place", "frozen"]))
    def holds(scenario, update):
        solver, H = ProductionSolver(update=update), scenario.stream.length
        truth = truth_of(scenario, [H])
        radius = truth.bounds(solver.declaration, scenario.s, [H])[H].radius
        if not np.isfinite(radius).all():
            return
        run = solver.run(
            RunRequest(scenario.problem, scenario.stream, scenario.s, H, initial=scenario.initial)
        )
        state = run.final.copy()
        place = truth.exact.places[int(np.argmax(radius)) if scenario.problem.is_svm else 0]
        # At least sqrt(m) times the change of a coordinate in the M-norm; one ulp where the bound is 0.
        state[place] = np.nextafter(state[place] + 2.5 * radius.max(), np.inf)
        low, _ = truth.distance(H, state)
        assert (low > radius).any()
        moved.append(True)

    holds()
    assert len(moved) >= draws // 3
