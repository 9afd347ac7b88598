"""Strategies: what they draw is valid and as promised, and failures shrink to the smallest scenario."""

from __future__ import annotations

from random import Random
from unittest import mock

import acting_draws
import numpy as np
import pytest
from acting_draws import acts
from hypothesis import HealthCheck, Phase, find, given, settings
from scenario_strategies import acting_scenarios, scenarios
from sstep_reference import Gram
from sstep_reference.arithmetic import Float, Rational

from sstep_verify.errors import InputError
from sstep_verify.oracle.balls.exact_kernel import exact_kernel
from sstep_verify.problems import (
    LinearKernel,
    PolynomialKernel,
    RBFKernel,
)
from sstep_verify.problems.losses import TASKS
from sstep_verify.protocol import RunRequest
from sstep_verify.recurrence.mutants import run_mutant, run_mutants
from sstep_verify.recurrence.mutation import NONE, TERMS
from sstep_verify.recurrence.steps import Step, finisher_of, mutable_window
from sstep_verify.scenarios import descent
from sstep_verify.scenarios.draws import CONDITIONS, KERNEL_NAMES, edge_scenarios, in_balance
from sstep_verify.scenarios.numbers import SCALES
from sstep_verify.scenarios.scenario import Scenario

EXACT = Rational()
# A K-RR index stream draws a whole chunk of blocks first, so examples are few there.
EXAMPLES = {"svm-l1": 60, "svm-l2": 60, "krr": 12}


@pytest.mark.parametrize("task", TASKS)
def test_drawn_scenarios_make_valid_requests_and_survive_their_id(task):
    @settings(max_examples=EXAMPLES[task])
    @given(scenarios(task, scales=tuple(SCALES), precisions=("float64", "float32")))
    def holds(scenario):
        assert scenario.task == task
        again = Scenario.from_id(scenario.id)
        assert again == scenario
        problem = scenario.problem()
        assert again.problem().digest == problem.digest
        assert problem.name in problem.label
        if task != "krr":
            assert set(problem.targets.tolist()) == {-1.0, 1.0}
        RunRequest(problem, scenario.stream(), scenario.s, scenario.iterations, initial=scenario.initial())

    holds()


def test_limits_and_names_are_kept():
    limits = {"max_samples": 5, "max_features": 3, "max_block": 2, "max_s": 4, "max_iterations": 6}

    @settings(max_examples=40)
    @given(scenarios("krr", kernels=["rbf"], scales=["small"], max_ranks=2, **limits))
    def holds(scenario):
        assert (scenario.scale, scenario.kernel.name) == ("small", "rbf")
        sizes = (scenario.samples, scenario.features, scenario.block, scenario.s, scenario.iterations)
        assert all(size <= limit for size, limit in zip(sizes, limits.values(), strict=True))
        assert scenario.ranks <= 2

    holds()


def smallest(strategy, predicate) -> tuple[Scenario, int]:
    """What Hypothesis shrinks to, and how many scenarios it drew."""
    drawn = []

    def counted(scenario):
        drawn.append(scenario)
        return predicate(scenario)

    quick = settings(max_examples=500, database=None, phases=[Phase.generate, Phase.shrink])
    return find(strategy, counted, settings=quick, random=Random(1)), len(drawn)


def test_failures_shrink_to_the_smallest_scenario():
    found, drawn = smallest(
        scenarios(), lambda scenario: scenario.samples >= 5 and scenario.iterations > 2 * scenario.s
    )
    assert found == Scenario(
        samples=5, features=1, s=1, iterations=3, condition=1.0, task="svm-l1", kernel=LinearKernel()
    )
    assert drawn < 500


def test_shrinking_acts_on_each_size_and_name():
    found, _ = smallest(
        scenarios("krr"),
        lambda scenario: (
            scenario.block > 2
            and scenario.ranks > 1
            and scenario.condition > 1e3
            and isinstance(scenario.kernel, RBFKernel)
        ),
    )
    expected = Scenario(
        task="krr",
        kernel=RBFKernel(1.0),
        samples=3,
        features=1,
        block=3,
        ranks=2,
        condition=found.condition,
    )
    assert found == expected
    assert found.condition == CONDITIONS[2]


@pytest.mark.nightly
def test_acting_scenarios_shrink_to_few_samples_and_steps():
    found, _ = smallest(acting_scenarios("svm-l1"), lambda scenario: scenario.features > 1)
    assert found.features == 2
    assert found.samples <= 4
    assert found.s <= 4
    assert found.iterations <= 3 * found.s
    assert isinstance(found.kernel, LinearKernel)


