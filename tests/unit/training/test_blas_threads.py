"""Threads of the BLAS while training: one, unless the user names a number."""

from __future__ import annotations

import json
import os
import subprocess
import sys

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


WATCHED = """
import importlib.abc, json, os, sys
VARIABLE, at, before = "OPENBLAS_NUM_THREADS", {{}}, dict(os.environ)

class Watching(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in ("numpy", "scipy.linalg"):
            at[name] = os.environ.get(VARIABLE)

sys.meta_path.insert(0, Watching())
sys.argv = ["sstep-verify", "solve", "data", "--task", "svm-l1", "--out", "r.npz"]
try:
    {work}
finally:
    print(json.dumps([at, dict(os.environ) == before]))
"""
"""What stands in OpenBLAS's variable where two modules with a BLAS are loaded, and whether that is undone."""

COMMAND = "from sstep_verify.__main__ import main; main()"

LIBRARY = "import sstep_verify; sstep_verify.ProductionSolver; import scipy.linalg"


@pytest.mark.parametrize(
    ("work", "asked", "loaded"),
    [
        pytest.param(COMMAND, {}, "1", id="nothing asked"),
        pytest.param(COMMAND, {"OPENBLAS_NUM_THREADS": "2"}, "2", id="threads asked"),
        pytest.param(
            COMMAND, {"OMP_NUM_THREADS": "2"}, None, id="threads asked otherwise", marks=pytest.mark.nightly
        ),
        pytest.param(LIBRARY, {}, None, id="imported by others"),
    ],
)
def test_training_loads_its_blas_with_one_thread_and_leaves_the_environment(work, asked, loaded, tmp_path):
    (tmp_path / "data").write_text("1 1:1 2:1\n-1 1:-1 2:0.5\n", "utf-8")
    given = {name: value for name, value in os.environ.items() if name not in THREAD_VARIABLES} | asked
    done = subprocess.run(
        [sys.executable, "-c", WATCHED.format(work=work)],
        cwd=tmp_path, env=given, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    at, restored = json.loads(done.stdout.splitlines()[-1])
    assert at == {"numpy": loaded, "scipy.linalg": loaded}
    assert restored
