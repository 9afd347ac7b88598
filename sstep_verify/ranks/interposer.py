"""Communication counted, and collectives made late, outside the program: a library between it and its MPI.

`build_interposer` makes it with the compiler wrapper of the MPI next to this Python; ranks that were
started with it in LD_PRELOAD read what it counted by `interposed_counts`. In a process without it all that
ask it raise MissingExtraError.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

from sstep_verify.errors import MissingExtraError
from sstep_verify.ranks.environment import launcher
from sstep_verify.trajectory import TRAFFIC, Traffic

SOURCE = Path(__file__).with_name("pmpi_count.c")
"""Source of the library."""

LIBRARY = "pmpi_count.so"
"""Name of the library in its folder."""

WITNESS = "SSTEP_VERIFY_WITNESS"
"""Environment variable that names the folder in which every rank leaves its counts at MPI_Finalize."""

FAULT_INJECTION = "SSTEP_VERIFY_FAULT_INJECTION"
"""Environment variable that names what the library does to the program, one of `INJECTED_FAULTS`."""

HEADER = "mpi.h"

DEVELOPMENT = "Debian: apt-get install libmpich-dev or libopenmpi-dev"

INJECTED_FAULTS = {
    "delay": "the last rank comes to every collective a millisecond late",
    "order": "the ranks have another order in every blocking allreduce",
    "ulp": "the last rank gets one number of each allreduce, broadcast and allgather one ulp off",
}
"""What it can do to a program: a right one endures the first two, and rank-coherence sees the third."""

DELAY = "SSTEP_VERIFY_DELAY"
"""Environment variable that makes every collective late: microseconds for each level of a tree over the
ranks, and, after a blank, nanoseconds for each byte handed in; see pmpi_delay.h."""


def build_interposer(folder: Path, wrapper: str | None = None) -> Path:
    """Compile the library into a folder, for ``run(..., variables={"LD_PRELOAD": str(path)})``.

    `wrapper` is the compiler wrapper of the ranks' MPI; the one next to our launcher, or on PATH, if
    absent. MissingExtraError if there is no compiler, no wrapper for it, or they do not work together.
    """
    places = "" if wrapper else os.pathsep.join([str(launcher().parent), os.environ.get("PATH", "")])
    asked = wrapper or "mpicc"
    wrapper = shutil.which(asked, path=places or None)
    if shutil.which("cc") is None:
        raise MissingExtraError(
            "to count collectives from outside, a C compiler is needed, but no cc is on PATH; Debian: "
            "apt-get install gcc libc6-dev"
        )
    if wrapper is None:
        raise MissingExtraError(
            f"to count collectives from outside, the compiler wrapper {asked!r} is needed, which is no "
            "executable file and no name of one on PATH; name the mpicc of the program's MPI"
        )
    library = folder / LIBRARY
    command = [wrapper, "-O2", "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-lm"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise MissingExtraError(_failed(command, made))
    return library


def _failed(command: list[str], made: subprocess.CompletedProcess[str]) -> str:
    """Why the library cannot be compiled, in one line, with the way out where that is known."""
    lines = made.stderr.strip().splitlines() or made.stdout.strip().splitlines() or ["it says nothing"]
    line = next((one for one in lines if "error" in one.lower()), lines[-1]).strip()
    if HEADER in line:
        return (
            f"to count collectives from outside, {command[0]} must find {HEADER}, the header of its MPI, "
            f"and does not; install the development files of that MPI ({DEVELOPMENT})"
        )
    return f"{shlex.join(command)} failed with code {made.returncode}: {line}"


@functools.cache
def _kept(wrapper: str | None) -> tempfile.TemporaryDirectory[str]:
    """A folder with the library, kept until this process ends."""
    room = tempfile.TemporaryDirectory(prefix="sstep-verify-witness-")
    build_interposer(Path(room.name), wrapper)
    return room


def preloaded(wrapper: str | None = None) -> dict[str, str]:
    """Variables by which ranks load the library, built once in a process; errors of `build_interposer`."""
    return {"LD_PRELOAD": str(Path(_kept(wrapper).name) / LIBRARY)}


def is_interposed() -> bool:
    """Whether this process was started with the library."""
    return hasattr(ctypes.CDLL(None), "pmpi_count_calls")


def interposed_counts() -> dict[str, Traffic]:
    """What this process handed to its MPI library since `forget_interposed_counts`, by kind."""
    library = _loaded()
    counts = library.pmpi_count_calls, library.pmpi_count_elements, library.pmpi_count_bytes
    return {kind: Traffic(*(count(number) for count in counts)) for number, kind in enumerate(TRAFFIC)}


def reductions_after_others() -> int:
    """Reductions of this process before which, since the one before, it entered some other collective.

    Broadcasts and barriers are none of these: they are counted by themselves.
    """
    return int(_loaded().pmpi_count_after_others())


def forget_interposed_counts() -> None:
    """Count from zero."""
    _loaded().pmpi_count_reset()


def set_delay(microseconds: float, nanoseconds_per_byte: float = 0.0) -> None:
    """From now on, make every collective of this process late, as `DELAY` does."""
    _loaded().pmpi_delay_set(ctypes.c_double(microseconds), ctypes.c_double(nanoseconds_per_byte))


def _loaded() -> ctypes.CDLL:
    library = ctypes.CDLL(None)  # all that is loaded
    if not is_interposed():
        raise MissingExtraError(
            f"no interposer in this process: LD_PRELOAD = {os.environ.get('LD_PRELOAD', '')!r} loads no "
            "pmpi_count.so; start the ranks with run(..., variables={'LD_PRELOAD': path})"
        )
    for function in (library.pmpi_count_calls, library.pmpi_count_elements, library.pmpi_count_bytes):
        function.restype, function.argtypes = ctypes.c_longlong, [ctypes.c_int]
    library.pmpi_count_after_others.restype = ctypes.c_longlong
    return library
