"""The number of ranks, and which columns each holds, change a run by rounding only: within both bounds."""

from __future__ import annotations

import numpy as np
import partition_ranks as ranks_do
import pytest
from checked_runs import ITERATIONS, KERNELS, LOSSES, MOST, case_of, fits, options_of, problem_of
from daily import crossed
from hypothesis import given, settings
from hypothesis import strategies as st

from sstep_verify.adapters.ours import DistributedSolver
from sstep_verify.checks.short.runs import ShortTruth
from sstep_verify.oracle.facade import Oracle
from sstep_verify.problems import Problem
from sstep_verify.protocol import RunRequest
from sstep_verify.ranks import run
from sstep_verify.solver.settings import Options

pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")

S = 4
each_task = pytest.mark.parametrize("task", LOSSES)


class Judge:
    """Bound C of the runs of a problem, and distances in its norm."""

    def __init__(self, problem: Problem, form: str, ranks: int):
        solver = DistributedSolver(ranks, **options_of(form, problem.samples, 2 * S))
        self.case = case_of(problem, solver, (S,))
        self._truth = ShortTruth(self.case, Oracle(problem))
        self.request = RunRequest(problem, self.case.stream, S, ITERATIONS)

    @property
    def radius(self) -> np.ndarray:
        return self._truth.bounds(S)[ITERATIONS].radius

    def assert_near_the_truth(self, alpha: np.ndarray) -> None:
        assert (self._truth.distance(ITERATIONS, alpha)[1] <= self.radius).all()

    def assert_near(self, one: np.ndarray, other: np.ndarray) -> None:
        difference = (one - other)[self._truth.places]
        # The subtraction of two nearby numbers is exact or errs by u, which doubling one bound covers.
        size = np.abs(difference) if self.case.problem.is_svm else self._truth.norm(difference)[1]
        assert (size <= 2 * self.radius).all()


@pytest.mark.parametrize(
    ("form", "task"),
    crossed(["allreduce", "reduce-scatter", "gram", "all rows cached", "kept gram"], LOSSES, of=3),
)
def test_runs_on_other_numbers_of_ranks_differ_by_no_more_than_both_bounds(form, task):
    for kernel in (name for name, described in KERNELS.items() if fits(form, described)):
        judge = Judge(problem_of(task, kernel), form, 1)
        options = options_of(form, judge.case.problem.samples, 2 * S)
        ends = [
            DistributedSolver(ranks, **options).run(judge.request).final for ranks in range(1, MOST + 1)
        ]
        for end in ends:
            judge.assert_near_the_truth(end)
            judge.assert_near(ends[0], end)


@settings(max_examples=15)
@given(
    st.sampled_from(sorted(LOSSES)),
    st.sampled_from(sorted(KERNELS)),
    st.sampled_from(["allreduce", "support", "reduce-scatter", "gram", "few rows cached"]),
    st.booleans(),
    st.integers(1, 6),
    st.lists(st.integers(0, 6), min_size=MOST - 1, max_size=MOST - 1),
)
def test_columns_may_be_cut_anywhere(task, kernel, form, sparse, features, cuts):
    """Ranks get what the cuts say, possibly nothing, in whatever balance."""
    form = form if fits(form, KERNELS[kernel]) else "allreduce"
    problem = problem_of(task, kernel, sparse=sparse, features=features)
    judge = Judge(problem, form, MOST)
    starts = [0, *sorted(min(cut, features) for cut in cuts), features]
    options = Options(**options_of(form, problem.samples, 2 * S))
    for alpha in run(MOST, ranks_do.final_on_columns, judge.request, options, starts):
        judge.assert_near_the_truth(alpha)
