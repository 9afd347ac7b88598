"""The check metamorphic-bounded: red where a defect is planted, green without it, VACUOUS where blind."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from metamorphic_runs import judged, make_case, make_runs, statuses
from plant import plant

from sstep_verify.checks import metamorphic_bounded, metamorphic_exact
from sstep_verify.checks.metamorphic.relations import metamorphic_key
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import (
    Hinge,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.protocol import RunRequest
from sstep_verify.solver import ProductionSolver, ridge_window, svm_window
from sstep_verify.solver import run as run_module
from sstep_verify.solver.panels import panel as kernel_functions
from sstep_verify.solver.panels import products
from sstep_verify.verdict import Status

LOSSES = [(Hinge(0.5), 1), (SquaredHinge(2.0), 1), (Ridge(0.05), 1), (Ridge(0.05), 3)]
VARIANTS = {
    "gram": lambda: ProductionSolver(keep_gram=True),
    "frozen": lambda: ProductionSolver(update="frozen"),
}
DECLARED = {name: make().declaration for name, make in VARIANTS.items()}


@pytest.mark.parametrize("kernel", [LinearKernel(), PolynomialKernel(3, 0.0), RBFKernel(0.13)])
@pytest.mark.parametrize(("loss", "block"), LOSSES)
def test_a_correct_solver_stays_within_the_sum_of_two_bounds(loss, block, kernel):
    case = make_case(loss, kernel, block, variants=DECLARED)
    for verdict in judged(metamorphic_bounded, case, variants=VARIANTS).values():
        assert verdict.status is Status.PASS, verdict.reason
        assert verdict.ratio <= 1
        assert verdict.executed == verdict.planned > 0
        assert ("M-norm" in verdict.units) == isinstance(loss, Ridge)
        assert set(verdict.evidence["ratios"]) == {
            "relabelling", "zero-columns", "features", "variant-gram", "variant-frozen",
        }  # fmt: skip
        assert set(statuses(verdict).values()) == {Status.PASS}
        assert all(term.detection_limit < 1 for term in verdict.terms)


def test_a_window_of_krr_is_compared_coordinate_by_coordinate_as_window_replay_does():
    # An error in a single coordinate: half of the bound in the M-norm, four times that of the coordinate.
    case = make_case(Ridge(0.05), RBFKernel(0.13), 3)
    runs, key = make_runs(metamorphic_bounded, case), metamorphic_key(4, "zero-columns", 0)
    right = {v.s: v for v in metamorphic_bounded.judge(case, runs, Oracle(case.problem))}[4]
    spoiled, coordinate = runs[key].alphas.copy(), int(case.stream.blocks(0, 1)[0, 0])
    spoiled[-1, coordinate] += 2.0**-47
    runs[key] = dataclasses.replace(runs[key], alphas=spoiled)
    verdict = {v.s: v for v in metamorphic_bounded.judge(case, runs, Oracle(case.problem))}[4]
    assert (right.status, verdict.status) == (Status.PASS, Status.FAIL)
    assert verdict.evidence["failed"] == ["zero-columns"]


def test_the_relations_are_not_bitwise():
    # Were they, the bounds would be of no use here, and the relations would belong to the other check.
    verdicts = judged(metamorphic_bounded, make_case(Hinge(0.5), RBFKernel(0.13), samples=40))
    assert max(verdict.evidence["ratios"]["relabelling"] for verdict in verdicts.values()) > 0


PLANTED = {
    "label of a place": (
        Hinge(0.5), svm_window, ("signs[later] * row", "labels[later % labels.size] * row"),
        {"relabelling"},
    ),
    "target of a place": (
        Ridge(0.05), ridge_window,
        ("targets[block[place]], alpha", "targets[place % targets.size], alpha"),
        {"relabelling"},
    ),
    "divided by the number of features": (
        Hinge(0.5), products,
        (
            "few_products(self._by_feature, self._data, columns, panel, first)",
            "few_products(self._by_feature, self._data / self._data.shape[1], columns, panel, first)",
        ),
        {"zero-columns"},
    ),
    "last feature lost": (
        Ridge(0.05), products, ("self._by_feature = np.ascontiguousarray(self._data.T)", "self._by_feature = np.ascontiguousarray(self._data.T) * (np.arange(data.shape[1]) + 1 < data.shape[1])[:, None]"),
        {"zero-columns", "features"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_defect_is_seen_by_the_relations_made_for_it(name):
    loss, module, edit, seen = PLANTED[name]
    case = make_case(loss, seed=3)
    assert {verdict.status for verdict in judged(metamorphic_bounded, case).values()} == {Status.PASS}
    with plant(module, edit):
        verdict = judged(metamorphic_bounded, case)[16]
    assert verdict.status is Status.FAIL
    assert seen <= set(verdict.evidence["failed"])
    assert verdict.ratio > 1
    assert all(word in verdict.reason for word in ("measured", "bound", "Likely causes"))


def test_a_cache_filled_by_another_problem_is_seen():
    case = make_case(Hinge(0.5), variants={"gram": DECLARED["gram"]})
    other = Problem("other", case.problem.dense + 1.0, case.problem.targets, LinearKernel(), Hinge(0.5))

    def used_before():
        kept = ProductionSolver(keep_gram=True)
        kept.run(RunRequest(other, case.stream, 4, 8))
        return kept

    assert judged(metamorphic_bounded, case, variants={"gram": used_before})[4].status is Status.PASS
    with plant(run_module, (" and self._gram[0] == request.problem.digest", "")):
        kept = run_module.ProductionSolver

        def used_before_planted():
            made = kept(keep_gram=True)
            made.run(RunRequest(other, case.stream, 4, 8))
            return made

        verdict = judged(metamorphic_bounded, case, variants={"gram": used_before_planted})[4]
    assert verdict.evidence["failed"] == ["variant-gram"]


def test_a_power_by_pow_is_judged_within_bounds_where_bits_need_not_agree():
    power = (
        "        for _ in range(degree - 1):\n"
        "            for column in range(values.size):\n"
        "                values[column] *= base[column]\n",
        "        values[:] = np.power(base, float(degree))\n",
    )
    case = make_case(Ridge(0.05), PolynomialKernel(3, 0.5))
    case = dataclasses.replace(case, declaration=dataclasses.replace(case.declaration, power="pow"))
    with plant(kernel_functions, power):
        bounded = judged(metamorphic_bounded, case)
        exact = judged(metamorphic_exact, case)
    for s, verdict in bounded.items():
        assert verdict.status is Status.PASS
        assert statuses(verdict)["data-scaled"] is Status.PASS
        assert verdict.evidence["relations"]["data-scaled"] == "data times 2**5"
        assert statuses(exact[s])["data-up"] is Status.VACUOUS


def test_scaled_steps_give_a_bound_that_scales():
    case = make_case(Hinge(0.5), PolynomialKernel(3, 0.0))
    case = dataclasses.replace(case, declaration=dataclasses.replace(case.declaration, power="pow"))
    gate = ("curvature = row[places[place]] + shift", "curvature = row[places[place]] + shift + 1e-6")
    assert {v.status for v in judged(metamorphic_bounded, case).values()} == {Status.PASS}
    with plant(svm_window, gate):
        assert judged(metamorphic_bounded, case)[16].evidence["failed"] == ["data-scaled"]


def test_a_diagonal_kernel_is_vacuous():
    for verdict in judged(metamorphic_bounded, make_case(Hinge(1.0), RBFKernel(1e4))).values():
        assert verdict.status is Status.VACUOUS
        assert "lost contributions" in verdict.terms[0].reason


def test_a_transformation_that_changes_nothing_is_vacuous():
    case = make_case(Hinge(0.5))
    narrow = Problem("narrow", case.problem.dense[:, :1], case.problem.targets, LinearKernel(), Hinge(0.5))
    verdict = judged(metamorphic_bounded, dataclasses.replace(case, problem=narrow))[16]
    terms = {term.name: term for term in verdict.terms}
    assert terms["features"].status is Status.VACUOUS
    assert "equals the original" in terms["features"].reason
    assert terms["relabelling"].status is Status.PASS


@pytest.mark.parametrize("value", [0.25, np.nan])
def test_a_spoiled_end_fails(value):
    case = make_case(Hinge(0.5), samples=40)
    runs = make_runs(metamorphic_bounded, case)
    key = metamorphic_key(4, "zero-columns", 0)
    drawn = set(case.stream.blocks(0, 4).ravel().tolist())
    spoiled = runs[key].alphas.copy()
    spoiled[-1, next(i for i in range(40) if i not in drawn)] = value
    runs[key] = dataclasses.replace(runs[key], alphas=spoiled)
    verdict = {v.s: v for v in metamorphic_bounded.judge(case, runs, Oracle(case.problem))}[4]
    assert verdict.status is Status.FAIL
    assert verdict.evidence["failed"] == ["zero-columns"]
    assert "not drawn" in verdict.reason


def test_a_window_above_the_replay_limit_gets_no_verdict():
    case = make_case(Ridge(0.05), block=3, replay_limit=12 * 12 - 1)
    assert sorted(judged(metamorphic_bounded, case, of=(1,))) == [1]
