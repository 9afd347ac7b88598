"""K-RR whose block systems are solved by QR, SVD, least squares, eigendecomposition or pseudoinverse."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify import CallableSolver, Declaration, Status
from sstep_verify.checks import step_replay, trajectory, window_replay
from sstep_verify.checks.shared.case import Case
from sstep_verify.problems import IndexStream, LinearKernel, Problem, RBFKernel, Ridge
from sstep_verify.verdict import HintKind
from studies.alarms.groups import verdicts_of
from studies.legal.arithmetic import by_orthogonal

CHECKS = (step_replay.ID, window_replay.ID, trajectory.ID)

WAYS = ("QR", "eigh", "SVD", "lstsq", "pinv")


def solver_of(place: int, declaration: Declaration, factor: float = 1.0) -> CallableSolver:
    def solve(problem, blocks, s, a0, log):
        kernel, penalty = problem.kernel, problem.ridge.penalty
        data, m = problem.dense, problem.samples
        if isinstance(kernel, RBFKernel):
            K = np.exp(-kernel.sigma * ((data[:, None] - data) ** 2).sum(axis=2))
        else:
            K = data @ data.T
        a = a0.copy()
        for step, B in enumerate(blocks):
            G = K[np.ix_(B, B)] / penalty + m * np.eye(B.size)
            a[B] += factor * by_orthogonal(G, problem.targets[B] - m * a[B] - K[B] @ a / penalty, place)
            log[step] = a[B]
        return a

    return CallableSolver(solve, declaration)


def verdicts(
    place: int, number: int, lowest: float = -9.0, factor: float = 1.0, declared: str = "orthogonal"
):
    random = np.random.Generator(np.random.PCG64([place, number]))
    m, b, s = int(random.integers(6, 13)), int(random.integers(2, 6)), int(random.integers(1, 5))
    data = random.standard_normal((m, 3))
    if number % 3 == 0:
        data = data[0] + data * 1e-4  # rows nearly alike: the blocks of K have one large eigenvalue
    kernel = RBFKernel(0.5) if number % 2 else LinearKernel()
    loss = Ridge(float(10.0 ** random.uniform(lowest, 0)))
    problem = Problem("drawn", data, random.standard_normal(m), kernel, loss)
    declaration = Declaration("mine", rbf="difference", factorisation=declared, log=True)
    stream = IndexStream("uniform", m, b, 3 * s, seed=number)
    case = Case("drawn", problem, stream, (s,), 3 * s, declaration, points={s: (s, 2 * s, 3 * s)})
    made, _ = verdicts_of(case, solver_of(place, declaration, factor), CHECKS)
    return {one.check: one for one in made}


@pytest.mark.parametrize("place", range(5), ids=WAYS)
def test_right_solvers_of_ill_conditioned_blocks_pass(place):
    decided = dict.fromkeys(CHECKS, 0)
    for number in range(24):
        for check, one in verdicts(place, number).items():
            assert one.status is not Status.FAIL, (number, one.reason)
            if check in CHECKS and one.executed and one.bound < np.inf:
                assert one.ratio <= 1.0
                decided[check] += 1
    assert all(count >= 12 for count in decided.values()), decided


@pytest.mark.parametrize("place", range(5), ids=WAYS)
def test_a_wrong_solution_of_a_well_conditioned_block_is_seen(place):
    for number in range(8):
        assert verdicts(place, number, -2.0, 1.0 + 1e-6)[step_replay.ID].status is Status.FAIL


def hinted(verdict) -> bool:
    return HintKind.FACTORISATION in [hint.kind for hint in verdict.hints]


@pytest.mark.parametrize("declared", ["cholesky", "ldl"])
@pytest.mark.parametrize(("place", "number"), [(3, 13), (3, 23), (4, 23)], ids=str)
def test_a_failure_that_an_orthogonal_factorisation_explains_names_the_declaration(place, number, declared):
    """Whether steps exceed the declared bound depends on the library: where they do, there is the hint."""
    verdict = verdicts(place, number, declared=declared)[step_replay.ID]
    assert hinted(verdict) == (verdict.status is Status.FAIL)
    assert all(
        hint.detail == ("orthogonal",) for hint in verdict.hints if hint.kind is HintKind.FACTORISATION
    )
    assert verdicts(place, number)[step_replay.ID].status is Status.PASS


@pytest.mark.parametrize("factor", [1.0, 1.01])
def test_a_bound_within_which_every_step_would_be_is_no_hint(factor):
    assert verdicts(2, 12)[step_replay.ID].status is Status.VACUOUS
    assert not hinted(verdicts(2, 12, factor=factor, declared="cholesky")[step_replay.ID])


@pytest.mark.parametrize("declared", ["cholesky", "ldl", "lu", "orthogonal"])
@pytest.mark.parametrize(("number", "lowest"), [(13, -9.0), (3, -2.0)])
def test_a_faulty_solver_gets_no_hint_of_its_factorisation(number, lowest, declared):
    verdict = verdicts(3, number, lowest, 1.01, declared)[step_replay.ID]
    assert verdict.status is Status.FAIL
    assert not hinted(verdict)


def test_a_hint_of_factorisation_is_given_on_this_machine():
    found = [verdicts(3, number, declared="cholesky")[step_replay.ID] for number in (13, 23, 24, 29, 35)]
    assert any(hinted(one) for one in found)
