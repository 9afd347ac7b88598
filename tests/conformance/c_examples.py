"""The C/MPI solvers of the examples, built as their Makefile builds them, right and spoilt."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from optional_parts import absent

from sstep_verify.errors import MissingExtraError
from sstep_verify.ranks.environment import launch_variables, launcher

EXAMPLES = Path(__file__).parents[2] / "examples"
CORRECTION = "products[r] += u[drawn[t]] * increments[t];"
DISTANCE = "i == l ? 1 : exp(-problem.sigma * fmax(norms[i] + norms[l] - 2 * product, 0))"
SHOWN = "SSTEP_PANEL_WRITE(first, panel, count * m);"
LABELS = """if (!ridge)
        for (int64_t j = 0; j < count * m; j++) panel[j] *= problem.targets[drawn[j / m]] * problem.targets[j % m];"""
USED = "if (!ridge) panel[j * m + l] *="
USED_LABELS = "if (0) panel[j * m + l] *="
REDUCTION = "MPI_Allreduce(MPI_IN_PLACE, array"


def call(*words: object, variables: dict[str, str] | None = None) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, check=False, timeout=60,
        stdin=subprocess.DEVNULL, env=variables,
    )  # fmt: skip


def needed(name: str, *places: Path) -> str:
    """Path of a program, next to the launcher or on PATH."""
    found = shutil.which(name, path=os.pathsep.join([*map(str, places), os.environ.get("PATH", "")]))
    if found is None:
        absent(
            "compiler", f"no {name}: apt-get install gcc g++ make, and mpicc comes with the extra [mpich]"
        )
    return found


def wrapper() -> str:
    """The compiler wrapper of the MPI next to the launcher."""
    try:
        return needed("mpicc", launcher().parent)
    except MissingExtraError as error:
        absent("compiler", str(error))


def built_solvers(tree: Path) -> dict[str, Path]:
    """Both solvers, as their Makefile makes them; one with its kernel rows, one without its correction term."""
    needed("cc")
    shutil.copy(EXAMPLES / "sstep_trace.h", tree)
    source = (EXAMPLES / "c_mpi_solver" / "protocol_solver.c").read_text("utf-8")
    assert source.count(CORRECTION) == 1
    found = {}
    for name, text, flags in (
        ("right", source, "-DOFFSET=1.0"),
        ("panel", source, "-DSSTEP_PANEL"),
        (
            "panel norms",
            source.replace(DISTANCE, "exp(2 * problem.sigma * product) + 0 * (i + l)"),
            "-DSSTEP_PANEL",
        ),
        ("wrong", source.replace(CORRECTION, ";"), ""),
        (
            "panel labels",
            source.replace(SHOWN, f"{LABELS}\n    {SHOWN}").replace(USED, USED_LABELS),
            "-DSSTEP_PANEL",
        ),
        ("talkative", source.replace(REDUCTION, f"MPI_Barrier(MPI_COMM_WORLD);\n    {REDUCTION}"), ""),
    ):
        folder = shutil.copytree(
            EXAMPLES / "c_mpi_solver", tree / name, ignore=shutil.ignore_patterns("*_solver")
        )
        (folder / "protocol_solver.c").write_text(text)
        made = call(
            needed("make"), "-C", folder, *([] if name == "right" else ["protocol_solver"]),
            f"MPICC={wrapper()}", f"CPPFLAGS={flags}", "CFLAGS=-O2 -Werror",
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
        found[name] = folder / "protocol_solver"
    return {**found, "plain": found["right"].with_name("plain_solver")}


def start(ranks: int, *words: object) -> subprocess.CompletedProcess:
    return call(launcher(), "-n", ranks, *words, variables=launch_variables())
