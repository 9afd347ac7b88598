"""The block size (b) of K-RR that follows from the sizes of a problem."""

from __future__ import annotations

from sstep_verify.problems import Kernel, PolynomialKernel

MOST = 64
"""Largest b that is chosen."""


EXPONENTIAL = 20
"""Flops that take as long as an exponential and what belongs to it."""


def block_size(samples: int, stored: float, ranks: int, kernel: Kernel) -> int:
    """Choose b for K-RR on m samples that store Z values (m n if dense), shared by P ranks.

    It follows from the sizes of a problem alone: b changes the iterates, so it is not measured. A pass over
    the m coordinates costs, whatever b, ``2 Z / P + (mu + 2) m`` flops for each of them, mu those of an
    entry: products of a sample with all others, kernel entries, a row times a. What grows with b are the
    solves, ``b^3 / 3`` for b coordinates, made on every rank. An exact step on a block lowers the objective
    at least as much as one on any of its coordinates, and with small lambda, where single coordinates are
    strongly coupled, passes are far fewer: the larger b the better, as long as solves are not what a pass
    costs.

    So b is the largest power of two with ``b^2 / 3 <= 2 Z / P + (mu + 2) m`` that is at most m / 4, so that
    a pass still has several steps (but at least 1), and at most `MOST`: 16 iterations a window then draw
    1,024, beyond which the entries among them (s^2 b^2, which exchange gram and reduce-scatter send)
    outweigh the rest.
    """
    entry = kernel.degree if isinstance(kernel, PolynomialKernel) else 0
    entry = EXPONENTIAL if kernel.of_distance else entry
    work = 2 * stored / ranks + (entry + 2) * samples
    most = max(min(MOST, samples // 4), 1)
    block = 1
    while 2 * block <= most and (2 * block) ** 2 / 3 <= work:
        block *= 2
    return block
