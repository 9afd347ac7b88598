"""A rank that is stopped, or leaves, before MPI begins: the job ends, says who, leaves nothing."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import launch_faults as faults
import pytest
from launched import run_marked

from sstep_verify.ranks import LaunchError, run
from sstep_verify.ranks.environment import START_LIMIT, implementation, launcher

pytest.importorskip("mpi4py", reason="mpi4py is absent: install the extra [mpi]")
pytestmark = [
    pytest.mark.pool_only,
    pytest.mark.skipif(implementation() != "MPICH", reason="the faults know ranks by MPICH's PMI_RANK"),
]

FOLDER = str(Path(__file__).with_name("start_faults"))
MINUTE = 60.0
COMMAND = """
from sstep_verify.ranks import heartbeat
heartbeat.SETTLED = 2.0
from sstep_verify.cli.work import on_ranks
on_ranks(lambda communicator, watchdog: None, 40.0)
"""


def with_fault(fault: str, guilty: int) -> dict[str, str]:
    paths = [FOLDER, str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        "START_FAULT": fault,
        "START_GUILTY": str(guilty),
        "PYTHONPATH": os.pathsep.join(paths),
    }


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("fault", "guilty", "said"),
    [
        ("stopped late", 0, "rank 0 is stopped"),
        ("left", 2, "rank 2 has ended"),
    ],
)
def test_a_command_under_mpiexec_ends_with_one_line(tmp_path, fault, guilty, said):
    words = [str(launcher()), "-n", "3", sys.executable, "-c", COMMAND]
    variables = with_fault(fault, guilty) | {START_LIMIT: "2"}
    code, output, left = run_marked(words, tmp_path, MINUTE, **variables)
    assert code != 0
    assert [line for line in output.splitlines() if "rank" in line] == [
        f"hang: MPI did not begin within 2 s: {said}. If the ranks are merely slow to start, set "
        f"{START_LIMIT} to more seconds (0: no limit)"
    ], output
    assert left == []


def test_without_a_fault_nothing_is_said(tmp_path):
    words = [str(launcher()), "-n", "2", sys.executable, "-c", COMMAND]
    assert run_marked(words, tmp_path, MINUTE) == (0, "", [])


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        pytest.param(
            "stopped",
            "rank 1 did not come to where MPI begins: it ended or is stopped",
            marks=pytest.mark.nightly,
        ),
        pytest.param("stopped late", "rank 1 is stopped", marks=pytest.mark.nightly),
        ("left late", "rank 1 ended before MPI began"),
    ],
)
def test_a_pool_says_which_rank_did_not_start(monkeypatch, fault, said):
    run(3, faults.rounds)
    monkeypatch.setenv(START_LIMIT, "3")
    begin = time.monotonic()
    with pytest.raises(LaunchError, match=said) as caught:
        run(3, faults.rounds, variables=with_fault(fault, 1))
    assert caught.value.ranks == (1,)
    assert time.monotonic() - begin < 5 * 3.0
