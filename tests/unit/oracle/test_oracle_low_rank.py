"""Searches that use the low rank of a kernel: they prove nothing, so they are compared with each other."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sstep_reference.arithmetic import Balls

from sstep_verify.oracle.balls.objectives import objectives
from sstep_verify.oracle.certificate.certify import certify, propose, prove
from sstep_verify.oracle.search import low_rank, primal_newton, svm
from sstep_verify.oracle.search.active_set import BallDual, Polisher
from sstep_verify.oracle.search.interior_point import interior_point
from sstep_verify.oracle.search.low_rank import LowRankSystem
from sstep_verify.oracle.verify.certificate import verify_certificate
from sstep_verify.oracle.verify.record import Interval
from sstep_verify.oracle.verify.svm import SvmProof
from sstep_verify.problems import LinearKernel, PolynomialKernel, Problem, Ridge, SquaredHinge

ARITHMETIC = Balls(192)
KERNELS = [LinearKernel(), PolynomialKernel(), PolynomialKernel(2, 0.5)]


def _problem(kernel, C: float, scales=(1.0, 30.0, 300.0), m: int = 60) -> Problem:
    generator = np.random.default_rng(5)
    data = np.abs(generator.standard_normal((m, 3))) * np.array(scales)
    return Problem("unscaled", data, np.sign(generator.standard_normal(m)), kernel, SquaredHinge(C))


def value_of(dual: BallDual, point):
    """Enclosure of the dual value at a point, given in balls or decimals."""
    with dual.arithmetic.working():
        exact = [dual.arithmetic.from_fraction(Fraction(x)) if isinstance(x, str) else x for x in point]
        return objectives(dual.problem, dual.arithmetic, exact, dual.products(exact)).dual


def _formed_only(monkeypatch) -> None:
    monkeypatch.setattr(low_rank, "MOST_REFINEMENTS", 0)


@pytest.mark.parametrize("C", [0.1, 1e3])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_newton_on_the_primal_finds_what_the_interior_point_method_finds(kernel, C):
    problem = _problem(kernel, C)
    with ARITHMETIC.working():
        system = LowRankSystem(problem, ARITHMETIC)
        newton = primal_newton.primal_newton(system)
        interior = interior_point(system, np.inf)
    assert newton.finished
    assert interior.finished
    np.testing.assert_array_equal(newton.at_zero, interior.at_zero)
    # The interior point's distance is about the root of its gap, 1e-20: both are the same up to float64.
    largest = np.abs(interior.alpha).max()
    assert np.abs(newton.alpha - interior.alpha).max() <= 2.0**-52 * largest


def test_newton_ends_where_margins_are_tied_exactly():
    """The optimal w is 4C / (1 + 4C) = 2/3, whose product with 1.5 is 1, and no float is 2/3."""
    data = np.array([[1.0], [1.0], [1.5], [1.5], [3.0]])
    problem = Problem("tied", data, np.ones(5), LinearKernel(), SquaredHinge(0.5))
    with ARITHMETIC.working():
        found = primal_newton.primal_newton(LowRankSystem(problem, ARITHMETIC))
    assert found.finished
    np.testing.assert_array_equal(found.alpha.astype(np.float32), np.float32([1 / 3, 1 / 3, 0, 0, 0]))
    assert certify(problem, 30).statuses == ("free", "free", "undecided", "undecided", "zero")


def test_newton_cut_short_says_so_and_another_search_takes_over(monkeypatch):
    problem = _problem(PolynomialKernel(), 10.0)
    whole, _, method, _ = svm.search(problem, svm.TARGET, (300, 600))
    assert method == svm.PRIMAL_METHOD
    monkeypatch.setattr(primal_newton, "MOST_STEPS", 1)
    other, _, method, _ = svm.search(problem, svm.TARGET, (300, 600))
    assert method in (svm.FLOAT_METHOD, svm.EXTENDED_METHOD)
    for point in (whole, other):
        assert SvmProof(problem, point, Balls(664)).relative_width() <= svm.TARGET
    dual = BallDual(problem, Balls(600))
    assert value_of(dual, other).overlaps(value_of(dual, whole))


def test_refined_and_formed_systems_have_the_same_solutions(monkeypatch):
    problem = _problem(PolynomialKernel(), 10.0)
    weights = 10.0 ** np.random.default_rng(2).uniform(-6, 2, problem.samples)
    rhs = np.array([ARITHMETIC.number(float(k % 5 - 2)) for k in range(problem.samples)], dtype=object)
    weights = np.array([ARITHMETIC.number(x) for x in weights.tolist()], dtype=object)
    found = []
    with ARITHMETIC.working():
        for formed_only in (False, True):
            if formed_only:
                _formed_only(monkeypatch)
            system = LowRankSystem(problem, ARITHMETIC)
            solution = system.solver(weights)(rhs)
            residual = system.product(solution) + weights * solution - rhs
            # Half of the bits, whatever the condition of these weights takes away.
            assert max(abs(float(value)) for value in residual) <= 2.0**-96
            found.append([float(value) for value in solution])
    # Both are rounded to float64, nothing else differs in 53 bits.
    np.testing.assert_allclose(found[0], found[1], rtol=2 * 2.0**-53)


def test_a_refinement_that_does_not_converge_is_not_used(monkeypatch):
    """The planted defect: a factor of another matrix. The solution comes from the matrix itself."""
    problem = _problem(LinearKernel(), 10.0)
    genuine = low_rank.scipy.linalg.cho_factor
    monkeypatch.setattr(
        low_rank.scipy.linalg, "cho_factor", lambda matrix, **options: genuine(3 * matrix, **options)
    )
    rhs = np.array([ARITHMETIC.number(1.0)] * problem.samples, dtype=object)
    with ARITHMETIC.working():
        system = LowRankSystem(problem, ARITHMETIC)
        solution = system.solver(rhs)(rhs)
        residual = system.product(solution) + solution - rhs
    assert max(abs(float(value)) for value in residual) <= 2.0**-96


def test_polishing_by_low_rank_agrees_with_the_whole_system(monkeypatch):
    problem = _problem(PolynomialKernel(), 1e3)
    dual = BallDual(problem, Balls(400))
    start = svm.over_low_rank(problem, primal_newton.primal_newton)
    last = []
    for few in (True, False):
        if not few:
            monkeypatch.setattr(Polisher, "_low_rank_solver", lambda self, places: None)
        last.append(list(Polisher(dual, start).points())[-1])
    assert all(width <= svm.TARGET for _, width in last)
    assert value_of(dual, last[0][0]).overlaps(value_of(dual, last[1][0]))


@pytest.mark.parametrize("C", [0.1, 1e3])
def test_a_certificate_found_by_newton_is_proved_again(C):
    problem = _problem(PolynomialKernel(), C)
    certificate = certify(problem, 30)
    assert certificate.how.startswith(svm.PRIMAL_METHOD)
    assert certificate.digits == 30
    verify_certificate(certificate, problem.data, problem.targets)


@pytest.mark.parametrize("loss", [SquaredHinge(1.0), Ridge(0.1)], ids=str)
def test_what_a_maker_claims_too_much_is_stated_by_the_proof_and_said(loss):
    problem = replace(_problem(PolynomialKernel(), 1.0, scales=(0.5, 1.0, 1.0)), loss=loss)
    proposal = propose(problem, 30)
    claim = proposal.certificate
    assert claim.digits == 30
    false = replace(claim, gap=Interval("0", "0"))
    certificate = prove(problem, proposal._replace(certificate=false), 30)
    verify_certificate(certificate, problem.data, problem.targets)
    assert certificate.how == f"{claim.how}; stated by the proof, which refused gap"
    assert certificate.digits == 30
    assert prove(problem, proposal, 30) == claim
