"""A minimal example of a failing case: looked for within a budget, and written beside its artefact."""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import signal
import time
import warnings
from collections.abc import Mapping
from pathlib import Path

from sstep_verify.adapters.program import ProgramSolver
from sstep_verify.adapters.program.tables import places_of
from sstep_verify.campaign.verdicts.minimal_search import (
    OutOfTimeError,
    Size,
    Tries,
    cut_down,
    smallest,
    whole,
)
from sstep_verify.checks.shared.case import Case, plain_request
from sstep_verify.exchange import write_folder
from sstep_verify.problems.kernels import parameters_of
from sstep_verify.protocol import Solver
from sstep_verify.report.write import MINIMAL
from sstep_verify.verdict import Verdict

PARTIAL = ".minimal.partial"
"""Name of the example's folder in that of the artefact while it is written."""

GRACE = 10.0
"""Seconds beside the budget after which a search that hangs is ended; a program's own time limits too."""


def example_of(
    case: Case,
    verdict: Verdict,
    solvers: Mapping[str, Solver],
    seconds: float,
    artefact: Path | None,
    name: str,
) -> tuple[str, str]:
    """Look for a smaller problem that fails alike, and write it into the folder of the artefact.

    The search works in a process of its own, so that a solver that hangs or dies there ends nothing else.

    Its budget is so many seconds, one try may end later. It is of `solvers`, the one under test under the
    empty name and its variants; `name` is how a campaign file names that one. No artefact, nothing is
    written. What is returned is the size of what was found, and the sentence on it for the reason of the
    case; both empty where nothing smaller was.
    """
    solver = solvers[""]
    limit = seconds + GRACE
    if isinstance(solver, ProgramSolver):
        limit += 2 * solver.described.program.time_limit
    reader, writer = os.pipe()
    with warnings.catch_warnings():  # The only other thread there may be waits for the parent's end.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(reader)
        _search_and_end(Tries(case, verdict, solvers, time.monotonic() + seconds), artefact, name, writer)
    os.close(writer)
    try:
        return _heard(reader, limit)
    finally:
        os.close(reader)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if artefact is not None:
            shutil.rmtree(artefact / PARTIAL, ignore_errors=True)


def _heard(reader: int, limit: float) -> tuple[str, str]:
    """What the search says before its time is over."""
    told, deadline = b"", time.monotonic() + limit
    while select.select([reader], [], [], max(deadline - time.monotonic(), 0.0))[0]:
        if not (part := os.read(reader, 1 << 16)):
            break
        told += part
    try:
        size, sentence = json.loads(told)
        return str(size), str(sentence)
    except (TypeError, ValueError):
        return "", ""  # It was ended, or died: the failure stands as it is.


def _search_and_end(tries: Tries, artefact: Path | None, name: str, writer: int) -> None:
    """Search, write what was found, say it, and end this process whatever happens."""
    try:
        with open(os.devnull, "w", encoding="utf-8") as nowhere:  # A solver's prints are not the user's.
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            os.write(writer, json.dumps(_told(tries, artefact, name)).encode())
    finally:
        os._exit(0)


def _told(tries: Tries, artefact: Path | None, name: str) -> tuple[str, str]:
    begin = whole(tries.case, tries.verdict.s)
    try:
        if not tries(begin):  # It began elsewhere in the stream, or was ended by what watched it.
            return "", ""
    except OutOfTimeError:
        return "", ""
    best = smallest(begin, tries)
    if best == begin or tries.found is None:
        return "", ""
    words = f"A smaller problem fails alike: {best.words}"
    if artefact is None:
        return best.words, f"{words}."
    _write(tries, best, tries.found, artefact, name)
    where = f"it stands in the folder {MINIMAL} of the artefact, with what runs it in README.txt"
    return best.words, f"{words}; {where}."


def _write(tries: Tries, size: Size, found: Verdict, artefact: Path, name: str) -> None:
    """Write the exchange folder of the run, and how to make it."""
    case, solver = cut_down(tries.case, size), tries.solvers[""]
    partial = artefact / PARTIAL
    partial.mkdir()
    write_folder(plain_request(case, size.s), partial, log=case.declaration.log)
    lines = [
        f"{size.words}: {found.check} fails here as it does on {tries.case.id}.",
        "",
        found.reason,
        "",
        "The files are those of the exchange folder (docs/exchange.md). Samples and features kept, from 0:",
        f"  samples {' '.join(map(str, size.samples))}",
        f"  features {' '.join(map(str, size.features))}",
        "",
    ]
    if isinstance(solver, ProgramSolver):
        lines += ["Run the program on it, DIR being this folder:", f"  {_command(solver, case)}"]
    elif ":" in name:
        (partial / "campaign.toml").write_text(_campaign(case, size, found, name), "utf-8")
        lines += [
            "Judge the solver on it, from the folder in which it was found, DIR being this one:",
            "  sstep-verify run DIR/campaign.toml --data DIR",
        ]
    (partial / "README.txt").write_text("\n".join(lines) + "\n", "utf-8")
    os.rename(partial, artefact / MINIMAL)


def _command(solver: ProgramSolver, case: Case) -> str:
    """The program's arguments, with DIR for the folder."""
    request, described = plain_request(case, case.s_values[0]), solver.described
    counted = described.conventions.counted(request)
    places = places_of(request, Path("DIR"), case.declaration.ranks, counted)
    variables = [f"{name}={text}" for name, text in described.program.variables(**places).items()]
    return shlex.join([*(["env", *variables] if variables else []), *described.program.words(**places)])


def _campaign(case: Case, size: Size, found: Verdict, name: str) -> str:
    """A campaign file of the one case."""
    kernel = {"name": case.problem.kernel.name, **parameters_of(case.problem.kernel)}
    values: dict[str, object] = {
        "data": ["data.svm"],
        "task": [case.problem.loss.task],
        "parameter": [case.problem.loss.parameter],
        "s": [size.s],
        "block": [size.block],
        "iterations": size.iterations,
        "tolerance": case.claims.get("tolerance", 1e-8),
        "minimum_windows": 1,
        "storage": "csr" if case.problem.is_sparse else "dense",
        "stream": case.stream.kind,
        "seed": case.stream.seed,
        "solver": name,
        "checks": [found.check],
    }
    table = ", ".join(f"{key} = {json.dumps(value)}" for key, value in kernel.items())
    lines = [f"{key} = {json.dumps(value)}" for key, value in values.items()]
    head = ['name = "minimal"', 'title = "Minimal example"', 'description = "Fails alike."']
    return "\n".join(["[campaign]", *head, "", "[[family]]", f"kernel = [{{ {table} }}]", *lines]) + "\n"
