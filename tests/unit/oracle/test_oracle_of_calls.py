"""A call of judge() takes over rows and exact kernels of the last call on the same problem, and no others."""

from __future__ import annotations

import copy
import gc
import weakref
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from production_runs import KERNELS, problem_of, stream_of

from sstep_verify import judge
from sstep_verify.checks.steps import judged
from sstep_verify.oracle import choice
from sstep_verify.oracle.balls import exact_kernel
from sstep_verify.oracle.choice import oracle_of_calls
from sstep_verify.oracle.facade import KERNEL, ROWS
from sstep_verify.solver import ProductionSolver

KEY = ROWS, "some"


@pytest.fixture(autouse=True)
def none_before():
    choice._latest.clear()
    yield
    choice._latest.clear()


def made_by(problem, value, name="arb"):
    with oracle_of_calls(name, problem) as oracle:
        return oracle.kept(KEY, lambda: value)


def failing(problem):
    with oracle_of_calls("arb", problem) as oracle:
        assert oracle.kept(KEY, lambda: 2) == 1
        raise ZeroDivisionError


def test_the_next_call_on_the_same_problem_takes_over():
    problem = problem_of("svm-l1", KERNELS[2])
    assert made_by(problem, 1) == made_by(problem, 2) == 1
    assert made_by(problem_of("svm-l1", KERNELS[2]), 3) == 3  # Another object, and the latest now.
    assert made_by(problem, 4) == 4
    assert made_by(problem, 5, "mpmath") == 5


def test_what_a_call_did_not_ask_for_is_dropped():
    problem = problem_of("svm-l1", KERNELS[2])
    made_by(problem, 1)
    with oracle_of_calls("arb", problem) as oracle:
        oracle.kept(("optimum", "some"), lambda: 2)
    assert made_by(problem, 3) == 3
    with oracle_of_calls("arb", problem) as oracle:
        assert oracle.kept(("optimum", "some"), lambda: 4) == 4


def test_a_call_within_a_call_has_its_own():
    problem = problem_of("svm-l1", KERNELS[2])
    made_by(problem, 1)
    with oracle_of_calls("arb", problem) as oracle:
        assert made_by(problem, 2) == 2
        assert oracle.kept(KEY, lambda: 3) == 1


def test_an_error_or_an_altered_arithmetic_leaves_nothing():
    problem = problem_of("svm-l1", KERNELS[2])
    made_by(problem, 1)
    with pytest.raises(ZeroDivisionError):
        failing(problem)
    assert made_by(problem, 3) == 3
    with oracle_of_calls("arb", problem) as oracle:
        oracle.forget()
        assert oracle.kept(KEY, lambda: 4) == 4


@pytest.mark.parametrize("store", [np.array, sp.csr_array])
def test_of_data_that_can_be_written_to_nothing_is_kept(store):
    """A deep copy has such arrays, so that a solver may change its own."""
    given = problem_of("svm-l1", KERNELS[2])
    problem = replace(given, data=store(given.data))
    copied = copy.deepcopy(problem)
    made_by(copied, 1)
    (copied.data if store is np.array else copied.data.data)[:] *= 1.5
    assert made_by(copied, 2) == 2
    assert made_by(problem, 3) == made_by(problem, 4) == 3


def test_nothing_outlives_the_problem():
    problem = problem_of("svm-l1", KERNELS[2])
    judge(ProductionSolver(), problem, stream_of("svm-l1"), 4)
    assert {key[0] for key in choice._latest[problem][1]} == {KERNEL, ROWS}
    alive = weakref.ref(problem)
    del problem
    gc.collect()
    assert alive() is None
    assert not choice._latest


@pytest.mark.parametrize("task", ["svm-l1", "svm-l2", "krr"])
def test_a_second_call_says_the_same_and_forms_no_rows(task, monkeypatch):
    problem, stream = problem_of(task, KERNELS[2]), stream_of(task)
    formed, derived, exact = [], judged.kernel_entries, exact_kernel.Kernel

    def counted(*arguments):
        formed.append(arguments)
        return derived(*arguments)

    def counted_exact(*arguments, **named):
        formed.append(arguments)
        return exact(*arguments, **named)

    monkeypatch.setattr(judged, "kernel_entries", counted)
    monkeypatch.setattr(exact_kernel, "Kernel", counted_exact)
    first = judge(ProductionSolver(), problem, stream, 4)
    count = len(formed)
    second = judge(ProductionSolver(), problem, stream, 4)
    assert 0 < count == len(formed)
    for one, other in zip(first, second, strict=True):
        assert (one.status, one.measured, one.bound) == (other.status, other.measured, other.bound)
        assert one.terms == other.terms
    judge(ProductionSolver(), problem, stream, 5, iterations=12)
    assert np.array_equal(problem.data, problem_of(task, KERNELS[2]).data)
