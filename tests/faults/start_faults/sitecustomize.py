"""Read by every Python that starts with this folder on its path: one rank fails before MPI begins.

START_FAULT is the fault, START_GUILTY the rank. It happens at once, or where the name of the fault says
"late", when the rank is about to begin MPI.
"""

import os
import signal
import sys

FAULT = os.environ.get("START_FAULT", "")


def _strike():
    if FAULT.startswith("stopped"):
        os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)


class _BeginOfMpi:
    def find_spec(self, name, path=None, target=None):
        if name == "mpi4py.MPI":
            _strike()


if FAULT and os.environ.get("PMI_RANK") == os.environ.get("START_GUILTY"):
    if FAULT.endswith("late"):
        sys.meta_path.insert(0, _BeginOfMpi())
    else:
        _strike()
