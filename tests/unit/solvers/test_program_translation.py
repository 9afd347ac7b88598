"""A program's own words for a, its draws and its counts, and back to ours."""

from __future__ import annotations

import ctypes
from fractions import Fraction

import numpy as np
import pytest
from program_cases import DATA, LABELS, RESULT, leaving

from sstep_verify.adapters.program import (
    Conventions,
)
from sstep_verify.errors import ProgramError, RefusedError
from sstep_verify.problems import Hinge, IndexStream, LinearKernel, Problem, Ridge
from sstep_verify.protocol import RunRequest


@pytest.mark.parametrize("seed", [0, 1, 7, 2**31 - 1, 2**31, 2**32 - 1])
def test_coordinates_are_those_of_the_c_library(seed):
    library = ctypes.CDLL(None)
    library.srand(ctypes.c_uint(seed))
    drawn = [library.rand() % 9 for _ in range(500)]
    stream = IndexStream("glibc-rand", 9, 1, 500, seed=seed)
    assert stream.blocks(0, 500)[:, 0].tolist() == drawn
    assert stream.blocks(120, 130)[:, 0].tolist() == drawn[120:130]
    assert all(
        len(set(block)) == 4
        for block in IndexStream("glibc-rand", 9, 4, 50, seed=seed).blocks(0, 50).tolist()
    )


@pytest.mark.parametrize(
    ("line", "task", "words"),
    [
        ('scale = "C"', "krr", "has no such parameter"),
        ('sign = "labels"', "krr", "no labels"),
        ('scale = "lambda"', "svm", "has no such parameter"),
        ('scale = "1/C"', "tiny", "between 2"),
        ('counts = "epochs"', "svm", "epochs of 6 iterations, but the run is to make 4"),
    ],
)
def test_a_problem_that_does_not_go_with_a_convention_is_refused(tmp_path, line, task, words):
    loss = {"krr": Ridge(0.5), "svm": Hinge(0.5), "tiny": Hinge(1e-30)}[task]
    problem = Problem("p", DATA, LABELS, LinearKernel(), loss)
    tested = leaving("", f"{RESULT}[conventions]\n{line}\n", tmp_path)
    with pytest.raises(RefusedError, match=words):
        tested.run(RunRequest(problem, IndexStream("cyclic", 6, 1, 4), 2, 4))


WORDS = [
    Conventions(),
    Conventions(scale=0.25, sign=-1),
    Conventions(sign="labels", order="by-class"),
    Conventions(scale=8, sign="labels", order="by-class"),
    Conventions(scale="1/C", order="by-class"),
]
UNSORTED = Problem("p", DATA, [-1.0, 1.0, -1.0, -1.0, 1.0, 1.0], LinearKernel(), Hinge(0.5))


@pytest.mark.parametrize("words", WORDS)
def test_a_start_in_the_program_s_words_is_the_same_in_ours(words):
    taken, alpha = words.of(UNSORTED), np.random.default_rng(3).random(6)
    back, errors = taken.ours(taken.theirs(alpha)[np.argsort(taken.order)], np.arange(6))
    np.testing.assert_array_equal(back, alpha)
    assert (errors == 0).all()  # 1/C is a power of two here
    drawn = np.array([[5], [0], [2]])
    np.testing.assert_array_equal(taken.order[taken.numbers(drawn)], drawn)
    if words.order == "by-class":
        assert taken.order.tolist() == [1, 4, 5, 0, 2, 3]


@pytest.mark.parametrize("first", WORDS)
@pytest.mark.parametrize("second", WORDS)
def test_what_one_convention_made_of_words_another_makes_again(first, second):
    one, other, own = first.of(UNSORTED), second.of(UNSORTED), np.random.default_rng(4).random(6)

    def ours(taken):
        return taken.ours(own[np.argsort(taken.order)], np.arange(6))[0]

    change = one.into(other)
    np.testing.assert_array_equal(change.ours(ours(one)[change.order], np.arange(6))[0], ours(other))


def test_a_scale_that_is_no_power_of_two_rounds_once():
    taken, own = Conventions(scale=0.1).of(UNSORTED), np.random.default_rng(5).standard_normal(6)
    values, errors = taken.ours(own, np.arange(6))
    for value, error, mine in zip(values.tolist(), errors.tolist(), own.tolist(), strict=True):
        assert abs(Fraction(value) - Fraction(mine) * Fraction(0.1)) <= Fraction(error) / 2
        assert error <= 2.0**-52 * abs(value)


@pytest.mark.parametrize("value", [1e308, 5e-324])
def test_a_value_that_a_power_of_two_scales_out_of_range_is_reported(value):
    taken = Conventions(scale=2.0**40 if value > 1 else 2.0**-40).of(UNSORTED)
    with pytest.raises(ProgramError, match="leaves the range of float64"):
        taken.ours(np.full(6, value), np.arange(6))
