"""Reference and recurrence are compared wherever the oracle has both, and a difference is no FAIL of a solver.

Either of them is made wrong by little more than its radius. What notices is the comparison of the two: no
verdict is given, and a campaign ends with an error of its own.
"""

from __future__ import annotations

import numpy as np
import pytest
from sstep_reference.arithmetic import Balls

from sstep_verify import IndexStream, judge
from sstep_verify.adapters import ReferenceSolver
from sstep_verify.campaign.model import DISAGREEMENT, State, attempted
from sstep_verify.errors import OracleDisagreementError
from sstep_verify.oracle import window_ends
from sstep_verify.oracle.evaluated import EvaluatedOracle
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Hinge, LinearKernel, Problem, Ridge, SquaredHinge
from sstep_verify.protocol import RunRequest
from sstep_verify.trajectory import Panel
from sstep_verify.vectors import make as vectors

SAMPLES, S = 5, 3
LITTLE = 2.0**-120
"""Of numbers of 192 bits, near 1."""


def problem_of(loss) -> Problem:
    generator = np.random.Generator(np.random.PCG64(11))
    data = generator.integers(-4, 5, size=(SAMPLES, 3)) / 4 + 0.125
    return Problem("two", data, np.resize([1.0, -1.0], SAMPLES), LinearKernel(), loss)


def draws_of(problem: Problem) -> np.ndarray:
    return np.array([[0], [3], [0]] if problem.is_svm else [[0, 3], [1, 0], [4, 2]])


def moved(numbers, place: int):
    """Numbers of which one is off by little."""
    made = list(numbers)
    made[place] = made[place] + made[place] * LITTLE + LITTLE
    return made


@pytest.fixture(params=["reference", "recurrence"])
def wrong(request, monkeypatch):
    """One of the two is wrong in the coordinate that a window draws first."""
    if request.param == "reference":
        right = window_ends.classical_run

        def run(problem, kernel, initial, blocks, trace=None):
            end = right(problem, kernel, initial, blocks, trace)
            with kernel.arithmetic.working():
                return moved(end, blocks[0][0])

        monkeypatch.setattr(window_ends, "classical_run", run)
    else:
        made = window_ends.mutable_window

        def window(arithmetic, *arguments):
            with arithmetic.working():
                return moved(made(arithmetic, *arguments), 0)

        monkeypatch.setattr(window_ends, "mutable_window", window)


def replay(loss, kind=Oracle):
    problem, start = problem_of(loss), np.full(SAMPLES, 0.25)
    return kind(problem).replay(problem, start, start, draws_of(problem))


COMPARED = [
    (Hinge(2.0), Oracle), (SquaredHinge(2.0), Oracle), (Hinge(2.0), EvaluatedOracle), (Ridge(0.5), EvaluatedOracle),
]  # fmt: skip


@pytest.mark.parametrize(("loss", "kind"), COMPARED)
def test_a_window_that_is_replayed(loss, kind, wrong):
    with pytest.raises(OracleDisagreementError, match="coordinate 0 ends a window at"):
        replay(loss, kind)


@pytest.mark.parametrize(("loss", "kind"), COMPARED)
def test_both_agree_as_they_are(loss, kind):
    assert replay(loss, kind).upper.max() < 10.0


def test_a_window_over_a_panel(wrong):
    problem, start = problem_of(Hinge(2.0)), np.full(SAMPLES, 0.25)
    panel = Panel(np.array([0, 3]), (problem.dense @ problem.dense.T)[[0, 3]])
    with pytest.raises(OracleDisagreementError):
        Oracle(problem).replay_panel(problem, panel, start, start, draws_of(problem))


def test_a_run(wrong):
    problem = problem_of(SquaredHinge(2.0))
    with pytest.raises(OracleDisagreementError):
        Oracle(problem).enclosed(problem, np.full(SAMPLES, 0.25), draws_of(problem), (S,))


@pytest.mark.parametrize("check", ["window-replay", "trajectory"])
def test_no_verdict_is_given_and_a_campaign_ends_with_an_error_of_its_own(check, wrong):
    problem = problem_of(Hinge(2.0))
    stream = IndexStream("uniform", samples=SAMPLES, block=1, length=6, seed=1)
    state = State()
    state.add(attempted(lambda: judge(ReferenceSolver(), problem, stream, S, checks=[check]), "case"))
    assert state.outcomes == []
    assert list(state.errors) == [DISAGREEMENT]
    assert state.exit_code(failed=False, incomplete=False) == 4


@pytest.mark.parametrize("wrong_one", ["_classical", "mistaken_states"])
@pytest.mark.parametrize("loss", [Hinge(2.0), Ridge(0.5)], ids=["svm", "ridge"])
def test_a_vector_that_is_made(loss, wrong_one, monkeypatch):
    problem = problem_of(loss)
    stream = IndexStream("uniform", samples=SAMPLES, block=1, length=6, seed=1)
    request = RunRequest(problem, stream, S, 6, record=(S, 6))
    right = getattr(vectors, wrong_one)

    def off(*arguments):
        states = right(*arguments)
        with Balls(vectors.BITS).working():
            return states | {6: moved(states[6], int(stream.blocks(5, 6)[0, 0]))}

    monkeypatch.setattr(vectors, wrong_one, off)
    with pytest.raises(OracleDisagreementError, match="after 6 iterations"):
        vectors.prove(request)
