"""C/MPI solvers of the labelled set: examples/c_mpi_solver/protocol_solver.c, whole and with edits."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from sstep_verify.adapters.program import ProgramSolver, program_from
from sstep_verify.errors import MissingExtraError
from sstep_verify.ranks.environment import launcher
from sstep_verify.solver import Solver
from studies import ROOT
from studies.corpus.labelled import BLOCKS, LATER, Kind, Labelled

EXAMPLES = ROOT / "examples"
SOURCE = EXAMPLES / "c_mpi_solver" / "protocol_solver.c"

REDUCTION = "over_ranks(MPI_SUM, panel, count * m);"
FUNCTION = "panel[j] = kernel_value(panel[j], drawn[j / m], j % m);"
INNER = "for (int64_t l = 0; l < m; l++) {\n            if (!ridge)"


@dataclass(frozen=True)
class Program(Labelled):
    """A program with its label, on a number of ranks.

    `edits` are texts of the source, each of which it holds once, and what stands in their place.
    """

    edits: tuple[tuple[str, str], ...] = ()
    ranks: int = 1
    where: tuple[str, ...] = ("external",)
    kind: ClassVar[Kind] = "program"

    def made(self, room: Path) -> Solver:
        """The program, compiled in a folder, as a solver that writes its log."""
        name, source = self.id.partition(",")[0], SOURCE.read_text("utf-8")
        for before, after in self.edits:
            if (count := source.count(before)) != 1:
                raise SystemExit(f"{name}: the source holds {before!r} {count} times")
            source = source.replace(before, after)
        path = room / name.replace(" ", "_")
        path.with_suffix(".c").write_text(source, "utf-8")
        words = [str(compiler()), "-O2", "-std=c99", f"-I{EXAMPLES}", "-o", str(path), f"{path}.c", "-lm"]
        made = subprocess.run(words, capture_output=True, text=True, check=False)
        if made.returncode:
            raise SystemExit(f"{name} was not compiled: {made.stderr}")
        started = (str(launcher()), "-n", "{np}") if self.ranks > 1 else ()
        return ProgramSolver(program_from((*started, str(path), "{dir}")), self.ranks)


TWO: dict[str, Any] = {"ranks": 2, "where": ("external", "ranks")}

REVERSED = "for (int64_t l = m - 1; l >= 0; l--) {\n            if (!ridge)"

PROGRAMS = (
    Program("c, P = 1"),
    Program("c, P = 2", **TWO),
    Program("c reversed, P = 2", edits=((INNER, REVERSED),), **TWO),
    Program(
        "c upper end ignored, P = 1", "svm-l1 rbf", ("S-3.9",), "every step",
        edits=(("? problem.penalty : INFINITY;", "? INFINITY : INFINITY;"),),
    ),
    Program(
        "c correction dropped, P = 2", "svm-l1 rbf", ("S-3.5",), LATER,
        edits=(("products[r] += u[drawn[t]] * increments[t];", ";"),), **TWO,
    ),
    Program(
        "c labels inside, P = 1", "svm-l1 rbf", ("S-1.2",), "every step",
        # Labels go into the inner products, the panel gets none.
        edits=(
            ("sums[l] += values[e] * row[columns[e]];",
             "sums[l] += values[e] * row[columns[e]] * "
             "(ridge ? 1 : problem.targets[i] * problem.targets[l]);"),
            ("if (!ridge) panel[j * m + l] *= problem.targets[drawn[j]] * problem.targets[l];", ""),
        ),
    ),
    Program(
        "c reductions skipped, P = 2", "krr polynomial", ("S-1.8",), "every step",
        edits=((REDUCTION, f"if (windows % 2 == 0) {REDUCTION}"),), **TWO,
    ),
    Program(
        "c columns of a rank missing, P = 2", "krr polynomial", ("S-1.8",), "every step",
        edits=(("keep_features(n * rank / size", "keep_features(rank == 1 ? n : n * rank / size"),), **TWO,
    ),
    Program(
        "c kernel before the reduction, P = 2", "krr polynomial", ("S-1.8",), "every step",
        edits=((REDUCTION, ""), (FUNCTION, f"{FUNCTION}\n    {REDUCTION}")), **TWO,
    ),
    Program(
        "c m in every entry of a block, P = 1", "krr polynomial", ("S-1.4",), BLOCKS,
        edits=(("(r == c ? (double)m : 0)", "(double)m"),),
    ),
)  # fmt: skip


def compiler() -> str | None:
    """Path of mpicc, if there are it, a C compiler and a launcher."""
    try:
        places = os.pathsep.join([str(launcher().parent), os.environ.get("PATH", "")])
    except MissingExtraError:
        return None
    return shutil.which("mpicc", path=places) if shutil.which("cc") else None
