"""Draws of other people's generators: those that their own calls make, one by one, and strict where they repeat."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sstep_verify.errors import InputError
from sstep_verify.problems import IndexStream
from sstep_verify.problems.draws import GENERATORS, first_repeat
from sstep_verify.problems.streams import logged_stream

LENGTH = 5_000


def one_by_one(kind: str, seed: int, samples: int):
    """Numbers as a program draws them, by single calls."""
    if kind == "numpy-mt19937":
        legacy = np.random.RandomState(seed)
        return lambda: legacy.randint(samples)
    generator = np.random.default_rng(seed)
    return lambda: generator.integers(samples)


@pytest.mark.parametrize("kind", ["numpy-mt19937", "numpy-pcg64"])
@pytest.mark.parametrize("samples", [1, 2, 9, 4096, 70_000])
def test_draws_of_numpy_are_those_of_single_calls(kind, samples):
    draw = one_by_one(kind, 11, samples)
    drawn = IndexStream(kind, samples, 1, LENGTH, seed=11).blocks(0, LENGTH)
    assert drawn[:, 0].tolist() == [int(draw()) for _ in range(LENGTH)]


def test_draws_of_mt19937_are_those_of_the_standard():
    # ISO C++, rand.predef: the 10000th number of a default-constructed std::mt19937, whose seed is 5489.
    drawn = IndexStream("mt19937", 10**9, 1, 10_000, seed=5489).blocks(0, 10_000)
    assert drawn[-1, 0] == 4123659995 % 10**9


@pytest.mark.parametrize("kind", GENERATORS)
def test_in_a_block_a_number_is_drawn_again_unless_it_may_repeat(kind):
    singles = IndexStream(kind, 7, 1, 400, seed=3).blocks(0, 400).ravel().tolist()
    without = IndexStream(kind, 7, 3, 100, seed=3).blocks(0, 100).tolist()
    place = 0
    for block in without:
        found: list[int] = []
        while len(found) < 3:
            if singles[place] not in found:
                found.append(singles[place])
            place += 1
        assert block == found
    repeated = IndexStream(kind, 7, 3, 100, seed=3, replacement=True).blocks(0, 100)
    assert repeated.ravel().tolist() == singles[:300]
    assert first_repeat(repeated) is not None


def test_of_single_coordinates_replacement_says_nothing():
    both = [
        IndexStream("mt19937", 5, 1, 50, 1, replacement=replaced).blocks(0, 50)
        for replaced in (True, False)
    ]
    np.testing.assert_array_equal(*both)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "mt19937", "seed": 2**32}, "must lie in 0..4294967295"),
        ({"kind": "numpy-pcg64", "seed": -1}, "it must be >= 0"),
        ({"kind": "glibc-rand", "seed": 10**40}, "must lie in"),
        ({"kind": "uniform", "replacement": True}, "without replacement only"),
        ({"kind": "rand48"}, "unknown"),
    ],
)
def test_streams_that_cannot_be_are_refused(fields, words):
    with pytest.raises(InputError, match=words):
        IndexStream(samples=5, block=1, length=4, **fields)


def test_what_a_program_logs_is_known_afterwards():
    stream = IndexStream("logged", 5, 2, 3)
    assert not stream.known
    with pytest.raises(InputError, match="only after its program ran"):
        stream.blocks(0, 1)
    drawn = np.array([[0, 4], [1, 2], [4, 3]])
    known = logged_stream(stream, drawn)
    np.testing.assert_array_equal(known.blocks(1, 3), drawn[1:])
    assert known == logged_stream(stream, drawn.copy())
    assert logged_stream(stream, drawn[:1]).blocks(0, 3).tolist() == [[0, 4], [0, 1], [0, 1]]
    for wrong, words in (([[0, 5]], "outside 0..4"), ([[3, 3]], "twice")):
        with pytest.raises(InputError, match=words):
            logged_stream(stream, np.array(wrong))
    replaced = replace(stream, replacement=True)
    assert logged_stream(replaced, np.array([[3, 3]])).blocks(0, 1).tolist() == [[3, 3]]


def test_the_first_repeat_is_found():
    assert first_repeat(np.array([[1, 2], [2, 0], [3, 3], [1, 1]])) == (2, 3)
    assert first_repeat(np.array([[1, 2]])) is None
