"""Decisions that checks make of few numbers: what is looked at, what is named, what is left out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from bounds.worked import is_bound
from judged import small_case
from production_runs import KERNELS, problem_of, stream_of

from sstep_verify.bounds.kernel.entries import KernelEntries, kernel_entries
from sstep_verify.bounds.residual_hessian import hessian
from sstep_verify.bounds.sweep import svm as sweep_svm
from sstep_verify.bounds.trajectory.bound import TrajectoryBound
from sstep_verify.bounds.window.ridge import proven_eigenvalue
from sstep_verify.checks import determinism, phases
from sstep_verify.checks.metamorphic.shared import original_request
from sstep_verify.checks.shared.case import Case
from sstep_verify.checks.shared.finding import Finding
from sstep_verify.checks.short.diagnosis import _Tried
from sstep_verify.checks.short.runs import ShortTruth, short_length
from sstep_verify.checks.steps import exact as exact_steps
from sstep_verify.checks.steps import judged as judged_module
from sstep_verify.checks.steps.found import JudgedStep
from sstep_verify.checks.steps.judged import StepJudge
from sstep_verify.checks.steps.own_step import own_step
from sstep_verify.checks.steps.ridge_effects import note, over
from sstep_verify.checks.steps.state import ridge_state
from sstep_verify.checks.steps.tally import KERNEL, NAMES, STALE, empty_tally
from sstep_verify.checks.window import explained
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    Ridge,
    SquaredHinge,
)
from sstep_verify.solver import Declaration, RunRequest
from sstep_verify.solvers.production import ProductionSolver
from sstep_verify.verdict import SEEN

DATA = np.array([[1.0, 0.5], [0.25, 2.0], [0.0, 0.0]])
ALPHA = np.array([0.5, 0.25, 0.125])


def problem_with(loss, kernel=None, targets=(1.0, -1.0, 1.0)):
    return Problem("few numbers", DATA, np.array(targets), kernel or LinearKernel(), loss)


def test_the_judge_s_own_step_of_a_block():
    problem = problem_with(Ridge(0.5), targets=(1.5, -1.0, 0.75))
    draws, rows = np.array([0, 1]), DATA @ DATA.T / 0.5
    system = rows[:2, :2] + 3 * np.eye(2)
    right = problem.targets[:2] - 3 * ALPHA[:2] - rows[:2] @ ALPHA
    np.testing.assert_allclose(
        own_step(problem, ALPHA, draws), ALPHA[:2] + np.linalg.solve(system, right), rtol=1e-12
    )


@pytest.mark.parametrize("loss", [Hinge(0.375), SquaredHinge(2.0)])
def test_the_judge_s_own_step_of_a_coordinate(loss):
    problem = problem_with(loss)
    for i in range(3):
        eta = DATA[i] @ DATA[i] + loss.shift
        slope = (
            problem.targets[i] * (DATA[i] @ DATA.T @ (problem.targets * ALPHA)) - 1 + loss.shift * ALPHA[i]
        )
        value = ALPHA[i] - slope / eta if eta else loss.upper
        assert own_step(problem, ALPHA, np.array([i])) == pytest.approx(
            min(max(value, 0.0), loss.upper), rel=1e-12
        )


def test_a_quantity_left_out_reproduces_a_step_on_either_side():
    for side in (1.0, -1.0):
        tally, effect = empty_tally(1, 2), np.array([3.0, -4.0])
        state = ridge_state(np.zeros(2), np.zeros(2), 2)
        state.effects[STALE], state.left[:] = effect, 0.1
        state.residual[:] = side * effect + 1e-3
        note(tally, STALE, 1.0, 0.0, state, True)
        assert tally.reproduced[STALE] == 1
        # In one entry of the two it does not.
        state.residual[:] = side * effect * [1.0, 1.5]
        note(tally, STALE, 1.0, 0.0, state, True)
        assert tally.reproduced[STALE] == 1


def test_an_effect_is_seen_where_it_is_largest_beside_its_bound():
    state = ridge_state(np.zeros(2), np.zeros(2), 2)
    state.effects[STALE], state.left[:] = [0.3, -4.0], [0.1, 10.0]
    tally = empty_tally(1, 2)
    note(tally, STALE, 1.0, 0.0, state, False)
    assert tally.relative[STALE] == tally.effect[STALE] == pytest.approx(3.0)
    # Of which entry the rest is known is not: only that of the whole.
    tally = empty_tally(1, 2)
    note(tally, STALE, 1.0, 0.5, state, False)
    assert tally.relative[STALE] == pytest.approx(3.0)
    assert tally.effect[STALE] == pytest.approx(0.5 * np.hypot(0.3, 4.0) / np.hypot(0.1, 10.0))


def test_an_entry_that_must_be_0_is_seen_if_it_is_not():
    assert over(np.array([0.0, 1.0]), np.array([0.0, 2.0])) == 0.5
    assert over(np.array([1e-300, 1.0]), np.array([0.0, 2.0])) == np.inf


def test_steps_without_a_carried_state_have_no_drift():
    for options in ({}, {"exchange": "gram"}):
        tested = ProductionSolver(**options)
        problem, stream = problem_of("svm-l1", KERNELS[0]), stream_of("svm-l1")
        case = Case("state", problem, stream, (4,), 20, tested.declaration)
        run = SimpleNamespace(alphas=np.zeros((1, 12)), start=0, s=4)
        assert (StepJudge(case, Oracle(problem))._drift(run) is None) == (not case.declaration.state)


def test_notable_steps_are_those_of_the_first_events(monkeypatch):
    case, _ = small_case(Hinge(0.4))
    tally = empty_tally(1, 1)
    tally.first[:] = [3, -1, 5, 3, -1, 40]
    run = SimpleNamespace(
        worst=JudgedStep(7, 0.0, 1.0), first_wrong=JudgedStep(9, 2.0, 1.0), tally=tally, steps=75
    )
    found = exact_steps._notable(case, run)
    assert found[:5] == [
        (7, "largest ratio"), (9, "first over its bound"), (3, "first free"), (5, "first clip high"), (40, "first tail"),
    ]  # fmt: skip
    assert [why for _, why in found[5:]] in (["seeded"], [])
    assert min(iteration for iteration, _ in found) >= 0
    # All of them are replayed where few words do.
    seen: list[int] = []
    monkeypatch.setattr(
        exact_steps, "_exact", lambda *given: (seen.append(given[2]), Finding("", 0.0, 0.0, 1.0))[1]
    )
    exact_steps.exact_steps(case, SimpleNamespace(s=8), run, None, None)
    assert seen == [iteration for iteration, _ in found]
    # And so is the step of each quantity at which a window shows it best by the solver's share alone.
    of_window = empty_tally(8, 1)
    tally.best[KERNEL], tally.relative[KERNEL] = 41, 50.0
    of_window.best[KERNEL], of_window.relative[KERNEL] = 43, 100.0
    asked: list[int] = []
    judge = SimpleNamespace(window=lambda _, iteration: (asked.append(iteration), of_window)[1])
    exact = exact_steps.exact_steps(case, SimpleNamespace(s=8), run, judge, None)
    assert (asked, seen[-1]) == ([41], 43)
    assert exact.detectable == {NAMES[KERNEL]: SEEN / 100.0}


@pytest.mark.parametrize(
    ("update", "length", "stores"), [("in-place", 8, 0), ("frozen", 4, 1), ("frozen", 8, 2)]
)
def test_how_often_a_sweep_lets_a_frozen_value_be_stored(update, length, stores, monkeypatch):
    given = []
    monkeypatch.setattr(sweep_svm, "_sweep", lambda *arguments: (given.extend(arguments), [None] * 4)[1])
    monkeypatch.setattr(sweep_svm, "Swept", lambda *_: None)
    problem = problem_with(Hinge(1.0))
    entries, declaration = (
        kernel_entries(problem, Declaration("any"), np.arange(3)),
        Declaration("any", update=update),
    )
    sweep_svm.sweep_svm(
        problem, declaration, entries, np.arange(3), np.zeros((2, 3)), np.zeros(8, int), 4, length
    )
    solver = given[-1]
    assert (solver.frozen, solver.stores) == (update == "frozen", stores)


def test_an_entry_of_two_rows_without_a_common_feature_is_exactly_zero():
    problem = problem_with(Hinge(1.0), PolynomialKernel(3, 0.0))
    entries = kernel_entries(problem, Declaration("any"), np.arange(3))
    assert (entries.solver[2] == 0.0).all()
    assert (entries.own[2] == 0.0).all()
    assert (entries.solver[:2, :2] > 0.0).all()


def test_an_eigenvalue_is_proved_to_a_half():
    for kernel in (np.diag([40.0, 9.0]), np.diag([0.5, 0.25])):
        found = proven_eigenvalue(kernel, np.zeros((2, 2)), 3)
        assert found == pytest.approx((kernel.min(initial=99.0, where=np.eye(2) > 0) + 3) / 2, rel=1e-9)


def test_the_matrix_of_a_residual_and_the_error_of_its_entries():
    rows = KernelEntries(
        *(
            np.array(one)
            for one in ([[1.0, -0.5], [-0.5, 2.0]], np.full((2, 2), 0.01), np.full((2, 2), 0.02))
        )
    )
    problem = Problem("two", np.eye(2), np.ones(2), LinearKernel(), Ridge(0.1))
    rounded = Fraction(float(np.float32(0.1)))
    penalty = Fraction(0.1)
    least = min(penalty, rounded)
    size, error = hessian(problem, Declaration("any", precision="float32"), rows)
    for place in np.ndindex(2, 2):
        entry = (abs(Fraction(rows.values[place])) + Fraction(0.01) + Fraction(0.02)) / least
        is_bound(size[place], entry + 2 * (place[0] == place[1]))
        is_bound(error[place], Fraction(0.02) / least + abs(rounded - penalty) / least * entry)


def test_the_entry_of_a_window_with_the_largest_ratio():
    shares = {"one": np.array([0.0, 1.0, 2.0]), "other": np.array([0.0, 1.0, 0.0])}
    found = explained._largest(["a", "b", "c"], np.array([0.5, 1.0, 0.5]), shares)
    assert (found.where, found.measured, found.bound) == ("b", 1.0, 2.0)
    assert found.parts == {"one": 1.0, "other": 1.0}
    assert explained._largest(["a"], np.zeros(1), {"one": np.zeros(1)}) is None
    assert explained._largest(["a"], np.zeros(1), {}) is None


def test_a_short_run_is_recorded_around_its_first_windows():
    case, _ = small_case(Hinge(1.0), iterations=4000, s_values=(4,))
    case = replace(case, short=4000)
    record = original_request(case, 4).record
    full = 1000
    assert {0, 4, 8, 4 * (full // 2), 4 * (full // 2) + 4, 4 * full - 4, 4 * full} <= set(record)
    assert len(record) < 60


def test_two_equal_runs_are_recorded_half_way():
    case, _ = small_case(Hinge(1.0), iterations=40, s_values=(1, 4, 16))
    case = replace(case, short=40)
    assert {request.s: request.record for request in determinism.runs(case).values()} == {
        1: (20,),
        4: (20,),
        16: (16,),
    }


def test_a_long_run_of_phases_is_one_window_at_least(monkeypatch):
    case, _ = small_case(Hinge(1.0), s_values=(4,))
    for words, length in ((1, 4), (12 * 4, 4), (12 * 8, 8), (12 * 4000, 75)):
        monkeypatch.setattr(phases, "WORDS", words)
        assert phases._length(case, 4) == length


def test_of_no_values_the_largest_is_none():
    assert phases._largest([]) == Finding("", 0.0, 0.0, 0.0)


def test_coordinates_that_were_not_given_widen_no_bound():
    seen, places = np.array([True, False, True]), np.array([0, 1, 2])
    truth = SimpleNamespace(seen=lambda _: seen, places=places, _problem=problem_with(Hinge(1.0)))
    bound = TrajectoryBound(np.array([0.5, 0.25, 0.125]), 1.0, 0)
    assert ShortTruth.widened(truth, bound, None).radius.tolist() == [0.5, 0.0, 0.125]
    wider = ShortTruth.widened(truth, bound, np.array([0.25, 0.5, 0.125])).radius
    assert wider[1] == 0.0
    is_bound(wider[0], Fraction(3, 4))
    is_bound(wider[2], Fraction(1, 4))


def test_a_short_run_is_whole_windows_within_its_limits():
    case, _ = small_case(Hinge(1.0), iterations=75)
    assert short_length(replace(case, short=50)) == 50
    assert short_length(replace(case, short=500)) == 75


def test_a_run_is_near_a_mistake_where_all_of_the_enclosure_is():
    bounds = {4: TrajectoryBound(np.array([0.5, 0.5]), 1.0, 0)}
    for upper, near in ((0.25, True), (0.75, False)):
        truth = SimpleNamespace(
            points=lambda _: (4,), bounds=lambda _: bounds, widened=lambda bound, *_: bound,
            distance=lambda *_, upper=upper: (np.zeros(2), np.array([0.0, upper])),
        )  # fmt: skip
        run = SimpleNamespace(
            at=lambda _: np.zeros(2), alphas=np.zeros(2), known=None, rounding_at=lambda _: None
        )
        assert _Tried("mistake", None, truth).passes(4, run) == near


@pytest.mark.parametrize(
    ("update", "draws", "terms"),
    [
        ("frozen", [[0], [1], [2], [3]], {"kernel-correction"}),
        ("frozen", [[0], [1], [0], [3]], {"kernel-correction", "overlap"}),
        ("in-place", [[0], [1], [0], [3]], {"kernel-correction"}),
        ("frozen", [[0], [0], [0], [0]], {"overlap"}),
    ],
)
def test_terms_that_act_in_the_windows_of_a_short_run(update, draws, terms):
    for loss in (Hinge(1.0), SquaredHinge(1.0)):
        truth = SimpleNamespace(
            _draws=np.array(draws),
            _declaration=Declaration("any", update=update),
            _problem=problem_with(loss),
        )
        assert set(ShortTruth._acting_terms(truth, 4)) == terms | ({"omega"} if loss.shift else set())
        assert "overlap" not in ShortTruth._acting_terms(truth, 1)


@pytest.mark.parametrize(("largest", "penalty"), [(12.0, 1.0), (1e3, 1e-4)])
def test_a_block_step_whose_numbers_may_overflow_has_no_bound(largest, penalty, monkeypatch):
    # The trace of the block system is beyond what is promised, or the reciprocal of lambda is.
    problem, stream, tested = problem_of("krr", KERNELS[2]), stream_of("krr"), ProductionSolver()
    problem = replace(problem, loss=Ridge(penalty))
    case = Case("large", problem, stream, (4,), 8, tested.declaration)
    run = tested.run(RunRequest(problem, stream, 4, 8, log=True))
    assert StepJudge(case, Oracle(problem)).run(run).decided == 8
    original = judged_module.ridge_step_constants
    monkeypatch.setattr(
        judged_module, "ridge_step_constants", lambda *a, **k: original(*a, **k)._replace(largest=largest)
    )
    assert StepJudge(case, Oracle(problem)).run(run).decided == 0
