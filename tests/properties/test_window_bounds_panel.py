"""The window bound over a solver's own panel holds for every correct run over that panel.

Correct runs are the production solver, and independent implementations in float32 and float64 that add in
any order, over panels that may be far from symmetric and are read by row or by column.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from drawn_windows import TASKS, DrawnStream, Scenario, balls_for, scenarios, summary
from hypothesis import event, given, settings
from hypothesis import strategies as st
from production_forms import production_forms
from summation_variants import variants

from sstep_verify.bounds.window.ridge import ridge_panel_bound
from sstep_verify.bounds.window.svm import svm_window_bound
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import LinearKernel, Problem, Ridge
from sstep_verify.protocol import RunRequest
from sstep_verify.rounding.arithmetic import unit_roundoff
from sstep_verify.rounding.rows import panel_entries
from sstep_verify.solver import ProductionSolver
from sstep_verify.trajectory import Panel

MOST_BITS = 1 << 14
"""Precision at which an interval that is still undecided fails the test."""


def measured_and_bound(scenario: Scenario, declaration, panel: Panel, window, begin, end):
    """Interval of the error of one window over a panel, and its bound; None if nothing can be said.

    Precision rises until the interval lies on one side of the bound: many ill-conditioned steps widen it.
    """
    problem = scenario.problem
    drawn = scenario.stream.blocks(*window)
    bits = balls_for(scenario).bits
    while True:
        replay = Oracle(problem).replay_panel(problem, panel, begin, end, drawn, bits)
        if replay is None:
            return None
        bound = _bound(scenario, declaration, panel, begin, replay)
        undecided = (replay.lower <= bound) & (replay.upper > bound)
        if not undecided.any() or bits >= MOST_BITS:
            return replay, bound
        bits *= 2


def _bound(scenario: Scenario, declaration, panel: Panel, begin, replay) -> np.ndarray:
    problem = scenario.problem
    order = {int(column): row for row, column in enumerate(panel.columns)}
    rows = panel.entries[[order[int(place)] for place in replay.places]]
    entries = panel_entries(rows, replay.places)
    if problem.is_svm:
        return svm_window_bound(
            entries, replay.places, begin, replay.steps, problem.dual, declaration
        ).radius
    return ridge_panel_bound(
        entries, replay.places, begin, problem.targets, replay.steps, problem.loss.penalty, declaration
    )


def hold(scenario, declaration, panel, window, begin, end, ratios) -> None:
    finite = np.isfinite(end).all()
    found = measured_and_bound(scenario, declaration, panel, window, begin, end if finite else begin)
    if found is None:
        return
    replay, bound = found
    assert not np.isnan(bound).any()
    if not finite:
        assert np.isinf(bound).all()
        return
    assert (replay.upper <= bound).all(), (replay.upper, bound)
    promised = np.isfinite(bound) & (bound > 0)
    ratios.append(float(np.max(replay.upper[promised] / bound[promised], initial=0.0)))
    event("bound finite" if np.isfinite(bound).all() else "bound infinite")


@pytest.mark.parametrize("draws", [30, pytest.param(80, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("task", TASKS)
def test_production_runs_stay_within_the_bound_over_their_panels(task, draws):
    ratios: list[float] = []

    @settings(max_examples=draws)
    @given(scenarios(task), production_forms())
    def holds(scenario, form):
        solver = ProductionSolver(update=form["update"], keep_gram=form["keep_gram"])
        H = scenario.stream.length
        trajectory = solver.run(
            RunRequest(
                scenario.problem, scenario.stream, scenario.s, H, initial=scenario.initial,
                record=(scenario.s,), expose_panels=True,
            )
        )  # fmt: skip
        for window in scenario.windows:
            panel = trajectory.panels[window[0]]
            if np.isfinite(panel.entries).all():
                ends = (trajectory.at(stop) for stop in window)
                hold(scenario, solver.declaration, panel, window, *ends, ratios)

    holds()
    summary(f"production {task}, panel", ratios, 3 * draws // 2)


@pytest.mark.parametrize("draws", [40, pytest.param(100, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("task", TASKS)
def test_runs_over_panels_that_are_not_symmetric_stay_within_the_bound(task, draws):
    ratios: defaultdict = defaultdict(list)

    @settings(max_examples=draws)
    @given(scenarios(task), variants(), st.sampled_from([0.0, 1e-12, 1e-3]), st.booleans())
    def holds(scenario, variant, asymmetry, by_column):
        window, begin = scenario.windows[0], scenario.initial
        with np.errstate(invalid="ignore", under="ignore", over="ignore"):
            used = variant.kernel_matrix(scenario.problem)
            skew = np.tril(variant.rng.uniform(-asymmetry, asymmetry, used.shape), -1)
            used = (used * (1 + skew)).astype(used.dtype)
            # Between coordinates of the window the transposed entry may be read instead.
            drawn = np.unique(scenario.drawn(window))
            shown, between = used.copy(), np.ix_(drawn, drawn)
            if by_column:
                shown[between] = used[between].T
            if not np.isfinite(shown).all():
                return
            make = variant.svm_window if scenario.problem.is_svm else variant.ridge_window
            end = make(scenario.problem, used, begin, scenario.drawn(window))
        panel = Panel(drawn, shown[drawn])
        hold(
            scenario, variant.declaration, panel, window, begin, end, ratios[variant.declaration.precision]
        )

    holds()
    for precision, found in ratios.items():
        summary(f"{precision} {task}, panel", found, draws // 4)


def test_a_longdouble_panel_is_taken_exactly():
    generator = np.random.default_rng(3)
    exact = generator.standard_normal((3, 5)).astype(np.longdouble)
    rows = exact * (1 + np.longdouble(2) ** -60)
    entries = panel_entries(rows, np.array([0, 2, 4]))
    distance = np.abs(rows - entries.values)
    assert (distance > 0).any()
    assert (distance <= entries.judge_error).all()
    assert (entries.judge_error <= 2 * unit_roundoff("float64") * np.abs(entries.values)).all()
    assert (entries.solver_error[:, [1, 3]] == 0).all()
    assert (entries.solver_error[[0, 1, 2], [0, 2, 4]] == 0).all()
    assert entries.solver_error[0, 2] >= abs(rows[0, 2] - rows[1, 0]) > 0


def test_a_window_moved_by_more_than_its_bound_is_red():
    scenario_ratios: list[bool] = []

    @settings(max_examples=40)
    @given(scenarios("krr"), st.integers(0, 23))
    def seen(scenario, which):
        solver = ProductionSolver()
        H = scenario.stream.length
        request = RunRequest(
            scenario.problem, scenario.stream, scenario.s, H, initial=scenario.initial,
            record=(scenario.s,), expose_panels=True,
        )  # fmt: skip
        trajectory = solver.run(request)
        window = scenario.windows[0]
        panel, begin, end = trajectory.panels[0], trajectory.at(0), trajectory.at(scenario.s)
        if not (np.isfinite(panel.entries).all() and np.isfinite(end).all()):
            return
        found = measured_and_bound(scenario, solver.declaration, panel, window, begin, end)
        if found is None or not np.isfinite(found[1]).all():
            return
        replay, bound = found
        place = which % bound.size
        moved = end.copy()
        moved[replay.places[place]] += 3 * bound[place]
        again, same = measured_and_bound(scenario, solver.declaration, panel, window, begin, moved)
        assert again.lower[place] > same[place]
        scenario_ratios.append(True)

    seen()
    assert len(scenario_ratios) >= 20


def test_an_interval_that_is_wider_than_the_bound_is_made_narrower():
    """Of 16 steps on blocks of all samples, with a condition of 1e7, 384 bits leave an interval of 3e-4."""
    data = np.array([[125.73022461], [-132.1048584], [640.42266846]])
    targets = np.array([0.10490011, -0.53566939, 0.36159506])
    problem = Problem("near 1e7", data, targets, LinearKernel(), Ridge(0.01))
    blocks = np.array([(0, 2, 1), (2, 1, 0), (1, 2, 0), (0, 1, 2)] * 4)
    scenario = Scenario(problem, DrawnStream(blocks, 3), np.zeros(3), 16, 0)
    solver = ProductionSolver()
    run = solver.run(RunRequest(problem, scenario.stream, 16, 16, record=(16,), expose_panels=True))
    ends = run.at(0), run.at(16)
    coarse = Oracle(problem).replay_panel(problem, run.panels[0], *ends, blocks, balls_for(scenario).bits)
    replay, bound = measured_and_bound(scenario, solver.declaration, run.panels[0], (0, 16), *ends)
    assert (coarse.upper > bound).any()
    assert (replay.upper <= bound).all()
