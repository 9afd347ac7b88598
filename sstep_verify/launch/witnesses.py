"""One witness per machine, started by a rank of a job: it names the rank that ends first."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import IO, Any


class Witness:
    """The witness of this rank's machine, if this rank is the one that keeps it; see `witness`.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The job; the call is collective.
    voice : file
        Where the witness speaks.
    """

    def __init__(self, comm: Any, voice: IO[str]):
        from mpi4py import MPI

        machine = comm.Split_type(MPI.COMM_TYPE_SHARED)
        processes = machine.gather(f"{comm.rank}:{os.getpid()}")
        machine.Free()
        self._process: subprocess.Popen | None = None
        if processes is not None:
            script = Path(__file__).with_name("witness.py")
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(script), *processes],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=voice, start_new_session=True,
            )  # fmt: skip

    def dismiss(self) -> None:
        """The end that follows is intended."""
        process, self._process = self._process, None
        if process and process.stdin:
            with contextlib.suppress(BrokenPipeError), process.stdin as door:
                door.write(b".")
            process.wait()
