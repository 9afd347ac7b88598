"""The kind of a rank: what decides the bits of its arithmetic.

Two processors, two versions of a library, or one library on different threads, add up the same product in
another order: both results are right, and their last bits differ. All ranks then make the same updates from
the same sums, and hold different dual vectors nevertheless.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence

import numpy as np
from threadpoolctl import ThreadpoolController

from sstep_verify import provenance


def kind_of_rank() -> str:
    """Processor, BLAS with its threads, NumPy, compiler, and a digest of products.

    The digest tells kinds apart whose names do not: of matrix products, of a product with a vector, and of
    the functions of the kernels.
    """
    # Here, for ranks that ask for no kind start three times as fast without the compiler and SciPy.
    import scipy.linalg  # noqa: F401  - loads its BLAS, so that it is seen

    from sstep_verify.compiled import AVAILABLE

    blas = [
        " ".join(str(one[name]) for name in ("internal_api", "version", "architecture") if name in one)
        + f" on {one['num_threads']} thread(s)"
        for one in _libraries().info()
        if one["user_api"] == "blas"
    ]
    inner = "compiled" if AVAILABLE else "plain Python"
    parts = [str(_processor()), *sorted({*blas}), f"NumPy {np.__version__}", f"{inner} loops"]
    return ", ".join([*parts, f"products {_products(tuple(blas))}"])


def listed(values: Sequence[str]) -> str:
    """What each rank has, by rank, in words; once where all have the same."""
    if len(set(values)) == 1:
        return values[0]
    found = {value: [rank for rank, other in enumerate(values) if other == value] for value in values}
    return "; ".join(f"rank {', '.join(map(str, ranks))}: {value}" for value, ranks in found.items())


_processor = functools.cache(provenance.processor)
_libraries = functools.cache(ThreadpoolController)


@functools.cache
def _products(_blas: tuple[str, ...]) -> str:
    """Digest of the bits of some results (8 hexadecimal digits), with these libraries and threads."""
    first = np.sin(np.arange(40.0 * 331)).reshape(40, 331)
    values = [first @ first.T, first @ first[0], np.exp(-np.abs(first[:3])), first[0] ** 3]
    return hashlib.sha256(b"".join(value.tobytes() for value in values)).hexdigest()[:8]
