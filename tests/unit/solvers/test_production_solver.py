"""The production solver as a whole: windows, starts, stops, the box, storage, errors."""

from __future__ import annotations

import gc
import sys
import weakref
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from production_runs import FORMS, KERNELS, LOSSES, SAMPLES, problem_of, stream_of

from sstep_verify.errors import InputError
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, Ridge
from sstep_verify.protocol import RunRequest, Solver
from sstep_verify.solver import ProductionSolver
from sstep_verify.solver import run as run_module
from sstep_verify.solver.communicator import SelfCommunicator
from sstep_verify.solver.settings import Options


def run(task: str, s: int, iterations: int, record=(), start: int = 0, initial=None, **form):
    request = RunRequest(problem_of(task), stream_of(task), s, iterations, start, initial, record)
    return ProductionSolver(**form).run(request)


def test_it_is_a_solver_and_declares_itself():
    solver = ProductionSolver(update="frozen", keep_gram=True)
    assert isinstance(solver, Solver)
    declared = solver.declaration
    assert (declared.precision, declared.update) == ("float64", "frozen")
    assert declared.options["gram kept"] is True
    assert declared.ranks == 1


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("task", LOSSES)
def test_chunk_borders_change_nothing(task, form, monkeypatch):
    """Windows are prepared in chunks; where one chunk ends must not show, to the last bit."""
    whole = run(task, 4, 54, record=(4, 28), **form)
    monkeypatch.setattr(run_module, "CHUNK_DRAWS", 25)
    chunked = run(task, 4, 54, record=(4, 28), **form)
    assert np.array_equal(whole.alphas, chunked.alphas)
    for name in ("windows", "panel columns", "collectives"):
        assert whole.counters[name] == chunked.counters[name]


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("task", LOSSES)
def test_a_continued_run_equals_a_single_one(task, form):
    """Windows aligned with the first run's: the same operations in the same order."""
    single = run(task, 5, 33, record=(20,), **form)
    first = run(task, 5, 20, **form)
    second = run(task, 5, 13, start=20, initial=first.final, **form)
    assert np.array_equal(first.final, single.at(20))
    assert np.array_equal(second.final, single.final)
    assert second.start == 20


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("task", LOSSES)
def test_recording_changes_nothing(task, form):
    assert np.array_equal(
        run(task, 5, 33, **form).final, run(task, 5, 33, tuple(range(0, 31, 5)), **form).final
    )


@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("task", LOSSES)
def test_windows_beyond_the_run_make_one_window(task, form):
    """s > H: one short window, the same as s = H."""
    assert np.array_equal(run(task, 50, 7, **form).final, run(task, 7, 7, **form).final)


@pytest.mark.parametrize("task", LOSSES)
def test_no_iterations_leave_the_start(task):
    initial = np.linspace(0.0, 1.0, SAMPLES)
    trajectory = run(task, 3, 0, initial=initial)
    assert trajectory.iterations.tolist() == [0]
    assert np.array_equal(trajectory.final, initial)
    assert trajectory.counters["windows"] == 0


@pytest.mark.parametrize("keep_gram", [False, True])
def test_inputs_are_not_modified(keep_gram):
    initial = np.full(SAMPLES, 0.25)
    trajectory = run("svm-l1", 4, 20, initial=initial, record=(8,), keep_gram=keep_gram)
    assert np.array_equal(initial, np.full(SAMPLES, 0.25))
    assert np.array_equal(trajectory.at(0), initial)
    assert not np.array_equal(trajectory.at(8), trajectory.final)


# --- stopping -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep_gram", [False, True])
def test_the_observer_ends_the_run(keep_gram):
    seen = []

    def observe(iteration, alpha):
        seen.append((iteration, alpha.copy()))
        return iteration >= 8

    request = RunRequest(problem_of("svm-l2"), stream_of("svm-l2"), 4, 22, record=(4, 8, 12))
    trajectory = ProductionSolver(keep_gram=keep_gram).run(request, observe)
    assert [iteration for iteration, _ in seen] == trajectory.iterations.tolist() == [0, 4, 8]
    assert trajectory.stopped == "observer"
    assert trajectory.length == 8
    assert trajectory.counters["windows"] == 2
    assert np.array_equal(trajectory.final, seen[-1][1])


def test_an_observer_that_never_stops_sees_the_last_iteration():
    seen = []
    request = RunRequest(problem_of("krr"), stream_of("krr"), 4, 10, record=(4,))
    trajectory = ProductionSolver().run(request, lambda iteration, alpha: bool(seen.append(iteration)))
    assert seen == [0, 4, 10]
    assert trajectory.stopped == "iterations"


# --- the box ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("keep_gram", [False, True])
@pytest.mark.parametrize("C", [0.3, 1.0 / 3.0, 2.0])
def test_clipped_coordinates_lie_on_the_box_exactly(C, keep_gram):
    """In place a new value is stored itself: never outside the box, and at its ends to the last bit."""
    problem = replace(problem_of("svm-l1", KERNELS[1]), loss=Hinge(C))
    request = RunRequest(problem, stream_of("svm-l1"), 6, 60, 0, np.full(SAMPLES, C / 2))
    final = ProductionSolver(keep_gram=keep_gram).run(request).final
    assert ((final >= 0.0) & (final <= C)).all()
    assert (final == 0.0).any()
    assert (final == C).any()


