"""The part of ``sstep-verify doctor`` about MPI: launcher, library, and whether they belong together."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import metadata

from sstep_verify.errors import (
    InputError,
    MissingExtraError,
    SstepVerifyError,
    blames_machine,
    install_command,
    way_out_of,
)
from sstep_verify.ranks import LaunchError, environment, run
from sstep_verify.ranks.environment import library_of
from sstep_verify.ranks.heartbeat import start_monitored

RANKS = 2
"""Ranks of a trial: enough to tell one world from several."""

SECONDS = 40.0
"""Seconds that a trial may take."""

SHOWN = 400
"""Characters of an error that are shown."""

INSTALL = install_command("mpich")

SERIAL = "everything works on one process, nothing on several"

TRIAL = "import sys; from mpi4py import MPI; sys.stdout.write(f'world of {MPI.COMM_WORLD.size}\\n')"
"""Written at once: ranks whose output is not buffered mix what they write in pieces."""


@dataclass(frozen=True)
class Finding:
    """The state of one part: ok, missing (an optional part is not there) or wrong (it does not work).

    `found` is what was found, with its version or its message, `meaning` what follows from it, and `advice`
    what to do; empty if there is nothing to be done.
    """

    part: str
    state: str
    found: str
    meaning: str = ""
    advice: str = ""

    def line(self) -> str:
        """All of it on one line."""
        told = " ".join("; ".join(filter(None, [self.found, self.meaning])).split())
        return f"{self.state:8}{self.part:18}{told}" + (f". Do: {self.advice}" if self.advice else "")


def looked(part: str, look: Callable[[], Finding]) -> Finding:
    """What a look at a part finds; the part is wrong where an error ends the look itself."""
    try:
        return look()
    except OSError as error:
        path = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, (str, bytes)) else ""
        return Finding(
            part, "wrong", f"cannot be looked at: {path}{error.strerror or error}", "",
            way_out_of(error) if blames_machine(error) else "",
        )  # fmt: skip
    except SstepVerifyError as error:
        return Finding(part, "wrong", f"cannot be looked at: {error}")


def mpi_findings() -> Iterator[Finding]:
    """Look at the job at hand if this is one, else at the launcher, the library, and trials of both."""
    if importlib.util.find_spec("mpi4py") is None:
        yield Finding("mpi4py", "missing", "not installed", SERIAL, INSTALL)
        return
    version = metadata.version("mpi4py")
    if environment.promised_size() > 1:
        yield _this_job(version)
        return
    yield Finding("mpi4py", "ok", version)
    found = looked("mpiexec", _launcher)
    yield found
    if found.state != "ok":
        return
    yield looked("MPI trial", _pool)
    first = shutil.which("mpiexec")
    if first is not None and os.path.realpath(first) != os.path.realpath(environment.launcher()):
        yield looked("mpiexec on PATH", partial(_on_path, first))


def _this_job(version: str) -> Finding:
    """Compare what the launcher promised with what MPI says; called by all ranks of the job."""
    meaning, advice = (
        "the processes do not find each other",
        f"start the job with the mpiexec of: {INSTALL}",
    )
    try:
        library = _library()
        theirs, ours = "OMPI_COMM_WORLD_SIZE" in os.environ, library.startswith("Open MPI")
        # Under srun either library finds the ranks by PMIx or PMI-2.
        if theirs != ours and not environment.in_slurm_step():
            # Not asked to begin: it would end the process instead of answering.
            found = f"the launcher is {'' if theirs else 'not '}Open MPI's, but mpi4py uses {library}"
            return Finding("MPI job", "wrong", found, meaning, advice)
        from mpi4py import MPI

        with start_monitored(SECONDS, "Start the job with fewer ranks"):
            if not MPI.Is_initialized():
                MPI.Init()
            size = environment.world().size
    except (InputError, ImportError, RuntimeError) as error:
        return Finding("MPI job", "wrong", str(error), meaning, advice)
    return Finding(
        "MPI job", "ok", f"mpi4py {version}, {library}, a world of {size} as the launcher promised"
    )


def _library() -> str:
    """The MPI library that mpi4py uses, found without a beginning of MPI."""
    import mpi4py

    mpi4py.rc.initialize, mpi4py.rc.finalize = False, True
    return library_of()


def _launcher() -> Finding:
    try:
        program = environment.launcher()
        kind = environment.implementation()
    except MissingExtraError:
        found = "no mpiexec next to this Python and none on PATH"
        return Finding("mpiexec", "missing", found, SERIAL, INSTALL)
    except OSError as error:
        return Finding("mpiexec", "wrong", f"cannot be run: {error}", SERIAL, INSTALL)
    return Finding("mpiexec", "ok", f"{program}, {kind}")


def _pool() -> Finding:
    """Start ranks the way tests and checks do, which compares the world they see with what was asked."""
    try:
        library = run(RANKS, library_of, limit=SECONDS)[0]
    except LaunchError as error:
        meaning = "mpiexec and mpi4py do not work together"
        advice = f"{INSTALL} in an environment of its own, without another MPI"
        return Finding("MPI trial", "wrong", str(error).strip()[:SHOWN], meaning, advice)
    return Finding("MPI trial", "ok", f"{RANKS} ranks see one world of {RANKS}, {library}")


def _on_path(program: str) -> Finding:
    """Start ranks with another mpiexec, the one that a shell would find."""
    what = f"{program}, which a shell finds first"
    advice = f"start with {environment.launcher()}, or put its folder first on PATH"
    words = [program, "-n", str(RANKS), sys.executable, "-P", "-c", TRIAL]
    try:
        answer = subprocess.run(
            words, env={**environment.OPEN_MPI, **environment.launch_variables()}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=SECONDS,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("mpiexec on PATH", "wrong", f"{what}: {error}", "", advice)
    if answer.stdout.count(f"world of {RANKS}") == RANKS:
        return Finding("mpiexec on PATH", "ok", f"{what}; works as well")
    said = (answer.stdout + answer.stderr).strip()
    meaning = "it belongs to another MPI than mpi4py"
    return Finding("mpiexec on PATH", "wrong", f"{what}: {said[:SHOWN]}", meaning, advice)
