"""Every certificate made is proved by the verifier, before it is handed out and again from its file.

Drawn are the problems at which a maker and a verifier of two minds part: exact ties, samples so far from the
origin that differences vanish next to them, points that move when coordinates are put on their ends.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from exact_optima import exact_values, hessian, is_definite
from sstep_reference.arithmetic import Balls
from test_optima_any_scale import drawn

from sstep_verify.bounds.optimum.ridge import ridge_values
from sstep_verify.bounds.optimum.svm import svm_values
from sstep_verify.declaration import Declaration
from sstep_verify.oracle.certificate import certify as maker
from sstep_verify.oracle.certificate.certify import certify
from sstep_verify.oracle.verify.certificate import verify_certificate
from sstep_verify.oracle.verify.kernel import ball_ends, verifying_arithmetic
from sstep_verify.oracle.verify.record import CertificateError
from sstep_verify.oracle.verify.ridge import RidgeProof
from sstep_verify.problems import Hinge, LinearKernel, Problem, RBFKernel, Ridge, SquaredHinge


def _tied(seed: int) -> Problem:
    """Samples so far apart that K is nearly I: with C = 1 every optimum is nearly at its end."""
    generator = np.random.default_rng(seed)
    data, labels = generator.standard_normal((8, 2)), np.where(generator.random(8) < 0.5, -1.0, 1.0)
    labels[:2] = -1.0, 1.0
    return Problem("tied", data, labels, RBFKernel(float(10 ** generator.uniform(1, 4))), Hinge(1.0))


@pytest.mark.parametrize("seeds", [range(25, 60), (95, *range(100, 130))], ids=["some", "others"])
def test_certificates_of_tied_optima_are_proved_again(seeds):
    for seed in seeds:
        problem = _tied(seed)
        verify_certificate(certify(problem, 30), problem.data, problem.targets)


def test_a_statement_that_is_weaker_than_it_need_be_may_stand():
    problem = Problem("two", np.diag([1.0, 2.0]), np.array([1.0, -1.0]), LinearKernel(), Hinge(0.1))
    certificate = certify(problem, 30)
    assert certificate.statuses == ("upper", "upper")
    weaker = replace(
        certificate, statuses=("undecided", "upper"), remaining="undecided", eigenvalue="", radius=""
    )
    verify_certificate(weaker, problem.data, problem.targets)
    for false in (("zero", "upper"), ("free", "upper")):
        with pytest.raises(CertificateError, match="statuses"):
            verify_certificate(replace(weaker, statuses=false), problem.data, problem.targets)


@pytest.mark.parametrize("digits", [1, 20])
@pytest.mark.parametrize("seed", [506, 1327])
def test_a_status_is_stated_only_where_the_point_is_on_its_end(seed, digits):
    """Here what is proved to be 0 is not put there, as that would spoil the digits."""
    problem = drawn(seed)
    certificate = certify(problem, digits)
    verify_certificate(certificate, problem.data, problem.targets)
    at_zero = [Fraction(text) == 0 for text in certificate.alpha]
    assert all(zero for zero, status in zip(at_zero, certificate.statuses, strict=True) if status == "zero")


@pytest.mark.parametrize("exponent", [133, 136, 139, 141, 144])
def test_no_eigenvalue_is_stated_that_far_samples_do_not_have(exponent):
    """Two samples at a distance of 10**-6 to 10**-2, their norms up to 2**144."""
    generator = np.random.Generator(np.random.PCG64(exponent))
    stated = 0
    for gap in 10.0 ** generator.uniform(-6, -2, 6):
        data = np.array([[2.0**exponent, 0.0], [2.0**exponent, gap]])
        problem = Problem("far", data, np.ones(2), RBFKernel(1.0), Hinge(1.0))
        certificate = certify(problem, 1)
        verify_certificate(certificate, data, problem.targets)
        places = [i for i, status in enumerate(certificate.statuses) if status in ("free", "undecided")]
        if certificate.eigenvalue and places:
            least, H = Fraction(certificate.eigenvalue), hessian(problem)
            assert is_definite([[H[i][j] - (least if i == j else 0) for j in places] for i in places])
            stated += 1
    assert stated or exponent > 141


@pytest.mark.parametrize("loss", [Hinge(1.0), SquaredHinge(1.0), Ridge(0.5)], ids=lambda loss: loss.task)
def test_a_maker_that_states_too_much_hands_nothing_out(loss, monkeypatch):
    generator = np.random.default_rng(1)
    problem = Problem("lie", generator.standard_normal((6, 2)), np.ones(6), RBFKernel(1.0), loss)
    stated = "_svm_stated" if problem.is_svm else "_ridge_stated"
    honest = getattr(maker, stated)

    def lying(*given):
        certificate = honest(*given)
        return replace(certificate, radius=f"{float(certificate.radius) / 1e30:.6e}")

    certify(problem, 20)
    monkeypatch.setattr(maker, stated, lying)
    with pytest.raises(CertificateError, match="radius"):
        certify(problem, 20)


def test_no_digit_is_no_statement():
    problem = Problem("wide", np.array([[1.0], [2.0]]), np.array([1.0, -1.0]), LinearKernel(), Ridge(1.0))
    certificate = certify(problem, 20)
    wide = replace(certificate, radius="1e9", digits=0)
    verify_certificate(wide, problem.data, problem.targets)
    with pytest.raises(CertificateError, match="digits"):
        verify_certificate(replace(wide, digits=1), problem.data, problem.targets)


def test_digits_are_of_the_least_that_the_norm_may_be():
    problem = Problem("third", np.eye(3), np.array([1.0, 0.5, 0.25]), LinearKernel(), Ridge(1.0))
    certificate = certify(problem, 20)
    arithmetic = verifying_arithmetic(certificate.bits)
    low, high = ball_ends(RidgeProof(problem, certificate.alpha, arithmetic).norm)
    assert low < high
    text = f"{round((low + high) / 2 * 10**400)}e-403"
    between = replace(certificate, radius=text, digits=3)
    assert low < Fraction(text) * 1000 < high
    with pytest.raises(CertificateError, match="digits"):
        verify_certificate(between, problem.data, problem.targets)


@pytest.mark.parametrize("loss", [Hinge(1.0), SquaredHinge(1.0), Ridge(1.0)], ids=lambda loss: loss.task)
def test_entries_with_exponents_of_hundreds_of_digits_are_proved(loss):
    """exp(-2**1200) is no rational that could be held."""
    data = np.array([[2.0**600], [-(2.0**600)], [0.0]])
    problem = Problem("apart", data, np.array([1.0, 1.0, -1.0]), RBFKernel(1.0), loss)
    made = certify(problem, 20)
    assert made.digits == 20
    verify_certificate(made, data, problem.targets)


@pytest.mark.parametrize("exponent", [-600, -560])
def test_squares_that_underflow_in_objectives_are_counted(exponent):
    a = 2.0**exponent
    flat = Problem("flat", np.zeros((1, 1)), np.ones(1), LinearKernel(), SquaredHinge(a / 2))
    steep = Problem("steep", np.array([[2.0**50]]), np.array([a]), LinearKernel(), Ridge(2.0**-900))
    for problem, evaluate in ((flat, svm_values), (steep, ridge_values)):
        dual, alpha = evaluate(problem, Declaration("any"), np.array([a])).dual, np.array([a])
        exact = exact_values(problem, alpha)["dual"]
        assert Fraction(dual.lower) <= exact <= Fraction(dual.upper)
    # A solver that squares a first.
    naive = a - flat.hinge.shift * (a * a) / 2
    off = abs(Fraction(naive) - exact_values(flat, np.array([a]))["dual"])
    assert off <= Fraction(svm_values(flat, Declaration("any"), np.array([a])).dual.solver_error)


def test_no_rational_is_made_of_what_is_too_small_for_one():
    arithmetic = Balls(300)
    low, high = ball_ends(arithmetic.exp(arithmetic.number(-(2**70))))
    assert Fraction(-1, 2**29_000) < low <= 0 < high < Fraction(1, 2**29_000)
    assert ball_ends(arithmetic.number(0)) == (0, 0)
