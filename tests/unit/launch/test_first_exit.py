"""Which rank ended first, as far as that can be known."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import sstep_verify.launch

MONITOR = Path(sstep_verify.launch.__file__).with_name("first_exit_monitor.py")
pytestmark = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="this system has no pidfd_open")


def started() -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", "input()"], stdin=subprocess.PIPE)


def ended(process: subprocess.Popen) -> None:
    """Kill it, and wait until it is gone but not yet fetched, as a rank is whose launcher is slow."""
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)


@pytest.mark.parametrize("lost", [(1,), (2, 0), (0, 1, 2)])
def test_no_rank_is_called_the_first_where_several_were_gone(lost):
    ranks = [started() for _ in range(3)]
    for rank in lost:
        ended(ranks[rank])
    told = subprocess.run(
        [sys.executable, "-I", "-S", str(MONITOR), *(f"{k}:{one.pid}" for k, one in enumerate(ranks))],
        input="", stderr=subprocess.PIPE, text=True, timeout=60, check=True,
    ).stderr  # fmt: skip
    for one in ranks:
        one.kill()
        one.communicate()
    if len(lost) == 1:
        assert f"lost rank {lost[0]} (process {ranks[lost[0]].pid}): it ended before all others" in told
    else:
        named = ", ".join(f"{rank} (process {ranks[rank].pid})" for rank in sorted(lost))
        assert f"lost ranks {named}: they had ended" in told
        assert "before all others" not in told
