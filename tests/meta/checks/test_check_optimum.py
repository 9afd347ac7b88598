"""The check optimum: a run that stops where it says passes, one that stops short fails, a cap is no claim."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from judged import assert_teaches, judged, small_case
from plant import plant

from sstep_verify.checks import optimum as check
from sstep_verify.checks.shared.case import plain_request
from sstep_verify.errors import OracleDisagreementError
from sstep_verify.measures import GapMeasure, relative_error
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, PolynomialKernel, RBFKernel, Ridge, SquaredHinge
from sstep_verify.solver import ridge_window, svm_window
from sstep_verify.trajectory import GIVEN
from sstep_verify.verdict import NoteKind, Status, Why

LOSSES = [(Hinge(0.5), 1), (SquaredHinge(2.0), 1), (Ridge(0.05), 3)]
TOLERANCE = 2.0**-27
"""Claim of the runs of these tests; any value above the attainable one serves."""


def _converging(loss, block, claims=None, tolerance=TOLERANCE, **options):
    """A case that claims a tolerance, its solver, and an observer that ends a run there."""
    case, tested = small_case(
        loss,
        RBFKernel(0.3),
        block=block,
        iterations=3000,
        claims=claims or {"tolerance": tolerance},
        **options,
    )
    oracle = Oracle(case.problem)
    if case.problem.is_svm:
        measure, scale = GapMeasure(case.problem), oracle.svm_optimum(case.problem).value_lower
        return case, tested, lambda iteration, alpha: measure(alpha).gap <= tolerance * scale
    exact = oracle.ridge_optimum(case.problem).alpha
    return case, tested, lambda iteration, alpha: relative_error(alpha, exact) <= tolerance


@pytest.mark.parametrize(("loss", "block"), LOSSES)
def test_converged_runs_pass(loss, block):
    case, tested, observe = _converging(loss, block)
    verdicts = judged(check, case, tested, observe=observe)
    assert sorted(verdicts) == [1, 4, 16]
    for verdict in verdicts.values():
        assert verdict.status is Status.PASS
        assert verdict.executed == verdict.planned == 1
        assert verdict.terms[0].status is Status.PASS
    if isinstance(loss, Hinge):
        assert "unique" in verdicts[1].evidence["solution"]


@pytest.mark.parametrize(("loss", "block"), LOSSES)
def test_a_run_that_claims_more_than_it_reached_fails(loss, block):
    case, tested, observe = _converging(loss, block)
    early = dataclasses.replace(case, claims={"tolerance": TOLERANCE**1.5})
    for verdict in judged(check, early, tested, observe=observe).values():
        assert verdict.status is Status.FAIL
        assert verdict.requirement == "S-5.6"
        assert_teaches(verdict)

    def handed_over(run):
        return dataclasses.replace(run, stopped=GIVEN)

    given = judged(check, early, tested, handed_over, observe)[4]
    assert given.status is Status.FAIL
    assert given.requirement == ""  # It says nothing of itself, so that it violates nothing on claims.
    assert NoteKind.RELATIVE in [note.kind for note in given.notes]


def test_a_vector_that_is_handed_over_breaks_no_sentence_but_one_that_explains_it():
    case, tested, observe = _converging(Hinge(0.5), 1)

    def not_finite(run):
        return dataclasses.replace(run, stopped=GIVEN, alphas=run.alphas * np.nan)

    assert judged(check, case, tested, not_finite, observe)[4].requirements == ()

    def with_the_labels_inside(run):
        inside = case.problem.targets[:, None] * case.problem.dense
        other = dataclasses.replace(case.problem, data=inside)
        exact = Oracle(other).svm_optimum(other).alpha
        return dataclasses.replace(run, stopped=GIVEN, alphas=exact[None], iterations=run.iterations[-1:])

    found = judged(check, case, tested, with_the_labels_inside, observe)[4]
    assert found.status is Status.FAIL
    assert found.requirements == ("S-1.2",)


@pytest.mark.parametrize(
    ("loss", "block", "module", "old", "new"),
    [
        (SquaredHinge(2.0), 1, svm_window, "gradient[place] + shift * value", "gradient[place]"),
        (Ridge(0.05), 3, ridge_window, "- samples * value - product", "- product"),
    ],
)  # fmt: skip
def test_another_problem_than_the_declared_one_fails(loss, block, module, old, new):
    with plant(module, (old, new)):
        case, tested, _ = _converging(loss, block)
        verdicts = judged(check, case, tested, observe=lambda iteration, alpha: iteration >= 2000)
    assert {verdict.status for verdict in verdicts.values()} == {Status.FAIL}


def test_a_cap_is_no_claim():
    case, tested, _ = _converging(Hinge(0.5), 1)
    assert judged(check, case, tested, of=()) == {}
    unclaimed = dataclasses.replace(case, claims={})
    assert judged(check, unclaimed, tested, observe=lambda iteration, alpha: iteration > 100, of=()) == {}


def test_absolute_claims_are_taken_as_they_are():
    for loss, name in ((Hinge(0.5), "gap"), (Ridge(0.05), "residual")):
        case, tested, observe = _converging(loss, 1, claims={name: 0.5})
        assert {v.status for v in judged(check, case, tested, observe=observe).values()} == {Status.PASS}
        strict = dataclasses.replace(case, claims={name: 0.0})
        assert {v.status for v in judged(check, strict, tested, observe=observe).values()} == {Status.FAIL}


@pytest.mark.parametrize(("loss", "block"), LOSSES)
def test_a_claim_that_the_start_would_meet_is_vacuous(loss, block):
    case, tested, observe = _converging(loss, block, claims={"tolerance": 100.0})
    for verdict in judged(check, case, tested, observe=observe).values():
        assert verdict.status is Status.VACUOUS
        assert verdict.why is Why.WITHIN_BOUND


@pytest.mark.parametrize(("loss", "block"), LOSSES)
def test_a_run_from_a_start_that_meets_the_claim_is_vacuous(loss, block):
    case, tested, observe = _converging(loss, block)
    end = tested.run(plain_request(case, 1), observe).final
    begun = dataclasses.replace(case, initial=end)
    for verdict in judged(check, begun, tested, observe=observe).values():
        assert verdict.status is Status.VACUOUS
        assert verdict.why is Why.WITHIN_BOUND
    far = dataclasses.replace(case, initial=end / 2)
    for verdict in judged(check, far, tested, observe=observe).values():
        assert verdict.status is Status.PASS


def test_the_gap_is_that_of_the_point_moved_into_the_box():
    case, tested, observe = _converging(Hinge(0.5), 1)

    def beside(run):
        alphas = run.alphas.copy()
        alphas[-1][alphas[-1] == 0.5] += 2.0**-50
        assert (alphas[-1] > 0.5).any()
        return dataclasses.replace(run, alphas=alphas)

    assert {v.status for v in judged(check, case, tested, beside, observe).values()} == {Status.PASS}


def test_longdouble_vectors_are_judged_in_balls():
    case, tested, observe = _converging(Hinge(0.5), 1)

    def wide(run):
        return dataclasses.replace(
            run, alphas=run.alphas.astype(np.longdouble) * (1 - np.longdouble(2) ** -60)
        )

    for verdict in judged(check, case, tested, wide, observe).values():
        assert verdict.status is Status.PASS
        assert verdict.evidence.get("enclosed_in", "balls") == "balls"


def test_a_duplicated_sample_leaves_the_solution_open():
    case, tested, _ = _converging(Hinge(5.0), 1, features=2, samples=14)
    data = case.problem.dense.copy()
    data[1] = data[2] = data[4]  # equal labels too: rows 1, 2 and 4
    problem = dataclasses.replace(case.problem, data=data, kernel=PolynomialKernel(2, 1.0))
    case = dataclasses.replace(case, problem=problem, claims={"tolerance": 1.0})
    found = judged(check, case, tested, observe=lambda iteration, alpha: iteration >= 2000)
    assert "not proved unique" in found[1].evidence["solution"]


def test_a_point_better_than_the_optimum_is_an_oracle_disagreement(monkeypatch):
    case, tested, observe = _converging(Hinge(0.5), 1)
    oracle = Oracle(case.problem)
    true = oracle.svm_optimum(case.problem)
    lower = dataclasses.replace(true, value_upper=true.value_lower / 2)
    monkeypatch.setattr(oracle, "svm_optimum", lambda problem: lower)
    runs = {key: tested.run(request, observe) for key, request in check.CHECK.runs(case).items()}
    with pytest.raises(OracleDisagreementError, match="above the certified"):
        check.CHECK.judge(case, runs, oracle)


def test_a_point_farther_from_the_optimum_than_its_residual_allows_is_one_too(monkeypatch):
    case, tested, observe = _converging(Ridge(0.05), 3)
    oracle = Oracle(case.problem)
    true = oracle.ridge_optimum(case.problem)
    moved = dataclasses.replace(true, alpha=true.alpha + 2.0**-20)
    runs = {key: tested.run(request, observe) for key, request in check.CHECK.runs(case).items()}
    monkeypatch.setattr(oracle, "ridge_optimum", lambda problem: moved)
    with pytest.raises(OracleDisagreementError, match="from the certified a"):
        check.CHECK.judge(case, runs, oracle)


def test_a_value_that_is_not_finite_fails():
    for loss, block in LOSSES:
        case, tested, observe = _converging(loss, block)
        spoil = lambda run: dataclasses.replace(run, alphas=np.full_like(run.alphas, np.nan))  # noqa: E731
        assert {v.status for v in judged(check, case, tested, spoil, observe).values()} == {Status.FAIL}


@pytest.mark.parametrize(("loss", "block"), LOSSES)
def test_a_start_beyond_its_bound_by_less_than_twice_is_not_said_to_be_within_it(loss, block):
    case, tested, observe = _converging(loss, block)
    sharp = judged(check, case, tested, observe=observe)[4]
    # The relative error of the start, of which two thirds are claimed.
    effect = sharp.bound * sharp.terms[0].largest
    name = "gap" if case.problem.is_svm else "residual"
    scale = 1 if case.problem.is_svm else case.problem.samples
    loose = dataclasses.replace(case, claims={name: effect * scale / 1.5})
    verdict = judged(check, loose, tested, observe=observe)[4]
    assert verdict.status is Status.VACUOUS
    assert verdict.bound < effect < 2 * verdict.bound
    assert 1 < verdict.terms[0].largest < 2


def test_a_vector_that_was_moved_into_the_box_is_said_to_have_been():
    case, tested, observe = _converging(Hinge(0.5), 1)

    def outside(run):
        alphas = run.alphas.copy()
        alphas[-1, np.argmin(alphas[-1])] = -1e-300
        return dataclasses.replace(run, alphas=alphas)

    assert judged(check, case, tested, observe=observe)[4].notes == ()
    moved = judged(check, case, tested, change=outside, observe=observe)[4]
    assert [note.kind for note in moved.notes] == [NoteKind.MOVED]
