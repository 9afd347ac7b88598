"""Which vectors there are: of every kind, the same ones every time, and exact in float32."""

from __future__ import annotations

import numpy as np
import pytest
from daily import some
from vector_cases import EVERY_KIND, made

from sstep_verify.problems.kernels import parameters_of
from sstep_verify.specification import broken_by, text_of
from sstep_verify.vectors.choose import choose
from sstep_verify.vectors.layout import is_id
from sstep_verify.vectors.make import LEFT_OUT, MISTAKES, expected_of, prove
from sstep_verify.vectors.record import AT_C, AT_ZERO, OFFSET, REPEATED, SHORT, STARTED, ZERO_ROW
from sstep_verify.vectors.verify import BITS

ALL = [choose(number) for number in range(240)]
REQUESTS = [request for _, request in ALL]


def test_there_are_all_tasks_kernels_windows_and_blocks_in_all_combinations():
    kinds = {(one.problem.loss.task, one.problem.kernel.name, one.s, one.stream.block) for one in REQUESTS}
    svm = {(task, kernel, s, 1) for task, kernel, s, _ in kinds if task != "krr"}
    assert len(svm) == 2 * 3 * 7
    ridge = [kind[1:] for kind in kinds if kind[0] == "krr"]
    assert len({(kernel, s) for kernel, s, _ in ridge}) == 3 * 7
    assert len({(kernel, block) for kernel, _, block in ridge}) == 3 * 3


def test_sizes_parameters_and_starts_vary():
    assert {one.problem.samples for one in REQUESTS} == set(range(6, 25))
    assert {one.problem.features for one in REQUESTS} == set(range(2, 9))
    assert len({one.problem.loss.parameter for one in REQUESTS}) > 20
    assert len({str(one.problem.kernel) for one in REQUESTS}) > 20
    started = [bool(one.initial.any()) for one in REQUESTS]
    assert 100 < sum(started) < 140
    assert max(np.abs(one.problem.dense).max() for one in REQUESTS) > 32
    assert min(np.abs(one.problem.dense).max() for one in REQUESTS) < 0.1


def test_every_number_is_one_of_float32():
    for one in REQUESTS:
        problem = one.problem
        numbers = [problem.dense, problem.targets, one.initial, [problem.loss.parameter]]
        numbers.append([float(value) for value in parameters_of(problem.kernel).values()])
        for part in numbers:
            values = np.asarray(part, dtype=np.float64)
            assert np.array_equal(values.astype(np.float32).astype(np.float64), values)


def test_names_are_distinct_sorted_and_safe():
    names = [id for id, _ in ALL]
    assert names == sorted(set(names))
    assert all(map(is_id, names))
    assert not any(
        map(is_id, ("../000-a", "000-a/b", "000", "000-A", "", "000-" + "a" * 60, "000-a\n", "."))
    )


def test_a_vector_does_not_depend_on_how_many_there_are():
    (one_id, one), (other_id, other) = choose(17), choose(17)
    assert one_id == other_id
    assert one.problem.digest == other.problem.digest
    assert np.array_equal(one.initial, other.initial)


def test_few_vectors_have_everything_out_of_the_ordinary():
    has = {name for number in (*range(12), 33) for name in made(number)[2].has}
    assert has == {AT_C, AT_ZERO, OFFSET, REPEATED, SHORT, STARTED, ZERO_ROW}


@pytest.mark.parametrize("number", [*some(EVERY_KIND, of=2), 126, 171])
def test_what_is_expected_does_not_depend_on_the_bits_of_the_proof(number):
    # 126: a coordinate whose bound is made of nothing but the oracle's errors; 171: where all numbers are exact.
    request, _, expected = made(number)
    assert expected_of(expected.id, request, prove(request, BITS)) == expected


@pytest.mark.parametrize("number", [1, 6])
def test_what_a_vector_has_is_there(number):
    request, _, expected = made(number)
    assert ZERO_ROW in expected.has
    assert (~request.problem.dense.any(axis=1)).any()
    assert (SHORT in expected.has) == (request.iterations % request.s > 0)


def test_every_mistake_breaks_a_sentence_of_the_specification():
    for mistake in MISTAKES:
        numbers = broken_by(mistake.name.removesuffix(LEFT_OUT))
        assert numbers, mistake.name
        assert all(text_of(number) for number in numbers)
