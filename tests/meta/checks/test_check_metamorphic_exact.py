"""The check metamorphic-exact: red where a defect is planted, green without it, VACUOUS where blind."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from metamorphic_runs import S_VALUES, judged, make_case, make_runs, statuses
from plant import plant

from sstep_verify.checks import metamorphic_exact
from sstep_verify.checks.metamorphic import relations, scaling_range
from sstep_verify.checks.metamorphic.relations import metamorphic_key
from sstep_verify.checks.metamorphic_exact import compare_bits
from sstep_verify.problems import Hinge, LinearKernel, PolynomialKernel, RBFKernel, Ridge, SquaredHinge
from sstep_verify.problems.transforms import scale_data
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver, ridge_window, svm_window
from sstep_verify.solver.panels import panel as kernel_functions
from sstep_verify.trajectory import Trajectory
from sstep_verify.verdict import Status, Why

KERNELS = [LinearKernel(), PolynomialKernel(3, 0.0), PolynomialKernel(2, 1.5), RBFKernel(0.13)]
LOSSES = [(Hinge(0.5), 1), (SquaredHinge(2.0), 1), (Ridge(0.05), 1), (Ridge(0.05), 3)]
SOLVERS = {
    "in-place": ProductionSolver,
    "frozen": lambda: ProductionSolver(update="frozen"),
    "gram kept": lambda: ProductionSolver(keep_gram=True),
}


@pytest.mark.parametrize(
    ("loss", "block", "kernel", "name", "sparse"),
    [
        pytest.param(
            *loss, kernel, name, sparse, marks=[pytest.mark.nightly] * ((one + two + three + four) % 2)
        )
        for one, loss in enumerate(LOSSES)
        for two, kernel in enumerate(KERNELS)
        for three, name in enumerate(SOLVERS)
        for four, sparse in enumerate((False, True))
    ],
)
def test_a_correct_solver_agrees_in_every_bit(loss, block, kernel, name, sparse):
    make = SOLVERS[name]
    case = make_case(loss, kernel, block, make(), sparse=sparse)
    svm, raised = case.problem.is_svm, isinstance(kernel, PolynomialKernel)
    found = judged(metamorphic_exact, case, make)
    assert set(found) == (set() if svm and raised else set(S_VALUES))
    for verdict in found.values():
        assert verdict.status is Status.PASS, verdict.reason
        assert verdict.measured == verdict.bound == 0
        left_out = sum(term.planned for term in verdict.terms if not term.decided)
        assert (left_out > 0) == raised
        assert verdict.executed == verdict.planned - left_out > 0
        assert verdict.replay == "again"
        expected = {"data-up", "data-down"} | (set() if svm else {"targets-up", "targets-down"})
        assert set(statuses(verdict)) == expected


GATE = ("if increment == 0.0:", "if abs(increment) <= 1e-14:")
PLANTED = {
    "absolute gate on the step": (Hinge(0.5), None, svm_window, GATE, {"data-up"}),
    "constant added to the curvature": (
        SquaredHinge(2.0), None, svm_window,
        ("curvature = row[places[place]] + shift", "curvature = row[places[place]] + shift + 1e-12"),
        {"data-up", "data-down"},
    ),
    "absolute floor of a distance": (
        Hinge(0.5), RBFKernel(0.13), kernel_functions, ("max(distance, 0.0)", "max(distance, 1e-12)"),
        {"data-down"},
    ),
    "jitter on the kernel": (
        Ridge(0.05), None, ridge_window,
        ("row[places[other]] / penalty", "(row[places[other]] + 1e-10) / penalty"),
        {"data-up", "data-down"},
    ),
    "constant added to the residual": (
        Ridge(0.05), None, ridge_window,
        ("rhs[place] = target -", "rhs[place] = 1e-12 + target -"),
        {"targets-up", "targets-down"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_defect_is_seen_by_the_relations_made_for_it(name):
    loss, kernel, module, edit, seen = PLANTED[name]
    case = make_case(loss, kernel)
    assert {verdict.status for verdict in judged(metamorphic_exact, case).values()} == {Status.PASS}
    with plant(module, edit):
        verdicts = judged(metamorphic_exact, case)
    for s in S_VALUES:
        assert verdicts[s].status is Status.FAIL
        assert seen <= set(verdicts[s].evidence["failed"])
        assert verdicts[s].ratio == np.inf
        assert verdicts[s].bound == 0
        assert verdicts[s].place.run.removeprefix("run ") in verdicts[s].evidence["failed"]


def test_a_gate_on_the_gradient_of_a_ksvm_is_not_seen_by_any_of_these_relations():
    # The gradient has the same value in all of these runs, so no relation claims to see this.
    with plant(svm_window, ("if increment == 0.0:", "if abs(slope) <= 1e-3:")):
        verdicts = judged(metamorphic_exact, make_case(Hinge(0.5)))
    assert {verdict.status for verdict in verdicts.values()} == {Status.PASS}


def test_where_every_step_is_clipped_no_constant_could_show():
    case = make_case(Hinge(1e-6), short=2)
    verdict = judged(metamorphic_exact, case)[4]
    assert verdict.status is Status.VACUOUS
    terms = {term.name: term for term in verdict.terms}
    assert terms["data-up"].why is Why.NO_EFFECT


def test_distances_that_do_not_act_are_vacuous():
    terms = statuses(judged(metamorphic_exact, make_case(SquaredHinge(2.0), RBFKernel(1e4)))[4])
    assert terms["data-up"] is terms["data-down"] is Status.VACUOUS


def test_what_does_not_apply_says_why():
    verdict = judged(metamorphic_exact, make_case(Ridge(0.5), PolynomialKernel(3, 0.0)))[4]
    terms = {term.name: term for term in verdict.terms}
    assert terms["data-up"].why is Why.NOT_APPLICABLE
    assert verdict.status is Status.PASS
    assert verdict.terms[0].name == "targets-up"
    assert verdict.executed < verdict.planned


@pytest.mark.parametrize("loss", [Hinge(2.0**1000), Ridge(1e-307)])
def test_an_input_without_room_is_not_judged(loss):
    case = make_case(loss, scale=2.0**-512)
    terms = {term.name: term for term in judged(metamorphic_exact, case)[4].terms}
    for name in ("data-up", "data-down"):
        assert terms[name].status is Status.VACUOUS
        assert terms[name].why is Why.OUT_OF_RANGE


def test_without_the_rule_on_room_a_correct_solver_would_be_blamed():
    case = make_case(Ridge(1e-307), scale=2.0**-512)
    changed = scale_data(case.problem, case.stream, 20)
    plain, moved = (
        ProductionSolver().run(RunRequest(problem, case.stream, 4, 75)).final
        for problem in (case.problem, changed.problem)
    )
    assert not np.array_equal(changed.back(moved), plain)


def test_smaller_powers_are_chosen_where_the_range_is_short():
    case = make_case(Hinge(0.5))
    short = dataclasses.replace(
        case, declaration=dataclasses.replace(case.declaration, precision="float32")
    )
    claims = {item.name: item.claim for item in relations.same_bits(short)}
    assert claims["data-up"] == "data times 2**16"
    claims = {item.name: item.claim for item in relations.same_bits(case)}
    assert claims["data-down"] == "data times 2**-32"


def test_a_value_that_is_not_finite_fails():
    case = make_case(Hinge(0.5))
    runs = make_runs(metamorphic_exact, case)
    key = metamorphic_key(4, "data-up")
    spoiled = runs[key].alphas.copy()
    spoiled[-1, 0] = np.nan
    runs[key] = dataclasses.replace(runs[key], alphas=spoiled)
    verdict = {v.s: v for v in metamorphic_exact.judge(case, runs, None)}[4]
    assert verdict.status is Status.FAIL
    assert verdict.evidence["failed"] == ["data-up"]


@given(st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=1, max_size=4))
def test_the_last_bit_divides_every_value_and_no_larger_one_does(values):
    array = np.array(values)
    q = scaling_range.last_bit(array)
    if not array.any():
        assert q == 0
        return

    def divides(exponent):
        return all((Fraction(value) / Fraction(2) ** exponent).denominator == 1 for value in values)

    assert divides(q)
    assert not divides(q + 1)


@given(st.lists(st.floats(-1e300, 1e300, allow_subnormal=False), min_size=1, max_size=4))
def test_a_span_holds_every_nonzero_value(values):
    found = scaling_range.span(np.array(values))
    assert all(2.0**found.low <= abs(value) < 2.0**found.high for value in values if value)


def test_a_difference_that_no_float64_holds_is_one():
    states = np.array([[0.0], [np.longdouble("1e-400")]])
    run = Trajectory(1, 0, np.array([0, 1]), states)
    other = np.nextafter(states, np.longdouble(1))
    found = compare_bits("data-up", run, np.array([1]), [other[1]])
    assert found.measured > 0.0
    assert (found.place.end, found.place.coordinate) == (1, 0)
    assert compare_bits("data-up", run, np.array([1]), [states[1]]).measured == 0.0
