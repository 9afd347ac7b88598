"""Faults of one rank under the watchdog that commands have on all ranks: who is named, and what is no fault."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from launched import run_marked

from sstep_verify.ranks.environment import launcher, promised_size

pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")
pytestmark = [
    pytest.mark.pool_only,
    pytest.mark.skipif(promised_size() > 1, reason="starts jobs of its own"),
]

PROGRAM = str(Path(__file__).with_name("watched_rounds.py"))
MINUTE = 60.0
LIMIT = "1"


def watched(folder, ranks: int, fault: str, guilty: int, limit: str = LIMIT, *more: str):
    words = [str(launcher()), "-n", str(ranks), sys.executable, PROGRAM, fault, str(guilty), limit, *more]
    return run_marked(words, folder, MINUTE)


@pytest.mark.parametrize(
    ("ranks", "fault", "guilty", "said"),
    [
        pytest.param(2, "loop", 1, "suspect: rank 1\n", marks=pytest.mark.nightly),
        (3, "loop with the lock", 0, "suspect: rank 0\n"),
        pytest.param(2, "stopped", 0, "suspect: rank 0\n", marks=pytest.mark.nightly),
        pytest.param(3, "stopped", 2, "suspect: rank 2\n", marks=pytest.mark.nightly),
        pytest.param(3, "late", 1, "suspect: rank 1\n", marks=pytest.mark.nightly),
        pytest.param(3, "skipped", 1, "suspect: rank 1", marks=pytest.mark.nightly),
        pytest.param(
            2, "skipped", 1, "suspect: rank 0, 1 (all wait, and no majority", marks=pytest.mark.nightly
        ),
    ],
)
def test_a_hang_ends_the_job_and_names_the_guilty_rank(tmp_path, ranks, fault, guilty, said):
    code, output, left = watched(tmp_path, ranks, fault, guilty)
    assert code == 4, output
    assert said in output, output
    assert "lost rank" not in output
    if "hang: " in output:
        assert output.count("hang: ") == 1
        assert "if the run was merely slow, pass a larger --hang-limit" in output
    if fault == "loop":
        assert "in _loop" in output
    if fault == "loop with the lock":
        assert "in _loop_with_the_lock" in output, "the fault handler knows the stack"
    assert left == []


@pytest.mark.parametrize(
    ("ranks", "fault", "guilty", "said"),
    [
        (3, "killed", 1, "lost rank 1 "),
        pytest.param(2, "killed", 0, "lost rank 0 ", marks=pytest.mark.nightly),
        (3, "raise", 1, "rank 1 of 3 ends the job:"),
    ],
)
def test_a_rank_that_is_lost_is_named_at_once(tmp_path, ranks, fault, guilty, said):
    code, output, left = watched(tmp_path, ranks, fault, guilty, "40")
    assert code != 0, output
    # On a busy machine all may be gone before anybody looks; then nobody is said to have been the first.
    several = re.search(r"lost ranks ([0-9, ()a-z]+): they had ended", output)
    assert said in output or (fault == "killed" and several and f"{guilty} (" in several[1]), output
    assert output.count("lost rank") == (fault != "raise")
    assert "hang" not in output
    assert left == []


@pytest.mark.nightly
def test_slow_work_is_no_hang(tmp_path):
    code, output, left = watched(tmp_path, 2, "slow", 1)
    assert (code, output, left) == (0, "", [])


@pytest.mark.nightly
def test_where_ranks_cannot_ask_one_another_each_judges_itself(tmp_path):
    code, output, left = watched(tmp_path, 2, "loop", 1, LIMIT, "funneled")
    # Nobody may abort the job from a thread here: the launcher kills the other rank when the first has left,
    # and its exit code is that of whichever of the two it reaps first.
    assert (code in (4, 9), left) == (True, []), output
    assert "hang: rank 1 is in no counted collective" in output, output