@pytest.mark.parametrize(
    ("task", "name"),
    [
        pytest.param(task, name, marks=[pytest.mark.nightly] * ((row + column) % 3 != 0))
        for row, task in enumerate(TASKS)
        for column, name in enumerate(KERNEL_NAMES)
    ],
)
def test_acting_scenarios_are_as_promised(task, name):
    @settings(max_examples=EXAMPLES[task] // 6)
    @given(acting_scenarios(task, kernels=[name]))
    def holds(scenario):
        assert scenario.kernel.name == name
        assert scenario.samples <= 64
        assert scenario.features <= 8
        draws = scenario.stream().blocks(0, scenario.iterations)
        windows = [draws[k : k + scenario.s] for k in range(0, len(draws), scenario.s)]
        assert any(np.unique(window).size < window.size for window in windows)
        problem = scenario.problem()
        norms = np.square(problem.dense).sum(axis=1)
        diagonal = {
            LinearKernel: lambda: norms,
            PolynomialKernel: lambda: (scenario.kernel.offset + norms) ** scenario.kernel.degree,
            RBFKernel: lambda: np.ones(scenario.samples),
        }[type(scenario.kernel)]()
        weight = scenario.parameter if task != "krr" else 1 / (scenario.parameter * scenario.samples)
        # Between the ends 0.1 and 10 strictly: the strategy stays an eighth of the range away from both.
        assert (weight * diagonal > 0.1).all()
        assert (weight * diagonal < 10).all()

    holds()


def increments(scenario: Scenario, term: str) -> list[tuple[list, list]]:
    """Increments of every window, with the term and without it, in exact rational arithmetic."""
    problem, start = scenario.problem(), scenario.initial()
    without = NONE.scaled(TERMS[term], 0, "dropped")
    found, finisher = [], finisher_of(problem, EXACT)
    run = run_mutants(
        exact_kernel(problem, EXACT),
        problem.targets.tolist(),
        finisher,
        (np.zeros(scenario.samples) if start is None else start).tolist(),
        scenario.stream().blocks(0, scenario.iterations).tolist(),
        scenario.s,
        [NONE],
        lambda reached: [EXACT.number(float(value)) for value in reached],
    )
    for (right,) in run:
        dropped: list = []
        mutable_window(EXACT, right.window, finisher, without, dropped)
        found.append(tuple([increments_of(step) for step in steps] for steps in (dropped, right.steps)))
    return found


def increments_of(step) -> list:
    """Increments of a step's coordinates."""
    return [step.increment] if isinstance(step, Step) else list(step)


@pytest.mark.parametrize(
    ("task", "term"),
    [(task, term) for task in TASKS for term in ("kernel-correction", "overlap")] + [("svm-l2", "omega")],
)
@pytest.mark.parametrize("draws", [3, pytest.param(8, marks=pytest.mark.nightly)])
def test_a_term_that_acts_changes_an_increment_in_exact_arithmetic(task, term, draws):
    small = {"max_samples": 10, "max_features": 3, "max_block": 2}

    @settings(max_examples=draws)
    @given(acting_scenarios(task, kernels=["linear"], terms=[term], **small))
    def holds(scenario):
        assert any(with_it != without for without, with_it in increments(scenario, term))

    holds()


def test_rounding_errors_of_windows_at_the_optimum_are_no_effect():
    """Samples of one direction: the first window moves alpha to the optimum, later ones by rounding."""
    scenario = Scenario(
        task="svm-l1",
        kernel=LinearKernel(),
        samples=10,
        features=2,
        s=18,
        iterations=54,
        seed=243222720,
        parameter=3.162277660168379,
        condition=450359962737049.6,
        spectrum="rcluster1",
        unit_rows=True,
        start="mixed",
    )
    assert all(without == with_it for without, with_it in increments(scenario, "overlap"))
    assert not acts(scenario, ["overlap"])
    # From where its run in float64 ends, every window moves alpha by rounding.
    problem, stream, start = scenario.problem(), scenario.stream(), scenario.initial()
    assert descent.acting_terms(problem, stream, scenario.s, start)
    arithmetic = Float("float64")
    ended = np.array(start)
    for run in run_mutant(
        Gram(arithmetic, descent.design_kernel(problem)),
        problem.targets,
        finisher_of(problem, arithmetic),
        start,
        stream.blocks(0, scenario.iterations).tolist(),
        scenario.s,
    ):
        ended[run.window.coordinates] = run.reached
    assert not descent.acting_terms(problem, stream, scenario.s, ended)


def test_a_weak_generator_would_be_caught():
    """Without the test for weight, overlaps of free steps are drawn: they change no increment at all."""
    small = {"max_samples": 4, "max_features": 2}
    everything = frozenset(descent.TERMS)
    with mock.patch.object(acting_draws, "acting_terms", return_value=everything):
        idle, _ = smallest(
            acting_scenarios("svm-l1", kernels=["linear"], terms=["overlap"], **small),
            lambda scenario: all(
                without == with_it for without, with_it in increments(scenario, "overlap")
            ),
        )
    assert acting_draws.overlaps(idle)
    assert in_balance(idle)
    assert not acts(idle, ["overlap"])


def test_terms_that_cannot_act_are_not_said_to():
    (classical, *_) = edge_scenarios("classical")
    assert not descent.acting_terms(classical.problem(), classical.stream(), 1)
    # sigma = 1000 on samples of distance about 1: the kernel is the identity, nothing is to correct.
    lonely = Scenario(kernel=RBFKernel(1e3), samples=6, features=4, s=12, iterations=12)
    terms = descent.acting_terms(lonely.problem(), lonely.stream(), 12)
    assert "kernel-correction" not in terms


@pytest.mark.parametrize("draws", [5, pytest.param(12, marks=pytest.mark.nightly)])
def test_most_drawn_seeds_act(draws):
    """No health check is suppressed here: rejecting most draws would fail the test."""

    @settings(max_examples=draws, suppress_health_check=[HealthCheck.too_slow])
    @given(acting_scenarios("svm-l2", terms=["kernel-correction", "overlap", "omega"]))
    def holds(scenario):
        assert acts(scenario, ["kernel-correction", "overlap", "omega"])

    holds()


def test_unknown_names_are_refused():
    for strategy, named in [
        (scenarios("svm"), "svm"),
        (scenarios(kernels=["cosine"]), "cosine"),
        (scenarios(scales=["huge"]), "huge"),
        (acting_scenarios(terms=["bias"]), "bias"),
        (acting_scenarios("krr", terms=["omega"]), "svm-l2"),
        (scenarios(kernels=[]), "none"),
    ]:
        with pytest.raises(InputError, match=named):
            find(strategy, lambda scenario: True, settings=settings(database=None))
