"""The step log of every solver: it leads to every recorded a, and holds what single steps leave."""

from __future__ import annotations

import numpy as np
import pytest
from production_runs import FORMS, KERNELS, problem_of, stream_of

from sstep_verify import judge
from sstep_verify.adapters import CallableSolver, ReferenceSolver
from sstep_verify.protocol import Declaration, RunRequest
from sstep_verify.solver import ProductionSolver
from sstep_verify.verdict import Hint, HintKind

TASKS = ("svm-l1", "svm-l2", "krr")
OTHERS = [
    {"exchange": "support"},
    {"exchange": "reduce-scatter"},
    {"exchange": "gram"},
    {"exchange": "gram", "recompute": 2},
    {"cache": 108},
    {"separate_timers": True},
    {"rbf": "difference"},
]


def followed(run, stream):
    """The vectors that a log leads to at the recorded iterations."""
    alpha = np.array(run.alphas[0])
    for step, (draws, new) in enumerate(
        zip(stream.blocks(run.start, run.start + run.length), run.log, strict=True)
    ):
        if step in run.iterations:
            yield alpha.copy()
        alpha[draws] = new
    yield alpha


@pytest.mark.parametrize("options", [*FORMS, *OTHERS], ids=str)
@pytest.mark.parametrize("task", TASKS)
def test_the_log_of_a_production_run_leads_to_every_recorded_vector(task, options):
    kernel = KERNELS[0] if options.get("exchange") == "gram" else KERNELS[2]
    problem, stream = problem_of(task, kernel), stream_of(task)
    for s in (1, 3) if "cache" in options else (1, 3, 7):
        request = RunRequest(problem, stream, s, 50, start=5, record=(3 * s, 4 * s), log=True)
        run = ProductionSolver(**options).run(request)
        assert run.log.shape == (50, stream.block)
        assert all(map(np.array_equal, followed(run, stream), run.alphas))
        plain = ProductionSolver(**options).run(
            RunRequest(problem, stream, s, 50, start=5, record=(3 * s, 4 * s))
        )
        assert plain.log is None
        assert np.array_equal(plain.alphas, run.alphas)


@pytest.mark.parametrize("task", TASKS)
def test_a_classical_log_is_what_single_steps_leave(task):
    problem, stream = problem_of(task), stream_of(task)
    run = ProductionSolver().run(RunRequest(problem, stream, 1, 20, record=tuple(range(20)), log=True))
    for step in range(20):
        assert np.array_equal(run.log[step], run.at(step + 1)[stream.blocks(step, step + 1)[0]])


@pytest.mark.parametrize("form", ["sstep", "classical"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("task", TASKS)
def test_the_log_of_the_reference_leads_to_every_recorded_vector(task, precision, form):
    problem, stream = problem_of(task), stream_of(task)
    run = ReferenceSolver(precision, form).run(RunRequest(problem, stream, 4, 30, record=(8, 12), log=True))
    assert all(map(np.array_equal, followed(run, stream), run.alphas))


def test_a_function_fills_its_log():
    problem, stream = problem_of("svm-l1"), stream_of("svm-l1")

    def classical(problem, blocks, s, a0, log):
        assert (log.shape, log.dtype) == (blocks.shape, np.float64)
        assert np.isnan(log).all()
        run = ReferenceSolver(form="classical")
        request = RunRequest(problem, stream, s, len(blocks), initial=a0, log=True)
        made = run.run(request)
        log[:] = made.log
        return made.final

    tested = CallableSolver(classical, Declaration("function", log=True, rbf="difference"))
    run = tested.run(RunRequest(problem, stream, 4, 30, record=(8, 12), log=True))
    assert all(map(np.array_equal, followed(run, stream), run.alphas))


@pytest.mark.parametrize(
    ("left", "requirement"),
    [(range(50), "S-5.2"), ([30, 49], "S-5.2"), ([0], "S-3.1")],
    ids=["all", "the last among them", "one that is drawn again"],
)
def test_a_log_that_is_not_filled_is_reported_as_such(left, requirement):
    problem, stream = problem_of("svm-l1"), stream_of("svm-l1")

    def forgets(problem, blocks, s, a0, log):
        made = ReferenceSolver().run(RunRequest(problem, stream, s, len(blocks), initial=a0, log=True))
        log[:] = made.log
        log[[step for step in left if step < len(log)]] = np.nan
        return made.final

    tested = CallableSolver(forgets, Declaration("forgets", log=True))
    steps = judge(tested, problem, stream, s=50, iterations=50)[-1]
    assert (steps.check, steps.status) == ("step-replay", "FAIL")
    assert Hint(HintKind.LOG_NOT_WRITTEN, (len(left), 50, left[0] + 1)) in steps.hints
    assert steps.requirement == requirement


def test_a_run_that_the_observer_ends_has_the_log_of_what_it_made():
    problem, stream = problem_of("svm-l1"), stream_of("svm-l1")
    request = RunRequest(problem, stream, 4, 30, record=(8, 12), log=True)
    run = ProductionSolver().run(request, lambda iteration, alpha: iteration == 8)
    assert run.length == len(run.log) == 8
