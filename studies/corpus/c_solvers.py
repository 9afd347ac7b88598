"""C/MPI solvers of the labelled set: examples/c_mpi_solver/protocol_solver.c, whole and with edits."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sstep_verify.errors import MissingExtraError
from sstep_verify.launch.environment import launcher
from sstep_verify.solver import Solver
from sstep_verify.solvers.adapters.program import ProgramSolver, program_from
from studies import ROOT
from studies.corpus.labelled import POLYNOMIAL, RBF, RIDGE, SVM, Labelled

EXAMPLES = ROOT / "examples"
SOURCE = EXAMPLES / "c_mpi_solver" / "protocol_solver.c"

REDUCTION = "over_ranks(MPI_SUM, panel, count * m);"
FUNCTION = "panel[j] = kernel_value(panel[j], drawn[j / m], j % m);"
INNER = "for (int64_t l = 0; l < m; l++) {\n            if (!ridge)"


@dataclass(frozen=True)
class Edited:
    """An edited program with its label.

    Parameters
    ----------
    id, tasks, kernels, breaks, acts
        As of `Labelled`.
    ranks : tuple of int
        Numbers of ranks on which it is judged.
    edits : tuple of (str, str)
        Texts of the source, each of which it holds once, and what stands in their place.
    """

    id: str
    ranks: tuple[int, ...]
    edits: tuple[tuple[str, str], ...] = ()
    tasks: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    breaks: tuple[str, ...] = ()
    acts: str = ""


PROGRAMS = (
    Edited("c", (1, 2)),
    Edited(
        "c reversed",
        (2,),
        ((INNER, "for (int64_t l = m - 1; l >= 0; l--) {\n            if (!ridge)"),),
    ),
    Edited(
        "c upper end ignored", (1,), (("? problem.penalty : INFINITY;", "? INFINITY : INFINITY;"),),
        SVM, RBF, ("S-3.9",), "every step",
    ),
    Edited(
        "c correction dropped", (2,), (("products[r] += u[drawn[t]] * increments[t];", ";"),),
        SVM, RBF, ("S-3.5",), "after the first step of a window",
    ),
    Edited(
        "c labels inside", (1,),
        # Labels go into the inner products, the panel gets none.
        (("sums[l] += values[e] * row[columns[e]];",
          "sums[l] += values[e] * row[columns[e]] * "
          "(ridge ? 1 : problem.targets[i] * problem.targets[l]);"),
         ("if (!ridge) panel[j * m + l] *= problem.targets[drawn[j]] * problem.targets[l];", "")),
        SVM, RBF, ("S-1.2",), "every step",
    ),
    Edited(
        "c reductions skipped", (2,), ((REDUCTION, f"if (windows % 2 == 0) {REDUCTION}"),),
        RIDGE, POLYNOMIAL, ("S-1.8",), "every step",
    ),
    Edited(
        "c columns of a rank missing", (2,),
        (("keep_features(n * rank / size", "keep_features(rank == 1 ? n : n * rank / size"),),
        RIDGE, POLYNOMIAL, ("S-1.8",), "every step",
    ),
    Edited(
        "c kernel before the reduction", (2,),
        ((REDUCTION, ""), (FUNCTION, f"{FUNCTION}\n    {REDUCTION}")),
        RIDGE, POLYNOMIAL, ("S-1.8",), "every step",
    ),
    Edited(
        "c m in every entry of a block", (1,), (("(r == c ? (double)m : 0)", "(double)m"),),
        RIDGE, POLYNOMIAL, ("S-1.4",), "block of several coordinates",
    ),
)  # fmt: skip


def compiler() -> str | None:
    """Path of mpicc, if there are it, a C compiler and a launcher."""
    try:
        places = os.pathsep.join([str(launcher().parent), os.environ.get("PATH", "")])
    except MissingExtraError:
        return None
    return shutil.which("mpicc", path=places) if shutil.which("cc") else None


def compiled(program: Edited, mpicc: str, room: Path) -> Path:
    """The program, compiled in a folder."""
    source = SOURCE.read_text("utf-8")
    for before, after in program.edits:
        if (count := source.count(before)) != 1:
            raise SystemExit(f"{program.id}: the source holds {before!r} {count} times")
        source = source.replace(before, after)
    path = room / program.id.replace(" ", "_")
    path.with_suffix(".c").write_text(source, "utf-8")
    words = [mpicc, "-O2", "-std=c99", f"-I{EXAMPLES}", "-o", str(path), str(path.with_suffix(".c")), "-lm"]
    made = subprocess.run(words, capture_output=True, text=True, check=False)
    if made.returncode:
        raise SystemExit(f"{program.id} was not compiled: {made.stderr}")
    return path


def c_solvers(room: Path) -> Iterator[Labelled]:
    """The programs with their labels, compiled in a folder; none where they cannot be."""
    mpicc = compiler()
    for program in PROGRAMS if mpicc else ():
        path = compiled(program, str(mpicc), room)
        for ranks in program.ranks:
            yield Labelled(
                f"{program.id}, P = {ranks}",
                partial(started, path, ranks),
                program.tasks,
                program.kernels,
                program.breaks,
                program.acts,
            )


def started(path: Path, ranks: int) -> Solver:
    """The program as a solver that writes its log."""
    words = (str(launcher()), "-n", "{np}") if ranks > 1 else ()
    return ProgramSolver(program_from((*words, str(path), "{dir}"), (), "log", 60.0, ()), ranks)
