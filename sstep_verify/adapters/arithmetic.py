"""What decides the last bits of this process, found out without the solver that says so of itself.

A solver may send more where its ranks' arithmetic differs, and nobody takes its word for that. This shares
no code with `sstep_verify.solver.communicator`, and distinguishes at least what that does.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util

import numpy as np
import scipy.linalg
from threadpoolctl import threadpool_info

from sstep_verify.provenance import processor

LENGTHS = (1, 2, 3, 7, 8, 40, 331, 1000)
"""Of vectors whose products and functions are looked at: fewer, and more, than processors take at once."""


def arithmetic_of_process() -> str:
    """Digest of processor, libraries with kernels and threads, and the bits of some results.

    Two processes with another digest need not have other bits; with the same one they have the same.
    """
    libraries = sorted(
        "{user_api} {internal_api} {version} {num_threads} {architecture}".format_map(
            {"architecture": "", **one}
        )
        for one in threadpool_info()
        if one["user_api"] == "blas"
    )
    parts = [
        str(processor()),
        np.__version__,
        str(importlib.util.find_spec("numba") is not None),
        *libraries,
    ]
    return hashlib.sha256("\n".join([*parts, _bits(tuple(libraries))]).encode()).hexdigest()


@functools.cache
def _bits(_libraries: tuple[str, ...]) -> str:
    """Digest of results with these libraries and threads."""
    found = hashlib.sha256(repr(np.show_config(mode="dicts").get("SIMD Extensions")).encode())
    for length in LENGTHS:
        rows = np.cos(np.arange(5.0 * length) * 1.7).reshape(5, length)
        system = rows @ rows.T + 5 * np.eye(5)
        for values in (
            rows @ rows.T, rows @ rows[0], rows[0] @ rows[1], np.exp(-np.abs(rows)), np.sin(rows), rows**3,
            np.abs(rows) ** 2.5, np.sqrt(np.abs(rows)), rows.sum(axis=1), scipy.linalg.cholesky(system),
        ):  # fmt: skip
            found.update(np.ascontiguousarray(values).tobytes())
    return found.hexdigest()
