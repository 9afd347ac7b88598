"""Counts of the solver against what the MPI library was asked for, and against the formulas."""

from __future__ import annotations

import partition_ranks as ranks_do
import pytest
from checked_runs import ITERATIONS, KERNELS, LOSSES, case_of, fits, options_of, problem_of

from sstep_verify.checks.recorded.message_count import expected_counts
from sstep_verify.costs.messages import of_kinds
from sstep_verify.errors import MissingExtraError
from sstep_verify.protocol import RunRequest
from sstep_verify.ranks import run
from sstep_verify.ranks.interposer import build_interposer
from sstep_verify.solver.run import ProductionSolver
from sstep_verify.solver.settings import Options
from sstep_verify.trajectory import BARRIER, BROADCAST, POINT_TO_POINT, REDUCE_SCATTER, Traffic

pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")

pytestmark = pytest.mark.pool_only

FORMS = (
    "allreduce", "support", "reduce-scatter", "gram", "all rows cached", "few rows cached", "kept gram", "difference"
)  # fmt: skip


@pytest.fixture(scope="module")
def preload(tmp_path_factory) -> dict[str, str]:
    try:
        return {"LD_PRELOAD": str(build_interposer(tmp_path_factory.mktemp("witness")))}
    except MissingExtraError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ranks", [2, 3])
def test_the_solver_counts_what_the_library_sees(preload, ranks, form):
    for number, kernel in enumerate(name for name, described in KERNELS.items() if fits(form, described)):
        problem = problem_of(list(LOSSES)[number], kernel)
        for s in (1, 5, 12):
            options = options_of(form, problem.samples, s * 2)
            case = case_of(problem, ProductionSolver(**options), (s,))
            request = RunRequest(problem, case.stream, s, ITERATIONS, log=True)
            expected = expected_counts(case, s, ProductionSolver(**options).run(request))[0]
            for counters, seen in run(
                ranks, ranks_do.witnessed, request, Options(**options), variables=preload
            ):
                assert counters == expected
                for kind, (calls, words) in of_kinds(
                    case.declaration.exchange.kind, problem.samples, expected
                ).items():
                    assert seen[kind] == Traffic(calls, words, 8 * words)
                assert (seen[REDUCE_SCATTER].calls > 0) is ("scatter" in form)
                assert {seen[kind] for kind in (BROADCAST, POINT_TO_POINT, BARRIER)} == {Traffic()}
