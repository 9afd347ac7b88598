"""``sstep-verify doctor``: is everything here that runs need, does it work, and if not, what to do.

Here are packages, programs and data sets; MPI is in `sstep_verify.cli.mpi`.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from importlib import metadata
from itertools import chain
from pathlib import Path
from typing import Any

import click

from sstep_verify.cli.mpi import Finding, looked, mpi_findings
from sstep_verify.errors import InputError, counted, install_command

SECONDS = 30.0
"""Seconds that a program may take to say its version."""


@dataclass(frozen=True)
class Package:
    """A package that runs use: what it is imported and installed as, and the extra that brings it.

    The extra is empty if it always comes along; `without` says what does not work without it; `exercise`,
    given the module, uses it and says what is wrong, or returns an empty string.
    """

    module: str
    distribution: str
    extra: str
    without: str
    exercise: Callable[[Any], str] = lambda module: ""


def _compile(numba: Any) -> str:
    if numba.config.DISABLE_JIT:
        return "NUMBA_DISABLE_JIT is set, so loops run about a hundred times slower"
    answer = numba.njit(lambda number: number + 1)(1)
    return "" if answer == 2 else f"a compiled 1 + 1 is {answer}"


def _divide(flint: Any) -> str:
    return "" if (flint.arb(1) / 3).contains(flint.fmpq(1, 3)) else "a ball for 1 / 3 does not contain it"


def _root(mpmath: Any) -> str:
    with mpmath.workprec(200):
        error = abs(mpmath.sqrt(2) ** 2 - 2)
        return "" if error <= mpmath.mpf(2) ** -197 else f"sqrt(2)**2 is off by {error} at 200 bits"


PACKAGES = (
    Package("numba", "numba", "", "inner loops are not compiled", _compile),
    Package("flint", "python-flint", "", "no campaign can run: the oracles need balls", _divide),
    Package("mpmath", "mpmath", "", "no oracle in high precision", _root),
    Package(
        "sklearn",
        "scikit-learn",
        "data",
        "no real embedded set can be used; tests do not compare optima with those of scikit-learn",
    ),
    Package("pooch", "pooch", "data", "no data set is downloaded; name a folder in $SSTEP_VERIFY_DATA"),
    Package("jinja2", "jinja2", "", "no report is written as HTML"),
    Package("junitparser", "junitparser", "", "a report has no JUnit file"),
    Package("piqp", "piqp", "peers", "tests do not compare optima of a K-SVM with those of PIQP"),
    Package("osqp", "osqp", "peers", "tests do not compare optima of a K-SVM with those of OSQP"),
)
"""Packages in the order in which they are reported."""


def installation() -> Finding:
    """Version, commit in a clone, Python, machine: what a report of a fault must say first."""
    from sstep_verify.provenance import collect

    found: Any = collect()
    commit = (found.get("git") or {}).get("commit", "")[:7]  # An installed package has none.
    version = " ".join(filter(None, (found["package"]["version"], commit and f"(commit {commit})")))
    return Finding("sstep-verify", "ok", f"{version}, {found['python']}, {found['machine']['system']}")


def part_findings() -> Iterator[Finding]:
    """Look at all parts but MPI, one after another."""
    yield looked("BLAS threads", blas)
    for wanted in PACKAGES:
        yield looked(wanted.distribution, partial(package, wanted))
    yield looked("compiled loops", kept_loops)
    yield looked("Octave", octave)
    yield from data_sets()


def blas() -> Finding:
    """The BLAS that NumPy and SciPy have loaded, and their threads."""
    import scipy.linalg  # noqa: F401  - both load their BLAS, so that threadpoolctl can see it
    from threadpoolctl import threadpool_info

    found = [item for item in threadpool_info() if item.get("user_api") == "blas"]
    if not found:
        return Finding(
            "BLAS threads", "missing", "no BLAS that threadpoolctl knows",
            "its threads cannot be limited from here", "export OMP_NUM_THREADS=1",
        )  # fmt: skip
    told = [
        f"{item['internal_api']} {item.get('version') or '?'}, {counted(item['num_threads'], 'thread')}"
        for item in found
    ]
    many = max(item["num_threads"] for item in found) > 1
    meaning = "campaigns and pools of ranks hold it to 1" if many else ""
    advice = (
        "export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 before mpiexec with a rank per core"
        if many
        else ""
    )
    return Finding("BLAS threads", "ok", ", ".join(told), meaning, advice)


def package(wanted: Package) -> Finding:
    """Whether a package is there, can be imported, and does a small piece of its work."""
    part = wanted.distribution
    again = f"python -m pip install --force-reinstall {part}"
    if importlib.util.find_spec(wanted.module) is None:
        if not wanted.extra:
            return Finding(part, "wrong", "not installed", wanted.without, again)
        install = install_command(wanted.extra)
        return Finding(part, "missing", "not installed", wanted.without, install)
    try:
        fault = wanted.exercise(importlib.import_module(wanted.module))
    except Exception as error:
        fault = f"{type(error).__name__}: {error}"
    version = metadata.version(part)
    if fault:
        again = "unset NUMBA_DISABLE_JIT" if "NUMBA_DISABLE_JIT" in fault else again
        return Finding(part, "wrong", f"{version}: {fault}", wanted.without, again)
    return Finding(part, "ok", version)


def kept_loops() -> Finding:
    """Whether compiled loops can be kept on disk, and in which folder."""
    from sstep_verify.compiled import AVAILABLE, WAY_OUT, kept_in, unkept, untold

    part, without = "compiled loops", "every process compiles them again, for half a minute or more"
    if not AVAILABLE:
        return Finding(part, "missing", "nothing is compiled (NUMBA_DISABLE_JIT)", without, "unset it")
    folder = kept_in()
    untold()  # It is said here.
    if not folder or unkept():
        return Finding(part, "missing", f"not kept: {unkept()}", without, WAY_OUT)
    return Finding(part, "ok", f"kept in {folder}")


def octave() -> Finding:
    """GNU Octave, which runs the MATLAB form of the algorithms."""
    program = shutil.which("octave-cli")
    install = "apt-get install octave"
    again = "apt-get install --reinstall octave"
    without = "only what runs the MATLAB form needs it: tests, and examples/adapters/matlab"
    if program is None:
        return Finding("Octave", "missing", "no octave-cli on PATH", without, install)
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding("Octave", "wrong", f"{program}: {error}", without, again)
    if answer.returncode != 0:
        said = (answer.stderr or answer.stdout).strip() or f"exit code {answer.returncode}"
        return Finding("Octave", "wrong", f"{program}: {said}", without, again)
    return Finding("Octave", "ok", answer.stdout.splitlines()[0] if answer.stdout else program)


def data_sets() -> Iterator[Finding]:
    """The folder of data sets, and whether the files in it are the data sets they are named after."""
    from sstep_verify.problems.data.datasets import FOLDER_VARIABLE, load
    from sstep_verify.problems.data.registry import registry
    from sstep_verify.problems.data.svmlight import SUFFIXES

    folder = Path(os.path.expanduser(os.environ.get(FOLDER_VARIABLE) or ""))
    if not os.environ.get(FOLDER_VARIABLE):
        way_out = f"export {FOLDER_VARIABLE}=FOLDER, or leave it to the download"
        found = f"{FOLDER_VARIABLE} is not set"
        yield Finding("data sets", "missing", found, "named sets are downloaded at first use", way_out)
        return
    if not folder.is_dir():
        way_out = f"name an existing folder in ${FOLDER_VARIABLE}, or leave it out"
        yield Finding("data folder", "wrong", f"${FOLDER_VARIABLE} is {folder}: no folder", "", way_out)
        return
    good, absent = [], []
    for name in registry():
        paths = (folder / f"{name}{suffix}" for suffix in SUFFIXES)
        path = next((path for path in paths if path.exists()), None)
        if path is None:
            absent.append(name)
            continue
        try:
            load(name, directory=folder)
            good.append(name)
        except (InputError, OSError) as error:
            yield Finding("data set", "wrong", str(error), "", f"rm {path}, or put the right file there")
    meaning = f"downloaded at first use: {', '.join(absent)}" if absent else ""
    found = f"${FOLDER_VARIABLE} ({folder}): as pinned: {', '.join(good) or 'none'}"
    yield Finding("data sets", "ok", found, meaning)


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of lines.")
def command(as_json: bool) -> None:
    """Check MPI, BLAS threads, compiled loops, oracles, Octave, data sets and report writers.

    One line each: ok; missing (an optional part that is not there: what does not work without it, and the
    command that installs it); or wrong (it is there and does not work, or would give wrong results).

    Under mpiexec only the current job is inspected, and only rank 0 prints.

    Exit codes: 0 nothing is wrong, though optional parts may be missing; 2 something is wrong.
    """
    from sstep_verify import __version__
    from sstep_verify.ranks.environment import is_silent_rank

    if is_silent_rank():
        # MPI begins on all ranks or on none.
        list(mpi_findings())
        return
    findings = []
    for finding in chain((looked("sstep-verify", installation),), mpi_findings(), part_findings()):
        findings.append(finding)
        if not as_json:
            click.echo(finding.line())
    wrong = sum(finding.state == "wrong" for finding in findings)
    if as_json:
        document = {
            "version": __version__,
            "wrong": wrong,
            "findings": [asdict(finding) for finding in findings],
        }
        click.echo(json.dumps(document, indent=2))
    else:
        missing = sum(finding.state == "missing" for finding in findings)
        click.echo(f"{len(findings)} parts: {wrong} wrong, {missing} missing")
        click.echo("If you report an issue, paste these lines into it.")
    sys.exit(2 if wrong else 0)
