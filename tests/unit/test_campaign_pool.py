"""Worker processes of a campaign end by themselves when its process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

ENDLESS = """
import os, time
from pathlib import Path
from sstep_verify.campaign.pool import State, spread

def work(name):
    Path(name).write_text(str(os.getpid()))
    time.sleep(600)
    yield

if __name__ == "__main__":
    for _ in spread(work, [("one.pid",), ("two.pid",)], 2, State()):
        pass
"""


def _running(process: int) -> bool:
    """Whether a process is there and no zombie that nobody has waited for."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text("ascii", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def _wait(condition, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_workers_end_when_the_campaign_is_killed(tmp_path):
    (tmp_path / "endless.py").write_text(ENDLESS, encoding="utf-8")
    files = [tmp_path / "one.pid", tmp_path / "two.pid"]
    campaign = subprocess.Popen([sys.executable, "endless.py"], cwd=tmp_path)
    workers: list[int] = []
    try:
        assert _wait(lambda: all(path.exists() and path.read_text() for path in files), 120)
        workers = [int(path.read_text()) for path in files]
        assert campaign.pid not in workers
        assert all(_running(worker) for worker in workers)
        campaign.kill()
        campaign.wait(30)
        assert _wait(lambda: not any(_running(worker) for worker in workers), 30)
    finally:
        for process in [*workers, *([] if campaign.poll() is not None else [campaign.pid])]:
            if _running(process):
                os.kill(process, signal.SIGKILL)
