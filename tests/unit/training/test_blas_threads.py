"""Threads of the BLAS while training: one, unless the user names a number."""

from __future__ import annotations

import pytest
import scipy.linalg  # noqa: F401  - loads its BLAS
from threadpoolctl import threadpool_info, threadpool_limits

from sstep_verify.provenance import THREAD_VARIABLES
from sstep_verify.solver.training.pipeline import _one_thread


def threads() -> set[int]:
    return {item["num_threads"] for item in threadpool_info() if item["user_api"] == "blas"}


@pytest.mark.parametrize("asked", ["", *THREAD_VARIABLES])
def test_one_blas_thread_unless_the_user_asks_for_more(asked, monkeypatch):
    for name in THREAD_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    if asked:
        monkeypatch.setenv(asked, "2")
    with threadpool_limits(2):
        before = threads()
        with _one_thread():
            assert threads() == (before if asked else {1})
        assert threads() == before
