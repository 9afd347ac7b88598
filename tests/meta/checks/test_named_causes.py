"""A cause is named only if it reproduces a run; where s = 1 is right it is the correction, and is said first."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from checks.test_check_window_replay_quantities import with_mistake
from daily import crossed, some
from judged import judged, named

from sstep_verify.campaign.verdicts.measured import measuring_points
from sstep_verify.checks import trajectory, window_replay
from sstep_verify.checks.shared.case import Case
from sstep_verify.diagnosis.candidates import PARTIAL, mistakes, of_correction
from sstep_verify.diagnosis.other_problems import SOLVED_INSTEAD
from sstep_verify.problems import (
    Hinge,
    IndexStream,
    LinearKernel,
    PolynomialKernel,
    Problem,
    RBFKernel,
    Ridge,
    SquaredHinge,
)
from sstep_verify.quantities import quantities_of
from sstep_verify.recurrence.mutation import NONE, Mutation
from sstep_verify.verdict import Status

CHECKS = {"trajectory": trajectory, "window-replay": window_replay}


def drawn_case(seed, tested, s=None):
    """A case of some task and kernel, with coordinates that act on each other and are drawn again."""
    random = np.random.Generator(np.random.PCG64(seed))
    m, s = int(random.integers(6, 10)), s or int(random.integers(3, 6))
    kernel = random.choice([LinearKernel(), PolynomialKernel(2, 0.5), RBFKernel(0.4)])  # type: ignore[arg-type]
    loss = random.choice([Hinge(0.7), SquaredHinge(2.0), Ridge(0.05)])  # type: ignore[arg-type]
    svm = loss.task != "krr"
    targets = random.choice([-1.0, 1.0], m) if svm else random.standard_normal(m)
    problem = Problem("drawn", random.standard_normal((m, 3)), targets, kernel, loss)
    stream = IndexStream("uniform", m, 1 if svm else 2, 6 * s + 1, seed=seed)
    length = 6 * s + 1
    points = {one: measuring_points(length, one) for one in (1, s)}
    return Case(
        "drawn", problem, stream, (1, s), length, tested.declaration, points, replay_command="again"
    )


NIGHTLY_FROM_4 = [
    *range(4),
    *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(4, 8)),
]


@pytest.mark.parametrize(("check", "seed"), crossed(CHECKS, range(8), of=4))
@pytest.mark.parametrize("turn", [0, pytest.param(3, marks=pytest.mark.nightly)])
def test_where_s_1_is_right_a_mistake_of_the_correction_alone_is_named_and_the_one_made(check, seed, turn):
    task = drawn_case(seed, with_mistake(NONE)).problem.loss.task
    known = mistakes(task, [one.name for one in quantities_of(task, "frozen", 4, 2)])
    tried = [*PARTIAL, *(one for one in known if of_correction(one) and one not in PARTIAL)]
    failed = 0
    for mistake in tried[(seed + turn) % 8 :: 8]:
        case = drawn_case(seed, with_mistake(mistake))
        verdicts = judged(CHECKS[check], case, with_mistake(mistake))
        one, other = (verdicts[s] for s in case.s_values)
        assert one.status is not Status.FAIL, mistake
        if one.status is Status.PASS and other.status is Status.FAIL:
            failed += 1
            assert mistake.name in named(other), other.reason
            assert not set(named(other)) & {*SOLVED_INSTEAD, "labels left out", "curvature left out"}
    assert failed


@pytest.mark.parametrize("seed", NIGHTLY_FROM_4)
def test_no_cause_is_named_of_a_right_run_on_another_stream(seed):
    tested = with_mistake(NONE)
    case = drawn_case(seed, tested)
    other = dataclasses.replace(case.stream, seed=seed + 1000)

    def solve(request, observe=None):
        return tested.run(dataclasses.replace(request, stream=other), observe)

    own = SimpleNamespace(run=solve, declaration=tested.declaration)
    for verdict in judged(trajectory, case, own).values():
        assert verdict.status is Status.FAIL
        assert named(verdict) == [], verdict.reason


@pytest.mark.parametrize("seed", some(range(6), of=2))
def test_no_cause_is_named_beyond_the_bound_of_a_single_coordinate(seed):
    """A run of a mistake is off in one small coordinate by far less than the bounds on large ones."""
    random = np.random.Generator(np.random.PCG64(seed))
    data = random.standard_normal((8, 3))
    data[0] *= 2.0**12  # its a is about 2^-24 of the others'
    problem = Problem("far", data, random.choice([-1.0, 1.0], 8), LinearKernel(), SquaredHinge(1e9))
    tested = with_mistake(Mutation("omega-dropped", curvature=Fraction(1, 2)))
    stream = IndexStream("cyclic", 8, 1, 24)
    case = Case("far", problem, stream, (3,), 24, tested.declaration, replay_command="again")

    def moved(run):
        alphas = run.alphas.copy()
        alphas[1:, 0] += 1e-7 * np.abs(alphas[1:, 0]).max()
        return dataclasses.replace(run, alphas=alphas)

    right, spoilt = judged(trajectory, case, tested)[3], judged(trajectory, case, tested, moved)[3]
    assert named(right) == ["curvature-halved"]
    assert named(spoilt) == []
