"""Flops of a block's system; those of a whole window, by term, stand beside the tests that count them."""

from __future__ import annotations


def solve_flops(block: int) -> int:
    """A Cholesky factorisation of order b, b (b + 1) (2 b + 1) / 6 + 2 b flops, and two triangular ones."""
    return block * (block + 1) * (2 * block + 1) // 6 + 2 * block + 2 * block * block
