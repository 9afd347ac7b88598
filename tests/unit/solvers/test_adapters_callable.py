"""A function as a solver: what it is called with, what it may return, where it is stopped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.adapters import CallableSolver, ReferenceSolver
from sstep_verify.errors import InputError, ResultError
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem
from sstep_verify.protocol import Declaration, RunRequest, Solver

SAMPLES, LENGTH = 6, 20
PROBLEM = Problem(
    "small",
    np.random.default_rng(5).standard_normal((SAMPLES, 3)),
    np.resize([1.0, -1.0], SAMPLES),
    LinearKernel(),
    Hinge(0.5),
)
STREAM = IndexStream("uniform", SAMPLES, 1, LENGTH, seed=4)
DECLARATION = Declaration("mine", update="frozen")


def request_of(s=4, iterations=LENGTH, start=0, initial=None, record=()):
    return RunRequest(PROBLEM, STREAM, s, iterations, start, initial, tuple(record))


def final_of(problem, blocks, s, initial):
    """The reference, asked for its final vector only."""
    stream = FixedStream(blocks)
    return ReferenceSolver().run(RunRequest(problem, stream, s, len(blocks), initial=initial)).final


class FixedStream:
    """A stream of given blocks."""

    def __init__(self, drawn):
        self.drawn, self.samples, self.block, self.length = drawn, SAMPLES, drawn.shape[1], len(drawn)

    def blocks(self, begin, end):
        return self.drawn[begin:end]


def test_it_is_a_solver_of_level_one():
    solver = CallableSolver(final_of, DECLARATION)
    assert isinstance(solver, Solver)
    assert solver.declaration.level == 1
    assert (solver.declaration.name, solver.declaration.update) == ("mine", "frozen")


def test_its_recorded_states_are_those_of_the_solver_within():
    request = request_of(record=(4, 8, 16))
    inside = ReferenceSolver().run(request)
    outside = CallableSolver(final_of, DECLARATION).run(request)
    assert np.array_equal(outside.alphas, inside.alphas)
    assert np.array_equal(outside.iterations, inside.iterations)
    assert outside.windows() == inside.windows() == [(0, 4), (4, 8), (16, 20)]


def test_every_call_begins_at_the_start_vector():
    calls = []

    def function(problem, blocks, s, initial):
        calls.append((problem, blocks.copy(), s, initial.copy()))
        blocks[:] = 0  # a function may do as it likes with its arguments
        initial += len(calls)
        return initial

    initial = np.linspace(0.0, 0.5, SAMPLES)
    request = request_of(s=3, iterations=8, start=5, initial=initial, record=(6,))
    trajectory = CallableSolver(function, DECLARATION).run(request)
    assert [len(blocks) for _, blocks, _, _ in calls] == [6, 8]
    for problem, blocks, s, begun in calls:
        assert problem is PROBLEM
        assert s == 3
        assert np.array_equal(blocks, STREAM.blocks(5, 5 + len(blocks)))
        assert np.array_equal(begun, initial)
    assert np.array_equal(trajectory.alphas, [initial, initial + 1, initial + 2])


def test_a_result_that_is_reused_does_not_change_what_was_recorded():
    buffer = np.zeros(SAMPLES)

    def function(problem, blocks, s, initial):
        buffer[:] = len(blocks)
        return buffer

    trajectory = CallableSolver(function, DECLARATION).run(request_of(record=(4, 8)))
    assert trajectory.alphas[:, 0].tolist() == [0.0, 4.0, 8.0, 20.0]


def test_nothing_is_rounded_on_the_way():
    def extended(problem, blocks, s, initial):
        return np.full(SAMPLES, np.longdouble(1) / 3)

    final = CallableSolver(extended, Declaration("wide")).run(request_of()).final
    assert (final == np.longdouble(1) / 3).all()

    def single(problem, blocks, s, initial):
        return np.full(SAMPLES, 1 / 3, dtype=np.float32)

    final = CallableSolver(single, Declaration("narrow", precision="float32")).run(request_of()).final
    assert final.dtype == np.float64
    assert (final == np.float32(1 / 3)).all()


def test_the_start_vector_is_what_the_declared_precision_holds():
    initial = np.full(SAMPLES, 0.1)
    solver = CallableSolver(lambda problem, blocks, s, a: a, Declaration("narrow", precision="float32"))
    trajectory = solver.run(request_of(initial=initial))
    assert (trajectory.alphas == np.float64(np.float32(0.1))).all()


def test_a_list_of_numbers_will_do_and_the_observer_ends_the_run():
    solver = CallableSolver(lambda problem, blocks, s, a: [1] * SAMPLES, DECLARATION)
    trajectory = solver.run(request_of(record=(4, 8)), lambda iteration, alpha: iteration == 4)
    assert trajectory.stopped == "observer"
    assert trajectory.alphas.tolist() == [[0.0] * SAMPLES, [1.0] * SAMPLES]


@pytest.mark.parametrize("returned", [np.zeros(SAMPLES + 1), np.zeros((SAMPLES, 1)), ["a"] * SAMPLES])
def test_what_is_no_vector_is_an_error(returned):
    solver = CallableSolver(lambda *arguments: returned, DECLARATION)
    with pytest.raises(
        InputError, match=r"mine: the function returned .* it must be a real vector of shape"
    ):
        solver.run(request_of())


def test_errors_of_the_declaration():
    with pytest.raises(InputError, match=r"mine: 3 is not callable"):
        CallableSolver(3, DECLARATION)
    with pytest.raises(InputError, match=r"precision 'half' of the mine solver is unknown; known: float32"):
        CallableSolver(final_of, Declaration("mine", precision="half"))


def test_no_iterations_leave_a_log_of_no_steps():
    logged = CallableSolver(lambda problem, blocks, s, a, log: a, Declaration("logging", log=True))
    assert logged.run(replace(request_of(iterations=0), log=True)).log.shape == (0, 1)


def test_a_function_that_returns_nothing_is_asked_to_return_alpha():
    with pytest.raises(InputError, match="the function returned None; end it with `return alpha`"):
        CallableSolver(lambda problem, blocks, s, a0: None, DECLARATION).run(request_of())


class Unconvertible:
    """What an array library keeps off the processor, or in a graph: it refuses to become an array."""

    def __init__(self, error):
        self.error = error

    def __array__(self, *given, **more):
        raise self.error


@given(
    st.one_of(
        st.lists(st.lists(st.floats(0, 1), min_size=2, max_size=3), max_size=3).map(
            lambda history: (np.zeros(SAMPLES), history)
        ),
        st.integers(0, 9).map(lambda count: (np.zeros(SAMPLES), {"iterations": count})),
        st.lists(st.just([0.5]), min_size=1, max_size=4).map(lambda rows: [1.0, *rows]),
        st.sampled_from([TypeError, ValueError, RuntimeError, NotImplementedError])
        .map(lambda kind: kind("on the device"))
        .map(Unconvertible),
        st.builds(object),
        st.text(max_size=5),
    )
)
def test_what_makes_no_vector_is_an_error_of_the_function(returned):
    """Such as alpha with a history next to it, or an array of a library that numpy may not read."""
    for log in (True, False):
        solver = CallableSolver(lambda *_: returned, replace(DECLARATION, log=log))
        with pytest.raises(
            ResultError, match=r"^mine: the function returned .*real vector of shape \(6,\)"
        ):
            solver.run(replace(request_of(), log=log))


@given(st.one_of(st.none(), st.text(), st.just(final_of), st.just(Declaration), st.just({"name": "mine"})))
def test_another_thing_than_a_declaration_is_refused(given_one):
    with pytest.raises(
        InputError, match=r"it must be a Declaration: CallableSolver\(function, Declaration\("
    ):
        CallableSolver(final_of, given_one)


@given(
    st.sampled_from(["name", "panels", "log", "ranks"]),
    st.one_of(st.none(), st.floats(), st.binary(), st.lists(st.integers())),
)
def test_a_field_of_a_declaration_of_another_type_is_named(field, value):
    with pytest.raises(InputError, match=rf"^{field} = "):
        Declaration(**{"name": "mine", field: value})


@pytest.mark.parametrize("log", [True, False])
def test_a_log_that_only_function_or_declaration_has_is_refused(log):
    def with_log(problem, blocks, s, a0, log):
        """Takes a log."""

    def without(problem, blocks, s, a0):
        """Takes none."""

    declared = replace(DECLARATION, log=log)
    with pytest.raises(InputError, match="leave out log=True" if log else "write Declaration.*log=True"):
        CallableSolver(without if log else with_log, declared)
    CallableSolver(with_log if log else without, declared)
    CallableSolver(lambda *given: given[3], declared)
