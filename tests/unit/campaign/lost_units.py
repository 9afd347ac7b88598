"""Units that leave their process, hang, or end as they should, for workers that import this module."""

from __future__ import annotations

import builtins
import multiprocessing
import os
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from types import SimpleNamespace

import numba

from sstep_verify.campaign.model import Finished, say, tell
from sstep_verify.protocol import called


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
        if key == "starts processes":
            with multiprocessing.Pool(2) as pool:
                assert pool.map(abs, [-1, 2]) == [1, 2]
            with ProcessPoolExecutor(2) as executor:
                assert list(executor.map(abs, [-1, 2])) == [1, 2]
        if key.startswith("prints "):
            text = key.removeprefix("prints ")
            print(text, text * 10_000, sep="\n", flush=True)
            print(text, file=sys.stderr, flush=True)
            sys.stdout.buffer.write(b"\xff" * 10_000)
            sys.stdout.flush()
        if key.startswith("raises "):
            called(raising, key.removeprefix("raises "))
        if key == "hangs":
            say("a line, after which the time of the run goes on")
            time.sleep(600)
        if key == "dies later":
            threading.Timer(0.2, os._exit, (3,)).start()
        if key == "slow":
            time.sleep(2.0)
        yield Finished(f"{key} {unit.crashed}" if key == "crashes" else key)


def raising(name):
    """Raise an exception by its name, as a solver's own code may."""
    raise getattr(builtins, name)


KIND = SimpleNamespace(run=work, key=str)