def test_a_zero_row_moves_to_the_upper_end():
    data = problem_of("svm-l1").dense.copy()
    data[5] = 0.0
    problem = Problem("zero row", data, problem_of("svm-l1").targets, LinearKernel(), Hinge(0.7))
    stream = IndexStream("cyclic", SAMPLES, 1, SAMPLES)
    for form in FORMS:
        assert ProductionSolver(**form).run(RunRequest(problem, stream, 4, SAMPLES)).final[5] == 0.7


# --- storage and the kept Gram matrix -----------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS[:2], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("task", LOSSES)
def test_storage_changes_nothing_where_products_are_exact(task, kernel):
    """Data of few bits: dense and CSR products are exact, hence all that follows is the same."""
    dense = problem_of(task, kernel)
    dense = replace(dense, data=np.round(dense.data * 4) / 4)
    stream = stream_of(task)
    ends = [
        ProductionSolver().run(RunRequest(problem, stream, 5, 33)).final
        for problem in (dense, replace(dense, data=sp.csr_array(dense.data)))
    ]
    assert np.array_equal(*ends)


def test_the_gram_matrix_is_kept_per_problem():
    solver = ProductionSolver(keep_gram=True)
    request = RunRequest(problem_of("svm-l1"), stream_of("svm-l1"), 4, 12)
    first = solver.run(request)
    again = solver.run(request)
    assert first.counters["panel columns"] == SAMPLES
    assert again.counters["panel columns"] == 0
    assert np.array_equal(first.final, again.final)
    other = replace(request, problem=problem_of("svm-l1", KERNELS[0]))
    assert solver.run(other).counters["panel columns"] == SAMPLES
    assert np.array_equal(solver.run(other).final, ProductionSolver(keep_gram=True).run(other).final)


# --- errors -------------------------------------------------------------------------------------------


def test_an_unknown_update_is_refused():
    with pytest.raises(InputError, match=r"update = 'lazy' is unknown; known: in-place, frozen"):
        ProductionSolver(update="lazy")


def test_a_gram_matrix_beyond_the_limit_is_refused():
    solver = ProductionSolver(keep_gram=True, gram_limit=143)
    with pytest.raises(
        InputError, match=r"12 x 12 = 144 words exceeds the limit of 143; run without keep_gram"
    ):
        solver.run(RunRequest(problem_of("krr"), stream_of("krr"), 4, 12))


@pytest.mark.parametrize(
    "options", [{}, {"keep_gram": True}, {"cache": 10_000}, {"exchange": "gram"}], ids=str
)
def test_a_run_is_gone_once_nobody_refers_to_it(options):
    """Without a collection of garbage: its arrays may be as large as a Gram matrix."""
    generator = np.random.default_rng(3)
    problem = Problem("drawn", generator.standard_normal((9, 4)), np.ones(9), LinearKernel(), Ridge(1.0))
    request = RunRequest(problem, IndexStream("uniform", 9, 2, 12, 0), 3, 12)
    # A compiler that makes its loops now, for the first time, leaves garbage that refers to a run.
    run_module.Run(Options(**options), SelfCommunicator(), request).advance(0, 12)
    gc.disable()
    try:
        made = run_module.Run(Options(**options), SelfCommunicator(), request)
        made.advance(0, 12)
        gone = weakref.ref(made)
        del made
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("task", LOSSES)
def test_a_solver_that_has_run_makes_the_same_run_again(task):
    """Its memory of the run before is used as it was left, be it larger or too small."""
    solver = ProductionSolver()
    requests = [RunRequest(problem_of(task), stream_of(task), s, 12, log=True) for s in (2, 4, 1)]
    for request in (*requests, *requests[::-1]):
        found, fresh = solver.run(request), ProductionSolver().run(request)
        assert np.array_equal(found.log, fresh.log)
        assert np.array_equal(found.final, fresh.final)
        assert found.counters == fresh.counters


def versions() -> dict[str, int]:
    """For how many types each function of the solver is compiled."""
    return {
        f"{name}.{function}": len(value.signatures)
        for name, module in list(sys.modules.items())
        if name.startswith("sstep_verify.solver.")
        for function, value in vars(module).items()
        if hasattr(value, "signatures")
    }


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("form", FORMS, ids=str)
@pytest.mark.parametrize("task", LOSSES)
def test_a_copy_of_a_problem_takes_the_same_loops(task, form, sparse):
    """Arrays of a problem cannot be written to, those of the copies that are judged can."""
    problem, answers = problem_of(task), []
    if sparse:
        problem = replace(problem, data=sp.csr_array(problem.dense))
    for given in (problem, deepcopy(problem)):
        run = ProductionSolver(**form).run(RunRequest(given, stream_of(task), 4, 40))
        answers.append((given.targets.flags.writeable, run.final.tolist(), versions()))
    (_, *first), (written, *second) = answers
    assert written
    assert first == second
