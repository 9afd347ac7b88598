"""A planted defect is gone after its block, in modules too that are imported when they are needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

LATE = """
import sys
from plant import plant
from sstep_verify.solver import svm_window

assert "sstep_verify.solver.single_rank" not in sys.modules
with plant(svm_window):
    from sstep_verify.solver import single_rank
    assert single_rank.svm_window is svm_window.svm_window
assert single_rank.svm_window is svm_window.svm_window
assert hasattr(svm_window.svm_window, "py_func") == hasattr(single_rank.svm_window, "py_func")
"""


@pytest.mark.nightly
def test_a_module_first_imported_within_a_block_keeps_no_defect():
    run = subprocess.run(
        [sys.executable, "-c", LATE], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
