"""The exchange that is chosen, and that the reason says why."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.problems import LinearKernel, PolynomialKernel, RBFKernel
from sstep_verify.solver.exchanges.exchange import choose_exchange

RUN = {"samples": 1000, "s": 8, "block": 1, "iterations": 500, "ranks": 4, "memory": 0}


def chosen(kernel, **changes):
    return choose_exchange(kernel=kernel, **(RUN | changes))


def test_linear_kernels_need_no_whole_rows():
    exchange, cache, reason = chosen(LinearKernel(), ranks=1)
    assert (exchange, cache) == ("gram", 0)
    assert "8000" in reason
    assert "72 words" in reason


def test_a_linear_window_of_all_samples_is_no_smaller_by_its_products():
    assert chosen(LinearKernel(), samples=8, s=8)[0] != "gram"
    assert chosen(LinearKernel(), samples=9, s=7)[0] == "gram"


@pytest.mark.parametrize(
    "kernel", [PolynomialKernel(3, 0.0), RBFKernel(1.0)], ids=lambda kernel: kernel.name
)
def test_rows_that_fit_and_are_used_again_are_kept(kernel):
    memory = 1000 * 1000
    exchange, cache, reason = chosen(kernel, iterations=1001, memory=memory)
    assert (exchange, cache) == ("allreduce", memory)
    assert "1.001" in reason or "1 times" in reason
    assert chosen(kernel, iterations=1000, memory=memory)[1] == 0
    assert chosen(kernel, iterations=1001, memory=memory - 1)[1] == 0


@given(samples=st.integers(2, 900), passes=st.floats(1.01, 10_000))
def test_the_uses_of_a_row_are_a_mean_in_plain_decimals(samples, passes):
    """Uniform draws use no two rows equally often."""
    iterations = max(int(samples * passes), samples + 1)
    sizes = {"samples": samples, "iterations": iterations, "memory": samples**2}
    *_, reason = chosen(RBFKernel(1.0), ranks=1, **sizes)
    (uses,) = re.findall(r"use a row ([\d.]+) times on average", reason)
    assert float(uses) == pytest.approx(iterations / samples, rel=0.01)


def test_large_panels_are_shared_out():
    exchange, _, reason = chosen(RBFKernel(1.0), memory=10**5)
    assert exchange == "reduce-scatter"
    assert "250 samples a rank, not 1000" in reason
    assert chosen(RBFKernel(1.0), memory=10**5, ranks=1)[0] == "allreduce"


def test_small_panels_take_one_collective():
    exchange, cache, reason = chosen(PolynomialKernel(2, 0.0), samples=100, s=2, memory=1000)
    assert (exchange, cache) == ("allreduce", 0)
    assert reason.startswith("200 panel entries")
    assert "too few" in reason


def test_panels_beyond_the_memory_are_shared_out_however_small():
    assert chosen(PolynomialKernel(2, 0.0), samples=100, s=2, memory=199)[0] == "reduce-scatter"


def test_a_window_counts_a_coordinate_once():
    assert chosen(RBFKernel(1.0), samples=5, s=100, iterations=1)[2].startswith("25 panel entries")
