"""The checks of one process hold on P ranks: every exchange, cache and storage, on drawn and given problems."""

from __future__ import annotations

import pytest
from checked_runs import (
    FORMS,
    ITERATIONS,
    KERNELS,
    LOSSES,
    MOST,
    case_of,
    fits,
    options_of,
    problem_of,
    verdicts,
)
from daily import crossed
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scenario_strategies import acting_scenarios, scenarios

from sstep_verify.adapters.ours import DistributedSolver
from sstep_verify.checks.shared.case import Case
from sstep_verify.protocol import RunRequest
from sstep_verify.scenarios.scenario import Scenario
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import Status, Verdict

pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")

BAD = (Status.FAIL, Status.INCONCLUSIVE)

ON_DRAWN = ("window-replay", "rank-coherence", "message-count")
"""Checks whose runs may begin from any start vector."""

ON_GIVEN = (
    *ON_DRAWN, "determinism", "trajectory", "sstep-equals-classical", "metamorphic-exact",
    "kernel-entries", "box", "residual-gap",
)  # fmt: skip

each_task = pytest.mark.parametrize("task", LOSSES)


def assert_right(found: list[Verdict]) -> None:
    assert not [(verdict.check, verdict.s, verdict.reason) for verdict in found if verdict.status in BAD]


def judged_scenario(scenario: Scenario, form: str) -> list[Verdict]:
    """Verdicts on a run of the scenario on its ranks, every window replayed."""
    s, length = scenario.s, scenario.iterations
    options = options_of(form, scenario.samples, s * scenario.block)
    solver = DistributedSolver(scenario.ranks, **options)
    ends = (*range(s, length, s), length)
    case = Case(
        scenario.id, scenario.problem(), scenario.stream(), (s,), length, solver.declaration,
        points={s: ends}, windows=len(ends), diagnose=False,
    )  # fmt: skip
    return verdicts(case, solver, ON_DRAWN, initial=scenario.initial())


@pytest.mark.parametrize("draws", [25, pytest.param(60, marks=pytest.mark.nightly)])
def test_no_right_run_of_a_drawn_problem_is_failed(draws):
    @settings(max_examples=draws)
    @given(
        scenarios(max_ranks=MOST, max_samples=16, max_iterations=30, max_s=20),
        st.sampled_from(sorted(FORMS)),
    )
    def holds(scenario, form):
        assume(fits(form, scenario.kernel))
        assert_right(judged_scenario(scenario, form))

    holds()


@pytest.mark.parametrize("draws", [6, pytest.param(15, marks=pytest.mark.nightly)])
def test_runs_in_which_every_term_acts_pass(draws):
    """Where terms carry weight the verdict is PASS, and not for want of anything to see."""

    @settings(max_examples=draws)
    @given(acting_scenarios(max_ranks=MOST, max_samples=24), st.sampled_from(sorted(FORMS)))
    def holds(scenario, form):
        assume(fits(form, scenario.kernel))
        for verdict in judged_scenario(scenario, form):
            # One window from zero has no stale product to see.
            alone = scenario.iterations <= scenario.s and scenario.start == "zero"
            if verdict.check != "message-count" and not (alone and verdict.status is Status.VACUOUS):
                assert verdict.status is Status.PASS, (verdict.check, verdict.reason)
            assert verdict.status not in BAD, verdict.reason

    holds()


@pytest.mark.parametrize(
    ("ranks", "form"),
    [
        # By day two forms have three of the four ranks, the next two all: one dense, one sparse.
        pytest.param(ranks, form, marks=[pytest.mark.nightly] * (ranks != 3 + place // 2 % 2))
        for ranks in range(1, 5)
        for place, form in enumerate(FORMS)
    ],
)
def test_every_check_holds_for_every_exchange(ranks, form):
    """Three features: on four ranks one has no column. s = 12 draws more coordinates than there are."""
    number = list(FORMS).index(form) + ranks
    task = list(LOSSES)[number % 3]
    for kernel in (name for name, described in KERNELS.items() if fits(form, described)):
        problem = problem_of(task, kernel, sparse=bool(number % 2))
        solver = DistributedSolver(ranks, **options_of(form, problem.samples, 24))
        case = case_of(problem, solver, (12,) if number % 2 else (4,))
        found = verdicts(case, solver, ON_GIVEN)
        assert_right(found)
        passed = {verdict.check for verdict in found if verdict.status is Status.PASS}
        needed = {"window-replay", "trajectory", "determinism"}
        needed |= {"rank-coherence"} if ranks > 1 else set()
        needed |= {"residual-gap"} if form == "gram" else set()
        assert passed >= needed, needed - passed


@pytest.mark.parametrize("features", [1, 2])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "csr"])
def test_more_ranks_than_columns(features, sparse):
    for form in ("allreduce", "support", "reduce-scatter", "gram", "few rows cached", "kept gram"):
        problem = problem_of("svm-l2", "linear", sparse=sparse, features=features)
        solver = DistributedSolver(MOST, **options_of(form, problem.samples, 4))
        assert_right(verdicts(case_of(problem, solver, (4,)), solver, (*ON_DRAWN, "trajectory")))


@pytest.mark.parametrize(("form", "ranks"), crossed(FORMS, range(1, 5), of=2))
def test_the_same_bits_every_time_and_as_without_mpi_on_one_rank(ranks, form):
    kernel = "linear" if fits(form, KERNELS["linear"]) else "rbf"
    problem = problem_of(list(LOSSES)[ranks % 3], kernel)
    options = options_of(form, problem.samples, 8)
    solver = DistributedSolver(ranks, **options)
    request = RunRequest(problem, case_of(problem, solver).stream, 4, ITERATIONS)
    one, other = solver.run(request), solver.run(request)
    assert one.final.any()
    assert one.final.tobytes() == other.final.tobytes()
    if ranks == 1:
        alone = ProductionSolver(**options).run(request)
        assert one.final.tobytes() == alone.final.tobytes()
        assert one.counters == alone.counters


def test_weights_formed_again_are_those_that_are_recorded():
    scenario = Scenario(
        task="krr", samples=21, features=7, block=3, s=5, iterations=17, seed=3208015862, ranks=2,
        spectrum="geo", condition=1e11, scale="large", constant_features=1, density=0.1, skew=1.0,
        positive=0.25,
    )  # fmt: skip
    ends = (5, 10, 15, 17)
    solver = DistributedSolver(2, exchange="gram", recompute=3)
    case = Case(
        scenario.id, scenario.problem(), scenario.stream(), (5,), 17, solver.declaration,
        points={5: ends}, windows=len(ends),
    )  # fmt: skip
    assert_right(verdicts(case, solver, ["window-replay"]))
