"""Block size of K-RR: solves never cost more than what a pass costs anyway."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sstep_verify.costs.block_size import EXPONENTIAL, MOST, block_size
from sstep_verify.problems import LinearKernel, PolynomialKernel, RBFKernel

KERNELS = st.sampled_from([LinearKernel(), PolynomialKernel(3, 1.0), RBFKernel(0.5)])


@given(st.integers(1, 10**6), st.integers(0, 10**9), st.integers(1, 4096), KERNELS)
def test_it_is_a_power_of_two_whose_solves_cost_no_more_than_the_rest(samples, stored, ranks, kernel):
    block = block_size(samples, stored, ranks, kernel)
    assert block & (block - 1) == 0
    assert 1 <= block <= min(MOST, max(samples // 4, 1))
    assert block == 1 or block**2 / 3 <= 2 * stored / ranks + (EXPONENTIAL + 2) * samples
    assert block <= block_size(samples, 2 * stored, ranks, kernel)
    assert block_size(samples, stored, 2 * ranks, kernel) <= block


def test_worked_sizes():
    assert block_size(4177, 4177 * 8, 1, RBFKernel(1.0)) == 64
    assert block_size(44, 44 * 7129, 1, LinearKernel()) == 8
    assert block_size(300, 300, 64, LinearKernel()) == 32
    assert block_size(3, 24, 1, LinearKernel()) == 1
    assert [block_size(256, 25_600, ranks, LinearKernel()) for ranks in (1, 256)] == [64, 32]
