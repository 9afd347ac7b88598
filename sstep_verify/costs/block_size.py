"""Block size (b) of K-RR."""

from sstep_verify.problems import Kernel


def block_size(samples: int, stored: float, kernel: Kernel) -> int:
    """Nothing yet."""
    return 1
