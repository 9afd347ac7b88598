"""Functions compiled to borrow the arrays of their arguments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from sstep_verify import compiled as inner

pytest.importorskip("numba")
from numba.core.errors import NumbaError

ADD = """
def made(pair, row, total):
    values = pair.one[row]
    for place in range(values.size):
        if values[place] > 4.0:
            return
        total[row] += values[place] * pair.other[place]
"""
ADD_ROWS = """
def made(pair, total):
    for row in range(pair.one.shape[0]):
        if total[row] == 0.0:
            add(pair, row, total)
"""
DOUBLED = """
def made(values):
    return 2.0 * values
"""
WITH_HELP = """
def made(values, out):
    for place in range(values.size):
        out[place] = values[place]
    help(out)
"""


class Pair(NamedTuple):
    """Two arrays."""

    one: np.ndarray
    other: np.ndarray


def made(text, **names):
    """A function of text: with no source file it is compiled anew, where the cache knows one by its file."""
    exec(text, names)
    return names["made"]


@pytest.mark.parametrize("borrowing", [False, True])
def test_what_borrows_arrays_counts_no_references(borrowing):
    compile_it, total = inner.compiled_borrowing if borrowing else inner.compiled, np.zeros(2)
    function = compile_it(made(ADD_ROWS, add=compile_it(made(ADD))))
    function(Pair(np.arange(6.0).reshape(2, 3), np.array([1.0, 2.0, 4.0])), total)
    assert total.tolist() == [10.0, 11.0]
    (signature,) = function.signatures
    assert ("call void @NRT_decref" in function.inspect_llvm(signature)) != borrowing


def test_what_borrows_arrays_makes_none():
    assert inner.compiled(made(DOUBLED))(np.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(NumbaError):
        inner.compiled_borrowing(made(DOUBLED))(np.ones(2))


def test_what_a_borrowing_function_calls_may_make_arrays():
    doubled = inner.compiled(made(DOUBLED))
    within = inner.compiled(made("def made(out):\n    out[:] = doubled(out)\n", doubled=doubled))
    out = np.zeros(2)
    inner.compiled_borrowing(made(WITH_HELP, help=within))(np.array([1.0, 3.0]), out)
    assert out.tolist() == [2.0, 6.0]
