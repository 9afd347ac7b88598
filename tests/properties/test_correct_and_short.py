"""Correct solvers of drawn problems that end by their own rule, send no trailer, or meet no reciprocal."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sstep_verify import (
    CallableSolver,
    Declaration,
    Exchange,
    Hinge,
    IndexStream,
    LinearKernel,
    Problem,
    RBFKernel,
    Status,
    Trajectory,
    judge,
)
from sstep_verify.checks import metamorphic_exact, optimum
from sstep_verify.checks.metamorphic.relations import metamorphic_key, same_bits
from sstep_verify.checks.registry import CHECKS
from sstep_verify.checks.shared.case import Case, run_key
from sstep_verify.oracle.choice import oracle_named
from sstep_verify.runs import make_run
from sstep_verify.trajectory import Claim
from sstep_verify.verdict import Why

STEPS = 300


def drawn(seed: int) -> tuple[Problem, IndexStream]:
    """A K-SVM of normal numbers, and its stream."""
    generator = np.random.Generator(np.random.PCG64(seed))
    samples = int(generator.integers(9, 14))
    data = generator.standard_normal((samples, 3))
    targets = np.where(generator.random(samples) < 0.5, -1.0, 1.0)
    kernel = RBFKernel(0.3) if seed % 2 else LinearKernel()
    problem = Problem("normal", data, targets, kernel, Hinge(C=float(generator.choice([0.5, 1.0, 3.0]))))
    return problem, IndexStream("uniform", samples, 1, STEPS, seed)


class Descent:
    """Descent by windows that ends at a share of the dual value, and counts what it would send."""

    def __init__(self, share: float = 0.0, claimed: float = 1.0, trailer: int = 0, declared: int = 0):
        self.share, self.claimed, self.trailer = share, claimed, trailer
        exchange = Exchange("allreduce", trailer=declared)
        self.declaration = Declaration("descent", rbf="difference", exchange=exchange, level=3)

    def run(self, request, observe=None):
        """Make the run; its claim is the gap times `claimed`."""
        problem, s = request.problem, request.s
        data, y, upper = np.asarray(problem.dense), problem.targets, problem.loss.C
        if problem.kernel.linear:
            kernel = data @ data.T
        else:
            kernel = np.exp(-problem.kernel.sigma * np.square(data[:, None] - data[None]).sum(axis=2))
        matrix, alpha = np.outer(y, y) * kernel, request.first.copy()
        iterations, alphas, windows, columns, ended = [0], [alpha.copy()], 0, 0, {}
        for begin in range(0, request.iterations, s):
            end = min(begin + s, request.iterations)
            window = request.blocks(begin, end)[:, 0]
            windows, columns = windows + 1, columns + np.unique(window).size
            for i in window:
                alpha[i] = min(max(alpha[i] - (matrix[i] @ alpha - 1) / matrix[i, i], 0.0), upper)
            products = matrix @ alpha
            dual = alpha.sum() - alpha @ products / 2
            gap = alpha @ products / 2 + upper * np.maximum(1 - products, 0).sum() - dual
            done = gap <= self.share * dual and end < request.iterations
            if end in request.record or end == request.iterations or done:
                iterations.append(end)
                alphas.append(alpha.copy())
            if done:
                ended = {"stopped": "tolerance", "claims": {"gap": Claim(self.claimed * float(gap))}}
                break
        counts = {"windows": windows, "panel columns": columns, "collectives": windows}
        counts["words"] = problem.samples * columns + self.trailer * windows
        return Trajectory(
            s, request.start, np.array(iterations), np.array(alphas), counters=counts, **ended
        )


def optimum_of(solver: Descent, seed: int, told: bool = False) -> list[Status]:
    """The statuses of check optimum where the observer would end a run at 1e-12."""
    problem, stream = drawn(seed)
    claims = {"tolerance": 1e-12}
    case = Case("one", problem, stream, (5,), STEPS, solver.declaration, claims=claims, told=told)
    runs = {key: make_run(solver, one) for key, one in optimum.runs(case).items()}
    assert runs[run_key(5)].stopped == "tolerance"
    return [one.status for one in optimum.judge(case, runs, oracle_named("arb", problem))]


@pytest.mark.parametrize("seed", range(6))
def test_a_run_is_held_to_the_gap_that_it_claims(seed: int) -> None:
    """Neither to that of the observer, nor let off where its own claim is too small."""
    assert optimum_of(Descent(0.3), seed) == [Status.PASS]
    assert optimum_of(Descent(0.3, claimed=0.5), seed) == [Status.FAIL]
    assert optimum_of(Descent(0.3), seed, told=True) == [Status.FAIL]


def test_a_relation_beyond_the_end_of_a_run_does_not_apply() -> None:
    """One of the two runs ends before the other, by a rule of its own."""
    problem, stream = drawn(1)
    solver = Descent()
    case = Case("one", problem, stream, (5,), STEPS, solver.declaration)
    runs = {key: make_run(solver, one) for key, one in metamorphic_exact.runs(case).items()}
    key = metamorphic_key(5)
    whole, early = runs[key], make_run(Descent(1.0), metamorphic_exact.runs(case)[key])
    assert 0 < early.length < whole.length
    for run in (early, replace(whole, iterations=whole.iterations[:1], alphas=whole.alphas[:1])):
        (verdict,) = metamorphic_exact.judge(case, {**runs, key: run}, oracle_named("arb", problem))
        assert verdict.status in (Status.PASS, Status.VACUOUS)
    moved = {
        metamorphic_key(5, one.name): replace(whole, alphas=np.nextafter(whole.alphas, 9.0))
        for one in same_bits(case)
    }
    (verdict,) = metamorphic_exact.judge(case, {**moved, key: early}, oracle_named("arb", problem))
    assert verdict.status is Status.FAIL


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("trailer", [0, 1, 2, 5])
def test_words_next_to_the_payload_are_those_declared(seed: int, trailer: int) -> None:
    """No more and no fewer."""
    problem, stream = drawn(2 * seed)
    for declared in (0, 1, 2, 5):
        solver = Descent(trailer=trailer, declared=declared)
        verdict = judge(solver, problem, stream, 1 + seed, checks=("message-count",))[-1]
        assert verdict.status is (Status.PASS if declared == trailer else Status.FAIL)


@pytest.mark.parametrize(("exponent", "promised"), [(-512, False), (-511, False), (-508, True), (0, True)])
@pytest.mark.parametrize("inverted", [True, False])
def test_nothing_is_promised_where_a_reciprocal_overflows(
    exponent: int, promised: bool, inverted: bool
) -> None:
    """A correct step passes or is vacuous; one that is no number fails where numbers are promised."""
    size = 2.0**exponent
    data = np.full((5, 1), size)
    upper = min(0.125 / size / size, 2.0**1021)
    problem = Problem("equal", data, np.ones(5), LinearKernel(), Hinge(C=upper))
    stream = IndexStream("cyclic", samples=5, block=1, length=10)

    def correct(problem, blocks, s, a0, log):
        with np.errstate(all="ignore"):
            matrix, alpha = data @ data.T, a0.copy()
            for step, (i,) in enumerate(blocks):
                gradient, curvature = matrix[i] @ alpha - 1, matrix[i, i]
                change = gradient * (np.float64(1) / curvature) if inverted else gradient / curvature
                alpha[i] = log[step, 0] = np.minimum(np.maximum(alpha[i] - change, 0.0), upper)
        return alpha

    def broken(*given):
        alpha = correct(*given)
        alpha[0] = given[-1][5, 0] = np.nan
        return alpha

    declaration = Declaration("reciprocal", products="rows", log=True)
    found = judge(CallableSolver(correct, declaration), problem, stream, s=1)
    assert {one.status for one in found} <= {Status.PASS, Status.VACUOUS}
    found = judge(CallableSolver(broken, declaration), problem, stream, s=1)
    assert (found[0].status is Status.FAIL) == promised


@pytest.mark.parametrize("seed", range(6))
def test_a_run_that_ends_by_its_own_rule_is_judged_to_its_end(seed: int) -> None:
    """By every check: none looks for what lies beyond the end, or says that there are no steps."""
    problem, stream = drawn(seed)
    generator = np.random.Generator(np.random.PCG64([seed, 1]))
    solver, s = Descent(float(10.0 ** generator.uniform(-2, 1))), int(generator.integers(1, 9))
    for verdict in judge(solver, problem, stream, s, checks=tuple(CHECKS)):
        assert verdict.status in (Status.PASS, Status.VACUOUS), verdict.reason
        assert verdict.why is not Why.NO_STEPS
