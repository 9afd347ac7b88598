"""Ranks that no longer agree end a run, which is a finding; whatever else a rank raises stays an error."""

from __future__ import annotations

import numpy as np
import pytest

from sstep_verify.adapters import ours
from sstep_verify.errors import InputError, RunError
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem
from sstep_verify.protocol import RunRequest
from sstep_verify.ranks import RankError
from sstep_verify.solver.packet import IncoherenceError

DATA = np.random.default_rng(5).standard_normal((6, 3))
PROBLEM = Problem("small", DATA, np.resize([1.0, -1.0], 6), LinearKernel(), Hinge(0.5))
REQUEST = RunRequest(PROBLEM, IndexStream("uniform", 6, 1, 20, seed=4), 4, 20)


@pytest.fixture
def failing(monkeypatch):
    """A solver whose ranks raise what is asked of them."""

    def made(failures) -> tuple[ours.DistributedSolver, RankError]:
        raised = RankError("rank.run_on_rank", failures)

        def run(*arguments, **options):
            raise raised

        monkeypatch.setattr(ours, "run", run)
        monkeypatch.setattr(ours, "_witness", dict)
        monkeypatch.setattr(ours, "refuse_too_many", lambda ranks: None)
        return ours.DistributedSolver(3), raised

    return made


def test_ranks_that_no_longer_agree_end_the_run(failing):
    error = IncoherenceError(3, ("a", "b", "a"), ("kind",) * 3)
    told = (type(error).__name__, str(error), "trace")
    solver, raised = failing(dict.fromkeys(range(3), told))
    with pytest.raises(RunError) as caught:
        solver.run(REQUEST)
    assert str(caught.value) == f"IncoherenceError: {error}"
    assert caught.value.__cause__ is raised


@pytest.mark.parametrize(
    "failures",
    [
        {1: ("WindowError", "not positive definite", "trace")},
        {0: ("ValueError", "an IncoherenceError in its words alone", "trace")},
        # The first rank has its say: what the others raise may come of that.
        {1: ("WindowError", "no room", "trace"), 2: ("IncoherenceError", "rank 1 differs", "trace")},
    ],
)
def test_another_exception_of_a_rank_stays_an_error(failing, failures):
    solver, raised = failing(failures)
    with pytest.raises(RankError) as caught:
        solver.run(REQUEST)
    assert caught.value is raised


@pytest.mark.parametrize("kind", [InputError, MemoryError])
def test_what_a_rank_refuses_or_has_no_room_for_is_passed_on_as_what_it_is(failing, kind):
    solver, raised = failing({2: (kind.__name__, "no room", "trace")})
    with pytest.raises(kind, match="no room") as caught:
        solver.run(REQUEST)
    assert caught.value.__cause__ is raised
