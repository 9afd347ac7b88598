"""The oracles arb and mpmath, which share no arithmetic, give the same verdicts on the same runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from judged import by_s, small_case
from sstep_reference.arithmetic import Balls, Float, Mpmath, exact_fraction

from sstep_verify import CallableSolver, Declaration, judge
from sstep_verify.adapters.reference import ReferenceSolver
from sstep_verify.checks.optimum import CHECK as OPTIMUM
from sstep_verify.checks.recorded.claim_honesty import CHECK as CLAIMS
from sstep_verify.checks.registry import CHECKS
from sstep_verify.errors import InputError
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.oracle.balls.objectives import objectives, signed
from sstep_verify.oracle.certificate.certify import certify
from sstep_verify.oracle.choice import ORACLES, oracle_named
from sstep_verify.oracle.evaluated import MOST_EVALUATED
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
    kernel_from,
    loss_from,
)  # fmt: skip
from sstep_verify.recurrence.mutants import CATALOGUE, run_mutant
from sstep_verify.recurrence.steps import finisher_of
from sstep_verify.solver import ProductionSolver
from sstep_verify.trajectory import Claim
from sstep_verify.verdict import NoteKind, Status, Verdict, Why

NEAR = 2.0**-50
"""Ends of the same interval, each rounded outwards to float64: two units in the last place."""


def drawn_cases(count: int, seed: int = 0) -> Iterator[tuple[Problem, IndexStream]]:
    """Small problems of every task and kernel in turn, each with a stream of 40 blocks."""
    generator = np.random.Generator(np.random.PCG64(seed))
    for place in range(count):
        task, name = ("svm-l1", "svm-l2", "krr")[place % 3], ("linear", "polynomial", "rbf")[place // 3 % 3]
        m, n, degree, block = (int(generator.integers(*ends)) for ends in ((4, 13), (1, 5), (2, 5), (1, 4)))
        parameter, sigma = 10.0 ** generator.uniform(-2, 2), generator.uniform(0.1, 2.0)
        data, targets = generator.standard_normal((m, n)), generator.standard_normal(m)
        problem = Problem(
            f"drawn {place}",
            data,
            targets if task == "krr" else np.sign(targets),
            kernel_from(name, degree=degree, offset=0.5, sigma=sigma),
            loss_from(task, parameter),
        )
        yield problem, IndexStream("uniform", m, block if task == "krr" else 1, 40, seed=place)


CASES = list(drawn_cases(9, seed=3))
EXACT = {check.id for check in CHECKS.values() if check.exact}


def by_both(solver, problem: Problem, stream: IndexStream, checks=()) -> dict[str, list[Verdict]]:
    asked = list(checks or CHECKS)
    return {name: judge(solver, problem, stream, 4, checks=asked, oracle=name) for name in ORACLES}


def near(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= NEAR * max(abs(one), abs(other))


def differences(found: dict[str, list[Verdict]]) -> list[tuple[str, str]]:
    """Checks and fields in which the verdicts of both oracles are not the same."""
    told = []
    for one, other in zip(*found.values(), strict=True):
        pairs = {
            "check": one.check == other.check,
            "status": one.status is other.status,
            "counts": (one.planned, one.executed) == (other.planned, other.executed),
            "measured": near(one.measured, other.measured),
            "bound": near(one.bound, other.bound),
            "requirement": one.requirement == other.requirement,
            "defects": [known.names for known in one.defects] == [known.names for known in other.defects],
            "terms": len(one.terms) == len(other.terms),
        }
        for term, same in zip(one.terms, other.terms, strict=False):
            limits = term.detection_limit, same.detection_limit
            # A limit is above 1 where the effect of a change is within its bound, and rests on its last digits.
            alike = near(*limits) or (min(limits) > 1 and near(1 + 1 / limits[0], 1 + 1 / limits[1]))
            pairs[term.name] = (term.status, term.seen) == (same.status, same.seen) and alike
        told += [(one.check, field) for field, agrees in pairs.items() if not agrees]
    return told


def own_word(verdict: Verdict) -> bool:
    return any(note.kind is NoteKind.EVALUATED for note in verdict.notes)


@pytest.mark.parametrize(
    ("case", "solver"),
    [
        pytest.param(case, solver, marks=[pytest.mark.nightly] * ((place + 4 * turn) % 8 != 0))
        for place, case in enumerate(CASES)
        for turn, solver in enumerate((ReferenceSolver, ProductionSolver))
    ],
    ids=lambda one: getattr(one, "__name__", None) or one[0].label,
)
def test_verdicts_are_the_same_by_either_oracle(case, solver):
    found = by_both(solver(), *case)
    assert differences(found) == []
    assert not any(map(own_word, found["arb"]))
    assert [own_word(one) for one in found["mpmath"]] == [
        one.check in EXACT and one.executed > 0 for one in found["mpmath"]
    ]


@pytest.mark.nightly
@pytest.mark.parametrize("case", list(drawn_cases(90, seed=11)), ids=lambda case: case[0].label)
def test_verdicts_on_more_problems_are_the_same(case):
    assert differences(by_both(ProductionSolver(), *case)) == []


def mutant(name: str) -> CallableSolver:
    """A solver in float64 that makes a mistake of the catalogue."""
    (mutation,) = (one.mutation for one in CATALOGUE if one.name == name)

    def solve(problem, blocks, s, a0):
        arithmetic = Float("float64")
        kernel, draws = exact_kernel(problem, arithmetic), np.asarray(blocks).tolist()
        *_, last = run_mutant(
            kernel, problem.targets, finisher_of(problem, arithmetic), a0.copy(), draws, s, mutation
        )
        return np.array(last.alpha)

    return CallableSolver(solve, Declaration(name="mutant", update="frozen", rbf="difference"))


@pytest.mark.parametrize(
    ("place", "name"),
    [
        (7, "omega-dropped"),
        (6, "upper-end-lost"),
        *(
            pytest.param(*pair, marks=pytest.mark.nightly)
            for pair in ((8, "m-doubled"), (5, "correction-dropped"))
        ),
    ],
)
def test_a_defect_fails_by_either_oracle(place, name):
    found = by_both(mutant(name), *CASES[place], checks=["window-replay"])
    assert differences(found) == []
    for contract, windows in found.values():
        assert (contract.status, windows.status) == (Status.PASS, Status.FAIL)


@pytest.mark.parametrize("places", [(2, 7), pytest.param((6, 8), marks=pytest.mark.nightly)])
def test_mpmath_judges_without_a_ball(monkeypatch, places):
    def refuse(self, bits=256):
        raise AssertionError("a ball was made")

    monkeypatch.setattr(Balls, "__init__", refuse)
    for place in places:
        problem, stream = CASES[place]
        found = judge(ProductionSolver(), problem, stream, 4, checks=list(CHECKS), oracle="mpmath")
        assert Status.FAIL not in {one.status for one in found}
        with pytest.raises(AssertionError, match="a ball was made"):
            judge(ProductionSolver(), problem, stream, 4, checks=["window-replay"])


@pytest.mark.parametrize("arithmetic", [Balls, Mpmath])
def test_a_defect_of_either_oracle_shows_in_the_comparison(arithmetic, monkeypatch):
    problem, stream = CASES[7]
    right = arithmetic.dot

    def dot(self, u, v):
        return right(self, u, v) * (1 + 2.0**-40)

    monkeypatch.setattr(arithmetic, "dot", dot)
    found = by_both(ProductionSolver(), problem, stream, ["window-replay"])
    assert ("window-replay", "measured") in differences(found)


def test_notable_steps_are_repeated_by_the_chosen_oracle(monkeypatch):
    asked, step_error = [], Oracle.step_error

    def called(self, *given, **named):
        asked.append(self.name)
        return step_error(self, *given, **named)

    monkeypatch.setattr(Oracle, "step_error", called)
    for name in ORACLES:
        asked.clear()
        *_, steps = judge(ProductionSolver(), *CASES[0], 4, checks=["step-replay"], oracle=name)
        assert (steps.status, set(asked)) == (Status.PASS, {name})


def test_a_larger_problem_is_refused():
    data = np.ones((MOST_EVALUATED + 1, 1))
    problem = Problem("large", data, np.ones(len(data)), LinearKernel(), Ridge(1.0))
    with pytest.raises(InputError, match=r"m = 201: .*oracle mpmath \(at most 200\).*arb"):
        judge(ReferenceSolver(), problem, IndexStream("uniform", len(data), 1, 4), 2, oracle="mpmath")
    with pytest.raises(InputError, match=r"did you mean 'mpmath'.*arb"):
        judge(ReferenceSolver(), *CASES[0], 2, oracle="mpmat")
    fits = Problem("fits", data[1:], np.ones(MOST_EVALUATED), LinearKernel(), Ridge(1.0))
    assert not oracle_named("mpmath", fits).encloses


LOSSES = [Hinge(0.5), SquaredHinge(2.0), Ridge(0.05)]
KERNELS = [LinearKernel(), kernel_from("polynomial", degree=3, offset=0.5), RBFKernel(0.3)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_values_of_a_vector_are_the_same(loss, kernel):
    problem = small_case(loss, kernel)[0].problem
    alpha = np.random.Generator(np.random.PCG64(5)).random(problem.samples) / 4
    (arb,), (mpmath,) = (oracle_named(name, problem).values(problem, [alpha]) for name in ORACLES)
    assert arb.keys() == mpmath.keys()
    for name, ends in arb.items():
        assert all(map(near, ends, mpmath[name])), name
        assert mpmath[name][0] < mpmath[name][1] <= np.nextafter(np.nextafter(mpmath[name][0], 1e9), 1e9)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_the_distance_of_weights_from_alpha_is_the_same(loss):
    problem = small_case(loss)[0].problem
    generator = np.random.Generator(np.random.PCG64(5))
    alpha, carried = generator.random(problem.samples) / 4, generator.random(problem.features)
    asked = problem, [alpha], [carried]
    (arb,), (mpmath,) = (oracle_named(name, problem).drift(*asked) for name in ORACLES)
    assert np.array_equal(arb, mpmath)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_the_closed_form_is_the_certified_optimum(kernel):
    problem = small_case(Ridge(0.05), kernel)[0].problem
    arb, mpmath = (oracle_named(name, problem).ridge_optimum(problem) for name in ORACLES)
    assert np.array_equal(arb.alpha, mpmath.alpha)
    assert mpmath.error == pytest.approx(arb.error, rel=1e-9)
    assert "evaluated, not enclosed" in mpmath.how


def claimed(loss, change, name: str, check=OPTIMUM):
    """The verdict of a check on a converged run of s = 4, and its case, by an oracle."""
    case, tested = small_case(
        loss,
        KERNELS[2],
        iterations=3000,
        s_values=(4,),
        claims={"tolerance": 2.0**-27},
        told=True,
        oracle=name,
    )
    oracle = oracle_named(name, case.problem)
    (run,) = (tested.run(request) for request in check.runs(case).values())
    made = dict.fromkeys(check.runs(case), replace(run, stopped="tolerance", **change(run)))
    return by_s(check.judge(case, made, oracle), (4,))[4]


def test_what_needs_a_certified_optimum_says_so():
    verdict = claimed(Hinge(0.5), lambda run: {}, "mpmath")
    assert (verdict.status, verdict.why, verdict.executed) == (Status.VACUOUS, Why.NEEDS_BALLS, 0)
    assert claimed(Hinge(0.5), lambda run: {}, "arb").status is Status.PASS
    problem = small_case(Hinge(0.5))[0].problem
    with pytest.raises(InputError, match="oracle = mpmath: it certifies no optimum"):
        oracle_named("mpmath", problem).svm_optimum(problem)


@pytest.mark.parametrize(("off", "status"), [(0.0, Status.PASS), (1e-3, Status.FAIL)])
def test_a_converged_run_of_ridge_regression_is_judged_alike(off, status):
    def moved(run):
        return {"alphas": run.alphas * (1.0 + off)}

    arb, mpmath = (claimed(Ridge(0.05), moved, name) for name in ORACLES)
    assert arb.status is mpmath.status is status
    # Measured includes the error of a*, which either oracle bounds in its own way.
    assert abs(arb.measured - mpmath.measured) <= NEAR * arb.bound
    assert near(arb.bound, mpmath.bound)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize(("off", "status"), [(0.0, Status.PASS), (1e-9, Status.FAIL)])
def test_a_reported_gap_is_judged_alike(loss, off, status):
    def claims(run):
        problem = small_case(loss, KERNELS[2])[0].problem
        low, high = Oracle(problem).values(problem, [run.final])[0]["dual"]
        return {"claims": {"dual": Claim((low + high) / 2 * (1.0 + off), 0.0)}}

    arb, mpmath = (claimed(loss, claims, name, CLAIMS) for name in ORACLES)
    assert arb.status is mpmath.status is status
    assert near(arb.measured, mpmath.measured)


DIGITS = 25


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].label)
def test_what_is_certified_holds_by_mpmath(case):
    """The gap at the certified point lies in the stated interval, whose ends were proved by balls."""
    problem, _ = case
    certificate = certify(problem, DIGITS)
    arithmetic = Mpmath(2 * certificate.bits + 256)
    kernel, point = exact_kernel(problem, arithmetic), arithmetic.vector(map(Fraction, certificate.alpha))
    weighted = signed(problem, point)
    products = [arithmetic.dot(kernel.column(i), weighted) for i in range(problem.samples)]
    values = objectives(problem, arithmetic, point, signed(problem, products))
    gap, dual = exact_fraction(values.gap), exact_fraction(values.dual)
    assert certificate.gap.lower <= gap <= certificate.gap.upper
    assert certificate.objective.lower <= dual <= dual + gap <= certificate.objective.upper
    off = Fraction(certificate.objective.middle) / 10**DIGITS
    assert not certificate.gap.lower <= gap + off <= certificate.gap.upper
