"""The check box: in place, one ulp outside is red; frozen, the landing error is green and more is red."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from judged import assert_teaches, judged, small_case
from plant import plant

from sstep_verify.bounds.box import box_bounds, largest_clipped
from sstep_verify.checks import box as check
from sstep_verify.declaration import Declaration
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.solver import ProductionSolver, svm_window
from sstep_verify.verdict import HintKind, Status, Why

LOSSES = [Hinge(0.1), SquaredHinge(2.0)]


@pytest.mark.parametrize("update", ["in-place", "frozen"])
@pytest.mark.parametrize("kernel", [None, PolynomialKernel(3, 1.0)])
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_correct_runs_pass(loss, kernel, update):
    case, tested = small_case(
        loss, kernel, iterations=300, s_values=(1, 16, 64), solver=ProductionSolver(update=update)
    )
    for verdict in judged(check, case, tested).values():
        assert verdict.status is Status.PASS
        assert verdict.executed == verdict.planned
        assert verdict.terms[0].name == "clip dropped"
        assert 1 <= verdict.terms[0].seen <= check.PROBED
        assert np.isinf(verdict.terms[0].detection_limit)
        assert (verdict.bound == 0) == (update == "in-place")


def _outside(case, amount, upper):
    """A change of the trajectory that puts a coordinate outside the box by some amount."""

    def change(run):
        alphas = run.alphas.copy()
        alphas[1, 3] = case.problem.hinge.upper + amount if upper else -amount
        return dataclasses.replace(run, alphas=alphas)

    return change


@pytest.mark.parametrize("upper", [False, True])
def test_one_ulp_outside_fails_in_place(upper):
    case, tested = small_case(Hinge(0.1))
    ulp = float(np.spacing(0.1)) if upper else 5e-324
    for verdict in judged(check, case, tested, change=_outside(case, ulp, upper)).values():
        assert verdict.status is Status.FAIL
        assert verdict.place.coordinate == 3
        assert verdict.requirement == ("S-3.9" if upper else "S-3.8")
        assert_teaches(verdict)


def test_values_that_are_in_the_box_but_for_the_signs_of_labels_are_named():
    case, tested = small_case(Hinge(0.1))

    def signed(run):
        return dataclasses.replace(run, alphas=run.alphas * case.problem.targets)

    for change, hints in ((signed, [HintKind.SIGNED_BY_LABELS]), (_outside(case, 0.05, True), [])):
        for verdict in judged(check, case, tested, change=change).values():
            assert verdict.status is Status.FAIL
            assert [hint.kind for hint in verdict.hints] == hints


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_frozen_the_landing_bound_decides(loss):
    case, tested = small_case(loss, s_values=(16,), solver=ProductionSolver(update="frozen"))
    bound = judged(check, case, tested)[16].bound
    within, beyond = (_outside(case, bound * factor, False) for factor in (0.5, 2.0))
    assert judged(check, case, tested, change=within)[16].status is Status.PASS
    assert judged(check, case, tested, change=beyond)[16].status is Status.FAIL


@pytest.mark.parametrize(
    ("loss", "old", "new"),
    [
        (Hinge(0.1), "min(max(value - slope / curvature, 0.0), upper)", "max(value - slope / curvature, 0.0)"),
        (SquaredHinge(2.0), "min(max(value - slope / curvature, 0.0), upper)", "value - slope / curvature"),
    ],
)  # fmt: skip
def test_a_missing_clip_fails(loss, old, new):
    with plant(svm_window, (old, new)):
        verdicts = judged(check, *small_case(loss))
    assert {verdict.status for verdict in verdicts.values()} == {Status.FAIL}


def test_a_run_that_never_clips_is_vacuous():
    case, tested = small_case(SquaredHinge(2.0), RBFKernel(50.0))
    for verdict in judged(check, case, tested).values():
        assert verdict.status is Status.VACUOUS
        assert verdict.why is Why.NO_EFFECT


def test_a_value_that_is_not_finite_fails():
    case, tested = small_case(Hinge(0.1))
    spoil = lambda run: dataclasses.replace(run, alphas=np.full_like(run.alphas, np.nan))  # noqa: E731
    assert {v.status for v in judged(check, case, tested, change=spoil).values()} == {Status.FAIL}


def test_the_upper_end_is_the_one_that_float32_holds():
    case, tested = small_case(Hinge(0.1), s_values=(4,))
    declared = dataclasses.replace(case.declaration, precision="float32")
    case = dataclasses.replace(case, declaration=declared)
    rounded = float(np.float32(0.1))
    assert rounded > 0.1
    narrow = lambda run: dataclasses.replace(run, alphas=run.alphas.astype(np.float32))  # noqa: E731
    verdict = judged(check, case, tested, change=narrow)[4]
    assert verdict.status is Status.PASS
    assert verdict.measured == verdict.bound == 0


def test_ridge_regression_has_no_box():
    case, tested = small_case(Ridge(0.05))
    assert check.CHECK.runs(case) == {}
    assert judged(check, case, tested, of=()) == {}


def test_the_landing_bound_holds_for_sums_of_many_increments():
    """Land on many random chains of increments, as a frozen update does, and stay within the bound."""
    generator = np.random.Generator(np.random.PCG64(5))
    case, _ = small_case(Hinge(0.7), solver=ProductionSolver(update="frozen"))
    worst = 0.0
    for times in (1, 2, 5, 40):
        bound = box_bounds(case.problem, case.declaration, 64, 64, times)[0]
        for _ in range(300):
            start = generator.uniform(0, 0.7)
            targets = [*generator.uniform(0, 0.7, times - 1).tolist(), float(generator.choice([0.0, 0.7]))]
            total = 0.0
            for target in targets:
                total += target - (start + total)
            worst = max(worst, abs(start + total - targets[-1]) / bound)
    assert 0 < worst <= 1


def test_the_landing_bound_is_that_of_the_start():
    """L2 has no upper end: a run that starts far out adds to large values, and rounds as they do."""
    generator = np.random.Generator(np.random.PCG64(6))
    case, _ = small_case(SquaredHinge(0.5), solver=ProductionSolver(update="frozen"))
    far = generator.uniform(0, 1e7, case.problem.samples)
    near, bound = (box_bounds(case.problem, case.declaration, 3, 3, 3, start)[0] for start in (None, far))
    worst = 0.0
    for start in np.repeat(far, 10).tolist():
        total = 0.0
        for target in (*generator.uniform(0, 1e7, 2).tolist(), 0.0):
            total += target - (start + total)
        worst = max(worst, abs(start + total))
    assert near < worst <= bound


def test_an_unpromising_problem_has_no_bound():
    case, _ = small_case(SquaredHinge(1e12), scale=1e3, solver=ProductionSolver(update="frozen"))
    assert box_bounds(case.problem, case.declaration, 16, 10**6, 3) == (np.inf, np.inf)


def test_from_zero_values_are_bounded_whatever_the_kernel_entries():
    """Nothing is multiplied by one that overflows; from elsewhere no bound is known then, nor is it NaN."""
    problem = Problem(
        "large", np.array([[1e200], [1.0]]), np.array([1.0, -1.0]), LinearKernel(), SquaredHinge(0.5)
    )
    for initial in (None, np.zeros(2)):
        assert largest_clipped(problem, initial) == pytest.approx(6 * 0.5 * np.sqrt(2), rel=2**-20)
    for initial in (np.array([0.0, 0.25]), np.array([0.0, -0.25]), np.array([0.0, 5e-324])):
        assert largest_clipped(problem, initial) == np.inf
    tiny = dataclasses.replace(problem, loss=SquaredHinge(1e-300))
    assert largest_clipped(tiny, np.full(2, 1e10)) == np.inf
    for update in ("in-place", "added", "frozen"):
        bounds = box_bounds(problem, Declaration("large", update=update), 2, 4, 2, np.zeros(2))
        assert not np.isnan(bounds).any()


def test_what_rounding_gains_may_be_beyond_float64():
    data, signs = np.array([[1e100], [1.0]]), np.array([1.0, -1.0])
    problem = Problem("large", data, signs, LinearKernel(), SquaredHinge(1e30))
    for precision in ("float32", "float64"):
        declared = Declaration("large", update="frozen", precision=precision)
        assert box_bounds(problem, declared, 2, 4, 2, np.ones(2)) == (np.inf, np.inf)


def test_what_a_run_without_the_clip_would_do_is_said_of_what_was_looked_at():
    """The effect is a lower bound, on some of the coordinates: another may leave the box by more."""
    case, tested = small_case(Hinge(0.1), s_values=(4,), samples=40, iterations=400)
    loose = dataclasses.replace(case, claims={"box": 1e3})
    verdict = judged(check, loose, tested)[4]
    assert verdict.status is Status.VACUOUS
    assert verdict.why is Why.WITHIN_BOUND
    assert 0 < verdict.terms[0].largest < 1
