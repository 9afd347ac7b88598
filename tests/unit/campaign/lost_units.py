"""Units that leave their process, hang, or end as they should, for workers that import this module."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import SimpleNamespace

import numba

from sstep_verify.campaign.model import Finished, say, tell


def work(unit, plan):
    """Yield every key of a unit, unless its name says something else."""
    for key in unit.keys:
        tell(key, 0.5, "run s=4", 0.3 if key == "hangs" else 0.0, "s=4")
        if key == "slow leaves":
            time.sleep(2.0)
        if key.endswith("leaves"):
            os._exit(0)
        if key == "crashes" and not unit.crashed:
            os.kill(os.getpid(), signal.SIGSEGV)
        if key == "compiles":
            numba.njit(lambda number: number + 1)(1)
            numba.njit(lambda number: number + 2)(1)
        if key == "hangs":
            say("a line, after which the time of the run goes on")
            time.sleep(600)
        if key == "dies later":
            threading.Timer(0.2, os._exit, (3,)).start()
        if key == "slow":
            time.sleep(2.0)
        yield Finished(f"{key} {unit.crashed}" if key == "crashes" else key)


KIND = SimpleNamespace(run=work, key=str)
