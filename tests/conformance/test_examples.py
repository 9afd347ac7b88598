"""The example runs, and says what the README says of it."""

from __future__ import annotations

import math
import runpy
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "check_my_solver.py"


def test_the_example_passes_the_right_solver_and_fails_the_wrong_one():
    made = subprocess.run(
        [sys.executable, EXAMPLE], capture_output=True, text=True, check=True, timeout=120
    )
    verdicts = [line for line in made.stdout.splitlines() if not line.startswith(" ")]
    assert [line.split(": ")[1].split(",")[0] for line in verdicts] == ["PASS", "FAIL"]


def test_the_example_tells_of_a_solver_that_is_no_number():
    verdict = runpy.run_path(str(EXAMPLE))["verdict_on"](lambda problem, blocks, s, a0, log: a0 * math.nan)
    assert (verdict.check, verdict.status) == ("contract", "FAIL")
