"""All solvers of the corpus: those in Python, C/MPI programs, edits of the production solver.

Edits were chosen and labelled by reading the solver and the specification, without regard to what the
checks see (`labelled`). A file of ``production/*.toml`` names the module (or each edit does) and the case
that runs the edited code: a campaign, and words that its id holds; a file's own module, case, breaks and
acts are those of its edits that name none.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from sstep_verify import InputError, MissingExtraError, Solver
from sstep_verify.adapters.program import ProgramSolver, program_from
from sstep_verify.ranks.environment import launcher
from studies import ROOT
from studies.corpus.labelled import BLOCKS, LATER, RIGHT, Labelled, Made, Names
from studies.corpus.mistakes import EQUIVALENT, RARE, WRONG

FUNCTIONS = (*RIGHT, *WRONG, *RARE, *EQUIVALENT)
"""Solvers made here in Python."""

EXAMPLES = ROOT / "examples"

REDUCTION = "over_ranks(MPI_SUM, panel, count * m);"
FUNCTION = "panel[j] = kernel_value(panel[j], drawn[j / m], j % m);"
LOOP = "for (int64_t l = {}) {{\n            if (!ridge)"

PRODUCTION = "production: "
"""Begins the ids of edits."""

OPTIONS = (
    *("csr", "kept", "cache", "gram", "reduce-scatter", "support", "start", "recompute", "timers"),
    "training",
)
"""Words of a case that ask for a part of the system of that name; "start" for resume."""

PARTS = {"cache": "cache", "resumed": "resume", "CSR only": "csr", "lost rank": "ranks"}
"""Part of the system that a mistake of a sort needs, whatever its case is."""


def edited(source: str, edits: Iterable[tuple[str, str]], where: str, advice: str = "") -> str:
    """A text with edits, each the text that stands there once and what takes its place; or InputError."""
    for before, after in edits:
        if (count := source.count(before)) != 1:
            raise InputError(f"{where} holds {before!r} {count} times, and must hold it once{advice}")
        source = source.replace(before, after)
    return source


def compiler() -> str | None:
    """Path of mpicc, if there are it, a C compiler and a launcher."""
    try:
        places = os.pathsep.join([str(launcher().parent), os.environ.get("PATH", "")])
    except MissingExtraError:
        return None
    return shutil.which("mpicc", path=places) if shutil.which("cc") else None


def compiled(name: str, ranks: int, edits: Iterable[tuple[str, str]], room: Path) -> Solver:
    """The C/MPI example with edits, compiled in a folder, as a solver that writes its log."""
    path = room / name.replace(" ", "_")
    source = (EXAMPLES / "c_mpi_solver" / "protocol_solver.c").read_text("utf-8")
    path.with_suffix(".c").write_text(edited(source, edits, f"{name}: the source"), "utf-8")
    words = [str(compiler()), "-O2", "-std=c99", f"-I{EXAMPLES}", "-o", str(path), f"{path}.c", "-lm"]
    made = subprocess.run(words, capture_output=True, text=True, check=False)
    if made.returncode:
        raise InputError(f"{name} was not compiled: {made.stderr}")
    started = (str(launcher()), "-n", "{np}") if ranks > 1 else ()
    return ProgramSolver(program_from((*started, str(path), "{dir}")), ranks)


def program(what: str, ranks: int, *edits: tuple[str, str], on: str = "", **label: Any) -> Made:
    """A program on some ranks, whole or with edits of its source, with its label."""
    where, acts = ("external", "ranks")[:ranks], "every step" if edits else ""
    given: dict[str, Any] = {"where": where, "kind": "program", "ranks": ranks, "acts": acts} | label
    return Made(f"{what}, P = {ranks}", on, make=partial(compiled, what, ranks, edits), **given)


PROGRAMS = (
    program("c", 1),
    program("c", 2),
    program("c reversed", 2, (LOOP.format("0; l < m; l++"), LOOP.format("m - 1; l >= 0; l--")), acts=""),
    program(
        "c upper end ignored", 1, ("? problem.penalty : INFINITY;", "? INFINITY : INFINITY;"),
        on="svm-l1 rbf", breaks=("S-3.9",),
    ),
    program(
        "c correction dropped", 2, ("products[r] += u[drawn[t]] * increments[t];", ";"),
        on="svm-l1 rbf", breaks=("S-3.5",), acts=LATER,
    ),
    program(
        "c labels inside", 1,
        # Labels go into the inner products, the panel gets none.
        ("sums[l] += values[e] * row[columns[e]];",
         "sums[l] += values[e] * row[columns[e]] * "
         "(ridge ? 1 : problem.targets[i] * problem.targets[l]);"),
        ("if (!ridge) panel[j * m + l] *= problem.targets[drawn[j]] * problem.targets[l];", ""),
        on="svm-l1 rbf", breaks=("S-1.2",),
    ),
    program(
        "c reductions skipped", 2, (REDUCTION, f"if (windows % 2 == 0) {REDUCTION}"),
        on="krr polynomial", breaks=("S-1.8",),
    ),
    program(
        "c columns of a rank missing", 2,
        ("keep_features(n * rank / size", "keep_features(rank == 1 ? n : n * rank / size"),
        on="krr polynomial", breaks=("S-1.8",),
    ),
    program(
        "c kernel before the reduction", 2,
        (REDUCTION, ""), (FUNCTION, f"{FUNCTION}\n    {REDUCTION}"), on="krr polynomial", breaks=("S-1.8",),
    ),
    program(
        "c m in every entry of a block", 1, ("(r == c ? (double)m : 0)", "(double)m"),
        on="krr polynomial", breaks=("S-1.4",), acts=BLOCKS,
    ),
)  # fmt: skip
"""Programs in C and MPI: examples/c_mpi_solver/protocol_solver.c, whole and with edits."""


@dataclass(frozen=True)
class Edit(Labelled):
    """The production solver with one edit, or with nothing edited.

    In `module` the text `before`, which stands there once, is `after`; `sort` is the kind of the mistake,
    empty where nothing is edited. `case` has the campaign and words of the id of a case that runs it.
    """

    kind: str = "production"
    sort: str = ""
    module: str = ""
    before: str = ""
    after: str = ""
    case: str = ""

    @property
    def campaign(self) -> str:
        """The campaign of its case."""
        return self.case.split()[0]


def parts_of(case: str, sort: str = "") -> Names:
    """Parts of the system that an edit needs, from the words of its case and its sort."""
    campaign, _, text = case.partition(" ")
    parts = ["resume" if word == "start" else word for word in OPTIONS if word in text]
    parts += [PARTS[sort]] if sort in PARTS else []
    parts += ["ranks"] if campaign == "parallel" or "P=" in text else []
    return tuple(dict.fromkeys(parts)) or ("serial",)


@cache
def edits() -> tuple[Edit, ...]:
    """All edits, file by file."""
    tables = (
        tomllib.loads(path.read_text("utf-8"))
        for path in sorted(Path(__file__).with_name("production").glob("*.toml"))
    )
    return tuple(_edit(**(shared | one)) for shared in tables for one in shared.pop("edit"))


def _edit(name: str, kind: str, breaks: list[str], case: str, survives: str = "", **given: str) -> Edit:
    return Edit(
        PRODUCTION + name, breaks=tuple(breaks), equivalent=survives, where=parts_of(case, kind), sort=kind,
        case=case, **given,
    )  # fmt: skip


@cache
def corpus() -> dict[str, Made | Edit]:
    """All by name: functions, programs, edits, and nothing edited once for each case of an edit."""
    cases = dict.fromkeys(one.case for one in edits())
    right = [Edit(f"{PRODUCTION}nothing, {case}", where=parts_of(case), case=case) for case in cases]
    every: tuple[Made | Edit, ...] = (*FUNCTIONS, *PROGRAMS, *edits(), *right)
    return {one.id: one for one in every}
